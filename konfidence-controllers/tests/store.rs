//! The store over the Kubernetes API, against the embedded server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

mod cluster;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cluster::{Cluster, MANAGED, Meddling, PROJECT, until};
use http::StatusCode;
use konfidence_controllers::store::KubeStore;
use konfidence_sdk::store::conformance::{self, Outcome, Site, Subject};
use konfidence_sdk::store::{Key, ObjectStore, Patch, Query, StoreError, Version};
use konfidence_sdk::types::{Landscape, Stage, VectorTemplate, crds};
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::time::Instant;

struct OverTheApi {
    cluster: Cluster,
    cached: bool,
    sites: AtomicUsize,
}

impl OverTheApi {
    async fn new(cached: bool) -> Self {
        Self { cluster: Cluster::new().await, cached, sites: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Subject for OverTheApi {
    type Store = KubeStore;

    async fn site(&self) -> Result<Site<KubeStore>, StoreError> {
        let site = self.sites.fetch_add(1, Ordering::Relaxed);
        let client = self.cluster.client();
        let store = if self.cached { KubeStore::cached(client) } else { KubeStore::direct(client) };
        let [namespace, elsewhere] = ["here", "elsewhere"].map(|name| format!("{name}-{site}"));
        for name in [&namespace, &elsewhere] {
            let mut object = k8s_openapi::api::core::v1::Namespace::default();
            object.metadata.name = Some(name.clone());
            self.cluster.create(&object).await;
        }
        Ok(Site { store, namespace, elsewhere })
    }

    async fn pause(&self) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    async fn raw_stage(&self, store: &KubeStore, key: &Key<Stage>) -> Option<Value> {
        let path = format!("/apis/konfidence.cloud/v1alpha1/namespaces/{}/stages/{}", key.namespace(), key.name());
        store.client().request(http::Request::get(path).body(vec![]).unwrap()).await.ok()
    }
}

async fn conforms(cached: bool) {
    let report = conformance::run(&OverTheApi::new(cached).await).await;
    assert!(report.is_kept(), "{report}");
    let skipped = report.outcomes.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Kept)).count();
    assert!(skipped <= 2, "{report}");
}

#[tokio::test(start_paused = true)]
async fn the_cached_store_keeps_every_law() {
    conforms(true).await;
}

#[tokio::test(start_paused = true)]
async fn the_direct_store_keeps_every_law() {
    conforms(false).await;
}

fn wants(stage: &Stage, vector: &str) -> Patch<Stage> {
    Patch::new(Version::of(stage), json!({"spec": {"vector": vector}}))
}

fn dev() -> Key<Stage> {
    Key::new(MANAGED, "dev")
}

/// A cached store whose watch of Stages tells everything so much later.
async fn late(cluster: &Cluster, by: Duration) -> KubeStore {
    let store = KubeStore::cached(cluster.client());
    cluster.meddle(move |call| (call.verb == "watch" && call.resource == "stages").then_some(Meddling::Late(by)));
    store.filled::<Stage>().await;
    store
}

#[tokio::test(start_paused = true)]
async fn r1_a_read_after_an_own_write_waits_for_a_slow_watch_and_asks_the_server_nothing() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = late(&cluster, Duration::from_millis(300)).await;
    let stage = store.get(&dev()).await.unwrap().unwrap();
    cluster.calls();

    let written = store.patch(&dev(), &wants(&stage, "v1")).await.unwrap();
    let start = Instant::now();
    assert_eq!(store.get(&dev()).await.unwrap().unwrap(), written);
    assert_eq!(start.elapsed().as_millis(), 300);
    assert_eq!(cluster.writes(), ["patch stages dev"]);
    assert_eq!(store.list(&Query::within(MANAGED)).await.unwrap().items, [written]);
    assert!(cluster.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn r1_reads_of_other_objects_do_not_wait() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    cluster.stage("test").await;
    let store = late(&cluster, Duration::from_secs(5)).await;
    let stage = store.get(&dev()).await.unwrap().unwrap();
    store.patch(&dev(), &wants(&stage, "v1")).await.unwrap();
    let start = Instant::now();
    store.get(&Key::<Stage>::new(MANAGED, "test")).await.unwrap().unwrap();
    store.list(&Query::<Stage>::within(PROJECT)).await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 0);
    assert_eq!(store.glance().get(&dev()).await.unwrap().unwrap(), stage, "a glance takes what is there");
}

