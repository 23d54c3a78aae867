//! A project on a server, with controllers at work and people who act.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use e2e::{Call, Kind, Meddling, Server, Shifted, Turn, Wire};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use konfidence_controllers::runtime::Election;
use konfidence_controllers::store::KubeStore;
use konfidence_controllers::wiring::{DomainName, Process};
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{self, Refusal, conditions_of};
use konfidence_sdk::store::{BY_CONFIG, Key, Object, ObjectStore, Patch, Precondition, Query, StoreError, Version};
use konfidence_types::{
    Component, Condition, Landscape, LandscapeSpec, SourceRef, Stage, StageSpec, TargetRef, VectorPromotion,
    VectorPromotionConfig, VectorPromotionConfigSpec, VectorTemplate, VectorTemplateSpec, condition, condition_type,
};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long something that has to come may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long nothing is asked of the server before it counts as rest.
const QUIET: Duration = Duration::from_millis(400);

/// A case that runs longer than this hangs.
const LONGEST: Duration = Duration::from_secs(150);

pub(crate) type Case = for<'a> fn(&'a World) -> LocalBoxFuture<'a, ()>;

/// The case as a test on each server.
pub(crate) fn trials(name: &str, case: Case) -> Vec<Trial> {
    let servers = [("in_process", Kind::InProcess), ("over_tcp", Kind::OverTcp), ("real", Kind::Real)];
    let trial = |(server, kind)| {
        Trial::test(format!("{server}::{name}"), move || {
            on(kind, case);
            Ok(())
        })
    };
    servers.map(trial).into()
}

/// Runs a case in a world of its own.
fn on(kind: Kind, case: Case) {
    let turn = Turn::take(kind);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(server) = Server::of(&turn).await else { return };
        let world = World::new(server).await;
        let ended = AssertUnwindSafe(async {
            world.found().await;
            tokio::time::timeout(LONGEST, case(&world)).await.expect("the case ends");
            assert_eq!(world.lacking(&world.wire), Vec::<String>::new(), "the controllers lack these rights");
            assert_eq!(world.lacking(&world.people), Vec::<String>::new(), "the people lack these rights");
        });
        let ended = ended.catch_unwind().await;
        world.end().await;
        ended.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) clock: Shifted,
    /// The requests of the controllers.
    pub(crate) wire: Arc<Wire>,
    /// The requests of the people.
    pub(crate) people: Arc<Wire>,
    /// May do everything; not noted.
    pub(crate) admin: KubeStore,
    /// What the people act through.
    pub(crate) person: KubeStore,
    /// Namespace of the project.
    pub(crate) project: String,
    managed: RefCell<String>,
    controllers: RefCell<Vec<Controllers>>,
    namespaces: RefCell<Vec<String>>,
    nudges: Cell<u32>,
}

impl World {
    async fn new(server: Server) -> Self {
        let people = Arc::new(Wire::default());
        let world = Self {
            clock: Shifted::default(),
            wire: Arc::default(),
            admin: KubeStore::direct(server.admin.clone()),
            person: KubeStore::direct(people.client(&server.approver)),
            people,
            project: format!("e2e-{:x}", SystemClock.now().as_nanosecond()),
            managed: RefCell::default(),
            controllers: RefCell::default(),
            namespaces: RefCell::default(),
            nudges: Cell::default(),
            server,
        };
        world.namespace(&world.project).await;
        world
    }

    /// The controllers start, and the Landscape gets its namespace from them.
    async fn found(&self) {
        self.start().await;
        self.landscape("eu", None).await;
        until("the landscape has its namespace", async || {
            let landscape: Arc<Landscape> = self.get(&self.project, "eu").await;
            let managed = landscape.status.as_ref().and_then(|status| status.namespace.clone());
            self.managed.replace(managed.unwrap_or_default());
            !self.managed().is_empty()
        })
        .await;
        self.wire.clear();
    }

