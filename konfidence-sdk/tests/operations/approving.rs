//! P15, P16, P17, P19, P20, P29.

use futures::FutureExt;
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{self, Inbox, PromotionStore, Refusal};
use konfidence_sdk::store::{Fault, MemoryStore, ObjectStore, Precondition, StoreError, Verb};
use konfidence_sdk::types::{VectorPromotion, condition};
use serde_json::{Value, json};

use crate::world::{Meanwhile, World, config, noon, promotion_key, stage, succeeded};

fn approve_at_once(store: &MemoryStore, by: &str) {
    let (clock, key) = (noon(), promotion_key("dev-to-test-1"));
    promotion::approve(store, &clock, &NoEvents, &key, by).now_or_never().unwrap().unwrap();
}

#[tokio::test]
async fn p15_condition_record_and_state_come_in_one_conditional_status_write() {
    let world = World::approved().await;
    world.clock.advance("1500ms".parse().unwrap());
    let approved = world.approve("dev-to-test-1", "anna").await.unwrap();

    let writes: Vec<_> = world.store.writes().iter().map(ToString::to_string).collect();
    assert_eq!(writes, ["PatchStatus VectorPromotion bakery dev-to-test-1"]);
    let status = approved.status.as_ref().unwrap();
    let gate = condition(&status.conditions, "Approved").unwrap();
    assert_eq!((&*gate.status, &*gate.reason), ("True", "ManuallyApproved"));
    assert_eq!(status.state.as_deref(), Some("Ready"));
    assert_eq!(
        serde_json::to_value(&status.approval).unwrap(),
        json!({"approvedBy": "anna", "approvedAt": "2026-03-01T12:00:01Z"})
    );
    assert_eq!(gate.last_transition_time.0.to_string(), "2026-03-01T12:00:01Z");
}

#[tokio::test]
async fn p47_the_approval_is_told_on_the_promotion_and_names_the_vector() {
    let world = World::approved().await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    let events = world.events.take();
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.reason, &*event.regarding.name), ("PromotionApproved", "dev-to-test-1"));
    assert_eq!(event.note, "vector menu:1 is approved by anna");
}

