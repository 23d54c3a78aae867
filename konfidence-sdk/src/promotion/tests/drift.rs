//! Section 3, P38, P51, P52: when a promotion is made, and when not.

use konfidence_types::{MAX_SEQUENCE, SourceRef, Stage, TargetRef, VectorPromotion, annotation, label};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, GATED, MANAGED, PROJECT, World, at, promotion};
use crate::promotion::{Action, Phase};
use crate::store::{Fault, Verb};

#[test]
fn p6_a_vector_that_the_target_has_is_no_drift() {
    let world = World::automatic();
    world.set_vector("dev", "menu:1");
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
}

#[test]
fn p6_an_absent_target_is_no_drift_and_the_inbox_is_kept() {
    let world = World::gated();
    world.settle(GATED);
    world.delete::<Stage>(MANAGED, "test");
    for vector in ["menu:1", "menu:2"] {
        world.set_vector("dev", vector);
        world.settle(GATED);
    }
    assert_eq!(world.overview(), []);
    world.make_stage("test");
    world.settle(GATED);
    let vectors: Vec<_> = world.promotions().iter().map(|made| made.spec.vector.clone()).collect();
    assert_eq!(vectors, ["menu:1", "menu:2"]);
}

#[test]
fn p7_one_change_makes_one_promotion() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p7_the_source_going_back_makes_a_new_one_and_supersedes_the_repeated() {
    let world = World::gated();
    for vector in ["menu:a", "menu:b", "menu:a"] {
        world.set_vector("dev", vector);
        world.settle(GATED);
    }
    assert_eq!(world.phase("dev-to-test-1"), Phase::Superseded);
    assert_eq!(world.phase("dev-to-test-2"), Phase::Waiting);
    assert_eq!(
        (world.phase("dev-to-test-3"), world.promotion("dev-to-test-3").spec.vector.as_str()),
        (Phase::Waiting, "menu:a")
    );
}

#[test]
fn p7_one_that_is_executed_while_it_is_deleted_needs_no_twin() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    let keep = json!({"metadata": {"finalizers": ["bakery.example/keep"]}});
    world.edit::<VectorPromotion>(PROJECT, "menu-to-dev-1", keep);
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
    world.settle(AUTO);
    assert_eq!(world.overview().len(), 1);
    world.wait(8);
    world.settle(AUTO);
    assert_eq!((world.overview().len(), world.vector("dev").as_str()), (1, "menu:1"));
}

#[test]
fn p7_a_repointed_config_makes_one_for_its_new_target() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.edit_config(AUTO, json!({"spec": {"target": {"kind": "Stage", "landscape": "eu", "name": "test"}}}));
    world.settle(AUTO);
    assert_eq!(world.vector("test"), "menu:1");
    assert_eq!(world.overview().len(), 2);
}

#[test]
fn p8_every_vector_of_a_coalesced_burst_gets_its_promotion_in_order() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=5 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.settle(GATED);
    let made: Vec<_> = world.promotions().iter().map(|made| (made.spec.sequence, made.spec.vector.clone())).collect();
    let expected: Vec<_> = (1..=5).map(|number| (number, format!("menu:{number}"))).collect();
    assert_eq!(made, expected);
}

#[test]
fn p8_the_oldest_beyond_256_are_dropped_with_a_warning() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=300 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.settle(GATED);
    assert_eq!(world.overview().len(), 256);
    assert!(world.promotions().iter().all(|made| made.spec.vector != "menu:44"), "the oldest go");
    let warnings = world.events.reasons().into_iter().filter(|reason| *reason == "CandidatesDropped").count();
    assert_eq!(warnings, 1, "{:?}", world.events.reasons());
}

#[test]
fn p8_what_was_taken_in_time_is_not_lost_however_much_follows() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=300 {
        world.set_vector("dev", &format!("menu:{number}"));
        world.settle(GATED);
    }
    assert_eq!(world.overview().len(), 300);
    assert!(!world.events.reasons().contains(&"CandidatesDropped"));
}

