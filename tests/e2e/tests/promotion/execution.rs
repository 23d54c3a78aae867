//! Section 7: start, Stage, result; what refuses, what is late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Call, Meddling};
use http::StatusCode;
use jiff::SignedDuration;
use konfidence_types::{SourceRef, Stage, VectorPromotionConfig, annotation};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::on_every_server;
use crate::world::{World, succeeded, until};

on_every_server!(
    p23_every_write_names_the_version_that_it_was_decided_on,
    p32_a_target_that_does_not_resolve_blocks_and_supersedes_nobody,
    p33_what_is_blocked_heals_when_the_target_appears_and_says_so_once,
    p34_start_stage_result_in_this_order_and_nothing_else_of_the_stage,
    p35_a_stage_that_has_the_vector_gets_the_record_only,
    p36_a_refusal_for_good_ends_the_promotion_with_the_servers_words,
    p36_what_fails_for_a_while_is_resumed,
    p37_p38_the_deadline_fences_the_stage_and_the_next_try_waits,
    p38_a_new_vector_does_not_wait_for_the_delay,
    p39_what_runs_when_a_config_is_suspended_finishes,
    s5_a_stage_that_is_gone_ends_in_a_failure,
);

fn puts_a_vector(call: &Call) -> bool {
    call.verb == "patch" && call.resource == "stages" && call.body.pointer("/spec/vector").is_some()
}

async fn p23_every_write_names_the_version_that_it_was_decided_on(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 1).await;
    for n in 1..=4 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.rest().await;
    let calls = world.calls();
    let writes = calls.iter().filter(|call| call.group == "konfidence.cloud" && call.writes());
    for call in writes.clone() {
        let version = match call.verb {
            "create" => continue,
            "delete" => call.body.pointer("/preconditions/resourceVersion"),
            _ => call.body.pointer("/metadata/resourceVersion"),
        };
        assert!(version.and_then(Value::as_str).is_some_and(|version| !version.is_empty()), "{call:?}");
    }
    assert!(writes.filter(|call| call.verb == "delete").count() >= 2);
}

async fn p32_a_target_that_does_not_resolve_blocks_and_supersedes_nobody(world: &World) {
    world.candidates(2).await;
    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Waiting", "Blocked"]).await;
    let result = succeeded(&*world.promotion("menu-to-dev-2").await);
    assert_eq!((result.status.as_str(), result.reason.as_str()), ("False", "PromotionTargetUnresolved"));
    assert!(result.message.contains("Stage dev") && result.message.contains(&world.managed()), "{}", result.message);
    // A lower one does not overtake it, although its own target resolves.
    world.stage("test").await;
    world.rest().await;
    assert_eq!(world.states("menu-to-dev").await, ["Waiting", "Blocked"]);
}

async fn p33_what_is_blocked_heals_when_the_target_appears_and_says_so_once(world: &World) {
    world.by_hand("nobody", 1, "menu:1").await;
    world.come_to("nobody", &["Blocked"]).await;
    world.rest().await;
    world.wire.clear();
    world.stage("prod").await;
    world.rest().await;
    assert_eq!(world.writes(), Vec::<String>::new(), "it does not spin, nor is it written again");
    world.stage("dev").await;
    world.come_to("nobody", &["Succeeded"]).await;
    world.tells("nobody-1", &["PromotionBlocked", "PromotionSucceeded"]).await;
}

async fn p34_start_stage_result_in_this_order_and_nothing_else_of_the_stage(world: &World) {
    world.automatic().await;
    let own = json!({
        "metadata": {
            "labels": {"team": "bread"}, "annotations": {"bakery.example/note": "fresh"},
            "finalizers": ["bakery.example/hold"],
        },
    });
    let before = world.change::<Stage>(&world.managed(), "dev", own).await;
    world.rest().await;
    world.wire.clear();
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.rest().await;
    assert_eq!(
        world.writes()[1..4],
        [
            "patch vectorpromotions/status menu-to-dev-1",
            "patch stages dev",
            "patch vectorpromotions/status menu-to-dev-1",
        ]
    );
    let stage = world.get::<Stage>(&world.managed(), "dev").await;
    assert_eq!(stage.labels(), before.labels());
    assert_eq!(stage.finalizers(), before.finalizers());
    assert_eq!(stage.annotations()["bakery.example/note"], "fresh");
    let promotion = world.promotion("menu-to-dev-1").await;
    assert_eq!(stage.annotations()[annotation::PROMOTED_BY], format!("{}/menu-to-dev-1", world.project));
    let record: Value = serde_json::from_str(&stage.annotations()[annotation::PROMOTIONS]).unwrap();
    let record = &record["menu-to-dev"];
    assert_eq!((&record["sequence"], record["promotion"].as_str()), (&json!(1), promotion.metadata.uid.as_deref()));
    let written = promotion.status.as_ref().unwrap().promoted_stage_ref.clone().unwrap();
    assert_eq!((written.namespace, written.name), (world.managed(), "dev".to_owned()));
    world.change::<Stage>(&world.managed(), "dev", json!({"metadata": {"finalizers": null}})).await;
}

async fn p35_a_stage_that_has_the_vector_gets_the_record_only(world: &World) {
    world.stage("dev").await;
    world.change::<Stage>(&world.managed(), "dev", json!({"spec": {"vector": "menu:1"}})).await;
    world.wire.clear();
    world.by_hand("nobody", 1, "menu:1").await;
    world.come_to("nobody", &["Succeeded"]).await;
    let calls = world.calls();
    let stages: Vec<_> = calls.iter().filter(|call| call.writes() && call.resource == "stages").collect();
    let [record] = stages.as_slice() else { panic!("{stages:?}") };
    assert!(record.body.get("spec").is_none(), "{:?}", record.body);
}

