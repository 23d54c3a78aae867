//! Sections 4 and 5: people decide; state follows from conditions.

use std::time::Duration;

use jiff::SignedDuration;
use konfidence_sdk::promotion::{Refusal, conditions_of};
use konfidence_sdk::store::{ObjectStore, Patch, StoreError, Version};
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, condition, condition_type};
use kube::ResourceExt;
use serde_json::json;

use crate::on_every_server;
use crate::world::{World, succeeded};

on_every_server!(
    p15_an_approval_is_one_conditional_status_write,
    p16_each_refusal_is_its_own_and_writes_nothing,
    p17_s4_who_needs_approval_waits_and_who_does_not_has_no_such_condition,
    p18_a_rejected_vector_does_not_come_back_until_somebody_asks_for_it,
    p19_what_was_approved_cannot_be_changed,
    p19_an_approval_is_recorded_once,
    p20_an_approval_opens_no_other_gate,
    p21_a_change_of_reason_alone_moves_the_time_of_transition,
    p22_what_has_ended_is_not_written_again,
);

async fn p15_an_approval_is_one_conditional_status_write(world: &World) {
    world.candidates(1).await;
    world.people.clear();
    let approved = world.approve("menu-to-dev-1").await.unwrap();
    let calls = world.people.calls();
    let writes: Vec<_> = calls.iter().filter(|call| call.writes()).collect();
    assert_eq!(
        writes.iter().map(|call| call.words()).collect::<Vec<_>>(),
        ["patch vectorpromotions/status menu-to-dev-1"]
    );
    assert!(writes[0].body.pointer("/metadata/resourceVersion").is_some(), "{:?}", writes[0].body);
    let status = approved.status.clone().unwrap();
    assert_eq!(status.approval.unwrap().approved_by, "anna");
    let granted = condition(&status.conditions, condition_type::APPROVED).unwrap();
    assert_eq!((granted.status.as_str(), granted.reason.as_str()), ("True", "ManuallyApproved"));
    assert_eq!(status.state.as_deref(), Some("Ready"));
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    assert_eq!(world.vector("dev").await, "menu:1");
}