#[test]
fn p8_a_burst_right_after_the_config_was_made_is_no_history() {
    let world = World::empty();
    world.set_vector("dev", "menu:before");
    world.config(GATED, SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"), |_| {});
    for number in 1..=3 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.settle(GATED);
    let vectors: Vec<_> = world.promotions().iter().map(|made| made.spec.vector.clone()).collect();
    assert_eq!(vectors, ["menu:1", "menu:2", "menu:3"]);
}

#[test]
fn p8_what_the_source_held_while_the_config_pointed_elsewhere_is_no_candidate() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    let point = |kind: &str, name: &str, landscape: Option<&str>| {
        world.edit_config(GATED, json!({"spec": {"source": {"kind": kind, "name": name, "landscape": landscape}}}));
        world.settle(GATED);
    };
    point("VectorTemplate", "menu", None);
    for number in 2..=4 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    point("Stage", "dev", Some("eu"));
    let vectors: Vec<_> = world.promotions().iter().map(|made| made.spec.vector.clone()).collect();
    assert_eq!(vectors, ["menu:1", "menu:4"]);
}

#[test]
fn p8_what_was_promoted_in_time_is_not_warned_of_when_it_leaves_the_inbox() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=300 {
        world.set_vector("dev", &format!("menu:{number}"));
        if number % 100 == 0 {
            world.settle(GATED);
        }
    }
    assert_eq!(world.overview().len(), 300);
    assert!(!world.events.reasons().contains(&"CandidatesDropped"), "nothing was lost");
}

#[test]
fn p8_each_config_is_warned_of_its_own_losses_once() {
    let world = World::gated();
    world.config("second", SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"), |config| {
        config.require_approval = Some(true);
    });
    world.settle(GATED);
    world.settle("second");
    for number in 1..=258 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.settle(GATED);
    world.settle(GATED);
    world.settle("second");
    let warned: Vec<_> = world.events.take().into_iter().filter(|event| event.reason == "CandidatesDropped").collect();
    let of: Vec<_> = warned.iter().map(|event| event.regarding.name.as_str()).collect();
    assert_eq!(of, [GATED, "second"]);
}

#[test]
fn p8_after_a_restart_only_the_present_vector_is_known() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=3 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.inbox.clear();
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
    assert_eq!(world.promotion("dev-to-test-1").spec.vector, "menu:3");
}

#[test]
fn p8_what_the_source_held_before_the_config_looked_is_no_candidate() {
    let world = World::empty();
    for number in 1..=3 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.config(GATED, SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"), |_| {});
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p8_a_candidate_that_somebody_deleted_does_not_come_back() {
    let world = World::gated();
    world.settle(GATED);
    for number in 1..=3 {
        world.set_vector("dev", &format!("menu:{number}"));
    }
    world.settle(GATED);
    world.delete::<VectorPromotion>(PROJECT, "dev-to-test-1");
    world.settle(GATED);
    assert_eq!(world.overview().len(), 2);
}

#[test]
fn p9_names_and_labels_stay_legal_for_the_longest_config_name() {
    let long = "a".repeat(253);
    let world = World::empty();
    world.config(&long, SourceRef::template("menu"), TargetRef::stage("eu", "dev"), |_| {});
    world.publish("menu:1");
    world.settle(&long);
    let made = world.promotions().remove(0);
    assert!(made.name_any().len() <= 253, "{}", made.name_any());
    assert!(made.labels()[label::CONFIG].len() <= 63);
    assert_eq!(world.vector("dev"), "menu:1");
}

#[test]
fn p10_the_gate_follows_the_source_unless_the_config_says_otherwise() {
    for (from_stage, wish, expected) in
        [(true, None, true), (false, None, false), (true, Some(false), false), (false, Some(true), true)]
    {
        let world = World::empty();
        let source = if from_stage { SourceRef::stage("eu", "dev") } else { SourceRef::template("menu") };
        world.config("flow", source, TargetRef::stage("eu", "test"), |spec| spec.require_approval = wish);
        world.publish("menu:1");
        world.set_vector("dev", "menu:1");
        world.settle("flow");
        assert_eq!(world.promotion("flow-1").spec.require_approval, expected, "{from_stage} {wish:?}");
    }
}

#[test]
fn p11_a_promotion_carries_owner_snapshots_ttl_and_sequence() {
    let world = World::gated_with(|spec| spec.ttl_after_finished = Some("90m".parse().unwrap()));
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    let (made, config) = (world.promotion("dev-to-test-1"), world.stored_config(GATED));
    let owner = &made.owner_references()[0];
    assert_eq!((owner.name.as_str(), Some(owner.uid.as_str())), (GATED, config.metadata.uid.as_deref()));
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), None));
    assert_eq!((&made.spec.source, &made.spec.target), (&config.spec.source, &config.spec.target));
    assert_eq!(made.spec.ttl_after_finished, config.spec.ttl_after_finished);
    assert_eq!((made.spec.sequence, made.spec.vector.as_str()), (1, "menu:1"));
}

