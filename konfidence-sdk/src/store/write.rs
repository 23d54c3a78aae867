//! Conditional writes.

use std::marker::PhantomData;

use serde_json::Value;

use super::Version;

/// A JSON merge patch (RFC 7386) that holds only what changes, and the version that it was decided on.
///
/// Fields that the patch does not name stay as they are, also those that we do not know. A list is replaced whole,
/// which is safe because the write is conditional on the version that the list was read from.
pub struct Patch<K> {
    /// The version that the decision read. The write fails with a conflict when the object has another one, and is
    /// refused as invalid when the resourceVersion is empty: there are no unconditional patches.
    pub expected: Version,
    /// The merge patch, without `metadata.resourceVersion` and `metadata.uid`: the store adds the precondition.
    pub merge: Value,
    kind: PhantomData<fn() -> K>,
}

impl<K> Patch<K> {
    /// A merge patch conditional on `expected`.
    pub fn new(expected: Version, merge: Value) -> Self {
        Self { expected, merge, kind: PhantomData }
    }
}

impl<K> Clone for Patch<K> {
    fn clone(&self) -> Self {
        Self::new(self.expected.clone(), self.merge.clone())
    }
}

impl<K> PartialEq for Patch<K> {
    fn eq(&self, other: &Self) -> bool {
        self.expected == other.expected && self.merge == other.merge
    }
}

impl<K> std::fmt::Debug for Patch<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patch").field("expected", &self.expected).field("merge", &self.merge).finish()
    }
}

/// What must still hold for a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precondition {
    /// The object must have this uid.
    pub uid: Option<String>,
    /// The object must have this resourceVersion.
    pub resource_version: Option<String>,
}

impl From<Version> for Precondition {
    fn from(version: Version) -> Self {
        Self { uid: Some(version.uid), resource_version: Some(version.resource_version) }
    }
}
