//! The world of the tests: the project `bakery` with the template `menu` and the Landscape `eu`, whose namespace
//! `bakery-eu` holds the Stages `dev` and `test`. Everything starts at noon.

use std::sync::Arc;

use futures::executor::block_on;
use jiff::{SignedDuration, Timestamp};
use konfidence_types::{
    Landscape, PromotionState, SourceRef, Stage, StageSpec, TargetRef, VectorPromotion, VectorPromotionConfig,
    VectorPromotionConfigSpec, VectorTemplate, annotation,
};
use kube::core::ResourceExt;
use serde_json::{Value, json};

use crate::clock::{Clock, ManualClock};
use crate::event::RecordedEvents;
use crate::plan::{Decision, Plan};
use crate::promotion::{
    Action, Inbox, Outcome, Phase, PromotionStore, Record, Records, Snapshot, Step, decide, load, reconcile,
};
use crate::store::engine::{Collector, Engine, Options};
use crate::store::{
    FaultyStore, Key, MemoryStore, Object, ObjectStore, Patch, Query, RecordingStore, Request, StoreError, Version,
};

pub(crate) const PROJECT: &str = "bakery";
pub(crate) const MANAGED: &str = "bakery-eu";
/// From the template to dev, without approval.
pub(crate) const AUTO: &str = "menu-to-dev";
/// From dev to test, with approval.
pub(crate) const GATED: &str = "dev-to-test";

pub(crate) type TestStore = FaultyStore<RecordingStore<MemoryStore>>;

pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) store: TestStore,
    pub(crate) events: RecordedEvents,
    pub(crate) inbox: Inbox,
}

pub(crate) fn noon() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn at(clock: &str) -> Timestamp {
    format!("2026-03-01T{clock}Z").parse().unwrap()
}

impl World {
    /// Landscape, Stages and an empty template; no config yet.
    pub(crate) fn empty() -> Self {
        let clock = ManualClock::new(noon());
        let collector = Collector::OnRequest;
        let options = Options { collector, ..Options::new(Arc::new(clock.clone())) };
        let memory = MemoryStore::over(Engine::new(options));
        let world = Self {
            clock,
            store: FaultyStore::new(RecordingStore::new(memory), 0),
            events: RecordedEvents::default(),
            inbox: Inbox::default(),
        };
        world.landscape();
        world.insert::<Stage>(json!({"metadata": {"namespace": MANAGED, "name": "dev"}, "spec": {"vector": ""}}));
        world.insert::<Stage>(json!({"metadata": {"namespace": MANAGED, "name": "test"}, "spec": {"vector": ""}}));
        world.insert::<VectorTemplate>(json!({
            "metadata": {"namespace": PROJECT, "name": "menu"},
            "spec": {"uploadTarget": "registry.example/bakery//menu", "components": [{"name": "oven:latest"}]},
        }));
        world
    }

    /// With the automatic config `menu-to-dev`.
    pub(crate) fn automatic() -> Self {
        Self::automatic_with(|_| {})
    }

    pub(crate) fn automatic_with(change: impl FnOnce(&mut VectorPromotionConfigSpec)) -> Self {
        let world = Self::empty();
        world.config(AUTO, SourceRef::template("menu"), TargetRef::stage("eu", "dev"), change);
        world
    }

    /// With the config `dev-to-test`, whose promotions a person approves.
    pub(crate) fn gated() -> Self {
        Self::gated_with(|_| {})
    }

