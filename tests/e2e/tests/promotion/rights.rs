//! Who may do what: the generated roles are what is asked for, neither more nor less.

use std::collections::BTreeSet;

use e2e::{Call, Meddling, manifests};
use http::StatusCode;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use konfidence_controllers::runtime::Election;
use konfidence_types::{Landscape, LandscapeSpec, Stage, VectorPromotion};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use crate::on_every_server;
use crate::world::{World, until};

on_every_server!(the_requests_of_a_whole_life_are_the_generated_roles, nobody_may_do_more_than_a_role_says);

/// `patch konfidence.cloud/stages`, of every role in `deploy/rbac`.
fn granted() -> BTreeSet<String> {
    let roles = manifests("rbac").into_iter().filter(|(_, manifest)| manifest["kind"] == "ClusterRole");
    let mut rights = BTreeSet::new();
    for (_, role) in roles {
        for rule in role["rules"].as_array().unwrap() {
            let words = |field: &str| rule[field].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
            for group in words("apiGroups") {
                for resource in words("resources") {
                    rights.extend(words("verbs").map(|verb| format!("{verb} {group}/{resource}")));
                }
            }
        }
    }
    rights
}

async fn the_requests_of_a_whole_life_are_the_generated_roles(world: &World) {
    world.stop().await;
    let election = Election { namespace: world.project.clone(), identity: "controllers".into() };
    world.start_with(&world.wire, &world.clock, Some(election)).await;
    world.automatic().await;
    for n in 1..=12 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.rest().await;
    // The newest success is gone: the views do not vouch for each other, so the next one is made after live reads (R11).
    world.delete::<VectorPromotion>(&world.project, "menu-to-dev-12").await;
    world.assemble("menu:13").await;
    world.carries("dev", "menu:13").await;
    // A Stage that cannot be written: attempts, the fence at the deadline, and the next try (P36, P37).
    world.meddle_with_stages(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE));
    world.assemble("menu:14").await;
    until("the attempt is on record", async || {
        world.calls().iter().any(|call| call.words() == "patch vectorpromotions menu-to-dev-14")
    })
    .await;
    world.rest().await;
    world.wire.leave_alone();
    world.advance("menu-to-dev", SignedDuration::from_secs(301)).await;
    world.rest().await;
    world.advance("menu-to-dev", SignedDuration::from_secs(61)).await;
    world.carries("dev", "menu:14").await;
    // A Landscape whose namespace drifts, and which goes.
    let mut landscape = Landscape::new("us", LandscapeSpec::default());
    landscape.metadata.namespace = Some(world.project.clone());
    world.create(&landscape).await;
    let managed = async || {
        let us = world.find::<Landscape>(&world.project, "us").await?;
        us.status.as_ref()?.namespace.clone()
    };
    until("it has its namespace", async || managed().await.is_some()).await;
    let namespace = managed().await.unwrap();
    let drifted = json!({"metadata": {"labels": {"konfidence.cloud/type": "bread"}}});
    world.change::<Namespace>("", &namespace, drifted).await;
    until("the label is back", async || {
        let namespace = world.get::<Namespace>("", &namespace).await;
        namespace.metadata.labels.as_ref().and_then(|it| it.get("konfidence.cloud/type").cloned()).as_deref()
            == Some("landscape")
    })
    .await;
    world.delete::<Landscape>(&world.project, "us").await;
    until("it is gone", async || world.find::<Landscape>(&world.project, "us").await.is_none()).await;
    world.stop().await;

    let asked: BTreeSet<_> = world.wire.calls().iter().map(Call::right).collect();
    assert_eq!(asked, granted());
}

/// Where the server knows who may do what.
async fn nobody_may_do_more_than_a_role_says(world: &World) {
    world.candidates(1).await;
    if !world.server.enforces_rights {
        return;
    }
    let controllers = world.server.controllers.clone();
    let approver = world.server.approver.clone();
    let refused = |what: &str, result: Result<(), kube::Error>| match result {
        Err(kube::Error::Api(status)) if status.code == 403 => {}
        other => panic!("{what}: {other:?}"),
    };
    let secrets: Api<Secret> = Api::namespaced(controllers.clone(), &world.project);
    refused("read a Secret", secrets.list(&ListParams::default()).await.map(drop));
    let stages: Api<Stage> = Api::namespaced(controllers, &world.managed());
    refused("delete a Stage", stages.delete("dev", &DeleteParams::default()).await.map(drop));
    let stages: Api<Stage> = Api::namespaced(approver.clone(), &world.managed());
    let vector = Patch::Merge(json!({"spec": {"vector": "menu:9"}}));
    refused("write a Stage", stages.patch("dev", &PatchParams::default(), &vector).await.map(drop));
    let promotions: Api<VectorPromotion> = Api::namespaced(approver, &world.project);
    refused("delete a promotion", promotions.delete("menu-to-dev-1", &DeleteParams::default()).await.map(drop));
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Succeeded"]).await;
}