async fn p16_each_refusal_is_its_own_and_writes_nothing(world: &World) {
    world.candidates(2).await;
    world.people.clear();
    let nobody = world.approve("menu-to-dev-9").await.unwrap_err();
    assert!(matches!(nobody, Refusal::PromotionNotFound { .. }), "{nobody}");
    let key = world.key("menu-to-dev-2");
    let anonymous =
        konfidence_sdk::promotion::approve(&world.person, &world.clock, &konfidence_sdk::event::NoEvents, &key, "")
            .await;
    assert!(matches!(anonymous, Err(Refusal::Anonymous { .. })));
    assert!(world.people.calls().iter().all(|call| !call.writes()));

    // Two at once: one success.
    let (one, other) = tokio::join!(world.approve("menu-to-dev-2"), world.approve("menu-to-dev-2"));
    let refused = match (one, other) {
        (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
        (one, other) => panic!("{one:?} {other:?}"),
    };
    assert!(matches!(refused, Refusal::AlreadyApproved { .. } | Refusal::Finished { .. } | Refusal::InProgress { .. }));
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    let superseded = world.approve("menu-to-dev-1").await.unwrap_err();
    assert!(matches!(superseded, Refusal::Superseded { .. }), "{superseded}");
    let finished = world.approve("menu-to-dev-2").await.unwrap_err();
    assert!(matches!(finished, Refusal::Finished { .. } | Refusal::AlreadyApproved { .. }), "{finished}");

    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.by_hand("nobody", 1, "menu:9").await;
    world.come_to("nobody", &["Blocked"]).await;
    let not_required = world.approve("nobody-1").await.unwrap_err();
    assert!(matches!(not_required, Refusal::ApprovalNotRequired { .. }), "{not_required}");
}

async fn p17_s4_who_needs_approval_waits_and_who_does_not_has_no_such_condition(world: &World) {
    world.candidates(1).await;
    let waiting = world.promotion("menu-to-dev-1").await;
    let gate = condition(conditions_of(&waiting), condition_type::APPROVED).unwrap();
    assert_eq!((gate.status.as_str(), gate.reason.as_str()), ("False", "WaitingForApproval"));
    world.nudge("menu-to-dev").await;
    world.rest().await;
    assert_eq!((world.vector("dev").await.as_str(), world.states("menu-to-dev").await), ("", vec!["Waiting".into()]));

    let automatic = json!({"spec": {"requireApproval": false}});
    world.change::<VectorPromotionConfig>(&world.project, "menu-to-dev", automatic).await;
    world.assemble("menu:2").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    let automatic = world.promotion("menu-to-dev-2").await;
    assert!(condition(conditions_of(&automatic), condition_type::APPROVED).is_none());
}

async fn p18_a_rejected_vector_does_not_come_back_until_somebody_asks_for_it(world: &World) {
    world.candidates(1).await;
    let rejected = world.reject("menu-to-dev-1").await.unwrap();
    let result = succeeded(&rejected);
    assert_eq!((result.status.as_str(), result.reason.as_str()), ("False", "PromotionRejected"));
    assert!(result.message.contains("anna") && result.message.contains("it is burnt"), "{}", result.message);
    assert_eq!(rejected.status.as_ref().unwrap().rejection.as_ref().unwrap().rejected_by, "anna");
    world.nudge("menu-to-dev").await;
    world.rest().await;
    assert_eq!(world.states("menu-to-dev").await, ["Failed"]);

    let again = world.retry("menu-to-dev-1").await.unwrap();
    assert_eq!((again.name_any().as_str(), again.spec.vector.as_str()), ("menu-to-dev-2", "menu:1"));
    world.come_to("menu-to-dev", &["Failed", "Waiting"]).await;
    let live = world.retry("menu-to-dev-2").await.unwrap_err();
    assert!(matches!(live, Refusal::StillLive { .. }), "{live}");
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Failed", "Succeeded"]).await;
    let done = world.retry("menu-to-dev-2").await.unwrap_err();
    assert!(matches!(done, Refusal::AlreadySucceeded { .. }), "{done}");
}

async fn p19_what_was_approved_cannot_be_changed(world: &World) {
    world.candidates(1).await;
    for field in [
        json!({"vector": "menu:9"}),
        json!({"sequence": 9}),
        json!({"requireApproval": null}),
        json!({"vectorPromotionConfigName": "other"}),
        json!({"source": {"name": "soup"}}),
        json!({"target": {"name": "prod"}}),
    ] {
        let changed = json!({"spec": field});
        let refused = world.try_change::<VectorPromotion>(&world.project, "menu-to-dev-1", changed.clone()).await;
        let error = refused.expect_err("it is immutable");
        assert!(matches!(&error, StoreError::Invalid { .. }), "{changed}: {error}");
        assert!(error.to_string().contains("immutable"), "{error}");
    }
    let later = json!({"spec": {"ttlAfterFinished": "1h"}});
    world.change::<VectorPromotion>(&world.project, "menu-to-dev-1", later).await;
}

async fn p19_an_approval_is_recorded_once(world: &World) {
    world.candidates(1).await;
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    let approved = world.promotion("menu-to-dev-1").await;
    let other = json!({"status": {"approval": {"approvedBy": "mallory"}}});
    let forged =
        world.admin.patch_status(&world.key("menu-to-dev-1"), &Patch::new(Version::of(&*approved), other)).await;
    assert!(matches!(forged, Err(StoreError::Invalid { .. })), "{forged:?}");
}

async fn p20_an_approval_opens_no_other_gate(world: &World) {
    world.candidates(2).await;
    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Blocked", "Waiting"]).await;
    // The order is the other gate: the newer one goes first, and takes the older one's place.
    world.approve("menu-to-dev-2").await.unwrap();
    world.stage("dev").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    assert_eq!(world.vector("dev").await, "menu:2");
}

async fn p21_a_change_of_reason_alone_moves_the_time_of_transition(world: &World) {
    world.candidates(1).await;
    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Blocked"]).await;
    let blocked = succeeded(&*world.promotion("menu-to-dev-1").await);
    world.clock.advance(SignedDuration::from_mins(10));
    let rejected = succeeded(&world.reject("menu-to-dev-1").await.unwrap());
    assert_eq!((&blocked.status, &rejected.status), (&"False".to_owned(), &"False".to_owned()));
    let between = rejected.last_transition_time.0.duration_since(blocked.last_transition_time.0);
    assert!(between >= SignedDuration::from_mins(10), "{between:?}");
}

async fn p22_what_has_ended_is_not_written_again(world: &World) {
    world.candidates(3).await;
    world.reject("menu-to-dev-3").await.unwrap();
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Failed"]).await;
    world.rest().await;
    let versions =
        async || world.promotions("menu-to-dev").await.iter().map(|it| it.resource_version()).collect::<Vec<_>>();
    let before = versions().await;
    world.stop().await;
    world.start().await;
    world.change::<Stage>(&world.managed(), "dev", json!({"metadata": {"labels": {"seen": "yes"}}})).await;
    world.nudge("menu-to-dev").await;
    world.assemble("menu:4").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Failed", "Waiting"]).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(versions().await[..3], before);
}
