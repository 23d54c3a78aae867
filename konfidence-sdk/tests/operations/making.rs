//! P18 and P52: retry and promote make the next promotion (R10, R12, R13).

use futures::FutureExt;
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{self, Refusal};
use konfidence_sdk::store::{Fault, Key, ObjectStore, Precondition, StoreError, Verb};
use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use serde_json::{Value, json};

use crate::world::{Meanwhile, World, config, promotion_key, succeeded};

#[tokio::test]
async fn p18_retry_makes_the_next_sequence_of_the_same_vector_and_target_with_the_config_s_gate() {
    let world = World::approved().await;
    world.reject("dev-to-test-1", "anna", "").await.unwrap();
    world.change_config("dev-to-test", json!({"spec": {"requireApproval": false, "ttlAfterFinished": "24h"}})).await;
    world.forget();
    let made = world.retry("dev-to-test-1", "bert").await.unwrap();

    let first = world.promotion("dev-to-test-1").await;
    assert_eq!(made.metadata.name.as_deref(), Some("dev-to-test-2"));
    assert_eq!(made.spec.sequence, 2);
    assert_eq!((&made.spec.vector, &made.spec.target), (&first.spec.vector, &first.spec.target));
    assert!(!made.spec.require_approval);
    assert_eq!(made.spec.ttl_after_finished.unwrap().to_string(), "24h0m0s");
    let owner = &made.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((&*owner.name, owner.controller), ("dev-to-test", Some(true)));
    assert_eq!(world.store.writes().len(), 1);
    let events = world.events.take();
    assert_eq!(events[0].reason, "PromotionCreated");
    assert_eq!(events[0].note, "made promotion dev-to-test-2 of vector menu:1 for bert");

    world.settle("dev-to-test").await;
    assert_eq!(world.vector_of("test").await, "menu:1");
}

#[tokio::test]
async fn p38_a_retry_comes_before_the_delay_is_over_and_starts_the_count_of_failures_anew() {
    let world = World::approved().await;
    world.set_status("dev-to-test-1", succeeded("False", "PromotionFailed")).await;
    let annotated = json!({"metadata": {"annotations": {"konfidence.cloud/failures": "4"}}});
    crate::world::change(world.memory(), &promotion_key("dev-to-test-1"), annotated).await;
    world.settle("dev-to-test").await;
    assert_eq!(world.promotions().await, ["dev-to-test-1"], "drift waits");

    let made = world.retry("dev-to-test-1", "anna").await.unwrap();
    let annotations = made.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations.get("konfidence.cloud/failures"), None);
    assert_eq!(annotations.get("konfidence.cloud/overrules"), None, "it is the source's own vector");
}

#[tokio::test]
async fn r13_what_is_made_by_hand_carries_the_versions_of_source_and_config_as_read_live() {
    let world = World::automatic().await;
    world.template_has("menu:2").await;
    let made = world.promote("menu-to-dev", "menu:2", "anna").await.unwrap();
    let menu: Key<VectorTemplate> = Key::new("bakery", "menu");
    let menu = world.memory().get(&menu).await.unwrap().unwrap();
    let version = format!("{}/{}", menu.metadata.uid.clone().unwrap(), menu.metadata.resource_version.clone().unwrap());
    let annotations = made.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations["konfidence.cloud/source-version"], version);
    assert_eq!(annotations["konfidence.cloud/config-generation"], "1");
    assert!(world.store.requests().iter().all(|request| request.verb.is_live()), "{:?}", world.store.requests());
}

