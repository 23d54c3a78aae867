//! The controller against an API server in the same process: no cluster, no port, nothing to install.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_apiserver::ApiServer;
use konfidence_types::{Stage, StageSpec};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, CustomResourceExt};
use serde_json::json;
use third_party_controller::{Tasting, TastingSpec, run};

#[tokio::test]
async fn every_vector_of_a_stage_is_tasted() {
    let server = ApiServer::builder().our_kinds().crds([Tasting::crd()]).build().unwrap();
    let client = Client::new(server.service(), "bakery-eu");
    let controller = tokio::spawn(run(client.clone()));

    let new = PostParams::default();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "bakery-eu"}})).unwrap();
    Api::<Namespace>::all(client.clone()).create(&new, &namespace).await.unwrap();
    let stages = Api::<Stage>::default_namespaced(client.clone());
    stages.create(&new, &Stage::new("dev", StageSpec { vector: "bakery//menu:1".into() })).await.unwrap();
    let tastings = Api::<Tasting>::default_namespaced(client.clone());
    let tastes = async |vector: &'static str| {
        let noted = |it: Option<&Tasting>| it.and_then(|it| it.status.as_ref()).is_some_and(|it| it.vector == vector);
        let noted = await_condition(tastings.clone(), "dev", noted);
        tokio::time::timeout(Duration::from_secs(20), noted).await.unwrap().unwrap();
    };
    tastings.create(&new, &Tasting::new("dev", TastingSpec { taster: "anna".into() })).await.unwrap();
    tastes("bakery//menu:1").await;

    let newer = Patch::Merge(json!({"spec": {"vector": "bakery//menu:2"}}));
    stages.patch("dev", &PatchParams::default(), &newer).await.unwrap();
    tastes("bakery//menu:2").await;

    // The server checks a kind of one's own as it checks any other.
    let nobody = Tasting::new("test", TastingSpec { taster: String::new() });
    assert!(tastings.create(&new, &nobody).await.unwrap_err().to_string().contains("spec.taster"));
    controller.abort();
}
