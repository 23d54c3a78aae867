//! P8: every vector that the source held while somebody was watching is a candidate.

use konfidence_types::{SourceRef, TargetRef, VectorPromotion};
use serde_json::json;

use super::world::{GATED, PROJECT, World};

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
