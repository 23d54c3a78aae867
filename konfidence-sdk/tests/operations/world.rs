//! The bakery: a template `menu`, a Landscape `eu` with the stages `dev` and `test`, and a clock that stands.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::clock::{Clock, ManualClock};
use konfidence_sdk::event::{NoEvents, RecordedEvents};
use konfidence_sdk::promotion::{self, Explanation, Inbox, Refusal};
use konfidence_sdk::store::{
    FaultyStore, Key, Listed, MemoryStore, Object, ObjectStore, Patch, Precondition, Query, RecordingStore, StoreError,
    Verb, Version,
};
use konfidence_sdk::types::{
    Landscape, SourceRef, Stage, TargetRef, VectorPromotion, VectorPromotionConfig, VectorPromotionConfigSpec,
    VectorTemplate,
};
use serde_json::{Value, json};

pub(crate) type Store = RecordingStore<FaultyStore<MemoryStore>>;

pub(crate) fn noon() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    pub(crate) events: RecordedEvents,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new(noon());
        let memory = MemoryStore::with_clock(Arc::new(clock.clone()));
        let landscape = json!({
            "metadata": {"namespace": "bakery", "name": "eu"}, "spec": {}, "status": {"namespace": "bakery-eu"},
        });
        memory.insert_raw::<Landscape>(landscape).unwrap();
        let template = json!({
            "metadata": {"namespace": "bakery", "name": "menu"},
            "spec": {"uploadTarget": "registry.example.com/menu", "components": [{"name": "registry.example.com/bread:1"}]},
        });
        memory.insert_raw::<VectorTemplate>(template).unwrap();
        for stage in ["dev", "test"] {
            let stage = json!({"metadata": {"namespace": "bakery-eu", "name": stage}, "spec": {"vector": ""}});
            memory.insert_raw::<Stage>(stage).unwrap();
        }
        let store = RecordingStore::new(FaultyStore::new(memory, 0));
        Self { store, clock, events: RecordedEvents::default() }
    }

    /// With the config `menu-to-dev`, automatic and initialised; the template is at `menu:1`, and so is dev.
    pub(crate) async fn automatic() -> Self {
        let world = Self::new();
        world.template_has("menu:1").await;
        world.config("menu-to-dev", SourceRef::template("menu"), TargetRef::stage("eu", "dev")).await;
        world.settle("menu-to-dev").await;
        world.forget();
        world
    }

    /// With the config `dev-to-test`, which asks for approval; dev is at `menu:1`, and `dev-to-test-1` waits.
    pub(crate) async fn approved() -> Self {
        let world = Self::new();
        world.stage_has("dev", "menu:1").await;
        world.config("dev-to-test", SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test")).await;
        world.settle("dev-to-test").await;
        world.forget();
        world
    }

    /// Nothing of what happened so far counts.
    pub(crate) fn forget(&self) {
        self.store.take();
        self.events.take();
    }

    pub(crate) fn memory(&self) -> &MemoryStore {
        self.store.inner().inner()
    }

    pub(crate) async fn config(&self, name: &str, source: SourceRef, target: TargetRef) {
        let mut config = VectorPromotionConfig::new(name, VectorPromotionConfigSpec::new(source, target));
        config.metadata.namespace = Some("bakery".into());
        self.memory().create(&config).await.unwrap();
    }

    pub(crate) async fn change_config(&self, name: &str, merge: Value) {
        change(self.memory(), &config(name), merge).await;
    }

    pub(crate) async fn template_has(&self, vector: &str) {
        let menu: Key<VectorTemplate> = Key::new("bakery", "menu");
        change_status(self.memory(), &menu, json!({"latestVector": vector})).await;
    }

    pub(crate) async fn stage_has(&self, name: &str, vector: &str) {
        change(self.memory(), &stage(name), json!({"spec": {"vector": vector}})).await;
    }

    pub(crate) async fn vector_of(&self, name: &str) -> String {
        let stage = ObjectStore::<Stage>::get(self.memory(), &stage(name)).await.unwrap().unwrap();
        stage.spec.vector.clone()
    }

    pub(crate) async fn promotion(&self, name: &str) -> Arc<VectorPromotion> {
        self.memory().get(&promotion_key(name)).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, name: &str) -> String {
        let promotion = self.promotion(name).await;
        promotion.status.as_ref().and_then(|status| status.state.clone()).unwrap_or_default()
    }

    /// The names of all promotions.
    pub(crate) async fn promotions(&self) -> Vec<String> {
        let listed: Listed<VectorPromotion> = self.memory().list(&Query::all()).await.unwrap();
        listed.items.iter().map(|promotion| promotion.metadata.name.clone().unwrap()).collect()
    }

    /// Puts a promotion in by hand; `status` may be null.
    pub(crate) fn by_hand(&self, name: &str, of: &str, sequence: i64, vector: &str, gated: bool, status: Value) {
        let mut promotion = json!({
            "metadata": {"namespace": "bakery", "name": name},
            "spec": {
                "vectorPromotionConfigName": of, "source": {"kind": "Stage", "landscape": "eu", "name": "dev"},
                "target": {"kind": "Stage", "landscape": "eu", "name": "test"},
                "vector": vector, "requireApproval": gated, "sequence": sequence,
            },
        });
        if !status.is_null() {
            promotion["status"] = status;
        }
        self.memory().insert_raw::<VectorPromotion>(promotion).unwrap();
    }

    /// A finalizer keeps the promotion in the state of being deleted.
    pub(crate) async fn delete_slowly<K: Object>(&self, key: &Key<K>) {
        change(self.memory(), key, json!({"metadata": {"finalizers": ["bakery.example.com/slow"]}})).await;
        self.memory().delete(key, &Precondition::default()).await.unwrap();
    }

    pub(crate) async fn set_status(&self, name: &str, status: Value) {
        change_status(self.memory(), &promotion_key(name), status).await;
    }

    pub(crate) async fn settle(&self, name: &str) {
        promotion::reconcile(self.memory(), &self.clock, &NoEvents, &Inbox::default(), &config(name)).await.unwrap();
    }

    pub(crate) fn pass(&self, time: SignedDuration) {
        self.clock.advance(time);
    }

    pub(crate) async fn approve(&self, name: &str, by: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::approve(&self.store, &self.clock, &self.events, &promotion_key(name), by).await
    }

    pub(crate) async fn reject(&self, name: &str, by: &str, reason: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::reject(&self.store, &self.clock, &self.events, &promotion_key(name), by, reason).await
    }

    pub(crate) async fn retry(&self, name: &str, by: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::retry(&self.store, &self.events, &promotion_key(name), by).await
    }

    pub(crate) async fn promote(&self, of: &str, vector: &str, by: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::promote(&self.store, &self.events, &config(of), vector, by).await
    }

    pub(crate) async fn release(&self, of: &str, by: &str) -> Result<Arc<VectorPromotionConfig>, Refusal> {
        promotion::release(&self.store, &config(of), by).await
    }

    pub(crate) async fn snapshot(&self, name: &str) -> promotion::Snapshot {
        promotion::load(self.memory(), &Inbox::default(), &config(name)).await.unwrap()
    }

    pub(crate) async fn explain(&self, name: &str) -> Explanation {
        promotion::explain(&self.snapshot(name).await, self.clock.now())
    }

    pub(crate) async fn explain_promotion(&self, of: &str, name: &str) -> promotion::PromotionExplanation {
        promotion::explain_promotion(&self.snapshot(of).await, self.clock.now(), name).unwrap()
    }

    /// `refused` has one of the refusals, names its object, and left no trace.
    pub(crate) fn assert_untouched(&self, refused: &Refusal, object: &str) {
        let message = refused.to_string();
        assert!(message.contains(object), "{message}");
        assert!(message.contains(": "), "names no remedy: {message}");
        assert_eq!(self.store.writes(), [], "{message}");
        assert_eq!(self.events.reasons(), Vec::<&str>::new(), "{message}");
    }
}

