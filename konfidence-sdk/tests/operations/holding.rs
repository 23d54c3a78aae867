//! P52: a vector that a person puts in the way of the source's, and its release.

use konfidence_sdk::promotion::Refusal;
use konfidence_sdk::store::ObjectStore;
use konfidence_sdk::types::condition;
use serde_json::json;

use crate::world::{World, config};

/// The source is at `menu:2`, and anna took dev back to `menu:1`.
async fn rolled_back() -> World {
    let world = World::automatic().await;
    world.template_has("menu:2").await;
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:2");
    world.promote("menu-to-dev", "menu:1", "anna").await.unwrap();
    world.settle("menu-to-dev").await;
    world.forget();
    world
}

async fn ready_message(world: &World, of: &str) -> String {
    let config = world.memory().get(&config(of)).await.unwrap().unwrap();
    condition(&config.status.as_ref().unwrap().conditions, "Ready").unwrap().message.clone()
}

#[tokio::test]
async fn p52_a_rollback_by_hand_is_not_undone_by_automation() {
    let world = rolled_back().await;
    for _ in 0..10 {
        world.pass("1h".parse().unwrap());
        world.settle("menu-to-dev").await;
    }
    assert_eq!(world.vector_of("dev").await, "menu:1");
    assert_eq!(world.promotions().await.len(), 3);
    let message = ready_message(&world, "menu-to-dev").await;
    assert!(message.contains("held by anna with promotion menu-to-dev-3 against vector menu:2"), "{message}");
    let made = world.promotion("menu-to-dev-3").await;
    let overrules = &made.metadata.annotations.as_ref().unwrap()["konfidence.cloud/overrules"];
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(overrules).unwrap(),
        json!({"vector": "menu:2", "by": "anna"})
    );
}

#[tokio::test]
async fn p52_a_hold_is_told_as_soon_as_its_promotion_waits() {
    let world = World::approved().await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    let both = (world.vector_of("dev").await, world.vector_of("test").await);
    assert_eq!(both.0, both.1, "there is no drift");
    world.promote("dev-to-test", "menu:0", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    assert_eq!(world.state("dev-to-test-2").await, "Waiting");
    let message = ready_message(&world, "dev-to-test").await;
    assert!(message.contains("held by anna with promotion dev-to-test-2 against vector"), "{message}");
    let told = world.explain("dev-to-test").await.to_string();
    assert!(told.contains("held by anna"), "{told}");
}

#[tokio::test]
async fn p52_a_new_source_vector_ends_the_hold() {
    let world = rolled_back().await;
    world.template_has("menu:3").await;
    let refused = world.release("menu-to-dev", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::NothingHeld { .. }), "{refused}");
    assert!(refused.to_string().contains("overruled vector menu:2, and the source has menu:3"), "{refused}");
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:3");
}

#[tokio::test]
async fn p52_a_release_names_the_promotion_and_lets_drift_go_on() {
    let world = rolled_back().await;
    let released = world.release("menu-to-dev", "bert").await.unwrap();
    let held = world.promotion("menu-to-dev-3").await;
    let annotations = released.metadata.annotations.as_ref().unwrap();
    assert_eq!(Some(&annotations["konfidence.cloud/released"]), held.metadata.uid.as_ref());
    assert_eq!(world.store.writes().len(), 1);
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:2");
}

#[tokio::test]
async fn p52_a_hold_can_be_released_while_the_config_is_suspended() {
    let world = rolled_back().await;
    world.change_config("menu-to-dev", json!({"spec": {"suspend": true}})).await;
    world.release("menu-to-dev", "bert").await.unwrap();
}

#[tokio::test]
async fn p52_a_release_of_nothing_is_refused_without_a_write() {
    let world = World::automatic().await;
    let refused = world.release("menu-to-dev", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::NothingHeld { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/menu-to-dev");
    let refused = world.release("menu-to-dev", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::Anonymous { .. }), "{refused}");
    let refused = world.release("nowhere", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::ConfigNotFound { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/nowhere");
}

#[tokio::test]
async fn p52_a_hold_is_released_once() {
    let world = rolled_back().await;
    world.release("menu-to-dev", "bert").await.unwrap();
    world.forget();
    let refused = world.release("menu-to-dev", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::NothingHeld { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/menu-to-dev");
}

#[tokio::test]
async fn p52_the_source_s_own_vector_holds_nothing() {
    let world = World::automatic().await;
    world.template_has("menu:2").await;
    let made = world.promote("menu-to-dev", "menu:2", "anna").await.unwrap();
    assert_eq!(made.metadata.annotations.as_ref().unwrap().get("konfidence.cloud/overrules"), None);
    world.settle("menu-to-dev").await;
    assert_eq!(world.promotions().await, ["menu-to-dev-1", "menu-to-dev-2"]);
    assert_eq!(world.vector_of("dev").await, "menu:2");
}

#[tokio::test]
async fn p52_a_retry_of_a_vector_that_the_source_has_no_more_holds_too() {
    let world = World::approved().await;
    world.reject("dev-to-test-1", "anna", "").await.unwrap();
    world.stage_has("dev", "menu:2").await;
    let made = world.retry("dev-to-test-1", "bert").await.unwrap();
    assert_eq!(
        made.metadata.annotations.as_ref().unwrap()["konfidence.cloud/overrules"],
        r#"{"vector":"menu:2","by":"bert"}"#
    );
    world.settle("dev-to-test").await;
    assert_eq!(world.promotions().await, ["dev-to-test-1", "dev-to-test-2"]);
    assert_eq!(world.state("dev-to-test-2").await, "Waiting", "the gate is the config's");
}

#[tokio::test]
async fn p18_p52_a_rejected_promotion_by_hand_holds_no_more() {
    let world = World::approved().await;
    world.promote("dev-to-test", "menu:0", "anna").await.unwrap();
    world.reject("dev-to-test-2", "bert", "").await.unwrap();
    let refused = world.release("dev-to-test", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::NothingHeld { .. }), "{refused}");
}
