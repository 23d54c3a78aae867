//! A store that writes down what is asked of it: how many requests a decision costs.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::request::{Request, Verb};
use super::{Key, Listed, Object, ObjectStore, ObjectWatch, Patch, Precondition, Query, StoreError, WatchStream};

/// Passes every request on and records it, failed ones included. Clones share the record.
///
/// ```
/// use konfidence_sdk::store::{Key, MemoryStore, ObjectStore, RecordingStore, Verb};
/// use konfidence_sdk::types::Stage;
///
/// let store = RecordingStore::new(MemoryStore::new());
/// futures::executor::block_on(store.get(&Key::<Stage>::new("bakery-eu", "dev"))).unwrap();
/// assert_eq!(store.count(Verb::Get, "Stage"), 1);
/// assert_eq!(store.writes(), []);
/// ```
#[derive(Clone, Debug)]
pub struct RecordingStore<S> {
    store: S,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl<S> RecordingStore<S> {
    /// Records the requests to `store` from now on.
    pub fn new(store: S) -> Self {
        Self { store, requests: Arc::default() }
    }

    /// The store below; what is asked of it directly is not recorded.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All requests so far, in order; the record is empty afterwards.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How often `verb` was asked for objects of `kind`.
    pub fn count(&self, verb: Verb, kind: &str) -> usize {
        self.requests().iter().filter(|request| request.verb == verb && request.kind == kind).count()
    }

    /// The writes so far, in order.
    pub fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.verb.is_write()).collect()
    }

    /// The reads so far that no cache can answer, in order.
    pub fn live_reads(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.verb.is_live() && !request.verb.is_write()).collect()
    }

    fn record(&self, request: Request) -> &S {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        &self.store
    }
}

#[async_trait]
impl<K: Object, S: ObjectStore<K>> ObjectStore<K> for RecordingStore<S> {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.record(Request::of(Verb::Get, key)).get(key).await
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.record(Request::for_all(Verb::List, query)).list(query).await
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.record(Request::of(Verb::GetLive, key)).get_live(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.record(Request::for_all(Verb::ListLive, query)).list_live(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.record(Request::of(Verb::Create, &Key::of(object))).create(object).await
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.record(Request::of(Verb::Patch, key)).patch(key, patch).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.record(Request::of(Verb::PatchStatus, key)).patch_status(key, patch).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.record(Request::of(Verb::Delete, key)).delete(key, precondition).await
    }
}

#[async_trait]
impl<K: Object, S: ObjectWatch<K>> ObjectWatch<K> for RecordingStore<S> {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        self.record(Request::for_all(Verb::Watch, query)).watch(query, from).await
    }
}