    async fn end(self) {
        self.wire.leave_alone();
        if self.server.embedded.is_none() {
            // With the Landscape goes its namespace, as long as there is somebody to take it along.
            let landscapes: Vec<Arc<Landscape>> = self.all().await;
            for landscape in &landscapes {
                self.delete::<Landscape>(&self.project, &landscape.name_any()).await;
            }
            if !self.controllers.borrow().is_empty() {
                let gone = async {
                    while !self.all::<Landscape>().await.is_empty() {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                };
                // Whatever is left goes with the server, or is the user's to see.
                let _ = tokio::time::timeout(Duration::from_secs(10), gone).await;
            }
            let namespaces: Api<Namespace> = Api::all(self.server.admin.clone());
            for namespace in self.namespaces.take() {
                let _ = namespaces.delete(&namespace, &DeleteParams::default()).await;
            }
        }
        for controllers in self.controllers.take() {
            controllers.kill();
        }
    }

    /// Namespace of the Landscape `eu`.
    pub(crate) fn managed(&self) -> String {
        self.managed.borrow().clone()
    }

    // ---- controllers

    /// Starts one more process with all domains, and waits until it is ready.
    pub(crate) async fn start(&self) {
        self.start_with(&self.wire, &self.clock, None).await;
    }

    pub(crate) async fn start_with(&self, wire: &Arc<Wire>, clock: &Shifted, election: Option<Election>) {
        let controllers = Controllers::start(wire, &self.server, clock, election);
        let process = controllers.process.clone();
        self.controllers.borrow_mut().push(controllers);
        until("the controllers are ready", async || process.health().is_ready().0).await;
    }

    /// The process that was started last: takes it away.
    pub(crate) fn last(&self) -> Controllers {
        self.controllers.borrow_mut().pop().expect("a process was started")
    }

    /// The first process that was started and is still there.
    pub(crate) fn process(&self) -> Arc<Process> {
        self.controllers.borrow()[0].process.clone()
    }

    pub(crate) async fn stop(&self) {
        let controllers = self.last();
        controllers.stop().await;
    }

    /// Writes of the controllers in this world, events apart: `patch stages dev`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls.filter(|call| call.writes() && call.group != "events.k8s.io").map(|call| call.words()).collect()
    }

