//! A store whose cached reads are old: each kind shows its own prefix of history.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::engine::{Event, Listing};
use super::memory::{listed, read, refusal, undeclared};
use super::request::all;
use super::{
    Key, Listed, MemoryStore, Object, ObjectStore, ObjectWatch, Patch, Precondition, Query, StoreError, WatchStream,
};

/// A cache of a [`MemoryStore`] that lags as far as the test wants, kind by kind.
///
/// `get` and `list` show the kind as it stood at the position that the test moves; the live reads, the writes and the
/// watches go to the store. A kind that was never moved stands at the moment when this cache was made. There is no
/// barrier: a write does not move any position, which is the harshest cache that promotion-protocol R1 allows.
///
/// ```
/// use konfidence_sdk::store::{Key, MemoryStore, ObjectStore, StaleStore};
/// use konfidence_sdk::types::{Stage, StageSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let cache = StaleStore::new(store.clone());
/// let mut stage = Stage::new("dev", StageSpec::default());
/// stage.metadata.namespace = Some("bakery-eu".into());
/// let key = Key::of(&stage);
/// store.create(&stage).await?;
/// assert_eq!(cache.get(&key).await?, None);
/// assert!(cache.get_live(&key).await?.is_some());
/// cache.advance::<Stage>()?;
/// assert!(cache.get(&key).await?.is_some());
/// # Ok::<(), konfidence_sdk::store::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct StaleStore {
    store: MemoryStore,
    start: u64,
    positions: Arc<Mutex<BTreeMap<TypeId, u64>>>,
}

impl StaleStore {
    /// A cache that shows `store` as it is now, until it is moved.
    pub fn new(store: MemoryStore) -> Self {
        let start = store.engine().revision();
        Self { store, start, positions: Arc::default() }
    }

    /// The store that is cached.
    pub fn inner(&self) -> &MemoryStore {
        &self.store
    }

    /// The revision that the kind is shown at.
    pub fn position<K: Object>(&self) -> u64 {
        let positions = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        positions.get(&TypeId::of::<K>()).copied().unwrap_or(self.start)
    }

    /// Shows the kind as it stood at `revision`, earlier or later than now: a restarted process may know less.
    pub fn move_to<K: Object>(&self, revision: u64) {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<K>(), revision);
    }

    /// Shows the kind as it is now.
    pub fn catch_up<K: Object>(&self) {
        self.move_to::<K>(self.store.engine().revision());
    }

    /// Delivers the next change of the kind and answers it; `None`: there is none yet.
    ///
    /// # Errors
    /// [`StoreError::Expired`] when the history at the position is gone.
    pub fn advance<K: Object>(&self) -> Result<Option<Arc<Event>>, StoreError> {
        let next = self.store.collection::<K>().next_event(self.position::<K>());
        let next = next.map_err(|error| refusal(&all(&Query::<K>::all()), &error))?;
        if let Some(event) = &next {
            self.move_to::<K>(event.revision);
        }
        Ok(next)
    }

    fn select<K: Object>(&self, query: &Query<K>) -> Result<Listing, StoreError> {
        let namespace = query.namespace.as_deref();
        let (collection, position) = (self.store.collection::<K>(), self.position::<K>());
        let Some((name, value)) = &query.index else {
            return collection.list_at(position, namespace).map_err(|error| refusal(&all(query), &error));
        };
        let listing = collection.list_by_at(position, namespace, name, value);
        listing.map_err(|error| refusal(&all(query), &error))?.ok_or_else(|| undeclared::<K>(namespace, name))
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for StaleStore {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        let position = self.position::<K>();
        let found = self.store.collection::<K>().get_at(position, key.namespace(), key.name());
        found.map_err(|error| refusal(key, &error))?.map(|object| read(&object)).transpose()
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(listed(&self.select(query)?))
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.store.get_live(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.store.list_live(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.store.create(object).await
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.store.patch(key, patch).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.store.patch_status(key, patch).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.store.delete(key, precondition).await
    }
}

#[async_trait]
impl<K: Object> ObjectWatch<K> for StaleStore {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        self.store.watch(query, from).await
    }
}
