//! P14, P39: suspend and resume.

use futures::FutureExt;
use konfidence_sdk::promotion::{self, Refusal};
use konfidence_sdk::store::{ObjectStore, Verb};
use serde_json::json;

use crate::world::{Meanwhile, World, change, config};

#[tokio::test]
async fn p14_a_suspended_config_makes_nothing_until_it_is_resumed() {
    let world = World::automatic().await;
    let suspended = promotion::suspend(&world.store, &config("menu-to-dev")).await.unwrap();
    assert!(suspended.changed);
    assert_eq!(suspended.config.spec.suspend, Some(true));
    world.template_has("menu:2").await;
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:1");

    let resumed = promotion::resume(&world.store, &config("menu-to-dev")).await.unwrap();
    assert!(resumed.changed);
    assert_eq!(resumed.config.spec.suspend, None);
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:2");
}

#[tokio::test]
async fn p14_suspending_twice_and_resuming_twice_writes_once() {
    let world = World::automatic().await;
    let key = config("menu-to-dev");
    assert!(!promotion::resume(&world.store, &key).await.unwrap().changed);
    assert!(promotion::suspend(&world.store, &key).await.unwrap().changed);
    assert!(!promotion::suspend(&world.store, &key).await.unwrap().changed);
    assert!(promotion::resume(&world.store, &key).await.unwrap().changed);
    assert!(!promotion::resume(&world.store, &key).await.unwrap().changed);
    assert_eq!(world.store.writes().len(), 2);
}

#[tokio::test]
async fn p14_an_explicit_false_is_as_good_as_nothing() {
    let world = World::automatic().await;
    world.change_config("menu-to-dev", json!({"spec": {"suspend": false}})).await;
    assert!(!promotion::resume(&world.store, &config("menu-to-dev")).await.unwrap().changed);
    assert_eq!(world.store.writes(), []);
}

#[tokio::test]
async fn p14_a_config_that_does_not_exist_is_refused() {
    let world = World::new();
    let refused = promotion::suspend(&world.store, &config("nowhere")).await.unwrap_err();
    assert!(matches!(refused, Refusal::ConfigNotFound { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/nowhere");
}

#[tokio::test]
async fn p23_what_somebody_else_changes_at_the_same_time_stays() {
    let world = World::automatic().await;
    let racing = Meanwhile::new(world.memory(), Verb::Patch, |memory| {
        change(memory, &config("menu-to-dev"), json!({"spec": {"keepLastPromotions": 3}})).now_or_never().unwrap();
    });
    promotion::suspend(&racing, &config("menu-to-dev")).await.unwrap();
    let now = world.memory().get(&config("menu-to-dev")).await.unwrap().unwrap();
    assert_eq!((now.spec.suspend, now.spec.keep_last_promotions), (Some(true), 3));
}
