//! Section 6: which promotion is next, and what becomes of the others.

use std::cell::RefCell;
use std::time::Duration;

use e2e::Meddling;
use konfidence_sdk::promotion::Refusal;
use konfidence_types::{SourceRef, Stage};

use crate::on_every_server;
use crate::world::{World, succeeded, until};

/// Long enough for people to act while a Stage is being written.
const SLOW: Meddling = Meddling::Slow(Duration::from_secs(3));

on_every_server!(
    p24_p28_while_one_is_in_progress_no_other_starts_and_it_is_not_superseded,
    p25_p26_the_highest_ready_one_is_next_and_supersedes_the_lower_ones,
    p27_a_higher_one_keeps_its_chance,
    p29_superseded_is_final,
    p30_configs_do_not_supersede_each_other,
    p31_a_hand_made_promotion_takes_part,
    s3_a_lower_sequence_never_replaces_a_higher_one,
);

async fn p24_p28_while_one_is_in_progress_no_other_starts_and_it_is_not_superseded(world: &World) {
    world.automatic().await;
    world.meddle_with_stages(SLOW);
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["InProgress"]).await;
    world.by_hand("menu-to-dev", 7, "menu:7").await;
    let seen = RefCell::new(Vec::new());
    until("all have ended", async || {
        let states = world.states("menu-to-dev").await;
        seen.borrow_mut().push(states.clone());
        states.len() >= 2 && states.iter().all(|state| state == "Succeeded")
    })
    .await;
    let seen = seen.into_inner();
    let both = |states: &Vec<String>| states.iter().filter(|state| *state == "InProgress").count() > 1;
    assert!(!seen.iter().any(both), "{seen:?}");
    assert!(!seen.iter().flatten().any(|state| state == "Superseded"), "{seen:?}");
}

async fn p25_p26_the_highest_ready_one_is_next_and_supersedes_the_lower_ones(world: &World) {
    world.candidates(4).await;
    world.stop().await;
    for sequence in [1, 3] {
        world.approve(&format!("menu-to-dev-{sequence}")).await.unwrap();
    }
    world.wire.clear();
    world.start().await;
    world.come_to("menu-to-dev", &["Superseded", "Superseded", "Succeeded", "Waiting"]).await;
    let stages = world.writes().into_iter().filter(|write| write == "patch stages dev").count();
    assert_eq!((stages, world.vector("dev").await.as_str()), (1, "menu:3"));
    for sequence in [1, 2] {
        let lower = world.promotion(&format!("menu-to-dev-{sequence}")).await;
        let result = succeeded(&lower);
        assert_eq!((result.status.as_str(), result.reason.as_str()), ("False", "PromotionSuperseded"));
        assert!(result.message.contains("menu-to-dev-3") && result.message.contains("menu:3"), "{}", result.message);
        assert_eq!(lower.status.as_ref().unwrap().superseded_by.as_deref(), Some("menu-to-dev-3"));
    }
}

async fn p27_a_higher_one_keeps_its_chance(world: &World) {
    world.candidates(3).await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Waiting"]).await;
    world.approve("menu-to-dev-3").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Succeeded"]).await;
    assert_eq!(world.vector("dev").await, "menu:3");
}

async fn p29_superseded_is_final(world: &World) {
    world.candidates(2).await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    let refused = world.approve("menu-to-dev-1").await.unwrap_err();
    assert!(matches!(&refused, Refusal::Superseded { by: Some(by), .. } if by == "menu-to-dev-2"), "{refused}");
    world.rest().await;
    assert_eq!(world.vector("dev").await, "menu:2");
}

async fn p30_configs_do_not_supersede_each_other(world: &World) {
    world.candidates(1).await;
    world.config("other", SourceRef::template("menu"), "dev", |it| it.require_approval = Some(true)).await;
    world.come_to("other", &["Waiting"]).await;
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.rest().await;
    assert_eq!(world.states("other").await, ["Waiting"]);
}

async fn p31_a_hand_made_promotion_takes_part(world: &World) {
    world.stage("dev").await;
    world.by_hand("nobody", 4, "menu:4").await;
    world.come_to("nobody", &["Succeeded"]).await;
    assert_eq!(world.vector("dev").await, "menu:4", "without a config, too");

    world.stage("test").await;
    world.template("menu").await;
    world.config("menu-to-dev", SourceRef::template("menu"), "dev", |_| {}).await;
    world.becomes("menu-to-dev", "TargetResolved").await;
    world.by_hand("menu-to-dev", 7, "menu:7").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.assemble("menu:8").await;
    world.carries("dev", "menu:8").await;
    let sequences: Vec<_> = world.promotions("menu-to-dev").await.iter().map(|it| it.spec.sequence).collect();
    assert_eq!(sequences, [7, 8]);
}

async fn s3_a_lower_sequence_never_replaces_a_higher_one(world: &World) {
    world.automatic().await;
    world.by_hand("menu-to-dev", 5, "menu:5").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    let before = world.get::<Stage>(&world.managed(), "dev").await;
    world.by_hand("menu-to-dev", 3, "menu:3").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    assert_eq!(world.get::<Stage>(&world.managed(), "dev").await, before, "S3, P26: superseded on sight");
}