#[test]
fn p12_a_config_made_again_under_its_name_starts_clean() {
    let world = World::automatic();
    world.settle(AUTO);
    // A leftover of the old config that garbage collection has not reached.
    promotion(AUTO, 4).owned_by_uid(AUTO, "another-uid").into(&world);
    world.publish("menu:9");
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": null}));
    world.settle(AUTO);
    assert_eq!(world.promotion("menu-to-dev-5").spec.vector, "menu:9", "numbers go on above the leftovers");
    assert_eq!(world.vector("dev"), "menu:9");
    assert_eq!(world.phase("menu-to-dev-4"), Phase::Ready, "it is not ours: not executed, not superseded");
}

#[test]
fn p12_nothing_is_created_before_the_number_base_is_stored() {
    let world = World::automatic();
    world.publish("menu:1");
    world.store.fail_next::<konfidence_types::VectorPromotionConfig>(Verb::PatchStatus, Fault::Unavailable);
    assert!(world.try_settle(AUTO).is_err());
    assert_eq!(world.overview(), []);
    world.settle(AUTO);
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p13_the_next_number_is_above_status_record_and_members() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": 41}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.record("dev", AUTO).sequence, 42);

    // A restore that lost status and promotions: the Stage's record still counts.
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-42");
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": null}));
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!(world.record("dev", AUTO).sequence, 43);

    promotion(AUTO, 1000).of("menu:3").gated().into(&world);
    world.publish("menu:4");
    world.settle(AUTO);
    assert_eq!(world.record("dev", AUTO).sequence, 1001);
}

#[test]
fn p13_when_all_numbers_are_used_up_nothing_is_made_and_ready_says_so() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": MAX_SEQUENCE}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
    assert!(world.ready(AUTO).2.contains("used up"), "{:?}", world.ready(AUTO));
    world.assert_quiet(AUTO);
}

#[test]
fn p13_a_name_that_something_else_holds_costs_its_number_only() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion("another", 1).named("menu-to-dev-1").gated().into(&world);
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.record("dev", AUTO).sequence, 2);
}

#[test]
fn p13_sixty_vectors_give_at_most_sixty_promotions() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1000);
    for number in 1..=60 {
        world.publish(&format!("menu:{number}"));
        world.settle(AUTO);
    }
    assert_eq!(world.overview().len(), 60);
    assert_eq!(world.vector("dev"), "menu:60");
}

#[test]
fn p14_nothing_is_created_while_suspended() {
    let world = World::automatic_with(|spec| spec.suspend = Some(true));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
    world.edit_config(AUTO, json!({"spec": {"suspend": false}}));
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
}

#[test]
fn p18_a_rejected_vector_does_not_come_back_until_another_came() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.edit_status::<VectorPromotion>(
        PROJECT,
        "dev-to-test-1",
        json!({
            "conditions": [{"type": "Succeeded", "status": "False", "reason": "PromotionRejected", "message": "no",
                "lastTransitionTime": "2026-03-01T12:00:00Z"}],
        }),
    );
    world.wait(1_000_000);
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
    world.set_vector("dev", "menu:2");
    world.settle(GATED);
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    assert_eq!(world.promotion("dev-to-test-3").spec.vector, "menu:1");
}

