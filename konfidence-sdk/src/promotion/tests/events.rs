//! P47: events, once per transition, and only of what is still live when the key rests.

use konfidence_types::{VectorPromotion, annotation};

use super::world::{AUTO, GATED, PROJECT, World, promotion};
use crate::event::Severity;
use crate::store::{Fault, Verb};

#[test]
fn p47_an_automatic_promotion_that_runs_through_is_one_event() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let events = world.events.take();
    assert_eq!(events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["PromotionSucceeded"]);
    assert!(events[0].note.contains("menu:1"), "{}", events[0].note);
    assert_eq!(
        (events[0].regarding.kind.as_str(), events[0].regarding.name.as_str()),
        ("VectorPromotion", "menu-to-dev-1")
    );
}

#[test]
fn p47_one_that_waits_is_told_on_its_config() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    let events = world.events.take();
    assert_eq!(events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["PromotionCreated"]);
    assert_eq!(events[0].regarding.kind, "VectorPromotionConfig");
    world.settle(GATED);
    assert_eq!(world.events.take(), []);
}

#[test]
fn p47_one_that_stays_in_progress_is_told() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    for _ in 0..2 {
        world.store.fail_next::<konfidence_types::Stage>(Verb::Patch, Fault::Unavailable);
    }
    world.settle(AUTO);
    assert_eq!(world.events.reasons(), ["PromotionCreated", "PromotionStarted"]);
}

#[test]
fn p47_a_failure_is_a_warning() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    world.store.fail_next::<konfidence_types::Stage>(Verb::Patch, Fault::Invalid);
    world.settle(AUTO);
    let events = world.events.take();
    assert_eq!(
        events.iter().map(|event| (event.reason, event.severity)).collect::<Vec<_>>(),
        [("PromotionFailed", Severity::Warning)]
    );
}

#[test]
fn p47_superseded_and_timed_out_are_told() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    promotion(AUTO, 2).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:04:59Z").into(&world);
    world.wait(301);
    promotion(AUTO, 3).into(&world);
    world.settle(AUTO);
    let told: Vec<_> = world.events.take().iter().map(|event| (event.reason, event.severity)).collect();
    assert_eq!(
        told,
        [
            ("PromotionTimedOut", Severity::Warning),
            ("PromotionSuperseded", Severity::Normal),
            ("PromotionSucceeded", Severity::Normal),
        ]
    );
}

#[test]
fn p47_the_loser_of_a_transition_tells_nothing() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    let plan = world.plan(AUTO);
    world.settle(AUTO);
    world.events.take();
    let applied = futures::executor::block_on(crate::promotion::apply(&world.store, &plan));
    assert!(applied.written.is_empty());
    world.settle(AUTO);
    assert_eq!(world.events.take(), []);
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
}
