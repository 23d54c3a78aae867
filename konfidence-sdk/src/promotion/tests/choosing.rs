//! Section 6 and P32, P33: order, supersede, the target that does not resolve.

use konfidence_types::{SourceRef, Stage, TargetRef, VectorPromotion, annotation};
use serde_json::json;

use super::world::{AUTO, GATED, MANAGED, PROJECT, World, noon, promotion};
use crate::promotion::{Action, During, Phase, Record, Records};

/// Somebody deletes it, and somebody else's finalizer holds it.
fn going(world: &World, promotion: &str) {
    world.edit::<VectorPromotion>(PROJECT, promotion, json!({"metadata": {"finalizers": ["bakery.example/keep"]}}));
    world.delete::<VectorPromotion>(PROJECT, promotion);
}

#[test]
fn p24_nothing_starts_while_one_is_in_progress() {
    let world = World::automatic();
    world.settle(AUTO);
    // Resumed a moment ago: its back-off keeps it in progress.
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    promotion(AUTO, 2).into(&world);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-2"), Phase::Ready);
    assert!(world.promotion("menu-to-dev-2").status.as_ref().is_none_or(|status| status.state.is_none()), "no write");
    world.assert_quiet(AUTO);
}

#[test]
fn p25_p26_p27_the_highest_ready_one_starts_supersedes_the_lower_and_leaves_the_higher() {
    let world = World::gated();
    world.settle(GATED);
    for sequence in 1..=5 {
        let stored = promotion(GATED, sequence).to("eu", "test").gated();
        if [2, 4].contains(&sequence) { stored.approved() } else { stored }.into(&world);
    }
    let steps = world.steps(GATED);
    let name = |sequence: i64| format!("dev-to-test-{sequence}");
    let chosen: Vec<_> = steps.into_iter().filter(|(action, _)| *action != Action::AwaitApproval).collect();
    assert_eq!(
        chosen,
        [
            (Action::Supersede, name(1)),
            (Action::Supersede, name(2)),
            (Action::Supersede, name(3)),
            (Action::Start, name(4)),
            (Action::WriteStage(During::Start), name(4)),
            (Action::Finish, name(4)),
            (Action::WriteConfigStatus, GATED.to_owned()),
        ]
    );
    world.settle(GATED);
    assert_eq!(world.phase(&name(5)), Phase::Waiting);
    let superseded = world.promotion(&name(1));
    assert_eq!(superseded.status.as_ref().unwrap().superseded_by.as_deref(), Some("dev-to-test-4"));
    let message = &crate::promotion::conditions_of(&superseded).last().unwrap().message;
    assert!(message.contains("dev-to-test-4") && message.contains("menu:4"), "{message}");
}

#[test]
fn p25_order_is_the_sequence_not_the_name_and_equal_ones_are_ordered_by_uid() {
    let world = World::automatic();
    promotion(AUTO, 2).named("zzz").into(&world);
    promotion(AUTO, 10).named("aaa").into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:10");

    let world = World::automatic();
    promotion(AUTO, 3).named("one").of("menu:one").into(&world);
    promotion(AUTO, 3).named("two").of("menu:two").into(&world);
    world.settle(AUTO);
    let winner = [world.promotion("one"), world.promotion("two")].into_iter().max_by_key(|it| it.metadata.uid.clone());
    assert_eq!(world.vector("dev"), winner.unwrap().spec.vector);
}

#[test]
fn p25_creation_comes_first_unless_eight_could_start() {
    for (waiting, first) in [(7, Action::Create), (8, Action::Supersede)] {
        let world = World::automatic();
        world.settle(AUTO);
        world.publish("menu:new");
        for sequence in 1..=waiting {
            promotion(AUTO, sequence).into(&world);
        }
        assert_eq!(world.steps(AUTO).first().map(|(action, _)| *action), Some(first), "{waiting} could start");
    }
}

