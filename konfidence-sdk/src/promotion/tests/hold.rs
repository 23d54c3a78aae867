//! P52: what a person put in the way of the source's vector stays.

use futures::executor::block_on;
use konfidence_types::annotation;
use serde_json::json;

use super::world::{AUTO, World, promotion};
use crate::promotion::release;
use crate::store::Key;

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
fn p52_a_promotion_that_was_rejected_holds_nothing() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    promotion(AUTO, 2)
        .of("by-hand:1")
        .annotated(annotation::OVERRULES, r#"{"vector":"menu:2","by":"ada"}"#)
        .failed("PromotionRejected")
        .into(&world);
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:2");
}

#[test]
fn p52_what_holds_can_be_released_and_nothing_else() {
    let world = World::automatic();
    world.publish("menu:2");
    world.settle(AUTO);
    let config = Key::of(&*world.stored_config(AUTO));
    let release = || block_on(release(world.memory(), &config, "ada"));
    assert!(release().is_err(), "nothing is held");
    promotion(AUTO, 2).of("menu:1").annotated(annotation::OVERRULES, r#"{"vector":"menu:2","by":"ada"}"#).into(&world);
    world.settle(AUTO);
    release().unwrap();
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:2");
}
