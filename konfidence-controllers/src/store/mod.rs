//! The store over the Kubernetes API.
//!
//! ```text
//!   reads   get, list ------> Cache (one per kind and process) <-- feed: one watch, with a back-off of its own
//!                               ^ waits for what is expected
//!   writes  patch, create ------+----------> API server        live reads: get_live, list_live, watch
//! ```
//!
//! **A cached read is a prefix of its kind's history.** A cache changes by what its watch delivers and by nothing else;
//! a full list replaces it in one step. After a write of ours, reads that the write concerns wait until the watch has
//! delivered it (`expectation.rs`); they do not see it earlier, and not without what happened before it.
//!
//! **A write is sent once.** The client must not repeat a write by itself when an answer is missing (see
//! [`client`](crate::client)): the second one would meet its own first and call it somebody else's.

mod answer;
mod cache;
mod entry;
mod expectation;
mod feed;
mod live;
mod state;
mod watch;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use konfidence_sdk::store::{Key, Listed, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StoreError};
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch as Merge, PatchParams, PostParams, Preconditions};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch as signal};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use cache::{Cache, DOUBT};
pub use entry::Content;
use entry::{Entry, Received};
use expectation::Expectation;
pub use state::{Change, Observer};

/// Told about every write request, before it is sent.
pub type WriteObserver = dyn Fn(&str, &'static str) + Send + Sync;

/// Objects of every kind behind a [`Client`]. Clones share caches.
#[derive(Clone)]
pub struct KubeStore {
    client: Client,
    /// Whom the server notes down as the writer of a field.
    manager: Arc<str>,
    /// `None`: every read is live.
    caches: Option<Arc<Caches>>,
    observer: Option<Arc<WriteObserver>>,
    /// Whether cached reads wait for writes of one's own.
    waits: bool,
}

impl KubeStore {
    /// A store that reads from caches, one for each kind that is asked for, filled and kept by one watch each. The
    /// watches end with the last clone. Must be used within a tokio runtime.
    pub fn cached(client: Client) -> Self {
        Self { caches: Some(Arc::default()), ..Self::direct(client) }
    }

    /// A store that asks the server at every read: for tools that read once and end.
    pub fn direct(client: Client) -> Self {
        Self { client, manager: "konfidence".into(), caches: None, observer: None, waits: true }
    }

    /// Has the server note `manager` as the writer of what this store writes; by default `konfidence`.
    #[must_use]
    pub fn with_field_manager(mut self, manager: &str) -> Self {
        self.manager = manager.into();
        self
    }

    /// Tells `observer` the kind and the verb (`create`, `patch`, `patch_status`, `delete`) of every write request.
    #[must_use]
    pub fn with_write_observer(mut self, observer: Arc<WriteObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The same caches, read as they stand, without waiting for writes of one's own: for finding out whom a change
    /// concerns, where whatever is missing yet will be a change of its own. Not for decisions (R1).
    #[must_use]
    pub fn glance(&self) -> Self {
        Self { waits: false, ..self.clone() }
    }

    /// The client that the store writes through.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// All changes of the kind from now on, in order, beginning with an addition for each object that there is. `None`
    /// for a direct store.
    pub fn changes<K: Object>(&self) -> Option<mpsc::UnboundedReceiver<Change<K>>> {
        Some(self.cache::<K>()?.subscribe())
    }

    /// Changes each time the watch of the kind delivers again after trouble. `None` for a direct store.
    pub fn recoveries<K: Object>(&self) -> Option<signal::Receiver<()>> {
        Some(self.cache::<K>()?.recoveries())
    }

    /// Has `observer` told of every change of the kind, in order, before a read can see it; beginning with an addition
    /// for each object that there is. A direct store has nothing to tell.
    pub fn observe<K: Object>(&self, observer: impl Fn(&Change<K>) + Send + Sync + 'static) {
        if let Some(cache) = self.cache::<K>() {
            cache.observe(Box::new(observer));
        }
    }

    /// Starts the watch of the kind, if it does not run yet, and waits until its first list is complete.
    pub async fn filled<K: Object>(&self) {
        if let Some(cache) = self.cache::<K>() {
            cache.filled().await;
        }
    }

    /// Why the watch of the kind does not deliver, if it does not.
    pub fn trouble<K: Object>(&self) -> Option<String> {
        self.cache::<K>()?.trouble()
    }

    /// Whether the watch of the kind runs: it never ends by itself.
    pub fn is_fed<K: Object>(&self) -> bool {
        self.caches.as_ref().is_some_and(|caches| caches.is_fed::<K>())
    }

    fn cache<K: Object>(&self) -> Option<Arc<Cache<K>>> {
        self.caches.as_ref().map(|caches| caches.of(&self.client))
    }

    async fn write<K: Object>(
        &self,
        key: &Key<K>,
        verb: &'static str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Arc<Entry<K>>, StoreError> {
        self.report_write::<K>(verb);
        let received: Received<K> = live::send(&self.client, ObjectRef::named(key), request).await?;
        if let Some(cache) = self.cache::<K>() {
            cache.expect_written(&received.entry);
        }
        Ok(received.entry)
    }

    fn report_write<K: Object>(&self, verb: &'static str) {
        if let Some(observer) = &self.observer {
            observer(&K::kind(&()), verb);
        }
    }

    async fn conditional_patch<K: Object>(
        &self,
        key: &Key<K>,
        patch: &Patch<K>,
        subresource: Option<&'static str>,
    ) -> Result<Arc<K>, StoreError> {
        live::check(key)?;
        let body = Merge::Merge(with_precondition(key, patch)?);
        let params = PatchParams { field_manager: Some(self.manager.to_string()), ..PatchParams::default() };
        let url = live::path::<K>(Some(key.namespace()));
        let written = match subresource {
            None => self.write(key, "patch", url.patch(key.name(), &params, &body)).await,
            Some(part) => {
                self.write(key, "patch_status", url.patch_subresource(part, key.name(), &params, &body)).await
            }
        };
        match written {
            Ok(entry) => parsed(&entry),
            Err(error) => {
                self.note_conflict(key, &error, &patch.expected.uid, || Expectation::MovedPast {
                    version: patch.expected.clone(),
                    until: Instant::now() + DOUBT,
                });
                Err(error)
            }
        }
    }

    /// A conflict says that the cache is behind for this object; its next reader waits for news instead of deciding
    /// the same again.
    fn note_conflict<K: Object>(
        &self,
        key: &Key<K>,
        error: &StoreError,
        uid: &str,
        conflict: impl FnOnce() -> Expectation,
    ) {
        let expectation = match error {
            StoreError::Conflict { .. } => conflict(),
            StoreError::NotFound { .. } => Expectation::Gone { uid: uid.to_owned(), until: Instant::now() + DOUBT },
            _ => return,
        };
        if let Some(cache) = self.cache::<K>() {
            cache.expect(key, Vec::new(), expectation);
        }
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for KubeStore {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        match self.cache::<K>() {
            Some(cache) => cache.get(key, self.waits).await,
            None => self.get_live(key).await,
        }
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        check_index(query)?;
        match self.cache::<K>() {
            Some(cache) => cache.list(query, self.waits).await,
            None => self.list_live(query).await,
        }
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        live::check(key)?;
        let request = live::path::<K>(Some(key.namespace())).get(key.name(), &GetParams::default());
        match live::send::<Received<K>>(&self.client, ObjectRef::named(key), request).await {
            Ok(received) => parsed(&received.entry).map(Some),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        check_index(query)?;
        let (received, version) = live::list(&self.client, query, None).await?;
        Ok(live::select(received, version, query))
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        let key = Key::of(object);
        live::check(&key)?;
        let params = PostParams { field_manager: Some(self.manager.to_string()), ..PostParams::default() };
        let body = serde_json::to_value(object).map_err(|error| StoreError::Invalid {
            object: ObjectRef::named(&key),
            message: error.to_string(),
            fields: vec![],
        })?;
        let request = live::path::<K>(Some(key.namespace())).create(&params, body.to_string().into_bytes());
        match self.write(&key, "create", request).await {
            Ok(entry) => parsed(&entry),
            Err(error) => {
                if let (StoreError::AlreadyExists { .. }, Some(cache)) = (&error, self.cache::<K>()) {
                    let expectation = Expectation::Exists { until: Instant::now() + DOUBT };
                    cache.expect(&key, entry::index_values::<K>(&body), expectation);
                }
                Err(error)
            }
        }
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.conditional_patch(key, patch, None).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.conditional_patch(key, patch, Some("status")).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        live::check(key)?;
        let params = DeleteParams::background().preconditions(Preconditions {
            uid: precondition.uid.clone(),
            resource_version: precondition.resource_version.clone(),
        });
        self.report_write::<K>("delete");
        let request = live::path::<K>(Some(key.namespace())).delete(key.name(), &params);
        // Either the object, which stays while it has finalizers, or a Status that names its uid.
        let answered: Result<Value, _> = live::send(&self.client, ObjectRef::named(key), request).await;
        let expected = precondition.uid.clone().unwrap_or_default();
        match answered {
            Ok(answer) => {
                let told = ["/metadata/uid", "/details/uid"].iter().find_map(|at| answer.pointer(at)?.as_str());
                let uid = told.map_or(expected, str::to_owned);
                if let Some(cache) = self.cache::<K>() {
                    cache.expect(key, Vec::new(), Expectation::Deleted { uid });
                }
                Ok(())
            }
            Err(error) => {
                self.note_conflict(key, &error, &expected, || Expectation::MovedPast {
                    version: konfidence_sdk::store::Version {
                        uid: expected.clone(),
                        resource_version: precondition.resource_version.clone().unwrap_or_default(),
                    },
                    until: Instant::now() + DOUBT,
                });
                Err(error)
            }
        }
    }
}

fn parsed<K: Object>(entry: &Entry<K>) -> Result<Arc<K>, StoreError> {
    entry.content.clone().map_err(|unreadable| StoreError::Unreadable(Box::new((*unreadable).clone())))
}

/// The merge patch with the version that it is conditional on.
fn with_precondition<K: Object>(key: &Key<K>, patch: &Patch<K>) -> Result<Value, StoreError> {
    let invalid = || StoreError::Invalid {
        object: ObjectRef::named(key),
        message: "a patch of an object, and of its metadata, must be a JSON object".into(),
        fields: vec![],
    };
    if patch.expected.resource_version.is_empty() {
        let message = "the patch names no resourceVersion: every patch is conditional on the version it was decided on";
        return Err(StoreError::Invalid { object: ObjectRef::named(key), message: message.into(), fields: vec![] });
    }
    let mut merge = patch.merge.clone();
    let body = merge.as_object_mut().ok_or_else(invalid)?;
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let metadata = metadata.as_object_mut().ok_or_else(invalid)?;
    metadata.insert("resourceVersion".into(), json!(patch.expected.resource_version));
    if !patch.expected.uid.is_empty() {
        metadata.insert("uid".into(), json!(patch.expected.uid));
    }
    Ok(merge)
}

fn check_index<K: Object>(query: &Query<K>) -> Result<(), StoreError> {
    let Some((name, _)) = &query.index else { return Ok(()) };
    if K::INDEXES.iter().any(|index| index.name == *name) {
        return Ok(());
    }
    let key = Key::<K>::new(query.namespace.clone().unwrap_or_default(), "");
    let message = format!("there is no index {name:?} of this kind");
    Err(StoreError::Invalid { object: ObjectRef::named(&key), message, fields: vec![] })
}

/// One cache per kind, made when it is first asked for.
#[derive(Default)]
struct Caches(Mutex<HashMap<TypeId, Fed>>);

/// A cache of some kind, and the task that feeds it.
type Fed = (Arc<dyn Any + Send + Sync>, AbortHandle);

impl Caches {
    fn of<K: Object>(&self, client: &Client) -> Arc<Cache<K>> {
        let mut caches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((cache, _)) = caches.get(&TypeId::of::<K>())
            && let Ok(cache) = cache.clone().downcast()
        {
            return cache;
        }
        let cache = Arc::new(Cache::<K>::new());
        let feed = tokio::spawn(feed::feed(client.clone(), cache.clone()));
        caches.insert(TypeId::of::<K>(), (cache.clone(), feed.abort_handle()));
        cache
    }
}

impl Caches {
    fn is_fed<K: Object>(&self) -> bool {
        let caches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        caches.get(&TypeId::of::<K>()).is_some_and(|(_, feed)| !feed.is_finished())
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        for (_, feed) in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            feed.abort();
        }
    }
}