    pub(crate) fn gated_with(change: impl FnOnce(&mut VectorPromotionConfigSpec)) -> Self {
        let world = Self::empty();
        world.config(GATED, SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"), change);
        world
    }

    pub(crate) fn config(
        &self,
        name: &str,
        source: SourceRef,
        target: TargetRef,
        change: impl FnOnce(&mut VectorPromotionConfigSpec),
    ) -> Arc<VectorPromotionConfig> {
        let mut spec = VectorPromotionConfigSpec::new(source, target);
        change(&mut spec);
        let mut config = VectorPromotionConfig::new(name, spec);
        config.metadata.namespace = Some(PROJECT.into());
        block_on(self.memory().create(&config)).unwrap()
    }

    pub(crate) fn landscape(&self) {
        self.insert::<Landscape>(json!({
            "metadata": {"namespace": PROJECT, "name": "eu"}, "spec": {}, "status": {"namespace": MANAGED},
        }));
    }

    /// The store below all decorators: what tests do to it is neither recorded nor let fail.
    pub(crate) fn memory(&self) -> &MemoryStore {
        self.store.inner().inner()
    }

    pub(crate) fn insert<K: Object>(&self, object: Value) {
        self.memory().insert_raw::<K>(object).unwrap();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// The template gets a vector, and the watch sees it.
    pub(crate) fn publish(&self, vector: &str) {
        let template = self.edit_status::<VectorTemplate>(PROJECT, "menu", json!({"latestVector": vector}));
        self.inbox.saw_template(&template);
    }

    /// Somebody sets the vector of a Stage by hand, and the watch sees it.
    pub(crate) fn set_vector(&self, stage: &str, vector: &str) {
        let stage = self.edit::<Stage>(MANAGED, stage, json!({"spec": {"vector": vector}}));
        self.inbox.saw_stage(&stage);
    }

    pub(crate) fn make_stage(&self, name: &str) {
        let mut stage = Stage::new(name, StageSpec { vector: String::new() });
        stage.metadata.namespace = Some(MANAGED.into());
        block_on(self.memory().create(&stage)).unwrap();
    }

    /// Somebody changes the main object.
    pub(crate) fn edit<K: Object>(&self, namespace: &str, name: &str, merge: Value) -> Arc<K> {
        let key = Key::<K>::new(namespace, name);
        let object = self.get::<K>(namespace, name).unwrap();
        block_on(self.memory().patch(&key, &Patch::new(Version::of(&*object), merge))).unwrap()
    }

    /// Somebody changes the status.
    pub(crate) fn edit_status<K: Object>(&self, namespace: &str, name: &str, status: impl Into<Value>) -> Arc<K> {
        let key = Key::<K>::new(namespace, name);
        let object = self.get::<K>(namespace, name).unwrap();
        let patch = Patch::new(Version::of(&*object), json!({ "status": status.into() }));
        block_on(self.memory().patch_status(&key, &patch)).unwrap()
    }

    pub(crate) fn edit_config(&self, name: &str, merge: Value) {
        self.edit::<VectorPromotionConfig>(PROJECT, name, merge);
    }

    pub(crate) fn delete<K: Object>(&self, namespace: &str, name: &str) {
        let store: &dyn ObjectStore<K> = self.memory();
        block_on(store.delete(&Key::new(namespace, name), &crate::store::Precondition::default())).unwrap();
    }

    pub(crate) fn get<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        block_on(self.memory().get(&Key::<K>::new(namespace, name))).unwrap()
    }

    /// `Approved=True`, as `approve` writes it.
    pub(crate) fn approve(&self, name: &str) {
        let approved = json!({
            "type": "Approved", "status": "True", "reason": "ManuallyApproved", "message": "approved by ada",
            "lastTransitionTime": self.now().to_string(),
        });
        self.edit_status::<VectorPromotion>(
            PROJECT,
            name,
            json!({
                "conditions": [approved], "state": "Ready",
                "approval": {"approvedBy": "ada", "approvedAt": self.now().to_string()},
            }),
        );
    }

    /// Runs the rules for one config until they rest.
    pub(crate) fn settle(&self, config: &str) -> Outcome {
        self.try_settle(config).unwrap()
    }

    pub(crate) fn try_settle(&self, config: &str) -> Result<Outcome, StoreError> {
        let key = Key::new(PROJECT, config);
        Ok(block_on(reconcile(&self.store, &self.clock, &self.events, &self.inbox, &key))?)
    }

    pub(crate) fn snapshot(&self, config: &str) -> Snapshot {
        let store: &dyn PromotionStore = self.memory();
        block_on(load(store, &self.inbox, &Key::new(PROJECT, config))).unwrap()
    }

    /// The plan for what is stored, the one thing that a decision answers where nothing is in doubt.
    pub(crate) fn plan(&self, config: &str) -> Plan<Step> {
        plan_of(&self.snapshot(config), self.now())
    }

    /// What the next plan would do: action and subject of each step.
    pub(crate) fn steps(&self, config: &str) -> Vec<(Action, String)> {
        named(&self.plan(config))
    }

    pub(crate) fn promotion(&self, name: &str) -> Arc<VectorPromotion> {
        self.get(PROJECT, name).unwrap_or_else(|| panic!("there is no promotion {name}"))
    }

    pub(crate) fn promotions(&self) -> Vec<Arc<VectorPromotion>> {
        block_on(self.memory().list(&Query::<VectorPromotion>::within(PROJECT))).unwrap().items
    }

    /// Name, vector and state of every promotion, by name.
    pub(crate) fn overview(&self) -> Vec<(String, String, PromotionState)> {
        self.promotions()
            .iter()
            .map(|promotion| {
                let state = Phase::of_promotion(promotion).state();
                (promotion.name_any(), promotion.spec.vector.clone(), state)
            })
            .collect()
    }

    pub(crate) fn phase(&self, name: &str) -> Phase {
        Phase::of_promotion(&self.promotion(name))
    }

    pub(crate) fn vector(&self, stage: &str) -> String {
        self.get::<Stage>(MANAGED, stage).unwrap().spec.vector.clone()
    }

    pub(crate) fn stage(&self, stage: &str) -> Arc<Stage> {
        self.get(MANAGED, stage).unwrap()
    }

    pub(crate) fn record(&self, stage: &str, config: &str) -> Record {
        Records::of(&self.stage(stage)).named(config).cloned().unwrap()
    }

    pub(crate) fn stored_config(&self, name: &str) -> Arc<VectorPromotionConfig> {
        self.get(PROJECT, name).unwrap()
    }

    pub(crate) fn ready(&self, config: &str) -> (String, String, String) {
        let config = self.stored_config(config);
        let ready = config.status.as_ref().and_then(|status| status.conditions.first()).unwrap();
        (ready.status.clone(), ready.reason.clone(), ready.message.clone())
    }

    /// The writes since the last call, and forgets them.
    pub(crate) fn writes(&self) -> Vec<Request> {
        self.store.inner().take().into_iter().filter(|request| request.verb.is_write()).collect()
    }

    /// Nothing is written however often the key is looked at again (P50).
    #[track_caller]
    pub(crate) fn assert_quiet(&self, config: &str) {
        self.writes();
        for _ in 0..10 {
            self.settle(config);
        }
        assert_eq!(self.writes(), [], "a quiet world is written to");
    }

    pub(crate) fn annotation(&self, promotion: &str, name: &str) -> Option<String> {
        self.promotion(promotion).annotations().get(name).cloned()
    }
}

pub(crate) fn plan_of(snapshot: &Snapshot, now: Timestamp) -> Plan<Step> {
    match decide(snapshot, now) {
        Decision::Plan(plan) => plan,
        Decision::Verify(doubt) => panic!("in doubt: {doubt:?}"),
    }
}

pub(crate) fn named(plan: &Plan<Step>) -> Vec<(Action, String)> {
    plan.steps.iter().map(|step| (step.action, step.subject.clone())).collect()
}

/// A promotion as somebody may find it: `promotion(AUTO, 3).of("menu:2").in_progress()`.
pub(crate) struct Stored(Value);

/// A hand-made promotion of `menu:<sequence>` to dev, without approval and without an owner, nothing written yet.
pub(crate) fn promotion(config: &str, sequence: i64) -> Stored {
    Stored(json!({
        "metadata": {"namespace": PROJECT, "name": format!("{config}-{sequence}"), "annotations": {}},
        "spec": {
            "vectorPromotionConfigName": config,
            "source": {"kind": "VectorTemplate", "name": "menu"},
            "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            "vector": format!("menu:{sequence}"),
            "requireApproval": false,
            "sequence": sequence,
        },
        "status": {"conditions": []},
    }))
}

impl Stored {
    pub(crate) fn named(self, name: &str) -> Self {
        self.with("/metadata/name", json!(name))
    }