#[test]
fn p26_what_was_executed_is_a_floor() {
    let world = World::automatic();
    world.publish("menu:a");
    world.settle(AUTO);
    promotion(AUTO, 0).named("late").of("menu:old").into(&world);
    promotion(AUTO, 1).named("equal").of("menu:old").into(&world);
    world.settle(AUTO);
    assert_eq!((world.phase("late"), world.phase("equal")), (Phase::Superseded, Phase::Superseded));
    assert_eq!(world.vector("dev"), "menu:a");

    // The Stage's record counts also when the succeeded promotion is gone.
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
    promotion(AUTO, 1).named("later").of("menu:old").into(&world);
    world.settle(AUTO);
    assert_eq!(world.phase("later"), Phase::Superseded);
}

#[test]
fn p28_a_promotion_in_progress_is_never_superseded() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    promotion(AUTO, 2).into(&world);
    promotion(AUTO, 3).of("menu:done").succeeded().into(&world);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::InProgress, "although a higher one succeeded");
    assert_eq!(world.phase("menu-to-dev-2"), Phase::Superseded);
    world.wait(8);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded, "it finished");
}

#[test]
fn p30_configs_do_not_supersede_each_other() {
    let world = World::automatic();
    world.config("hotfix", SourceRef::stage("eu", "test"), TargetRef::stage("eu", "dev"), |_| {});
    world.set_vector("test", "menu:fix");
    world.settle("hotfix");
    world.publish("menu:1");
    world.settle(AUTO);
    world.settle("hotfix");
    assert_eq!(world.phase("hotfix-1"), Phase::Waiting);
}

#[test]
fn p31_a_hand_made_promotion_runs_also_without_a_config() {
    let world = World::empty();
    promotion("nobody", 1).into(&world);
    promotion("nobody", 2).into(&world);
    world.settle("nobody");
    assert_eq!((world.phase("nobody-1"), world.phase("nobody-2")), (Phase::Superseded, Phase::Succeeded));
    assert_eq!(world.vector("dev"), "menu:2");
    assert_eq!(world.record("dev", "nobody").owner, "");
}

#[test]
fn section_1_a_deleting_promotion_is_neither_started_nor_superseded() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 5).into(&world);
    promotion(AUTO, 1).into(&world);
    going(&world, "menu-to-dev-5");
    going(&world, "menu-to-dev-1");
    promotion(AUTO, 3).into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:3");
    assert_eq!((world.phase("menu-to-dev-1"), world.phase("menu-to-dev-5")), (Phase::Ready, Phase::Ready));
}

#[test]
fn section_1_a_deleting_config_creates_and_starts_nothing() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_config(AUTO, json!({"metadata": {"finalizers": ["bakery.example/keep"]}}));
    world.delete::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO);
    promotion(AUTO, 1).into(&world);
    world.publish("menu:9");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "");
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p32_an_unresolved_target_blocks_and_supersedes_nobody_and_nobody_overtakes() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    promotion(AUTO, 2).to("eu", "nowhere").into(&world);
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.phase("menu-to-dev-2")), (Phase::Ready, Phase::Blocked));
    let message = &crate::promotion::conditions_of(&world.promotion("menu-to-dev-2"))[0].message.clone();
    assert!(message.contains("nowhere") && message.contains(MANAGED), "{message}");
    assert_eq!(world.vector("dev"), "");
    world.assert_quiet(AUTO);
    assert_eq!(world.events.reasons().iter().filter(|reason| **reason == "PromotionBlocked").count(), 1);
}

#[test]
fn p33_blocked_heals_in_one_reconcile_of_the_targets_appearance() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 2).to("eu", "nowhere").blocked().into(&world);
    world.settle(AUTO);
    world.make_stage("nowhere");
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-2"), Phase::Succeeded);
    assert_eq!(world.vector("nowhere"), "menu:2");
}

#[test]
fn p32_a_terminating_target_counts_as_absent() {
    let world = World::automatic();
    world.edit::<Stage>(MANAGED, "dev", json!({"metadata": {"finalizers": ["bakery.example/keep"]}}));
    world.delete::<Stage>(MANAGED, "dev");
    promotion(AUTO, 1).into(&world);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Blocked);
}

#[test]
fn p39_suspend_stops_starts_and_lets_what_runs_finish() {
    let world = World::automatic_with(|spec| spec.suspend = Some(true));
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    promotion(AUTO, 2).ended("False", "PromotionTargetUnresolved", noon()).into(&world);
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.phase("menu-to-dev-2")), (Phase::Succeeded, Phase::Blocked));
    assert_eq!(world.vector("dev"), "menu:1");
    world.assert_quiet(AUTO);
}

