//! What can go wrong between a decision and a store.

use std::error::Error;

use super::{ObjectRef, Unreadable};

/// Any error below a store, kept as the source.
pub type Source = Box<dyn Error + Send + Sync + 'static>;

/// One field that the server refused, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// `spec.target.landscape`.
    pub field: String,
    /// Why.
    pub message: String,
}

/// Why a read or a write did not happen, or may not have happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The object of a write is gone.
    #[error("{object} does not exist")]
    NotFound {
        /// Which object.
        object: ObjectRef,
    },
    /// The name of a create is taken.
    #[error("{object} exists already")]
    AlreadyExists {
        /// Which object.
        object: ObjectRef,
    },
    /// The object has moved on since it was read: decide again.
    #[error("{object} has changed since it was read; read it again and decide again")]
    Conflict {
        /// Which object.
        object: ObjectRef,
    },
    /// The server refuses the write for what it contains.
    #[error("{object} is refused: {message}")]
    Invalid {
        /// Which object.
        object: ObjectRef,
        /// The server's message.
        message: String,
        /// The server's field errors, if it gave any.
        fields: Vec<FieldError>,
    },
    /// The server refuses the write for who asks: authorization or admission.
    #[error("{object} is refused: {message}")]
    Forbidden {
        /// Which object.
        object: ObjectRef,
        /// The server's message.
        message: String,
    },
    /// No answer, or one that says to come back: the write may or may not have happened.
    #[error("no certain answer about {object}: {message}; it will be tried again")]
    Unavailable {
        /// Which object.
        object: ObjectRef,
        /// What is known.
        message: String,
        /// The error below, if there is one.
        #[source]
        source: Option<Source>,
    },
    /// A watch or a page started from a version that the server no longer has: list again.
    #[error("the history of {object} before this version is gone; list again")]
    Expired {
        /// Kind, and namespace if any.
        object: ObjectRef,
    },
    /// The object is there and does not parse.
    #[error("{} cannot be read: {}; a newer version or a broken schema wrote it", .0.object, .0.message)]
    Unreadable(Box<Unreadable>),
}

impl StoreError {
    /// The object that the error is about.
    pub fn object(&self) -> &ObjectRef {
        match self {
            Self::NotFound { object }
            | Self::AlreadyExists { object }
            | Self::Conflict { object }
            | Self::Invalid { object, .. }
            | Self::Forbidden { object, .. }
            | Self::Unavailable { object, .. }
            | Self::Expired { object } => object,
            Self::Unreadable(unreadable) => &unreadable.object,
        }
    }

    /// Whether the world has moved on and the decision is simply to be made again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::AlreadyExists { .. } | Self::NotFound { .. })
    }

    /// Whether the server refused the write for good: the same write would be refused again.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::Forbidden { .. })
    }
}
