//! Requests for a write and their answers, as data: what a plan waits with, and what it has been told.

use std::any::Any;
use std::sync::Arc;

use konfidence_sdk::store::{Key, Object, Patch, Precondition, Version};
use serde_json::Value;

use crate::shelf::Kind;

/// Which part of an object a write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All but the status.
    Main,
    /// The status.
    Status,
    /// Everything: what people put there.
    Whole,
}

/// A write that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Create { kind: Kind, object: Value },
    Patch { kind: Kind, namespace: String, name: String, expected: Version, merge: Value, scope: Scope },
    Delete { kind: Kind, namespace: String, name: String, precondition: Precondition },
}

impl Request {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Create { kind, .. } | Self::Patch { kind, .. } | Self::Delete { kind, .. } => *kind,
        }
    }

    pub(crate) fn create<K: Object>(object: &K) -> Option<Self> {
        Some(Self::Create { kind: Kind::of::<K>()?, object: serde_json::to_value(object).ok()? })
    }

    pub(crate) fn patch<K: Object>(key: &Key<K>, patch: &Patch<K>, scope: Scope) -> Option<Self> {
        Some(Self::Patch {
            kind: Kind::of::<K>()?,
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            expected: patch.expected.clone(),
            merge: patch.merge.clone(),
            scope,
        })
    }

    pub(crate) fn delete<K: Object>(key: &Key<K>, precondition: &Precondition) -> Option<Self> {
        Some(Self::Delete {
            kind: Kind::of::<K>()?,
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            precondition: precondition.clone(),
        })
    }
}

/// What a write was answered.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The object as it then was.
    Object(Arc<dyn Any + Send + Sync>),
    /// It is gone.
    Deleted,
    /// The server refuses it for good.
    Refused(String),
}