#[tokio::test(start_paused = true)]
async fn r1_a_watch_that_never_delivers_makes_reads_unavailable_and_not_stale_and_is_replaced() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = late(&cluster, Duration::from_hours(9)).await;
    let stage = store.get(&dev()).await.unwrap().unwrap();
    let written = store.patch(&dev(), &wants(&stage, "v1")).await.unwrap();
    let error = store.get(&dev()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    // Asking the server itself is no cached read.
    assert_eq!(store.get_live(&dev()).await.unwrap().unwrap(), written);
    // A full list shows what the watch kept back.
    assert_eq!(store.get(&dev()).await.unwrap().unwrap(), written);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_followed_by_news_and_not_by_the_same_conflict() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = late(&cluster, Duration::from_millis(700)).await;
    let stale = store.get(&dev()).await.unwrap().unwrap();
    cluster.change::<Stage>(MANAGED, "dev", json!({"spec": {"vector": "by hand"}})).await;

    let error = store.patch(&dev(), &wants(&stale, "v1")).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let start = Instant::now();
    let news = store.get(&dev()).await.unwrap().unwrap();
    assert_eq!(start.elapsed().as_millis(), 700);
    store.patch(&dev(), &wants(&news, "v1")).await.unwrap();
    assert_eq!(cluster.writes(), ["patch stages dev", "patch stages dev"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_is_not_repeated_and_is_no_conflict() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = KubeStore::cached(cluster.client());
    let stage = store.get(&dev()).await.unwrap().unwrap();
    cluster.meddle(|call| (call.verb == "patch").then_some(Meddling::AnswerLost));
    cluster.calls();
    let error = store.patch(&dev(), &wants(&stage, "v1")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert_eq!(cluster.writes(), ["patch stages dev"]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_leaves_fields_that_we_do_not_know() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let labelled = json!({"metadata": {"labels": {"team": "bread"}, "finalizers": ["bakery.example/hold"]}});
    cluster.change::<Stage>(MANAGED, "dev", labelled).await;
    let store = KubeStore::cached(cluster.client());
    let stage = store.get(&dev()).await.unwrap().unwrap();
    let written = store.patch(&dev(), &wants(&stage, "v1")).await.unwrap();
    assert_eq!(written.labels()["team"], "bread");
    assert_eq!(written.finalizers(), ["bakery.example/hold"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_neither_slows_the_others_nor_burdens_the_server() {
    let mut some = crds::all();
    some.retain(|crd| crd.spec.names.kind != "VectorTemplate");
    let cluster = Cluster::with_crds(some).await;
    cluster.stage("dev").await;
    let store = KubeStore::cached(cluster.client());
    let error = store.get(&Key::<VectorTemplate>::new(PROJECT, "menu")).await.unwrap_err();
    assert!(error.to_string().contains("not been filled"), "{error}");
    assert!(store.trouble::<VectorTemplate>().is_some());

    let start = Instant::now();
    store.filled::<Stage>().await;
    cluster.change::<Stage>(MANAGED, "dev", json!({"spec": {"vector": "v1"}})).await;
    until("the change arrives", async || store.get(&dev()).await.unwrap().unwrap().spec.vector == "v1").await;
    assert!(start.elapsed() < Duration::from_millis(50), "{:?}", start.elapsed());

    cluster.calls();
    tokio::time::sleep(Duration::from_mins(10)).await;
    let calls = cluster.calls();
    let asked = calls.iter().filter(|call| call.resource == "vectortemplates").count();
    // The longest step is 30 s, with jitter up to twice that.
    assert!((5..=25).contains(&asked), "{asked} times in ten minutes");
    assert!(store.trouble::<Stage>().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_newer_shape_is_reported_and_the_watch_goes_on() {
    let mut some = crds::all();
    for crd in some.iter_mut().filter(|crd| crd.spec.names.kind == "Stage") {
        for version in &mut crd.spec.versions {
            let schema = version.schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
            let spec = schema.properties.as_mut().unwrap().get_mut("spec").unwrap();
            spec.properties = None;
            spec.required = None;
            spec.x_kubernetes_validations = None;
            spec.x_kubernetes_preserve_unknown_fields = Some(true);
        }
    }
    let cluster = Cluster::with_crds(some).await;
    cluster.stage("dev").await;
    let store = KubeStore::cached(cluster.client());
    store.filled::<Stage>().await;
    cluster.change::<Stage>(MANAGED, "dev", json!({"metadata": {"labels": {"a": "b"}}})).await;
    let newer = json!({
        "apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage",
        "metadata": {"name": "newer", "namespace": MANAGED}, "spec": {"vector": {"digest": "sha256:0"}},
    });
    let path = format!("/apis/konfidence.cloud/v1alpha1/namespaces/{MANAGED}/stages");
    let request = http::Request::post(path).header("content-type", "application/json");
    store.client().request::<Value>(request.body(newer.to_string().into_bytes()).unwrap()).await.unwrap();
    cluster.stage("test").await;
    let names = async || {
        let listed = store.list(&Query::<Stage>::within(MANAGED)).await.unwrap();
        (listed.items.iter().map(|stage| stage.name_any()).collect::<Vec<_>>(), listed.unreadable.len())
    };
    until("the later object is seen", async || names().await == (vec!["dev".into(), "test".into()], 1)).await;
    assert!(matches!(store.get(&Key::<Stage>::new(MANAGED, "newer")).await, Err(StoreError::Unreadable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_is_taken_up_again_without_losing_a_change() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = KubeStore::cached(cluster.client());
    store.filled::<Stage>().await;
    cluster.meddle(|call| (call.resource == "stages").then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE)));
    // Open watches end after a while; then the server is away.
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(store.trouble::<Stage>().is_some());
    cluster.change::<Stage>(MANAGED, "dev", json!({"spec": {"vector": "v1"}})).await;
    cluster.leave_alone();
    until("the change arrives", async || store.get(&dev()).await.unwrap().unwrap().spec.vector == "v1").await;
    assert!(store.trouble::<Stage>().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_resumes_counts_as_back_although_nothing_changes() {
    let cluster = Cluster::new().await;
    cluster.stage("dev").await;
    let store = KubeStore::cached(cluster.client());
    store.filled::<Stage>().await;
    let mut recoveries = store.recoveries::<Stage>().unwrap();
    cluster.meddle(|call| (call.resource == "stages").then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE)));
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(store.trouble::<Stage>().is_some());
    // Lists are answered, watches are not: that is no recovery.
    cluster.meddle(|call| {
        (call.resource == "stages" && call.verb == "watch").then_some(Meddling::Refused(StatusCode::FORBIDDEN))
    });
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(store.trouble::<Stage>().is_some() && !recoveries.has_changed().unwrap());
    cluster.leave_alone();
    until("the watch is back", async || store.trouble::<Stage>().is_none()).await;
    assert!(recoveries.has_changed().unwrap());
    recoveries.mark_unchanged();
    tokio::time::sleep(Duration::from_mins(30)).await;
    assert!(store.trouble::<Stage>().is_none() && !recoveries.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn names_that_would_change_the_path_are_no_names() {
    let cluster = Cluster::new().await;
    let store = KubeStore::direct(cluster.client());
    for name in ["", "..", "a/b", "a?b", "a%2fb", "a b"] {
        let error = store.get_live(&Key::<Landscape>::new(PROJECT, name)).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{name}: {error}");
    }
    assert!(cluster.calls().is_empty());
}
