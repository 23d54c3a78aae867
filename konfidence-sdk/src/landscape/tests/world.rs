//! A controller and its world: a store, caches that lag behind it, requests that fail, and nothing that wakes the
//! controller but watch events and the back-off after an error. There is no resync, so what heals here heals by watch.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Landscape, LandscapeSpec, condition, condition_type};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::at;
use crate::clock::ManualClock;
use crate::event::RecordedEvents;
use crate::landscape::{Outcome, Settings, affected_by_landscape, affected_by_namespace, reconcile};
use crate::store::{
    FaultyStore, Key, MemoryStore, Object, ObjectStore, Patch, Precondition, RecordingStore, StaleStore, StoreError,
    Version,
};

pub(super) struct World {
    /// What the controller sees.
    pub(super) store: RecordingStore<FaultyStore<StaleStore>>,
    /// What there is: users act here.
    pub(super) server: MemoryStore,
    pub(super) events: RecordedEvents,
    pub(super) clock: ManualClock,
    settings: Settings,
    queue: BTreeSet<Key<Landscape>>,
    /// Decides what happens next where several things can: deliveries of either kind, or a reconcile.
    choices: Vec<u8>,
    chosen: usize,
}

pub(super) fn eu() -> Key<Landscape> {
    Key::new("bakery", "eu")
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_choices(vec![0], 0)
    }

    /// A world whose order of things follows `choices` and whose faults follow `seed`.
    pub(super) fn with_choices(choices: Vec<u8>, seed: u64) -> Self {
        let clock = ManualClock::new(at(0));
        let server = MemoryStore::with_clock(Arc::new(clock.clone()));
        Self {
            store: RecordingStore::new(FaultyStore::new(StaleStore::new(server.clone()), seed)),
            server,
            events: RecordedEvents::default(),
            clock,
            settings: Settings { own_namespace: Some("konfidence-system".into()) },
            queue: BTreeSet::new(),
            choices,
            chosen: 0,
        }
    }

    /// What the controller's cached reads show; it lags until its events are delivered.
    pub(super) fn cache(&self) -> &StaleStore {
        self.store.inner().inner()
    }

    pub(super) async fn reconcile(&self, key: &Key<Landscape>) -> Result<Outcome, StoreError> {
        reconcile(&self.store, &self.clock, &self.events, &self.settings, key).await
    }

    /// Delivers watch events and runs what they wake, in the order that the choices give, until all is quiet.
    pub(super) async fn settle(&mut self) {
        for _ in 0..5_000 {
            if !self.step().await {
                return;
            }
        }
        panic!("the world does not come to rest; next: {:?}", self.queue);
    }

    /// One of the things that can happen now; false: nothing can.
    pub(super) async fn step(&mut self) -> bool {
        let (landscapes, namespaces) = (self.is_behind::<Landscape>(), self.is_behind::<Namespace>());
        let open: Vec<u8> = [(0, landscapes), (1, namespaces), (2, !self.queue.is_empty())]
            .into_iter()
            .filter_map(|(action, is_open)| is_open.then_some(action))
            .collect();
        if open.is_empty() {
            return false;
        }
        self.chosen += 1;
        match open[usize::from(self.choices[self.chosen % self.choices.len()]) % open.len()] {
            0 => {
                let changed = self.deliver::<Landscape>();
                self.queue.extend(affected_by_landscape(self.cache(), &changed).await.unwrap());
            }
            1 => {
                let changed = self.deliver::<Namespace>();
                self.queue.extend(affected_by_namespace(self.cache(), &changed).await.unwrap());
            }
            _ => {
                let key = self.queue.pop_first().unwrap();
                match self.reconcile(&key).await {
                    Ok(outcome) => assert_eq!(outcome.wake_up, None, "healed by watch, no timer (R62)"),
                    Err(_) => _ = self.queue.insert(key),
                }
            }
        }
        true
    }

    fn is_behind<K: Object>(&self) -> bool {
        self.server.collection::<K>().next_event(self.cache().position::<K>()).unwrap().is_some()
    }

    fn deliver<K: Object>(&self) -> Arc<K> {
        self.cache().advance::<K>().unwrap().unwrap().object.parse::<K>().unwrap()
    }

    /// The writes of a resync: everything is decided again on what is there now.
    pub(super) async fn writes_of_a_resync(&self) -> Vec<String> {
        self.store.take();
        for landscape in self.server.list(&crate::store::Query::<Landscape>::all()).await.unwrap().items {
            self.reconcile(&Key::of(&*landscape)).await.unwrap();
        }
        self.store.writes().iter().map(ToString::to_string).collect()
    }

    // What users do.

    pub(super) async fn make_landscape(&self, parent: &str, name: &str, namespace: Option<&str>) {
        let spec = LandscapeSpec { namespace: namespace.map(Into::into), ..LandscapeSpec::default() };
        let mut landscape = Landscape::new(name, spec);
        landscape.metadata.namespace = Some(parent.into());
        _ = self.server.create(&landscape).await;
    }

    pub(super) async fn make_namespace(&self, name: &str, labels: Value) {
        let namespace: Namespace = super::from(json!({ "metadata": { "name": name, "labels": labels } }));
        _ = self.server.create(&namespace).await;
    }

    /// Changes an object's metadata, whatever its version.
    pub(super) async fn edit<K: Object>(&self, key: &Key<K>, metadata: Value) {
        if let Some(object) = self.server.get(key).await.unwrap() {
            let patch = Patch::new(Version::of(&*object), json!({ "metadata": metadata }));
            self.server.patch(key, &patch).await.unwrap();
        }
    }

    pub(super) async fn delete<K: Object>(&self, key: &Key<K>) {
        _ = self.server.delete(key, &Precondition::default()).await;
    }

    // What they see.

    pub(super) async fn landscape(&self, key: &Key<Landscape>) -> Option<Arc<Landscape>> {
        self.server.get(key).await.unwrap()
    }

    pub(super) async fn namespace(&self, name: &str) -> Option<Arc<Namespace>> {
        self.server.get(&Key::cluster(name)).await.unwrap()
    }

    pub(super) async fn label(&self, namespace: &str, label: &str) -> Option<String> {
        self.namespace(namespace).await?.labels().get(label).cloned()
    }

    /// `True/LandscapeReconciled`; empty without that condition.
    pub(super) async fn ready(&self, key: &Key<Landscape>) -> String {
        let status = self.landscape(key).await.and_then(|landscape| landscape.status.clone()).unwrap_or_default();
        let ready = condition(&status.conditions, condition_type::READY);
        ready.map(|ready| format!("{}/{}", ready.status, ready.reason)).unwrap_or_default()
    }
}
