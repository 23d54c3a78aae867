//! Requests to a store, as the decorators name them.

use std::fmt;

use super::{Key, Object, Query};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// [`get`](super::ObjectStore::get): may cost nothing, because a cache may answer.
    Get,
    /// [`list`](super::ObjectStore::list): likewise.
    List,
    /// [`get_live`](super::ObjectStore::get_live).
    GetLive,
    /// [`list_live`](super::ObjectStore::list_live).
    ListLive,
    /// [`create`](super::ObjectStore::create).
    Create,
    /// [`patch`](super::ObjectStore::patch).
    Patch,
    /// [`patch_status`](super::ObjectStore::patch_status).
    PatchStatus,
    /// [`delete`](super::ObjectStore::delete).
    Delete,
    /// [`watch`](super::ObjectWatch::watch).
    Watch,
}

impl Verb {
    /// Whether the request changes something.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Create | Self::Patch | Self::PatchStatus | Self::Delete)
    }

    /// Whether the request reaches the server even where a cache answers what it can.
    pub fn is_live(self) -> bool {
        !matches!(self, Self::Get | Self::List)
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// What it asks for.
    pub verb: Verb,
    /// `VectorPromotion`.
    pub kind: String,
    /// Empty: cluster-scoped, or all namespaces.
    pub namespace: String,
    /// Empty for lists and watches.
    pub name: String,
}

impl Request {
    pub(super) fn of<K: Object>(verb: Verb, key: &Key<K>) -> Self {
        Self { verb, kind: K::kind(&()).into_owned(), namespace: key.namespace().into(), name: key.name().into() }
    }

    pub(super) fn for_all<K: Object>(verb: Verb, query: &Query<K>) -> Self {
        Self::of(verb, &all(query))
    }
}

/// The key that stands for all objects of a query.
pub(super) fn all<K>(query: &Query<K>) -> Key<K> {
    Key::new(query.namespace.clone().unwrap_or_default(), "")
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.verb, self.kind)?;
        for part in [&self.namespace, &self.name].into_iter().filter(|part| !part.is_empty()) {
            write!(f, " {part}")?;
        }
        Ok(())
    }
}
