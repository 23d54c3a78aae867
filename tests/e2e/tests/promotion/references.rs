//! Section 2: what a config's references resolve to.

use konfidence_sdk::store::ObjectStore;
use konfidence_sdk::store::Query;
use konfidence_types::{Landscape, SourceRef, Stage, TargetRef, VectorTemplate};
use kube::ResourceExt;

use crate::on_every_server;
use crate::world::World;

on_every_server!(
    p1_a_reference_reaches_no_other_project,
    p2_what_is_missing_is_named_and_the_targets_problem_comes_first,
    p3_a_config_recovers_when_what_was_missing_appears_and_falls_back_when_it_goes,
    p4_nothing_but_promotions_is_made_or_owned,
    p5_a_source_without_a_vector_is_no_drift_and_no_error,
    p5_a_stage_is_a_source_as_soon_as_its_vector_is_set,
);

async fn p1_a_reference_reaches_no_other_project(world: &World) {
    let other = format!("{}-other", world.project);
    world.namespace(&other).await;
    let mut theirs = Landscape::new("us", konfidence_types::LandscapeSpec::default());
    theirs.metadata.namespace = Some(other.clone());
    world.create(&theirs).await;
    world.template_in(&other, "menu").await;
    world.stage("dev").await;
    world.config("to-us", SourceRef::template("menu"), "dev", |spec| spec.target = TargetRef::stage("us", "dev")).await;
    world.config("menu-to-dev", SourceRef::template("menu"), "dev", |_| {}).await;
    world.becomes("to-us", "LandscapeNotFound").await;
    world.becomes("menu-to-dev", "SourceNotFound").await;
    world.delete::<Landscape>(&other, "us").await;
}

async fn p2_what_is_missing_is_named_and_the_targets_problem_comes_first(world: &World) {
    world
        .config("menu-to-us", SourceRef::template("menu"), "dev", |it| it.target = TargetRef::stage("us", "dev"))
        .await;
    let message = world.becomes("menu-to-us", "LandscapeNotFound").await;
    assert!(message.contains("Landscape us does not exist") && message.contains(&world.project), "{message}");
    // No Landscape may own this namespace, so it gets none.
    world.landscape("us", Some("kube-system")).await;
    let message = world.becomes("menu-to-us", "LandscapeNotReady").await;
    assert!(message.contains("Landscape us") && message.contains(&world.project), "{message}");

    world.config("menu-to-dev", SourceRef::template("menu"), "dev", |_| {}).await;
    let message = world.becomes("menu-to-dev", "StageNotFound").await;
    assert!(message.contains("Stage dev") && message.contains(&world.managed()), "{message}");
    world.stage("dev").await;
    let message = world.becomes("menu-to-dev", "SourceNotFound").await;
    assert!(message.contains("VectorTemplate menu") && message.contains(&world.project), "{message}");
    world.template("menu").await;
    world.becomes("menu-to-dev", "TargetResolved").await;
    let config = world.stored_config("menu-to-dev").await;
    assert_eq!(config.status.as_ref().and_then(|status| status.observed_generation), config.metadata.generation);
}

async fn p3_a_config_recovers_when_what_was_missing_appears_and_falls_back_when_it_goes(world: &World) {
    world.automatic().await;
    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.stage("dev").await;
    world.becomes("menu-to-dev", "TargetResolved").await;
    world.delete::<VectorTemplate>(&world.project, "menu").await;
    world.becomes("menu-to-dev", "SourceNotFound").await;
    world.template("menu").await;
    world.becomes("menu-to-dev", "TargetResolved").await;
}

async fn p4_nothing_but_promotions_is_made_or_owned(world: &World) {
    world.automatic().await;
    for n in 1..=2 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.rest().await;
    let calls = world.calls();
    let made = |it: &&e2e::Call| matches!(it.verb, "create" | "delete") && it.group == "konfidence.cloud";
    let made: Vec<_> = calls.iter().filter(made).map(|call| call.resource.as_str()).collect();
    assert_eq!(made, ["vectorpromotions"; 2]);
    let stage = world.get::<Stage>(&world.managed(), "dev").await;
    let template = world.get::<VectorTemplate>(&world.project, "menu").await;
    assert!(stage.owner_references().is_empty() && template.owner_references().is_empty());
    assert!(stage.finalizers().is_empty() && template.finalizers().is_empty());
    let stages = world.admin.list_live(&Query::<Stage>::within(world.managed())).await.unwrap().items;
    assert_eq!(stages.len(), 1);
}

async fn p5_a_source_without_a_vector_is_no_drift_and_no_error(world: &World) {
    world.automatic().await;
    world.rest().await;
    assert_eq!(world.states("menu-to-dev").await, Vec::<String>::new());
    assert_eq!(world.ready("menu-to-dev").await.0, "TargetResolved");
}

async fn p5_a_stage_is_a_source_as_soon_as_its_vector_is_set(world: &World) {
    world.automatic().await;
    world.stage("test").await;
    world.config("dev-to-test", SourceRef::stage("eu", "dev"), "test", |it| it.require_approval = Some(false)).await;
    world.becomes("dev-to-test", "TargetResolved").await;
    world.assemble("menu:1").await;
    world.carries("test", "menu:1").await;
    world.come_to("dev-to-test", &["Succeeded"]).await;
}