    /// Requests of the controllers in this world's namespaces.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let ours = [self.project.clone(), self.managed()];
        self.wire.calls().into_iter().filter(|call| ours.contains(&call.namespace)).collect()
    }

    /// Rights that were missing. A namespace that another test has left, and that is on its way out, refuses in the
    /// same words.
    fn lacking(&self, wire: &Wire) -> Vec<String> {
        let ours = [String::new(), self.project.clone(), self.managed()];
        let forbidden = wire.forbidden().into_iter().filter(|call| ours.contains(&call.namespace));
        forbidden.map(|call| call.right()).collect()
    }

    /// Meddles with the controllers' writes of Stages.
    pub(crate) fn meddle_with_stages(&self, meddling: Meddling) {
        self.wire.meddle(move |call| (call.verb == "patch" && call.resource == "stages").then_some(meddling));
    }

    /// Waits until the controllers ask for nothing any more.
    pub(crate) async fn rest(&self) {
        let mut seen = self.wire.calls().len();
        loop {
            tokio::time::sleep(QUIET).await;
            let now = self.wire.calls().len();
            if now == seen {
                return;
            }
            seen = now;
        }
    }

    /// Moves the controllers' clock, and has them look at the config.
    pub(crate) async fn advance(&self, config: &str, by: SignedDuration) {
        self.clock.advance(by);
        self.nudge(config).await;
    }

    /// A change that means nothing.
    pub(crate) async fn nudge(&self, config: &str) {
        self.nudges.set(self.nudges.get() + 1);
        let noise = json!({"metadata": {"annotations": {"bakery.example/seen": self.nudges.get().to_string()}}});
        self.change::<VectorPromotionConfig>(&self.project, config, noise).await;
    }

    // ---- objects

    pub(crate) async fn create<K: Object>(&self, object: &K) -> Arc<K> {
        let created = self.admin.create(object).await;
        created.unwrap_or_else(|error| panic!("{} {}: {error}", K::kind(&()), object.name_any()))
    }

    pub(crate) async fn get<K: Object>(&self, namespace: &str, name: &str) -> Arc<K> {
        self.find(namespace, name).await.unwrap_or_else(|| panic!("there is no {} {namespace}/{name}", K::kind(&())))
    }

    pub(crate) async fn find<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.admin.get_live(&Key::new(namespace, name)).await.unwrap()
    }

    /// All of the project.
    pub(crate) async fn all<K: Object>(&self) -> Vec<Arc<K>> {
        self.admin.list_live(&Query::within(&self.project)).await.unwrap().items
    }

    /// Changes an object by a merge patch, whoever else writes it.
    pub(crate) async fn change<K: Object>(&self, namespace: &str, name: &str, merge: Value) -> Arc<K> {
        loop {
            match self.try_change(namespace, name, merge.clone()).await {
                Err(StoreError::Conflict { .. }) => {}
                changed => return changed.unwrap(),
            }
        }
    }

    pub(crate) async fn try_change<K: Object>(
        &self,
        namespace: &str,
        name: &str,
        merge: Value,
    ) -> Result<Arc<K>, StoreError> {
        let object: Arc<K> = self.get(namespace, name).await;
        self.admin.patch(&Key::of(&*object), &Patch::new(Version::of(&*object), merge)).await
    }

    pub(crate) async fn delete<K: Object>(&self, namespace: &str, name: &str) {
        ObjectStore::<K>::delete(&self.admin, &Key::new(namespace, name), &Precondition::default()).await.unwrap();
    }

    pub(crate) async fn namespace(&self, name: &str) {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.into());
        self.create(&namespace).await;
        self.namespaces.borrow_mut().push(name.into());
    }

    pub(crate) async fn landscape(&self, name: &str, namespace: Option<&str>) {
        let spec = LandscapeSpec { namespace: namespace.map(str::to_owned), ..LandscapeSpec::default() };
        let mut landscape = Landscape::new(name, spec);
        landscape.metadata.namespace = Some(self.project.clone());
        self.create(&landscape).await;
    }

    pub(crate) async fn stage(&self, name: &str) -> Arc<Stage> {
        let mut stage = Stage::new(name, StageSpec::default());
        stage.metadata.namespace = Some(self.managed());
        self.create(&stage).await
    }

    pub(crate) async fn template(&self, name: &str) {
        self.template_in(&self.project, name).await;
    }

    pub(crate) async fn template_in(&self, namespace: &str, name: &str) {
        let spec = VectorTemplateSpec {
            upload_target: "registry.example/bakery".into(),
            components: vec![Component { name: "registry.example/bakery//bread".into(), as_: None }],
            ..VectorTemplateSpec::default()
        };
        let mut template = VectorTemplate::new(name, spec);
        template.metadata.namespace = Some(namespace.into());
        self.create(&template).await;
    }

    /// A config to the stage `target` of `eu`.
    pub(crate) async fn config(
        &self,
        name: &str,
        source: SourceRef,
        target: &str,
        set: impl FnOnce(&mut VectorPromotionConfigSpec),
    ) -> Arc<VectorPromotionConfig> {
        let mut spec = VectorPromotionConfigSpec::new(source, TargetRef::stage("eu", target));
        set(&mut spec);
        let mut config = VectorPromotionConfig::new(name, spec);
        config.metadata.namespace = Some(self.project.clone());
        self.create(&config).await
    }

    /// Stage `dev`, template `menu`, and the automatic config `menu-to-dev` at rest.
    pub(crate) async fn automatic(&self) {
        self.automatic_with(|_| {}).await;
    }

    pub(crate) async fn automatic_with(&self, set: impl FnOnce(&mut VectorPromotionConfigSpec)) {
        self.stage("dev").await;
        self.template("menu").await;
        self.config("menu-to-dev", SourceRef::template("menu"), "dev", set).await;
        self.becomes("menu-to-dev", "TargetResolved").await;
    }

    /// The same with a person who decides.
    pub(crate) async fn gated(&self) {
        self.automatic_with(|spec| spec.require_approval = Some(true)).await;
    }

    /// The same, with candidates 1 to `count` that wait.
    pub(crate) async fn candidates(&self, count: usize) {
        self.gated().await;
        for n in 1..=count {
            self.assemble(&format!("menu:{n}")).await;
        }
        self.come_to("menu-to-dev", &vec!["Waiting"; count]).await;
    }

    /// The template `menu` is assembled anew.
    pub(crate) async fn assemble(&self, vector: &str) {
        let status = json!({"status": {"latestVector": vector}});
        loop {
            let template: Arc<VectorTemplate> = self.get(&self.project, "menu").await;
            let patch = Patch::new(Version::of(&*template), status.clone());
            match self.admin.patch_status(&Key::of(&*template), &patch).await {
                Err(StoreError::Conflict { .. }) => {}
                written => return drop(written.unwrap()),
            }
        }
    }

    /// A promotion that a person makes by hand.
    pub(crate) async fn by_hand(&self, config: &str, sequence: i64, vector: &str) -> Arc<VectorPromotion> {
        let promotion = json!({
            "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotion",
            "metadata": {"namespace": self.project, "name": format!("{config}-{sequence}")},
            "spec": {
                "vectorPromotionConfigName": config, "vector": vector, "sequence": sequence,
                "source": {"kind": "VectorTemplate", "name": "menu"},
                "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            },
        });
        self.create(&serde_json::from_value::<VectorPromotion>(promotion).unwrap()).await
    }

    // ---- what is there

    /// What the stage is to run.
    pub(crate) async fn vector(&self, stage: &str) -> String {
        self.get::<Stage>(&self.managed(), stage).await.spec.vector.clone()
    }

    pub(crate) async fn carries(&self, stage: &str, vector: &str) {
        until(&format!("{stage} carries {vector}"), async || self.vector(stage).await == vector).await;
    }

    /// The promotions of a config, by sequence.
    pub(crate) async fn promotions(&self, config: &str) -> Vec<Arc<VectorPromotion>> {
        let query = Query::within(&self.project).by(BY_CONFIG, config);
        let mut all: Vec<Arc<VectorPromotion>> = self.admin.list_live(&query).await.unwrap().items;
        all.sort_by_key(|promotion| promotion.spec.sequence);
        all
    }

    pub(crate) async fn promotion(&self, name: &str) -> Arc<VectorPromotion> {
        self.get(&self.project, name).await
    }

    pub(crate) async fn stored_config(&self, name: &str) -> Arc<VectorPromotionConfig> {
        self.get(&self.project, name).await
    }

    pub(crate) async fn states(&self, config: &str) -> Vec<String> {
        let state = |it: &Arc<VectorPromotion>| it.status.as_ref().and_then(|status| status.state.clone());
        self.promotions(config).await.iter().map(|it| state(it).unwrap_or_default()).collect()
    }

    /// Waits until the promotions of the config are in these states, by sequence.
    pub(crate) async fn come_to(&self, config: &str, states: &[&str]) {
        let last = RefCell::new(Vec::new());
        let come = soon(async || {
            last.replace(self.states(config).await);
            *last.borrow() == states
        });
        assert!(come.await, "the promotions of {config} are {:?} and ought to be {states:?}", last.borrow());
    }

    /// `Ready` of a config: reason and message.
    pub(crate) async fn ready(&self, config: &str) -> (String, String) {
        let config = self.stored_config(config).await;
        let conditions = config.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
        let ready = condition(&conditions, condition_type::READY).cloned();
        ready.map(|ready| (ready.reason, ready.message)).unwrap_or_default()
    }

    /// Waits until `Ready` has this reason; answers its message.
    pub(crate) async fn becomes(&self, config: &str, reason: &str) -> String {
        let last = RefCell::new(<(String, String)>::default());
        let come = soon(async || {
            last.replace(self.ready(config).await);
            last.borrow().0 == reason
        });
        assert!(come.await, "{config} is {:?} and ought to be {reason}", last.borrow());
        last.take().1
    }

    /// Reasons of the events about an object of the project, in the order of their making.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.server.admin.clone(), &self.project);
        let mut events = events.list(&ListParams::default()).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        let about = |event: &Event| event.regarding.as_ref().is_some_and(|it| it.name.as_deref() == Some(name));
        events.into_iter().filter(about).filter_map(|event| event.reason).collect()
    }

    /// Waits until these are the reasons of the events about an object.
    pub(crate) async fn tells(&self, name: &str, reasons: &[&str]) {
        let last = RefCell::new(Vec::new());
        let come = soon(async || {
            last.replace(self.events(name).await);
            *last.borrow() == reasons
        });
        assert!(come.await, "the events about {name} are {:?} and ought to be {reasons:?}", last.borrow());
    }

    // ---- people

    pub(crate) fn key(&self, promotion: &str) -> Key<VectorPromotion> {
        Key::new(&self.project, promotion)
    }

    pub(crate) async fn approve(&self, promotion: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::approve(&self.person, &self.clock, &NoEvents, &self.key(promotion), "anna").await
    }

    pub(crate) async fn reject(&self, promotion: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::reject(&self.person, &self.clock, &NoEvents, &self.key(promotion), "anna", "it is burnt").await
    }

    pub(crate) async fn retry(&self, promotion: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::retry(&self.person, &NoEvents, &self.key(promotion), "anna").await
    }

    pub(crate) async fn promote(&self, config: &str, vector: &str) -> Result<Arc<VectorPromotion>, Refusal> {
        promotion::promote(&self.person, &NoEvents, &Key::new(&self.project, config), vector, "anna").await
    }
}

