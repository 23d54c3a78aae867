//! Why the engine refuses a request.

use crate::store::FieldError;

/// Why a request to the engine was refused. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is no such object.
    #[error("the object does not exist")]
    NotFound,
    /// The name is taken.
    #[error("an object of that name exists already")]
    AlreadyExists,
    /// The object is not in the state that the request presumes.
    #[error("{message}; read the object again and decide again")]
    Conflict {
        /// Which presumption does not hold.
        message: String,
    },
    /// The object's content breaks a rule that holds for every kind.
    #[error("{}", listed(fields))]
    Refused {
        /// Each field and what is wrong with it; never empty.
        fields: Vec<FieldError>,
    },
    /// The history that the request needs is no longer held.
    #[error("the history at revision {asked} is gone, the oldest held is {oldest}; list again")]
    Expired {
        /// Revision of the request.
        asked: u64,
        /// Oldest revision that would have been answered.
        oldest: u64,
    },
    /// The journal cannot keep what is written: nothing is written until it can again.
    #[error("the write cannot be kept: {message}; nothing is written until it can")]
    Unavailable {
        /// What the journal says.
        message: String,
    },
    /// The request names a revision that has not happened here.
    #[error("revision {asked} has not happened yet, the present one is {present}; list again")]
    Ahead {
        /// Revision of the request.
        asked: u64,
        /// The present revision.
        present: u64,
    },
}

impl EngineError {
    pub(super) fn refused(field: &str, message: impl Into<String>) -> Self {
        Self::Refused { fields: vec![FieldError { field: field.into(), message: message.into() }] }
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict { message: message.into() }
    }
}

fn listed(fields: &[FieldError]) -> String {
    fields.iter().map(|error| format!("{}: {}", error.field, error.message)).collect::<Vec<_>>().join("; ")
}
