//! A cluster in process: the embedded API server behind a client that notes every request and can be slowed or cut.
//!
//! With `start_paused` a whole day of it takes no time; the server's clock, the controllers' clock and the runtime's
//! timers are one.

#![allow(dead_code, reason = "each test binary uses its own part of this module")]
#![allow(unreachable_pub, reason = "as above")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_apiserver::ApiServer;
use konfidence_controllers::store::KubeStore;
use konfidence_controllers::wiring::{DomainName, Process};
use konfidence_sdk::clock::Clock;
use konfidence_sdk::store::{Key, Object, ObjectStore, Patch, Precondition, Version};
use konfidence_sdk::types::{
    Component, Landscape, LandscapeSpec, SourceRef, Stage, StageSpec, TargetRef, VectorPromotion,
    VectorPromotionConfig, VectorPromotionConfigSpec, VectorTemplate, VectorTemplateSpec, crds,
};
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
pub use wire::Call;

/// The project's namespace and the managed namespace of its landscape `eu`.
pub const PROJECT: &str = "bakery";
pub const MANAGED: &str = "bakery-eu";

/// A clock that goes as the runtime's timers do.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    start: Timestamp,
    since: Instant,
}

impl Paced {
    pub fn start() -> Self {
        Self { start: "2026-03-01T12:00:00Z".parse().unwrap(), since: Instant::now() }
    }
}

impl Clock for Paced {
    fn now(&self) -> Timestamp {
        self.start + self.since.elapsed()
    }
}

/// What becomes of a request before it reaches the server.
pub type Fault = dyn Fn(&Call) -> Option<Meddling> + Send + Sync;

/// How a request is meddled with.
#[derive(Clone, Copy, Debug)]
pub enum Meddling {
    /// Answered with this code and never seen by the server.
    Refused(StatusCode),
    /// Done by the server, and the answer lost: 504.
    AnswerLost,
    /// Done by the server so much later.
    Slow(Duration),
    /// Everything that a watch says comes so much later.
    Late(Duration),
}

pub struct Cluster {
    pub server: ApiServer,
    pub clock: Paced,
    /// The tests' own store: direct, not recorded, not meddled with.
    pub store: KubeStore,
    calls: Arc<Mutex<Vec<Call>>>,
    fault: Arc<Mutex<Option<Box<Fault>>>>,
}

impl Cluster {
    /// A cluster with our kinds.
    pub async fn new() -> Self {
        Self::with_crds(crds::all()).await
    }

    /// A cluster with these kinds, and a project with a landscape that has a namespace.
    pub async fn with_crds(crds: Vec<CustomResourceDefinition>) -> Self {
        let clock = Paced::start();
        let server = ApiServer::builder().clock(clock).crds(crds).build().unwrap();
        let store = KubeStore::direct(Client::new(server.service(), "default"));
        let cluster = Self { server, clock, store, calls: Arc::default(), fault: Arc::default() };
        for namespace in [PROJECT, MANAGED] {
            let mut object = Namespace::default();
            object.metadata.name = Some(namespace.into());
            cluster.create(&object).await;
        }
        cluster
    }

    /// A client whose requests are noted and may be meddled with.
    pub fn client(&self) -> Client {
        let (calls, fault) = (self.calls.clone(), self.fault.clone());
        let router = self.server.service().layer(middleware::from_fn(move |request: Request, next: Next| {
            let (calls, fault) = (calls.clone(), fault.clone());
            async move { meddle(&calls, &fault, request, next).await }
        }));
        Client::new(router, "default")
    }

    pub fn meddle(&self, fault: impl Fn(&Call) -> Option<Meddling> + Send + Sync + 'static) {
        *self.fault.lock().unwrap() = Some(Box::new(fault));
    }

