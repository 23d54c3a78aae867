//! The port to the objects, and its implementations in memory.
//!
//! [`ObjectStore<K>`] is typed by kind, object-safe and small. Reads may be served from a cache and hand out what the
//! cache holds (`Arc<K>`); `get_live` and `list_live` are linearizable. Every write but a create is conditional on the
//! version that the caller read; a create is conditional on its name being free.
//!
//! A cached read of a kind is a **prefix of that kind's history**: what it shows stood in the server, all at once, at
//! some moment. An implementation that caches must therefore wait for its own writes to come back through the watch
//! (a barrier) and never lay them over what the watch delivered (promotion-protocol R1).
//!
//! In memory there are [`MemoryStore`], which behaves as a server without lag, and what tests put before a store:
//! [`FaultyStore`] fails, [`StaleStore`] lags, [`RecordingStore`] counts. [`conformance`] is what every implementation
//! has to pass; [`engine`] is what the one in memory and the embedded API server stand on.
//!
//! Several kinds in one store: a plain type implements the trait once per kind, and `store.get(&key)` picks the right
//! one because keys, queries and patches carry the kind in their type.

pub mod conformance;
pub mod engine;
mod error;
mod faulty;
mod indexed;
mod key;
mod memory;
#[cfg(any(test, feature = "mock"))]
pub(crate) mod overlay;
mod recording;
mod request;
mod stale;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use error::{FieldError, Source, StoreError};
pub use faulty::{Fault, FaultyStore};
pub use indexed::{
    BY_CONFIG, BY_LANDSCAPE, BY_MANAGED_NAMESPACE, BY_PROMOTED_STAGE, BY_SOURCE_STAGE, BY_SOURCE_TEMPLATE,
    BY_TARGET_STAGE, BY_WANTED_NAMESPACE, Index, Indexed, Query,
};
pub use key::{Key, Object, ObjectRef, Version};
pub use memory::MemoryStore;
pub use recording::RecordingStore;
pub use request::{Request, Verb};
pub use stale::StaleStore;
pub use watch::{ObjectWatch, WatchEvent, WatchStream};
pub use write::{Patch, Precondition};

use std::sync::Arc;

use async_trait::async_trait;

/// Objects of one kind, read and written with optimistic concurrency.
///
/// ```
/// use konfidence_sdk::store::{Key, ObjectStore, StoreError};
/// use konfidence_types::Stage;
///
/// async fn vector_of(store: &dyn ObjectStore<Stage>, stage: &Key<Stage>) -> Result<Option<String>, StoreError> {
///     Ok(store.get(stage).await?.map(|stage| stage.spec.vector.clone()))
/// }
/// ```
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ObjectStore<K: Object>: Send + Sync {
    /// Reads one object, possibly from a cache. `None`: there is none.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when it is there and does not parse as `K`.
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError>;

    /// Reads all objects that `query` selects, possibly from a cache, ordered by namespace and name.
    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError>;

    /// Reads one object as the server holds it now.
    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError>;

    /// Reads all objects that `query` selects as the server holds them now.
    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError>;

    /// Makes an object whose name must be free. Status is not taken over: it has a write of its own.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] when the name is taken, [`StoreError::Invalid`] when the server refuses it.
    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError>;

    /// Changes the main object (not its status) if it still has the patch's version.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the version has moved on, [`StoreError::NotFound`] when the object is gone.
    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError>;

    /// Changes the status (nothing else) if the object still has the patch's version.
    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError>;

    /// Deletes the object if it still meets `precondition`; dependants are collected in the background.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when it is gone already, [`StoreError::Conflict`] when it is another one by now.
    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError>;
}

/// The answer to a [`Query`]: what could be read, and what could not.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<K> {
    /// The objects, ordered by namespace and name.
    pub items: Vec<Arc<K>>,
    /// Selected objects that do not parse as `K`: written under a newer or a broken schema.
    pub unreadable: Vec<Unreadable>,
    /// The version of the whole kind that this answer shows: a watch that starts here misses nothing.
    pub resource_version: String,
}

impl<K> Default for Listed<K> {
    fn default() -> Self {
        Self { items: Vec::new(), unreadable: Vec::new(), resource_version: String::new() }
    }
}

/// An object that is there and does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which object.
    pub object: ObjectRef,
    /// Why it does not parse.
    pub message: String,
    /// The object as the server holds it, so that its version and conditions can still be told.
    pub raw: Arc<serde_json::Value>,
}

#[async_trait]
impl<K: Object, S: ObjectStore<K> + ?Sized> ObjectStore<K> for Arc<S> {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        (**self).get(key).await
    }
    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        (**self).list(query).await
    }
    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        (**self).get_live(key).await
    }
    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        (**self).list_live(query).await
    }
    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        (**self).create(object).await
    }
    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        (**self).patch(key, patch).await
    }
    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        (**self).patch_status(key, patch).await
    }
    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        (**self).delete(key, precondition).await
    }
}