/// The condition `Succeeded` of a promotion.
pub(crate) fn succeeded(promotion: &VectorPromotion) -> Condition {
    condition(conditions_of(promotion), condition_type::SUCCEEDED).cloned().expect("it has a result")
}

/// A process with all domains, on a runtime of its own, so that it can be killed as a whole.
pub(crate) struct Controllers {
    process: Arc<Process>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    runtime: Option<Runtime>,
}

impl Controllers {
    fn start(wire: &Arc<Wire>, server: &Server, clock: &Shifted, election: Option<Election>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let within = runtime.enter();
        let mut process =
            Process::new(wire.client(&server.controllers), DomainName::ALL).with_clock(Arc::new(clock.clone()));
        if let Some(election) = election {
            process = process.with_election(election);
        }
        drop(within);
        let (process, stop) = (Arc::new(process), CancellationToken::new());
        let task = runtime.spawn({
            let (process, stop) = (process.clone(), stop.clone());
            async move { process.run(&stop).await }
        });
        Self { process, stop, task, runtime: Some(runtime) }
    }

    /// As SIGTERM does.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.task).await.unwrap();
    }

    /// As SIGKILL does.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waits for what has to come; `false` when it did not.
async fn soon(holds: impl AsyncFn() -> bool) -> bool {
    let waited = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.is_ok()
}

/// Waits for what has to come.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    assert!(soon(holds).await, "it did not come to this: {what}");
}
