//! What a domain asks of the API server, as a table.
//!
//! Each domain exports one `ACCESS` table. The generated `ClusterRole` comes from these tables, and the requests that
//! the end-to-end suite records must equal them.

/// The verbs that a domain uses on one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Plural name, with its subresource if any: `landscapes/status`.
    pub resource: &'static str,
    /// What is done to it.
    pub verbs: &'static [Verb],
}

/// The API server's verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make one.
    Create,
    /// Change one.
    Patch,
    /// Delete one.
    Delete,
}

impl Verb {
    /// The word in a `ClusterRole`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}
