//! Section 2: references resolve through Landscapes of the config's own namespace, and `Ready` follows the world.

use konfidence_types::{Landscape, SourceRef, Stage, TargetRef, VectorTemplate};
use serde_json::json;

use super::world::{AUTO, GATED, MANAGED, PROJECT, World, promotion};
use crate::promotion::{affected_by_landscape, affected_by_stage, affected_by_template};
use crate::store::Key;

#[test]
fn p1_a_landscape_of_another_project_is_never_used() {
    let world = World::empty();
    world.insert::<Landscape>(json!({
        "metadata": {"namespace": "other", "name": "us"}, "spec": {}, "status": {"namespace": MANAGED},
    }));
    world.config(AUTO, SourceRef::template("menu"), TargetRef::stage("us", "dev"), |_| {});
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "LandscapeNotFound");
    assert_eq!(world.vector("dev"), "");
}

#[test]
fn p2_ready_names_the_missing_object_and_its_namespace() {
    let world = World::automatic();
    world.settle(AUTO);
    assert_eq!((world.ready(AUTO).0.as_str(), world.ready(AUTO).1.as_str()), ("True", "TargetResolved"));

    world.delete::<VectorTemplate>(PROJECT, "menu");
    world.settle(AUTO);
    let (status, reason, message) = world.ready(AUTO);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SourceNotFound"));
    assert!(message.contains("menu") && message.contains(PROJECT), "{message}");

    world.delete::<Stage>(MANAGED, "dev");
    world.settle(AUTO);
    let (_, reason, message) = world.ready(AUTO);
    assert_eq!(reason, "StageNotFound", "the target's problem comes first");
    assert!(message.contains("dev") && message.contains(MANAGED), "{message}");

    world.edit_status::<Landscape>(PROJECT, "eu", json!({"namespace": null}));
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "LandscapeNotReady");

    world.delete::<Landscape>(PROJECT, "eu");
    world.settle(AUTO);
    let (_, reason, message) = world.ready(AUTO);
    assert_eq!(reason, "LandscapeNotFound");
    assert!(message.contains("eu") && message.contains(PROJECT), "{message}");
}

#[test]
fn p2_a_missing_source_stage_is_a_missing_source() {
    let world = World::gated();
    world.delete::<Stage>(MANAGED, "dev");
    world.settle(GATED);
    assert_eq!(world.ready(GATED).1, "SourceNotFound");
}

#[test]
fn p2_observed_generation_follows() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_config(AUTO, json!({"spec": {"suspend": true}}));
    world.settle(AUTO);
    let config = world.stored_config(AUTO);
    assert_eq!(config.status.as_ref().unwrap().observed_generation, config.metadata.generation);
}

#[test]
fn p3_ready_recovers_and_falls_back_within_one_reconcile() {
    let world = World::automatic();
    world.delete::<Stage>(MANAGED, "dev");
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "StageNotFound");
    world.make_stage("dev");
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "TargetResolved");
    world.delete::<Stage>(MANAGED, "dev");
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "StageNotFound");
}

#[test]
fn p3_every_change_maps_to_the_configs_that_it_touches() {
    let world = World::automatic();
    world.config(GATED, SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"), |_| {});
    world.config("other", SourceRef::template("soup"), TargetRef::stage("us", "dev"), |_| {});
    promotion("gone", 1).to("eu", "test").into(&world);
    let keys = |names: &[&str]| names.iter().map(|name| Key::new(PROJECT, *name)).collect::<crate::promotion::Keys>();
    let store = world.memory();
    let template = world.get::<VectorTemplate>(PROJECT, "menu").unwrap();
    let landscape = world.get::<Landscape>(PROJECT, "eu").unwrap();
    let (dev, test) = (world.stage("dev"), world.stage("test"));
    futures::executor::block_on(async {
        assert_eq!(affected_by_template(store, &template).await.unwrap(), keys(&[AUTO]));
        assert_eq!(affected_by_stage(store, &dev).await.unwrap(), keys(&[AUTO, GATED]));
        assert_eq!(affected_by_stage(store, &test).await.unwrap(), keys(&[GATED, "gone"]));
        assert_eq!(affected_by_landscape(store, &landscape).await.unwrap(), keys(&[AUTO, GATED, "gone"]));
    });
}

#[test]
fn p4_the_machinery_makes_and_removes_no_stage_landscape_or_template() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.delete::<Stage>(MANAGED, "dev");
    world.publish("menu:2");
    world.settle(AUTO);
    let foreign = |kind: &str| ["Stage", "Landscape", "VectorTemplate"].contains(&kind);
    let made = world.writes().into_iter().filter(|write| {
        foreign(&write.kind) && matches!(write.verb, crate::store::Verb::Create | crate::store::Verb::Delete)
    });
    assert_eq!(made.collect::<Vec<_>>(), []);
}

#[test]
fn p5_an_empty_source_is_no_drift_and_no_error() {
    let world = World::automatic();
    world.settle(AUTO);
    assert_eq!(world.ready(AUTO).1, "TargetResolved");
    assert_eq!(world.overview(), []);
}

#[test]
fn p5_a_stage_may_be_promoted_from_as_soon_as_its_vector_is_set() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    assert_eq!(world.promotion("dev-to-test-1").spec.vector, "menu:1");
}

#[test]
fn p2_what_does_not_parse_stops_its_own_config_with_a_condition() {
    let world = World::automatic();
    world.publish("menu:1");
    world.insert::<konfidence_types::VectorPromotion>(json!({
        "metadata": {"namespace": PROJECT, "name": "odd"},
        "spec": {"vectorPromotionConfigName": AUTO, "sequence": "not a number"},
    }));
    world.settle(AUTO);
    let (status, reason, message) = world.ready(AUTO);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ObjectUnreadable"));
    assert!(message.contains("odd"), "{message}");
    assert_eq!(world.vector("dev"), "", "nothing is guessed");
    world.assert_quiet(AUTO);
}

#[test]
fn p2_a_config_that_does_not_parse_says_so_on_itself() {
    let world = World::empty();
    world.insert::<konfidence_types::VectorPromotionConfig>(json!({
        "metadata": {"namespace": PROJECT, "name": AUTO},
        "spec": {
            "source": {"kind": "VectorTemplate", "name": "menu"},
            "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            "ttlAfterFinished": "a fortnight",
        },
    }));
    world.settle(AUTO);
    let raw = world.memory().collection::<konfidence_types::VectorPromotionConfig>().get(PROJECT, AUTO).unwrap();
    assert_eq!(raw.json().pointer("/status/conditions/0/reason"), Some(&json!("ObjectUnreadable")));
    world.assert_quiet(AUTO);
}

#[test]
fn p2_p14_ready_says_that_the_config_is_suspended() {
    let world = World::automatic();
    world.settle(AUTO);
    assert!(!world.ready(AUTO).2.contains("suspended"), "{:?}", world.ready(AUTO));
    world.edit_config(AUTO, json!({"spec": {"suspend": true}}));
    world.settle(AUTO);
    let (status, _, message) = world.ready(AUTO);
    assert!(status == "True" && message.contains("suspended"), "{message}");
}