#[test]
fn p7_only_a_live_one_that_stays_takes_the_place_of_an_older_one_with_the_same_vector() {
    let superseded = |world: &World| world.phase("menu-to-dev-1") == Phase::Superseded;
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).of("menu:1").gated().into(&world);
    promotion(AUTO, 2).of("menu:1").gated().failed("PromotionRejected").into(&world);
    world.settle(AUTO);
    assert!(!superseded(&world), "the newer one has ended");

    promotion(AUTO, 3).of("menu:1").gated().into(&world);
    going(&world, "menu-to-dev-3");
    world.settle(AUTO);
    assert!(!superseded(&world), "the newer one is going away");

    promotion(AUTO, 4).of("menu:1").gated().into(&world);
    world.settle(AUTO);
    assert!(superseded(&world));
}

#[test]
fn p32_a_blocked_one_tells_what_is_missing_now() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).to("eu", "nowhere").into(&world);
    world.settle(AUTO);
    world.delete::<konfidence_types::Landscape>(PROJECT, "eu");
    world.settle(AUTO);
    let message = &crate::promotion::conditions_of(&world.promotion("menu-to-dev-1"))[0].message.clone();
    assert!(message.contains("Landscape"), "{message}");
    world.assert_quiet(AUTO);
}

#[test]
fn c2_the_status_waits_for_what_starts_next_and_for_nothing_else() {
    let finish = (Action::Finish, "menu-to-dev-1".to_owned());
    let status = (Action::WriteConfigStatus, AUTO.to_owned());
    let executed = |suspended: bool| {
        let world = World::automatic_with(|spec| spec.suspend = Some(suspended));
        world.settle(AUTO);
        promotion(AUTO, 1).in_progress().into(&world);
        let record = Record {
            owner: world.stored_config(AUTO).metadata.uid.clone().unwrap(),
            sequence: 1,
            promotion: world.promotion("menu-to-dev-1").metadata.uid.clone().unwrap(),
            vector: "menu:1".to_owned(),
        };
        let records = Records::of(&world.stage("dev")).text_with(AUTO, record);
        let written = json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}});
        world.edit::<Stage>(MANAGED, "dev", written);
        world
    };
    let world = executed(false);
    assert_eq!(world.steps(AUTO), [finish.clone(), status.clone()]);
    promotion(AUTO, 2).into(&world);
    assert_eq!(world.steps(AUTO), std::slice::from_ref(&finish), "the next one starts in the next decision");

    let world = executed(true);
    promotion(AUTO, 2).into(&world);
    assert_eq!(world.steps(AUTO), [finish, status.clone()], "nothing starts");

    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    promotion(AUTO, 2).into(&world);
    assert_eq!(world.steps(AUTO), [status], "it outlives this reconcile (P40)");
}

#[test]
fn p7_an_approved_one_keeps_its_place_before_a_newer_one_with_the_same_vector() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).of("menu:1").gated().approved().into(&world);
    promotion(AUTO, 2).of("menu:1").gated().into(&world);
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.vector("dev").as_str()), (Phase::Succeeded, "menu:1"));
}

#[test]
fn p26_what_the_stages_record_supersedes_names_the_promotion_of_the_record() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 4).failed("PromotionMislaid").into(&world);
    promotion(AUTO, 5).failed("PromotionMislaid").into(&world);
    let record = Record {
        owner: world.stored_config(AUTO).metadata.uid.clone().unwrap(),
        sequence: 5,
        promotion: world.promotion("menu-to-dev-5").metadata.uid.clone().unwrap(),
        vector: "menu:5".to_owned(),
    };
    let records = Records::of(&world.stage("dev")).text_with(AUTO, record);
    world.edit::<Stage>(MANAGED, "dev", json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}}));
    promotion(AUTO, 3).into(&world);
    world.settle(AUTO);
    let superseded = world.promotion("menu-to-dev-3");
    assert_eq!(superseded.status.as_ref().unwrap().superseded_by.as_deref(), Some("menu-to-dev-5"));
}