#[test]
fn p38_a_failing_target_gets_a_handful_of_promotions_in_an_hour() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    let mut made_at = Vec::new();
    for _ in 0..3600 {
        world.store.fail_next::<Stage>(Verb::Patch, Fault::Forbidden);
        let before = world.overview().len();
        let outcome = world.settle(AUTO);
        if world.overview().len() > before {
            made_at.push(world.now().duration_since(super::world::noon()).as_secs() / 60);
        }
        let Some(next) = outcome.wake_up.filter(|next| *next < at("13:00:00")) else { break };
        world.clock.set(next);
    }
    assert_eq!(made_at, [0, 1, 3, 7, 15, 31]);
    assert_eq!(world.annotation("menu-to-dev-6", annotation::FAILURES).as_deref(), Some("5"));
}

#[test]
fn p38_another_target_is_tried_at_once() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    world.store.fail_next::<Stage>(Verb::Patch, Fault::Invalid);
    world.settle(AUTO);
    world.edit_config(AUTO, json!({"spec": {"target": {"name": "test"}}}));
    world.settle(AUTO);
    assert_eq!(world.vector("test"), "menu:1");
    assert_eq!(world.annotation("menu-to-dev-2", annotation::FAILURES), None);
}

#[test]
fn p38_another_vector_is_tried_at_once() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    world.store.fail_next::<Stage>(Verb::Patch, Fault::Invalid);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Refused);
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:2");
    assert_eq!(world.annotation("menu-to-dev-2", annotation::FAILURES), None);
}

#[test]
fn p51_somebody_elses_write_is_corrected_at_once_and_then_with_growing_delay() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let mut corrected_at = Vec::new();
    for _ in 0..200 {
        if world.vector("dev") == "menu:1" {
            world.set_vector("dev", "by-hand:1");
        }
        let outcome = world.settle(AUTO);
        if world.vector("dev") == "menu:1" {
            corrected_at.push(world.now().duration_since(super::world::noon()).as_secs() / 60);
            continue;
        }
        match outcome.wake_up.filter(|next| *next < at("16:00:00")) {
            Some(next) => world.clock.set(next),
            None => break,
        }
    }
    assert_eq!(corrected_at, [0, 1, 3, 7, 15, 31, 63, 123, 183], "one at once, then 1, 2, 4, … at most 60 minutes");
    assert!(world.events.reasons().contains(&"TargetContested"));
}

#[test]
fn p51_a_wake_up_that_comes_late_does_not_start_the_count_anew() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let uncontested = world.overview().len();
    let mut made = 0;
    for _ in 0..200 {
        if world.vector("dev") == "menu:1" {
            world.set_vector("dev", "by-hand:1");
        }
        let outcome = world.settle(AUTO);
        if world.vector("dev") == "menu:1" {
            made += 1;
            continue;
        }
        match outcome.wake_up.filter(|next| *next < at("23:00:00")) {
            Some(next) => world.clock.set(next + jiff::SignedDuration::from_secs(2)),
            None => break,
        }
    }
    assert_eq!((uncontested, made), (1, 16), "7 in the first hour, then one an hour");
}

/// How many promotions an hour of such edits costs, each made as soon as the last one is corrected.
fn contested_for_an_hour(cap: i64, edit: impl Fn(&World)) -> i64 {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = cap);
    world.publish("menu:1");
    world.settle(AUTO);
    for _ in 0..200 {
        if world.vector("dev") == "menu:1" {
            edit(&world);
        }
        let outcome = world.settle(AUTO);
        if world.vector("dev") == "menu:1" {
            continue;
        }
        match outcome.wake_up.filter(|next| *next < at("13:00:00")) {
            Some(next) => world.clock.set(next),
            None => break,
        }
    }
    assert!(world.events.reasons().contains(&"TargetContested"), "cap {cap}");
    world.stored_config(AUTO).status.as_ref().and_then(|status| status.sequence).unwrap()
}