pub(crate) fn config(name: &str) -> Key<VectorPromotionConfig> {
    Key::new("bakery", name)
}

pub(crate) fn promotion_key(name: &str) -> Key<VectorPromotion> {
    Key::new("bakery", name)
}

pub(crate) fn stage(name: &str) -> Key<Stage> {
    Key::new("bakery-eu", name)
}

/// A status with `Succeeded` as given, since noon.
pub(crate) fn succeeded(status: &str, reason: &str) -> Value {
    json!({"conditions": [{
        "type": "Succeeded", "status": status, "reason": reason, "message": "as it was put in by hand",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }]})
}

pub(crate) async fn change<K: Object>(memory: &MemoryStore, key: &Key<K>, merge: Value) {
    let read = ObjectStore::<K>::get(memory, key).await.unwrap().unwrap();
    memory.patch(key, &Patch::new(Version::of(&*read), merge)).await.unwrap();
}

pub(crate) async fn change_status<K: Object>(memory: &MemoryStore, key: &Key<K>, status: Value) {
    let read = ObjectStore::<K>::get(memory, key).await.unwrap().unwrap();
    memory.patch_status(key, &Patch::new(Version::of(&*read), json!({ "status": status }))).await.unwrap();
}

type Happening = Box<dyn FnOnce(&MemoryStore) + Send>;

/// A store in which something happens just before the first request of one verb arrives.
pub(crate) struct Meanwhile {
    store: MemoryStore,
    before: Verb,
    happening: Mutex<Option<Happening>>,
}

impl Meanwhile {
    pub(crate) fn new(
        store: &MemoryStore,
        before: Verb,
        happening: impl FnOnce(&MemoryStore) + Send + 'static,
    ) -> Self {
        Self { store: store.clone(), before, happening: Mutex::new(Some(Box::new(happening))) }
    }

    fn about_to(&self, verb: Verb) -> &MemoryStore {
        if verb == self.before
            && let Some(happening) = self.happening.lock().unwrap().take()
        {
            happening(&self.store);
        }
        &self.store
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for Meanwhile {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.about_to(Verb::Get).get(key).await
    }
    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.about_to(Verb::List).list(query).await
    }
    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.about_to(Verb::GetLive).get_live(key).await
    }
    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.about_to(Verb::ListLive).list_live(query).await
    }
    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.about_to(Verb::Create).create(object).await
    }
    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.about_to(Verb::Patch).patch(key, patch).await
    }
    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.about_to(Verb::PatchStatus).patch_status(key, patch).await
    }
    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.about_to(Verb::Delete).delete(key, precondition).await
    }
}