    pub fn leave_alone(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// Takes the requests noted since the last call.
    pub fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    /// The writes among the requests since the last call, events apart: `patch stages dev`.
    pub fn writes(&self) -> Vec<String> {
        let calls = self.calls();
        let writes = calls.iter().filter(|call| call.writes() && call.group != "events.k8s.io");
        writes.map(Call::words).collect()
    }

    /// Runs `domains` in the background until the answer is cancelled and awaited.
    pub fn run(&self, domains: &[DomainName]) -> Running {
        let process = Arc::new(Process::new(self.client(), domains.iter().copied()).with_clock(Arc::new(self.clock)));
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let (process, stop) = (process.clone(), stop.clone());
            async move { process.run(&stop).await }
        });
        Running { process, stop, task }
    }

    pub async fn create<K: Object>(&self, object: &K) -> Arc<K> {
        self.store.create(object).await.unwrap()
    }

    pub async fn get<K: Object>(&self, namespace: &str, name: &str) -> Arc<K> {
        self.find(namespace, name).await.unwrap_or_else(|| panic!("there is no {namespace}/{name}"))
    }

    pub async fn find<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.store.get_live(&Key::new(namespace, name)).await.unwrap()
    }

    pub async fn delete<K: Object>(&self, namespace: &str, name: &str) {
        ObjectStore::<K>::delete(&self.store, &Key::new(namespace, name), &Precondition::default()).await.unwrap();
    }

    pub async fn promotions(&self) -> Vec<Arc<VectorPromotion>> {
        let mut all = self.store.list_live(&konfidence_sdk::store::Query::within(PROJECT)).await.unwrap().items;
        all.sort_by_key(|promotion: &Arc<VectorPromotion>| promotion.spec.sequence);
        all
    }

    /// Each promotion's state, by sequence.
    pub async fn states(&self) -> Vec<String> {
        let state =
            |promotion: &Arc<VectorPromotion>| promotion.status.as_ref().and_then(|status| status.state.clone());
        self.promotions().await.iter().map(|promotion| state(promotion).unwrap_or_default()).collect()
    }

    /// The landscape `eu` with its namespace on record, as its controller leaves it.
    pub async fn landscape(&self) {
        let mut landscape = Landscape::new("eu", LandscapeSpec::default());
        landscape.metadata.namespace = Some(PROJECT.into());
        let made = self.create(&landscape).await;
        let status = json!({"status": {"namespace": MANAGED}});
        self.store.patch_status(&Key::of(&*made), &Patch::new(Version::of(&*made), status)).await.unwrap();
    }

    pub async fn stage(&self, name: &str) {
        let mut stage = Stage::new(name, StageSpec::default());
        stage.metadata.namespace = Some(MANAGED.into());
        self.create(&stage).await;
    }

    pub async fn template(&self, name: &str) {
        let spec = VectorTemplateSpec {
            upload_target: "registry.example/bakery".into(),
            components: vec![Component { name: "registry.example/bakery//bread".into(), as_: None }],
            ..VectorTemplateSpec::default()
        };
        let mut template = VectorTemplate::new(name, spec);
        template.metadata.namespace = Some(PROJECT.into());
        self.create(&template).await;
    }

    /// A config from the template `menu` to the stage `target`; automatic unless it `requires_approval`.
    pub async fn config(&self, name: &str, target: &str, requires_approval: Option<bool>) {
        let mut spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", target));
        spec.require_approval = requires_approval;
        let mut config = VectorPromotionConfig::new(name, spec);
        config.metadata.namespace = Some(PROJECT.into());
        self.create(&config).await;
    }

    /// The whole of a flow: landscape, stage `dev`, template `menu`, and the automatic config `menu-to-dev`.
    pub async fn flow(&self) {
        self.landscape().await;
        self.stage("dev").await;
        self.template("menu").await;
        self.config("menu-to-dev", "dev", None).await;
    }

    /// The template `menu` is assembled anew.
    pub async fn assemble(&self, vector: &str) {
        let template: Arc<VectorTemplate> = self.get(PROJECT, "menu").await;
        let status = json!({"status": {"latestVector": vector}});
        self.store.patch_status(&Key::of(&*template), &Patch::new(Version::of(&*template), status)).await.unwrap();
    }

    pub async fn change<K: Object>(&self, namespace: &str, name: &str, merge: Value) -> Arc<K> {
        let object: Arc<K> = self.get(namespace, name).await;
        self.store.patch(&Key::of(&*object), &Patch::new(Version::of(&*object), merge)).await.unwrap()
    }
}

async fn meddle(calls: &Mutex<Vec<Call>>, fault: &Mutex<Option<Box<Fault>>>, request: Request, next: Next) -> Response {
    let Some(call) = Call::of(request.method(), request.uri(), Value::Null) else { return next.run(request).await };
    let meddling = fault.lock().unwrap().as_ref().and_then(|fault| fault(&call));
    calls.lock().unwrap().push(call);
    match meddling {
        None => next.run(request).await,
        Some(Meddling::Refused(code)) => status(code),
        Some(Meddling::AnswerLost) => {
            next.run(request).await;
            status(StatusCode::GATEWAY_TIMEOUT)
        }
        Some(Meddling::Slow(by)) => {
            tokio::time::sleep(by).await;
            next.run(request).await
        }
        Some(Meddling::Late(by)) => next.run(request).await.map(|body| {
            // Each piece comes `by` after it was said, however many there are.
            let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
            tokio::spawn(async move {
                let mut pieces = body.into_data_stream();
                while let Some(piece) = pieces.next().await {
                    if sender.send((Instant::now() + by, piece)).is_err() {
                        return;
                    }
                }
            });
            Body::from_stream(futures::stream::unfold(receiver, |mut receiver| async move {
                let (at, piece) = receiver.recv().await?;
                tokio::time::sleep_until(at).await;
                Some((piece, receiver))
            }))
        }),
    }
}

fn status(code: StatusCode) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": format!("meddled with: {code}"), "reason": "", "code": code.as_u16(),
    });
    (code, [(http::header::CONTENT_TYPE, "application/json")], status.to_string()).into_response()
}

/// Controllers at work.
pub struct Running {
    pub process: Arc<Process>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub async fn ready(&self) {
        until("the process is ready", async || self.process.health().is_ready().0).await;
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Waits, in virtual time, for what has to come.
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..6_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come to this: {what}");
}

/// Lets everything that is under way end: time passes, but less than any floor.
pub async fn rest() {
    tokio::time::sleep(Duration::from_secs(10)).await;
}
