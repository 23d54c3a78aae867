//! Section 5: the state is a pure function of the conditions and `requireApproval`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use konfidence_types::{Condition, PromotionState};
use serde_json::json;

use super::world::{AUTO, World, noon, promotion};
use crate::condition::{Moves, merge};
use crate::promotion::Phase;

fn condition(type_: &str, status: &str, reason: &str) -> Condition {
    Condition {
        type_: type_.into(),
        status: status.into(),
        reason: reason.into(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

#[test]
fn section_5_every_row_of_the_table() {
    let rows = [
        ("True", "PromotionSucceeded", PromotionState::Succeeded, true),
        ("False", "PromotionRunning", PromotionState::InProgress, false),
        ("False", "PromotionTargetUnresolved", PromotionState::Blocked, false),
        ("False", "PromotionSuperseded", PromotionState::Superseded, true),
        ("False", "PromotionTimedOut", PromotionState::Failed, true),
        ("False", "PromotionFailed", PromotionState::Failed, true),
        ("False", "PromotionRejected", PromotionState::Failed, true),
        ("False", "SomethingOfANewerVersion", PromotionState::Failed, true),
        ("Unknown", "PromotionRunning", PromotionState::Failed, false),
    ];
    for (status, reason, state, terminal) in rows {
        for require_approval in [false, true] {
            let phase = Phase::of(&[condition("Succeeded", status, reason)], require_approval);
            assert_eq!((phase.state(), phase.is_terminal()), (state, terminal), "{status}/{reason}");
        }
    }
}

#[test]
fn section_5_without_succeeded_the_gate_decides() {
    let approved = [condition("Approved", "True", "ManuallyApproved")];
    let waiting = [condition("Approved", "False", "WaitingForApproval")];
    assert_eq!(Phase::of(&[], false), Phase::Ready);
    assert_eq!(Phase::of(&[], true), Phase::Waiting);
    assert_eq!(Phase::of(&waiting, true), Phase::Waiting);
    assert_eq!(Phase::of(&approved, true), Phase::Ready);
}

#[test]
fn section_5_unknown_is_never_executed_and_blocks_nobody() {
    let world = World::automatic();
    promotion(AUTO, 1).ended("Unknown", "Whatever", noon()).into(&world);
    promotion(AUTO, 2).into(&world);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Superseded);
    assert_eq!(world.phase("menu-to-dev-2"), Phase::Succeeded);
}

#[test]
fn section_5_unknown_pins_no_vector_either() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).ended("Unknown", "Whatever", noon()).into(&world);
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Superseded);
    assert_eq!((world.phase("menu-to-dev-2"), world.vector("dev").as_str()), (Phase::Succeeded, "menu:1"));
}

#[test]
fn p21_a_changed_reason_moves_the_transition_time() {
    let before = merge(None, "Succeeded", ("False", "PromotionTargetUnresolved"), "", None, Moves::OnReason, noon());
    let later = noon() + jiff::SignedDuration::from_secs(90);
    let other_reason =
        merge(Some(&before), "Succeeded", ("False", "PromotionRunning"), "", None, Moves::OnReason, later);
    let other_message =
        merge(Some(&before), "Succeeded", ("False", "PromotionTargetUnresolved"), "x", None, Moves::OnReason, later);
    assert_eq!(other_reason.last_transition_time.0, later);
    assert_eq!(other_message.last_transition_time.0, noon());
}

#[test]
fn p22_a_terminal_promotion_is_never_written_again() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let before = world.promotion("menu-to-dev-1").metadata.resource_version.clone();
    world.publish("menu:2");
    world.settle(AUTO);
    world.wait(100_000);
    world.settle(AUTO);
    assert_eq!(world.promotion("menu-to-dev-1").metadata.resource_version, before);
}

#[test]
fn p22_a_wrong_stored_state_is_no_reason_to_write() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotion>("bakery", "menu-to-dev-1", json!({"state": "Nonsense"}));
    world.assert_quiet(AUTO);
}

#[test]
fn p23_a_write_that_is_not_conditional_on_what_was_read_conflicts() {
    let world = World::automatic();
    promotion(AUTO, 7).into(&world);
    let plan = {
        world.settle_config_only();
        world.plan(AUTO)
    };
    world.edit::<konfidence_types::VectorPromotion>(
        "bakery",
        "menu-to-dev-7",
        json!({"metadata": {"labels": {"a": "b"}}}),
    );
    let applied = futures::executor::block_on(crate::promotion::apply(&world.store, &plan));
    assert!(matches!(applied.stopped, Some(crate::promotion::Stopped::Conflict)), "{applied:?}");
    assert_eq!(applied.written.len(), 0);
}