async fn p36_a_refusal_for_good_ends_the_promotion_with_the_servers_words(world: &World) {
    world.automatic().await;
    world.meddle_with_stages(Meddling::Refused(StatusCode::FORBIDDEN));
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Failed"]).await;
    let failed = world.promotion("menu-to-dev-1").await;
    let result = succeeded(&failed);
    assert_eq!(result.reason, "PromotionFailed");
    assert!(result.message.contains("meddled with: 403"), "{}", result.message);
    assert!(failed.status.as_ref().unwrap().promoted_stage_ref.is_none());
    assert_eq!(world.vector("dev").await, "");
}

async fn p36_what_fails_for_a_while_is_resumed(world: &World) {
    world.automatic().await;
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    world.wire.meddle(move |call| {
        let fails = puts_a_vector(call) && counted.fetch_add(1, Ordering::SeqCst) < 3;
        fails.then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE))
    });
    world.assemble("menu:1").await;
    until("it has been tried twice", async || tries.load(Ordering::SeqCst) >= 2).await;
    // The first resumption is at once, the next 8 s after it, doubling.
    until("it has succeeded", async || {
        world.advance("menu-to-dev", SignedDuration::from_secs(10)).await;
        world.rest().await;
        world.states("menu-to-dev").await == ["Succeeded"]
    })
    .await;
    assert_eq!(tries.load(Ordering::SeqCst), 4);
    let attempt = world.promotion("menu-to-dev-1").await.annotations()[annotation::ATTEMPT].clone();
    assert!(attempt.starts_with("3@"), "{attempt}");
    assert_eq!(world.vector("dev").await, "menu:1");
}

async fn p37_p38_the_deadline_fences_the_stage_and_the_next_try_waits(world: &World) {
    world.automatic().await;
    world.wire.meddle(|call| puts_a_vector(call).then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE)));
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["InProgress"]).await;
    world.advance("menu-to-dev", SignedDuration::from_secs(301)).await;
    world.come_to("menu-to-dev", &["Failed"]).await;
    let retired = world.promotion("menu-to-dev-1").await;
    assert_eq!(succeeded(&retired).reason, "PromotionTimedOut");
    assert!(retired.status.as_ref().unwrap().promoted_stage_ref.is_none());
    let fence = world.get::<Stage>(&world.managed(), "dev").await.annotations()[annotation::FENCED].clone();
    assert!(fence.starts_with(&format!("{}@", retired.uid().unwrap())), "{fence}");

    world.wire.leave_alone();
    world.nudge("menu-to-dev").await;
    world.rest().await;
    assert_eq!(world.states("menu-to-dev").await, ["Failed"], "P38: not before a minute has passed");
    assert_eq!(world.vector("dev").await, "");
    world.advance("menu-to-dev", SignedDuration::from_secs(61)).await;
    world.come_to("menu-to-dev", &["Failed", "Succeeded"]).await;
    assert_eq!(world.promotion("menu-to-dev-2").await.annotations()[annotation::FAILURES], "1");
}

async fn p38_a_new_vector_does_not_wait_for_the_delay(world: &World) {
    world.automatic().await;
    world.meddle_with_stages(Meddling::Refused(StatusCode::FORBIDDEN));
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Failed"]).await;
    world.wire.leave_alone();
    world.assemble("menu:2").await;
    world.come_to("menu-to-dev", &["Failed", "Succeeded"]).await;
    // Nor does a person.
    world.meddle_with_stages(Meddling::Refused(StatusCode::FORBIDDEN));
    world.assemble("menu:3").await;
    world.come_to("menu-to-dev", &["Failed", "Succeeded", "Failed"]).await;
    world.wire.leave_alone();
    world.retry("menu-to-dev-3").await.unwrap();
    world.come_to("menu-to-dev", &["Failed", "Succeeded", "Failed", "Succeeded"]).await;
}

async fn p39_what_runs_when_a_config_is_suspended_finishes(world: &World) {
    world.automatic().await;
    world.meddle_with_stages(Meddling::Slow(std::time::Duration::from_secs(2)));
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["InProgress"]).await;
    let suspended = json!({"spec": {"suspend": true}});
    world.change::<VectorPromotionConfig>(&world.project, "menu-to-dev", suspended).await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.by_hand("menu-to-dev", 5, "menu:5").await;
    world.rest().await;
    assert_eq!(world.vector("dev").await, "menu:1", "and nothing else starts");
}

async fn s5_a_stage_that_is_gone_ends_in_a_failure(world: &World) {
    world.automatic().await;
    world.stage("test").await;
    world.config("menu-to-test", SourceRef::template("menu"), "test", |_| {}).await;
    world.becomes("menu-to-test", "TargetResolved").await;
    world.wire.meddle(|call| {
        (puts_a_vector(call) && call.name == "dev").then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE))
    });
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["InProgress"]).await;
    world.come_to("menu-to-test", &["Succeeded"]).await;
    world.delete::<Stage>(&world.managed(), "dev").await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    world.advance("menu-to-dev", SignedDuration::from_secs(301)).await;
    world.come_to("menu-to-dev", &["Failed"]).await;
    // S2: not even a Stage that is made anew gets its vector from what has ended.
    world.wire.leave_alone();
    world.wire.clear();
    let anew = world.stage("dev").await;
    world.rest().await;
    assert_eq!(world.get::<Stage>(&world.managed(), "dev").await, anew);
}