#[tokio::test]
async fn p18_a_live_or_succeeded_one_is_not_retried() {
    for (status, reason) in
        [("False", "PromotionRunning"), ("False", "PromotionTargetUnresolved"), ("Unknown", "WhoKnows")]
    {
        let world = World::approved().await;
        world.set_status("dev-to-test-1", succeeded(status, reason)).await;
        let refused = world.retry("dev-to-test-1", "anna").await.unwrap_err();
        assert!(matches!(refused, Refusal::StillLive { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test-1");
    }
    let world = World::approved().await;
    let refused = world.retry("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::StillLive { .. }), "{refused}");
    world.set_status("dev-to-test-1", succeeded("True", "PromotionSucceeded")).await;
    let refused = world.retry("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::AlreadySucceeded { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
}

#[tokio::test]
async fn p18_nobody_and_nothing_are_refused_without_a_write() {
    let world = World::approved().await;
    let refused = world.retry("dev-to-test-1", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::Anonymous { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
    let refused = world.retry("dev-to-test-7", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::PromotionNotFound { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-7");
    let refused = world.promote("dev-to-test", "menu:1", " ").await.unwrap_err();
    assert!(matches!(refused, Refusal::Anonymous { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test");
    let refused = world.promote("dev-to-test", "", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::NoVector { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test");
}

#[tokio::test]
async fn p52_a_suspended_config_makes_nothing_by_hand_either() {
    let world = World::approved().await;
    world.reject("dev-to-test-1", "anna", "").await.unwrap();
    world.change_config("dev-to-test", json!({"spec": {"suspend": true}})).await;
    world.forget();
    for refused in [world.retry("dev-to-test-1", "anna").await, world.promote("dev-to-test", "menu:9", "anna").await] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Refusal::Suspended { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test");
    }
}

#[tokio::test]
async fn r12_p52_a_config_without_a_number_base_makes_nothing_by_hand_either() {
    let world = World::new();
    world.by_hand("old", "dev-to-test", 1, "menu:1", false, succeeded("False", "PromotionFailed"));
    let (source, target) = (SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "test"));
    world.config("dev-to-test", source, target).await;
    for refused in [world.retry("old", "anna").await, world.promote("dev-to-test", "menu:9", "anna").await] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Refusal::NotInitialised { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test");
    }
}

#[tokio::test]
async fn p18_p31_without_its_config_nothing_is_made_by_hand() {
    let world = World::approved().await;
    world.by_hand("old", "dev-to-test", 1, "menu:1", false, succeeded("False", "PromotionFailed"));
    world.delete_slowly(&config("dev-to-test")).await;
    world.forget();
    for refused in [world.retry("old", "anna").await, world.promote("dev-to-test", "menu:9", "anna").await] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Refusal::ConfigDeleting { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test");
    }
    world.by_hand("orphan", "nowhere", 1, "menu:1", false, succeeded("False", "PromotionFailed"));
    for refused in [world.retry("orphan", "anna").await, world.promote("nowhere", "menu:9", "anna").await] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Refusal::ConfigNotFound { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/nowhere");
    }
}

#[tokio::test]
async fn p12_a_leftover_of_an_earlier_config_is_not_retried_by_its_namesake() {
    let world = World::approved().await;
    let leftover = json!({
        "metadata": {"namespace": "bakery", "name": "leftover", "finalizers": ["bakery.example.com/slow"], "ownerReferences": [{
            "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotionConfig", "name": "dev-to-test",
            "uid": "of-an-earlier-one", "controller": true,
        }]},
        "spec": {
            "vectorPromotionConfigName": "dev-to-test", "source": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            "target": {"kind": "Stage", "landscape": "eu", "name": "test"}, "vector": "menu:0", "sequence": 1,
        },
        "status": succeeded("False", "PromotionFailed"),
    });
    world.memory().insert_raw::<VectorPromotion>(leftover).unwrap();
    let refused = world.retry("leftover", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::ForeignPromotion { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/leftover");
}

#[tokio::test]
async fn p13_when_all_sequences_are_used_up_nothing_is_made_by_hand() {
    let world = World::automatic().await;
    let all = json!({"sequence": 9_007_199_254_740_991_i64});
    crate::world::change_status(world.memory(), &config("menu-to-dev"), all).await;
    let refused = world.promote("menu-to-dev", "menu:9", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Exhausted { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/menu-to-dev");
}

#[tokio::test]
async fn p52_a_source_that_does_not_parse_is_not_overruled_on_a_guess() {
    let world = World::new();
    let broken = json!({"metadata": {"namespace": "bakery", "name": "broken"}, "spec": {"components": 1}});
    world.memory().insert_raw::<VectorTemplate>(broken).unwrap();
    let (source, target) = (SourceRef::template("broken"), TargetRef::stage("eu", "dev"));
    world.config("broken-to-dev", source, target).await;
    world.settle("broken-to-dev").await;
    let refused = world.promote("broken-to-dev", "menu:1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::SourceUnreadable { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/broken");
}

#[tokio::test]
async fn p13_a_promotion_that_does_not_parse_may_hold_any_number_and_stops_what_is_made_by_hand() {
    let world = World::automatic().await;
    let broken = json!({
        "metadata": {"namespace": "bakery", "name": "broken"},
        "spec": {"vectorPromotionConfigName": "menu-to-dev", "sequence": "two"},
    });
    world.memory().insert_raw::<VectorPromotion>(broken).unwrap();
    let refused = world.promote("menu-to-dev", "menu:1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Store(StoreError::Unreadable(_))), "{refused}");
    world.assert_untouched(&refused, "bakery/broken");
}

#[tokio::test]
async fn r10_of_two_people_who_promote_at_once_each_gets_a_number_of_their_own() {
    let world = World::automatic().await;
    let racing = Meanwhile::new(world.memory(), Verb::Create, |memory| {
        let key = config("menu-to-dev");
        promotion::promote(memory, &NoEvents, &key, "menu:7", "bert").now_or_never().unwrap().unwrap();
    });
    let key = config("menu-to-dev");
    let made = promotion::promote(&racing, &world.events, &key, "menu:8", "anna").await.unwrap();
    assert_eq!((made.spec.sequence, &*made.spec.vector), (3, "menu:8"));
    assert_eq!(world.promotion("menu-to-dev-2").await.spec.vector, "menu:7");
    assert_eq!(world.events.reasons(), ["PromotionCreated"]);
}

#[tokio::test]
async fn r10_a_name_that_another_config_s_promotion_holds_is_passed_over() {
    let world = World::automatic().await;
    world.by_hand("menu-to-dev-2", "another", 1, "bread:1", true, Value::Null);
    let made = world.promote("menu-to-dev", "menu:8", "anna").await.unwrap();
    assert_eq!((made.metadata.name.as_deref(), made.spec.sequence), (Some("menu-to-dev-3"), 3));
}

#[tokio::test]
async fn r10_names_that_are_taken_without_end_are_given_up_after_sixteen_tries() {
    let world = World::automatic().await;
    for _ in 0..100 {
        world.store.inner().fail_next::<VectorPromotion>(Verb::Create, Fault::AlreadyExists);
    }
    let refused = world.promote("menu-to-dev", "menu:8", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Store(StoreError::AlreadyExists { .. })), "{refused}");
    assert_eq!(world.store.count(Verb::Create, "VectorPromotion"), 16);
}

#[tokio::test]
async fn p52_a_server_s_refusal_reaches_the_person_in_its_own_words() {
    let world = World::automatic().await;
    world.store.inner().fail_next::<VectorPromotion>(Verb::Create, Fault::Forbidden);
    let refused = world.promote("menu-to-dev", "menu:8", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Store(StoreError::Forbidden { .. })), "{refused}");
    assert_eq!(world.store.count(Verb::Create, "VectorPromotion"), 1);
    assert_eq!(world.events.reasons(), Vec::<&str>::new());
}

#[tokio::test]
async fn p13_the_number_counts_from_the_record_where_the_status_was_lost() {
    let world = World::automatic().await;
    world.memory().delete(&promotion_key("menu-to-dev-1"), &Precondition::default()).await.unwrap();
    crate::world::change_status::<VectorPromotionConfig>(
        world.memory(),
        &config("menu-to-dev"),
        json!({"sequence": 0}),
    )
    .await;
    let made = world.promote("menu-to-dev", "menu:8", "anna").await.unwrap();
    assert_eq!(made.spec.sequence, 2);
}
