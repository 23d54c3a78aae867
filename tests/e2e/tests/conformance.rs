//! The laws of a store, kept by `KubeStore` on every server, with caches and without.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use e2e::{Kind, Server, Turn};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_controllers::store::KubeStore;
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::store::conformance::{self, Site, Subject};
use konfidence_sdk::store::{Key, ObjectStore, StoreError};
use konfidence_types::{Stage, crds};
use serde_json::Value;

struct OnAServer {
    server: Server,
    cached: bool,
    sites: AtomicUsize,
    run: i128,
}

#[async_trait]
impl Subject for OnAServer {
    type Store = KubeStore;

    async fn site(&self) -> Result<Site<KubeStore>, StoreError> {
        let site = self.sites.fetch_add(1, Ordering::Relaxed);
        let client = self.server.admin.clone();
        let admin = KubeStore::direct(client.clone());
        let store = if self.cached { KubeStore::cached(client) } else { admin.clone() };
        let [namespace, elsewhere] = ["a", "b"].map(|name| format!("e2e-{:x}-{site}-{name}", self.run));
        for name in [&namespace, &elsewhere] {
            let mut object = Namespace::default();
            object.metadata.name = Some(name.clone());
            admin.create(&object).await?;
        }
        Ok(Site { store, namespace, elsewhere })
    }

    async fn pause(&self) {
        // The real garbage collector learns of new kinds every half a minute.
        let millis = if self.server.embedded.is_some() { 50 } else { 250 };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    async fn forget_history(&self, _: &KubeStore) -> bool {
        let Some(server) = &self.server.embedded else { return false };
        server.engine().compact(server.engine().revision());
        true
    }

    /// What was before the server kept any history of Stages.
    async fn forgotten_version(&self, _: &KubeStore) -> Option<String> {
        Some("1".into())
    }

    async fn raw_stage(&self, store: &KubeStore, key: &Key<Stage>) -> Option<Value> {
        let path = format!("/apis/konfidence.cloud/v1alpha1/namespaces/{}/stages/{}", key.namespace(), key.name());
        store.client().request(http::Request::get(path).body(vec![]).unwrap()).await.ok()
    }
}

/// Our definitions, with a `spec` of Stages that takes what a newer version may have there.
fn with_room_for_more() -> Vec<CustomResourceDefinition> {
    let mut all = crds::all();
    for crd in all.iter_mut().filter(|crd| crd.spec.names.kind == "Stage") {
        for version in &mut crd.spec.versions {
            let schema = version.schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
            let spec = schema.properties.as_mut().unwrap().get_mut("spec").unwrap();
            spec.x_kubernetes_preserve_unknown_fields = Some(true);
        }
    }
    all
}

async fn keeps_every_law(kind: Kind) {
    let turn = tokio::task::spawn_blocking(move || Turn::take(kind)).await.unwrap();
    for cached in [false, true] {
        let Some(server) = Server::with_crds(&turn, with_room_for_more()).await else { return };
        // A user's own cluster has the definitions as they are, and drops what they do not name.
        let may_skip = usize::from(server.embedded.is_none() && !server.enforces_rights);
        let run = SystemClock.now().as_nanosecond();
        let subject = OnAServer { server, cached, sites: AtomicUsize::new(0), run };
        let report = conformance::run(&subject).await;
        assert!(report.is_kept() && report.not_applicable().len() <= may_skip, "cached: {cached}\n{report}");
        let namespaces: kube::Api<Namespace> = kube::Api::all(subject.server.admin.clone());
        for site in 0..subject.sites.into_inner() {
            for name in ["a", "b"] {
                namespaces
                    .delete(&format!("e2e-{run:x}-{site}-{name}"), &kube::api::DeleteParams::default())
                    .await
                    .unwrap();
            }
        }
    }
}

#[tokio::test]
async fn in_process_it_keeps_every_law() {
    keeps_every_law(Kind::InProcess).await;
}

#[tokio::test]
async fn over_tcp_it_keeps_every_law() {
    keeps_every_law(Kind::OverTcp).await;
}

#[tokio::test]
async fn on_the_real_server_it_keeps_every_law() {
    keeps_every_law(Kind::Real).await;
}
