//! P38: after a failure the next promotion of the same vector waits, longer each time.

use konfidence_types::{Stage, annotation};
use serde_json::json;

use super::world::{AUTO, World, at};
use crate::promotion::Phase;
use crate::store::{Fault, Verb};

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