    pub(crate) fn of(self, vector: &str) -> Self {
        self.with("/spec/vector", json!(vector))
    }

    pub(crate) fn to(self, landscape: &str, stage: &str) -> Self {
        self.with("/spec/target", json!({"kind": "Stage", "landscape": landscape, "name": stage}))
    }

    pub(crate) fn gated(self) -> Self {
        self.with("/spec/requireApproval", json!(true))
    }

    pub(crate) fn expiring_after(self, ttl: &str) -> Self {
        self.with("/spec/ttlAfterFinished", json!(ttl))
    }

    pub(crate) fn annotated(self, name: &str, value: &str) -> Self {
        let mut annotations = self.0["metadata"]["annotations"].clone();
        annotations[name] = json!(value);
        self.with("/metadata/annotations", annotations)
    }

    pub(crate) fn owned_by(self, config: &VectorPromotionConfig) -> Self {
        let uid = config.uid().unwrap();
        self.owned_by_uid(&config.name_any(), &uid)
    }

    pub(crate) fn owned_by_uid(mut self, config: &str, uid: &str) -> Self {
        self.0["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotionConfig",
            "name": config, "uid": uid, "controller": true,
        }]);
        self
    }

    pub(crate) fn in_progress(self) -> Self {
        self.ended("False", "PromotionRunning", noon()).with(
            "/status/promotedStageRef",
            json!({"apiGroup": "konfidence.cloud", "kind": "Stage", "namespace": MANAGED, "name": "dev"}),
        )
    }

    pub(crate) fn succeeded(self) -> Self {
        self.ended("True", "PromotionSucceeded", noon())
    }

    pub(crate) fn blocked(self) -> Self {
        self.ended("False", "PromotionTargetUnresolved", noon())
    }

    pub(crate) fn failed(self, reason: &str) -> Self {
        self.ended("False", reason, noon())
    }

    pub(crate) fn ended(mut self, status: &str, reason: &str, since: Timestamp) -> Self {
        self.0["status"]["conditions"] = json!([{
            "type": "Succeeded", "status": status, "reason": reason, "message": "as it was found",
            "lastTransitionTime": since.to_string(),
        }]);
        self
    }

    pub(crate) fn approved(mut self) -> Self {
        let approved = json!({
            "type": "Approved", "status": "True", "reason": "ManuallyApproved", "message": "approved by ada",
            "lastTransitionTime": noon().to_string(),
        });
        if let Some(conditions) = self.0["status"]["conditions"].as_array_mut() {
            conditions.push(approved);
        }
        self
    }

    fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        self.0.pointer_mut(parent).unwrap()[field] = value;
        self
    }

    pub(crate) fn into(self, world: &World) {
        world.insert::<VectorPromotion>(self.0);
    }
}

/// The number of the last resumption, if there was one.
pub(crate) fn attempt(world: &World, promotion: &str) -> Option<u32> {
    let text = world.annotation(promotion, annotation::ATTEMPT)?;
    text.split_once('@').and_then(|(number, _)| number.parse().ok())
}

impl World {
    /// Brings the config's own status up to date and nothing else.
    pub(crate) fn settle_config_only(&self) {
        let key = Key::<VectorPromotionConfig>::new(PROJECT, AUTO);
        let config = self.stored_config(AUTO);
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "TargetResolved", "lastTransitionTime": noon().to_string(),
            "message": "promotes from VectorTemplate menu to Stage eu/dev automatically",
            "observedGeneration": config.metadata.generation,
        });
        let status = json!({"conditions": [ready], "sequence": 0, "observedGeneration": config.metadata.generation});
        let patch = Patch::new(Version::of(&*config), json!({ "status": status }));
        block_on(self.memory().patch_status(&key, &patch)).unwrap();
    }
}
