//! The store as a person's word has to see it: without a cache.

use std::sync::Arc;

use async_trait::async_trait;

use crate::store::{Key, Listed, Object, ObjectStore, Patch, Precondition, Query, StoreError};

/// Answers every read live, so that [`load`](super::load()) serves the operations too.
pub(super) struct Live<'a, S: ?Sized>(pub(super) &'a S);

#[async_trait]
impl<K: Object, S: ObjectStore<K> + ?Sized> ObjectStore<K> for Live<'_, S> {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.0.get_live(key).await
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.0.list_live(query).await
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.0.get_live(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.0.list_live(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.0.create(object).await
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.0.patch(key, patch).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.0.patch_status(key, patch).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.0.delete(key, precondition).await
    }
}