#[test]
fn p51_an_edit_that_takes_the_record_along_costs_no_more() {
    for cap in [10, 0] {
        let keeping = contested_for_an_hour(cap, |world| world.set_vector("dev", "by-hand:1"));
        let stripping = contested_for_an_hour(cap, |world| {
            world.edit::<Stage>(
                MANAGED,
                "dev",
                json!({"metadata": {"annotations": null}, "spec": {"vector": "by-hand:1"}}),
            );
        });
        let replacing = contested_for_an_hour(cap, |world| {
            world.delete::<Stage>(MANAGED, "dev");
            world.make_stage("dev");
        });
        assert_eq!((keeping, stripping, replacing), (7, 7, 7), "cap {cap}");
    }
}

#[test]
fn p51_an_edit_after_a_quiet_hour_is_the_first_again() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    for _ in 0..3 {
        world.set_vector("dev", "by-hand:1");
        world.settle(AUTO);
        assert_eq!(world.vector("dev"), "menu:1");
        world.wait(3601);
    }
    assert!(!world.events.reasons().contains(&"TargetContested"));
}

#[test]
fn p51_where_a_person_approves_an_edit_is_plain_drift() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.approve("dev-to-test-1");
    world.settle(GATED);
    world.set_vector("test", "by-hand:1");
    world.settle(GATED);
    assert_eq!(world.phase("dev-to-test-2"), Phase::Waiting);
    assert_eq!(world.annotation("dev-to-test-2", annotation::CORRECTIONS), None);
}

#[test]
fn p51_two_configs_on_one_stage_cost_a_bounded_number_an_hour() {
    let world = World::automatic();
    world.config("rival", SourceRef::template("soup"), TargetRef::stage("eu", "dev"), |_| {});
    world.insert::<konfidence_types::VectorTemplate>(json!({
        "metadata": {"namespace": PROJECT, "name": "soup"}, "spec": {"uploadTarget": "r//s", "components": [{"name": "a:1"}]},
        "status": {"latestVector": "soup:1"},
    }));
    world.publish("menu:1");
    for _ in 0..200 {
        let wake_ups = [world.settle(AUTO).wake_up, world.settle("rival").wake_up, world.settle(AUTO).wake_up];
        let Some(next) = wake_ups.into_iter().flatten().min().filter(|next| *next < at("13:00:00")) else { break };
        world.clock.set(next.max(world.now()));
        if world.now() == next {
            world.wait(1);
        }
    }
    assert!(world.overview().len() < 24, "{} promotions in an hour", world.overview().len());
}

#[test]
fn p52_a_held_vector_stays_until_a_new_one_comes() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.publish("menu:2");
    world.settle(AUTO);
    let config = world.stored_config(AUTO);
    promotion(AUTO, 3)
        .of("menu:1")
        .owned_by(&config)
        .annotated(annotation::OVERRULES, r#"{"vector":"menu:2","by":"ada"}"#)
        .into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    let (_, _, message) = world.ready(AUTO);
    assert!(message.contains("ada") && message.contains("menu:2"), "{message}");
    world.assert_quiet(AUTO);

    world.publish("menu:3");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:3");
    assert!(!world.ready(AUTO).2.contains("ada"));
}

#[test]
fn p52_a_released_hold_lets_drift_go_on() {
    let world = World::automatic();
    world.publish("menu:2");
    world.settle(AUTO);
    promotion(AUTO, 2).of("menu:1").annotated(annotation::OVERRULES, r#"{"vector":"menu:2","by":"ada"}"#).into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    let uid = world.promotion("menu-to-dev-2").metadata.uid.clone();
    world.edit_config(AUTO, json!({"metadata": {"annotations": {annotation::RELEASED: uid}}}));
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:2");
}

#[test]
fn p14_p7_creation_comes_before_the_start_and_ends_its_plan() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).of("menu:1").into(&world);
    world.publish("menu:2");
    assert_eq!(world.steps(AUTO), [(Action::Create, "menu-to-dev-2".to_owned())]);
}
