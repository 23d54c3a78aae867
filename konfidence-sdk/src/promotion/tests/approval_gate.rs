//! Section 4, as far as the controller's decision goes.

use konfidence_types::{SourceRef, TargetRef, VectorPromotion, condition, condition_type};
use serde_json::json;

use super::world::{AUTO, GATED, PROJECT, World, promotion};
use crate::promotion::{Phase, conditions_of};

#[test]
fn p17_a_promotion_that_needs_approval_says_so_from_its_first_reconcile() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    let waiting = world.promotion("dev-to-test-1");
    let approved = condition(conditions_of(&waiting), condition_type::APPROVED).unwrap();
    assert_eq!((approved.status.as_str(), approved.reason.as_str()), ("False", "WaitingForApproval"));
    assert_eq!(waiting.status.as_ref().unwrap().state.as_deref(), Some("Waiting"));
    world.assert_quiet(GATED);
}

#[test]
fn p17_one_that_needs_none_carries_no_approved_condition() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let done = world.promotion("menu-to-dev-1");
    let types: Vec<_> = conditions_of(&done).iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, ["Succeeded"]);
}

#[test]
fn p19_execution_reads_the_promotion_and_not_the_config() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.edit_config(GATED, json!({"spec": {"source": {"name": "test"}, "target": {"name": "dev"}}}));
    world.approve("dev-to-test-1");
    world.settle(GATED);
    assert_eq!(world.vector("test"), "menu:1");
    assert_eq!(world.vector("dev"), "menu:1");
}

#[test]
fn p20_approval_opens_no_other_gate() {
    let world = World::gated();
    for vector in ["menu:1", "menu:2"] {
        world.set_vector("dev", vector);
        world.settle(GATED);
    }
    world.approve("dev-to-test-2");
    world.settle(GATED);
    assert_eq!(world.phase("dev-to-test-1"), Phase::Superseded);
    // Somebody writes the condition of a superseded one all the same.
    let stored = conditions_of(&world.promotion("dev-to-test-1")).to_vec();
    let mut conditions = json!(stored);
    conditions.as_array_mut().unwrap()[0]["status"] = json!("True");
    world.edit_status::<VectorPromotion>(PROJECT, "dev-to-test-1", json!({ "conditions": conditions }));
    world.settle(GATED);
    assert_eq!(world.vector("test"), "menu:2");
}

#[test]
fn section_1_the_condition_alone_opens_the_gate() {
    let world = World::gated();
    promotion(GATED, 1).to("eu", "test").gated().approved().into(&world);
    world.settle(GATED);
    assert_eq!(world.vector("test"), "menu:1");
}

#[test]
fn section_1_a_promotion_owned_by_another_uid_never_starts() {
    let world = World::automatic();
    let other = world.config("other", SourceRef::template("menu"), TargetRef::stage("eu", "test"), |_| {});
    promotion(AUTO, 1).owned_by_uid("other", other.metadata.uid.as_deref().unwrap()).into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "");
    // Nor does one whose owner is not in what was read.
    promotion("nobody", 1).owned_by_uid("other", other.metadata.uid.as_deref().unwrap()).into(&world);
    world.settle("nobody");
    assert_eq!(world.vector("dev"), "");
}

#[test]
fn s4_a_promotion_without_approval_never_writes() {
    let world = World::gated();
    for number in 1..=3 {
        world.set_vector("dev", &format!("menu:{number}"));
        world.settle(GATED);
        world.wait(100_000);
        world.settle(GATED);
    }
    assert_eq!(world.vector("test"), "");
}
