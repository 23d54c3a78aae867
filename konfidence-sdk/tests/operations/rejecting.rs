//! P18.

use konfidence_sdk::promotion::Refusal;
use konfidence_sdk::store::Verb;
use konfidence_sdk::types::condition;
use serde_json::{Value, json};

use crate::world::{World, promotion_key, succeeded};

#[tokio::test]
async fn p18_a_waiting_ready_or_blocked_one_ends_with_who_when_and_why_in_one_write() {
    for (gated, status) in
        [(true, Value::Null), (false, Value::Null), (false, succeeded("False", "PromotionTargetUnresolved"))]
    {
        let world = World::new();
        world.by_hand("early", "dev-to-test", 1, "menu:1", gated, status);
        world.pass("90s".parse().unwrap());
        let rejected = world.reject("early", "anna", "no prices on it").await.unwrap();

        assert_eq!(world.store.writes().len(), world.store.count(Verb::PatchStatus, "VectorPromotion"));
        assert_eq!(world.store.writes().len(), 1);
        let status = rejected.status.as_ref().unwrap();
        let end = condition(&status.conditions, "Succeeded").unwrap();
        assert_eq!((&*end.status, &*end.reason), ("False", "PromotionRejected"));
        assert_eq!(end.message, "vector menu:1 is rejected by anna: no prices on it");
        assert_eq!(end.last_transition_time.0.to_string(), "2026-03-01T12:01:30Z");
        assert_eq!(status.state.as_deref(), Some("Failed"));
        assert_eq!(
            serde_json::to_value(&status.rejection).unwrap(),
            json!({"rejectedBy": "anna", "rejectedAt": "2026-03-01T12:01:30Z", "reason": "no prices on it"})
        );
        let events = world.events.take();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].reason, &*events[0].note), ("PromotionRejected", &*end.message));
    }
}

#[tokio::test]
async fn p18_a_reason_may_be_left_out() {
    let world = World::approved().await;
    let rejected = world.reject("dev-to-test-1", "anna", "").await.unwrap();
    let end = condition(&rejected.status.as_ref().unwrap().conditions, "Succeeded").unwrap();
    assert_eq!(end.message, "vector menu:1 is rejected by anna");
}

#[tokio::test]
async fn p18_p28_one_in_progress_is_refused_with_the_time_at_which_it_ends_at_the_latest() {
    let world = World::approved().await;
    world.set_status("dev-to-test-1", succeeded("False", "PromotionRunning")).await;
    let refused = world.reject("dev-to-test-1", "anna", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::InProgress { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
    assert!(refused.to_string().ends_with("times out at 2026-03-01T12:05:00Z"), "{refused}");
}

#[tokio::test]
async fn p18_one_that_has_ended_is_refused_without_a_write() {
    for (status, reason) in [
        ("True", "PromotionSucceeded"),
        ("False", "PromotionSuperseded"),
        ("False", "PromotionRejected"),
        ("False", "PromotionTimedOut"),
        ("Unknown", "WhoKnows"),
    ] {
        let world = World::approved().await;
        world.set_status("dev-to-test-1", succeeded(status, reason)).await;
        let refused = world.reject("dev-to-test-1", "anna", "").await.unwrap_err();
        assert!(matches!(refused, Refusal::Superseded { .. } | Refusal::Finished { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test-1");
    }
}

#[tokio::test]
async fn p18_nobody_nothing_and_what_is_being_deleted_are_refused_without_a_write() {
    let world = World::approved().await;
    let refused = world.reject("dev-to-test-1", " ", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::Anonymous { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
    let refused = world.reject("dev-to-test-7", "anna", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::PromotionNotFound { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-7");
    world.delete_slowly(&promotion_key("dev-to-test-1")).await;
    let refused = world.reject("dev-to-test-1", "anna", "").await.unwrap_err();
    assert!(matches!(refused, Refusal::Deleting { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
}

#[tokio::test]
async fn p18_a_rejected_vector_does_not_return_but_the_next_one_comes() {
    let world = World::approved().await;
    world.reject("dev-to-test-1", "anna", "").await.unwrap();
    for _ in 0..10 {
        world.pass("1h".parse().unwrap());
        world.settle("dev-to-test").await;
    }
    assert_eq!(world.promotions().await, ["dev-to-test-1"]);
    world.stage_has("dev", "menu:2").await;
    world.settle("dev-to-test").await;
    assert_eq!(world.promotions().await, ["dev-to-test-1", "dev-to-test-2"]);
}
