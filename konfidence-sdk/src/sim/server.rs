//! The API server that all views share: the store in memory, and Stages that it refuses to write.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use konfidence_types::Landscape;

use super::meter::Meter;
use super::step::Kind;
use crate::store::{
    Key, Listed, MemoryStore, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StaleStore, StoreError,
};

/// Clones are the same server.
#[derive(Clone)]
pub(super) struct Server {
    store: MemoryStore,
    refused: Arc<Mutex<BTreeSet<(String, String)>>>,
    pub(super) meter: Meter,
    /// What it lies about, so that a test can see the checker notice.
    #[cfg(test)]
    pub(super) lying: super::lie::Lying,
}

impl Server {
    pub(super) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            refused: Arc::default(),
            meter: Meter::default(),
            #[cfg(test)]
            lying: super::lie::Lying::default(),
        }
    }

    pub(super) fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// The namespace that a Landscape manages; while there is none, the one that it would manage.
    pub(super) fn managed(&self, namespace: &str, landscape: &str) -> String {
        let stored = self.store.collection::<Landscape>().get(namespace, landscape);
        let managed = stored.as_ref().and_then(|landscape| landscape.json()["status"]["namespace"].as_str());
        managed.map_or_else(|| format!("{namespace}-{landscape}"), str::to_owned)
    }

    /// The Stages whose writes are refused for good, by namespace and name.
    pub(super) fn refused(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg_attr(not(test), allow(unused_variables))]
    pub(super) async fn get<K: Object>(&self, key: &Key<K>, cache: &StaleStore) -> Result<Option<Arc<K>>, StoreError> {
        #[cfg(test)]
        if self.lying.is(super::lie::Lie::LiveReadsFromCache) {
            return cache.get(key).await;
        }
        self.store.get_live(key).await
    }

    #[cfg_attr(not(test), allow(unused_variables))]
    pub(super) async fn list<K: Object>(&self, query: &Query<K>, cache: &StaleStore) -> Result<Listed<K>, StoreError> {
        #[cfg(test)]
        if self.lying.is(super::lie::Lie::LiveReadsFromCache) {
            return cache.list(query).await;
        }
        self.store.list_live(query).await
    }

    pub(super) async fn create<K: Object>(&self, object: &K) -> Result<Arc<K>, StoreError> {
        #[cfg(test)]
        if let Some(renamed) = self.lying.renamed(object) {
            return self.store.create(&renamed).await;
        }
        self.store.create(object).await
    }

    pub(super) async fn patch<K: Object>(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let place = (key.namespace().to_owned(), key.name().to_owned());
        if Kind::of::<K>() == Some(Kind::Stage) && self.refused().contains(&place) {
            let message = "admission webhook \"freeze.bakery.example\" denied the request".to_owned();
            return Err(StoreError::Invalid { object: ObjectRef::named(key), message, fields: Vec::new() });
        }
        #[cfg(test)]
        if let Some(answer) = self.lying.patch(&self.store, key, patch).await {
            return answer;
        }
        self.store.patch(key, patch).await
    }

    pub(super) async fn patch_status<K: Object>(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        #[cfg(test)]
        if let Some(answer) = self.lying.patch_status(&self.store, key, patch).await {
            return answer;
        }
        self.store.patch_status(key, patch).await
    }

    pub(super) async fn delete<K: Object>(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.store.delete(key, precondition).await
    }
}