#[tokio::test]
async fn p16_no_such_promotion_is_refused_without_a_write() {
    let world = World::approved().await;
    let refused = world.approve("dev-to-test-7", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::PromotionNotFound { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-7");
}

#[tokio::test]
async fn p16_an_empty_approver_is_refused_without_a_write() {
    let world = World::approved().await;
    for nobody in ["", "  \n"] {
        let refused = world.approve("dev-to-test-1", nobody).await.unwrap_err();
        assert!(matches!(refused, Refusal::Anonymous { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test-1");
    }
}

#[tokio::test]
async fn p16_p29_a_superseded_one_is_refused_without_a_write_and_names_its_successor() {
    let world = World::approved().await;
    let mut status = succeeded("False", "PromotionSuperseded");
    status["supersededBy"] = json!("dev-to-test-2");
    world.set_status("dev-to-test-1", status).await;
    let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(&refused, Refusal::Superseded { by: Some(by), .. } if by == "dev-to-test-2"), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
    assert!(refused.to_string().contains("superseded by dev-to-test-2"), "{refused}");
}

#[tokio::test]
async fn p16_one_that_finished_in_any_other_way_is_refused_without_a_write() {
    for (status, reason) in [
        ("True", "PromotionSucceeded"),
        ("False", "PromotionTimedOut"),
        ("False", "PromotionFailed"),
        ("False", "PromotionRejected"),
        ("False", "ReasonOfANewerVersion"),
        ("Unknown", "WhoKnows"),
    ] {
        let world = World::approved().await;
        world.set_status("dev-to-test-1", succeeded(status, reason)).await;
        let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
        assert!(matches!(refused, Refusal::Finished { .. }), "{refused}");
        world.assert_untouched(&refused, "bakery/dev-to-test-1");
        assert!(refused.to_string().contains(reason), "{refused}");
    }
}

#[tokio::test]
async fn p16_one_that_needs_no_approval_is_refused_without_a_write() {
    let world = World::new();
    world.by_hand("extra", "dev-to-test", 1, "menu:1", false, Value::Null);
    let refused = world.approve("extra", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::ApprovalNotRequired { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/extra");
}

#[tokio::test]
async fn p16_one_that_is_approved_is_refused_without_a_write_and_tells_by_whom() {
    let world = World::approved().await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    world.forget();
    let refused = world.approve("dev-to-test-1", "bert").await.unwrap_err();
    assert!(matches!(refused, Refusal::AlreadyApproved { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
    assert!(refused.to_string().contains("by anna at 2026-03-01T12:00:00Z"), "{refused}");
}

#[tokio::test]
async fn p16_a_gate_that_another_client_opened_counts_as_approved() {
    let world = World::approved().await;
    let mut status = succeeded("True", "BySomeTool");
    status["conditions"][0]["type"] = json!("Approved");
    world.set_status("dev-to-test-1", status).await;
    let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::AlreadyApproved { approval: None, .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
}

#[tokio::test]
async fn p16_one_that_is_being_deleted_is_refused_without_a_write() {
    let world = World::approved().await;
    world.delete_slowly(&promotion_key("dev-to-test-1")).await;
    let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Deleting { .. }), "{refused}");
    world.assert_untouched(&refused, "bakery/dev-to-test-1");
}

#[tokio::test]
async fn p16_one_that_does_not_parse_is_told_as_such_without_a_write() {
    let world = World::new();
    let broken = json!({"metadata": {"namespace": "bakery", "name": "broken"}, "spec": {"sequence": "one"}});
    world.memory().insert_raw::<VectorPromotion>(broken).unwrap();
    let refused = world.approve("broken", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Store(StoreError::Unreadable(_))), "{refused}");
    world.assert_untouched(&refused, "bakery/broken");
}

#[tokio::test]
async fn p16_of_two_approvers_at_once_one_succeeds_and_the_other_is_told_so() {
    let world = World::approved().await;
    let racing = Meanwhile::new(world.memory(), Verb::PatchStatus, |memory| {
        approve_at_once(memory, "bert");
    });
    let anna = promotion::approve(&racing, &world.clock, &world.events, &promotion_key("dev-to-test-1"), "anna").await;
    assert!(matches!(anna, Err(Refusal::AlreadyApproved { approval: Some(by), .. }) if by.approved_by == "bert"));
    assert_eq!(world.events.reasons(), Vec::<&str>::new());
    let status = world.promotion("dev-to-test-1").await.status.clone().unwrap();
    assert_eq!(status.approval.unwrap().approved_by, "bert");
}

#[tokio::test]
async fn p16_a_conflict_with_the_controller_is_settled_on_a_fresh_read() {
    let world = World::new();
    world.by_hand("dev-to-test-1", "dev-to-test", 1, "menu:1", true, Value::Null);
    let racing = Meanwhile::new(world.memory(), Verb::PatchStatus, |memory| {
        let (clock, inbox, key) = (noon(), Inbox::default(), config("dev-to-test"));
        let controller = promotion::reconcile(memory, &clock, &NoEvents, &inbox, &key);
        assert_eq!(controller.now_or_never().unwrap().unwrap().transitions.len(), 1);
    });
    let key = promotion_key("dev-to-test-1");
    let approved = promotion::approve(&racing, &world.clock, &world.events, &key, "anna").await.unwrap();
    assert_eq!(approved.status.as_ref().unwrap().conditions.len(), 1);
    assert_eq!(world.events.reasons(), ["PromotionApproved"]);
}

#[tokio::test]
async fn p16_p22_one_that_is_superseded_under_the_approver_s_eyes_is_refused_and_stays_as_it_was() {
    let world = World::approved().await;
    let racing = Meanwhile::new(world.memory(), Verb::PatchStatus, |memory| {
        let key = promotion_key("dev-to-test-1");
        crate::world::change_status(memory, &key, succeeded("False", "PromotionSuperseded")).now_or_never().unwrap();
    });
    let key = promotion_key("dev-to-test-1");
    let refused = promotion::approve(&racing, &world.clock, &world.events, &key, "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Superseded { by: None, .. }), "{refused}");
    assert_eq!(world.promotion("dev-to-test-1").await.status.as_ref().unwrap().approval, None);
}

#[tokio::test]
async fn p16_one_that_is_deleted_under_the_approver_s_eyes_does_not_exist() {
    let world = World::approved().await;
    let racing = Meanwhile::new(world.memory(), Verb::PatchStatus, |memory| {
        let key = promotion_key("dev-to-test-1");
        memory.delete(&key, &Precondition::default()).now_or_never().unwrap().unwrap();
    });
    let key = promotion_key("dev-to-test-1");
    let refused = promotion::approve(&racing, &world.clock, &world.events, &key, "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::PromotionNotFound { .. }), "{refused}");
}

#[tokio::test]
async fn p16_the_controller_that_loses_against_an_approver_starts_what_was_approved() {
    let world = World::new();
    world.by_hand("dev-to-test-1", "dev-to-test", 1, "menu:1", true, Value::Null);
    let racing = Meanwhile::new(world.memory(), Verb::PatchStatus, |memory| {
        approve_at_once(memory, "anna");
    });
    let key = config("dev-to-test");
    promotion::reconcile(&racing, &world.clock, &NoEvents, &Inbox::default(), &key).await.unwrap();
    assert_eq!(world.state("dev-to-test-1").await, "Succeeded");
    assert_eq!(world.vector_of("test").await, "menu:1");
}

#[tokio::test]
async fn p16_conflicts_without_end_are_given_up_after_sixteen_tries() {
    let world = World::approved().await;
    for _ in 0..100 {
        world.store.inner().fail_next::<VectorPromotion>(Verb::PatchStatus, Fault::Conflict);
    }
    let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(refused, Refusal::Store(StoreError::Conflict { .. })), "{refused}");
    assert_eq!(world.store.count(Verb::PatchStatus, "VectorPromotion"), 16);
    assert_eq!(world.events.reasons(), Vec::<&str>::new());
}

#[tokio::test]
async fn p16_an_approval_whose_answer_was_lost_is_found_when_asked_again() {
    let world = World::approved().await;
    world.store.inner().fail_next::<VectorPromotion>(Verb::PatchStatus, Fault::AnswerLost);
    let lost = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(lost, Refusal::Store(StoreError::Unavailable { .. })), "{lost}");
    let again = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(again, Refusal::AlreadyApproved { .. }), "{again}");
}

#[tokio::test]
async fn p17_one_that_no_controller_has_seen_yet_can_be_approved() {
    let world = World::new();
    world.by_hand("early", "dev-to-test", 1, "menu:1", true, Value::Null);
    world.approve("early", "anna").await.unwrap();
    assert_eq!(world.state("early").await, "Ready");
}

#[tokio::test]
async fn p19_what_was_approved_is_executed_although_config_and_source_changed_since() {
    let world = World::approved().await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    let elsewhere = json!({"spec": {"target": {"kind": "Stage", "landscape": "eu", "name": "elsewhere"}}});
    world.change_config("dev-to-test", elsewhere).await;
    world.settle("dev-to-test").await;
    assert_eq!(world.vector_of("test").await, "menu:1");
    assert_eq!(world.state("dev-to-test-1").await, "Succeeded");
}

#[tokio::test]
async fn p20_an_approved_one_still_waits_for_its_target() {
    let world = World::new();
    world.by_hand("lost", "dev-to-test", 1, "menu:1", true, Value::Null);
    world.memory().delete(&stage("test"), &Precondition::default()).await.unwrap();
    world.approve("lost", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    assert_eq!(world.state("lost").await, "Blocked");
}

#[tokio::test]
async fn p20_an_approved_one_still_waits_for_the_one_in_progress() {
    let world = World::approved().await;
    world.by_hand("running", "dev-to-test", 0, "menu:0", false, succeeded("False", "PromotionRunning"));
    // Its Stage is gone, so it stays in progress until its deadline.
    let gone = json!({"promotedStageRef": {"kind": "Stage", "namespace": "bakery-eu", "name": "gone"}});
    world.set_status("running", gone).await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    assert_eq!(world.state("dev-to-test-1").await, "Ready");
    assert_eq!(world.vector_of("test").await, "");
}

#[tokio::test]
async fn p20_p26_approving_an_older_one_supersedes_nothing_newer_and_the_newer_one_keeps_its_chance() {
    let world = World::approved().await;
    world.stage_has("dev", "menu:2").await;
    world.settle("dev-to-test").await;
    world.stage_has("dev", "menu:3").await;
    world.settle("dev-to-test").await;
    world.approve("dev-to-test-2", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    assert_eq!(world.state("dev-to-test-1").await, "Superseded");
    assert_eq!(world.state("dev-to-test-2").await, "Succeeded");
    assert_eq!(world.state("dev-to-test-3").await, "Waiting");
    let refused = world.approve("dev-to-test-1", "anna").await.unwrap_err();
    assert!(matches!(&refused, Refusal::Superseded { by: Some(by), .. } if by == "dev-to-test-2"), "{refused}");
    world.approve("dev-to-test-3", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    assert_eq!(world.vector_of("test").await, "menu:3");
}

#[test]
fn every_operation_can_be_spawned_on_a_store_behind_a_pointer() {
    fn is_send<T: Send>(_: &T) {}
    fn check(store: &dyn PromotionStore) {
        let (clock, key, config) = (noon(), promotion_key("a"), config("b"));
        is_send(&promotion::approve(store, &clock, &NoEvents, &key, "anna"));
        is_send(&promotion::reject(store, &clock, &NoEvents, &key, "anna", ""));
        is_send(&promotion::retry(store, &NoEvents, &key, "anna"));
        is_send(&promotion::promote(store, &NoEvents, &config, "menu:1", "anna"));
        is_send(&promotion::release(store, &config, "anna"));
        is_send(&promotion::suspend(store, &config));
        is_send(&promotion::resume(store, &config));
    }
    check(&MemoryStore::new());
}
