//! P51: what somebody else wrote to the target is put back at once, and then at a pace.

use konfidence_types::{SourceRef, Stage, TargetRef, VectorPromotion, annotation};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, GATED, MANAGED, PROJECT, World, at};
use crate::promotion::{Phase, Record, Records, Step, Write};

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
fn p51_a_source_that_moves_on_before_the_first_success_is_no_correction() {
    let world = World::automatic();
    world.settle(AUTO);
    let made = || {
        let created = |step: Step| if let Write::Create(made) = step.write { Some(*made) } else { None };
        world.plan(AUTO).steps.into_iter().find_map(created).unwrap()
    };
    world.publish("menu:1");
    world.insert::<VectorPromotion>(serde_json::to_value(made()).unwrap());
    world.publish("menu:2");
    assert_eq!(made().spec.vector, "menu:2");
    assert_eq!(made().annotations().get(annotation::CORRECTIONS), None);
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
fn p51_at_the_very_end_of_its_hour_a_correction_still_counts() {
    for (late, corrections) in [(3600, "2"), (3601, "1")] {
        let world = World::automatic();
        world.publish("menu:1");
        world.settle(AUTO);
        world.set_vector("dev", "by-hand:1");
        world.settle(AUTO);
        world.wait(late);
        world.set_vector("dev", "by-hand:1");
        world.settle(AUTO);
        let made = world.annotation("menu-to-dev-3", annotation::CORRECTIONS);
        assert_eq!(made.as_deref(), Some(corrections), "{late} s after the first");
    }
}

/// A record of a version that noted no vector: then the success tells that the vector was ours.
#[test]
fn p51_what_a_record_without_a_vector_put_there_is_put_back_as_a_correction() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let record = Record { vector: String::new(), ..world.record("dev", AUTO) };
    let records = Records::of(&world.stage("dev")).text_with(AUTO, record);
    let edit = json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}, "spec": {"vector": "by-hand:1"}});
    world.edit::<Stage>(MANAGED, "dev", edit);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.annotation("menu-to-dev-2", annotation::CORRECTIONS).as_deref(), Some("1"));
}
