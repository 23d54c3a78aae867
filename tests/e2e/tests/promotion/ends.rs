//! Sections 9 and 10: what a config shows of its promotions, and which are kept.

use jiff::SignedDuration;
use konfidence_sdk::promotion::conditions_of;
use konfidence_types::{Condition, VectorPromotion, VectorPromotionConfig};
use kube::ResourceExt;
use serde_json::json;

use crate::on_every_server;
use crate::world::{World, until};

on_every_server!(
    p40_p41_the_acting_and_the_last_successful_promotion_are_mirrored,
    p42_what_is_gone_stays_mirrored,
    p43_beyond_the_cap_what_ended_is_deleted_oldest_first,
    p43_the_newest_success_survives_newer_failures,
    p44_a_ttl_deletes_all_but_the_newest_result,
    p45_promotions_go_with_their_config,
    p46_clean_up_is_one_delete_each_and_no_list,
);

async fn mirrors(world: &World) -> (Vec<Condition>, Vec<Condition>) {
    let status = world.stored_config("menu-to-dev").await.status.clone().unwrap_or_default();
    (status.last_promotion_conditions, status.last_successful_promotion_conditions)
}

async fn p40_p41_the_acting_and_the_last_successful_promotion_are_mirrored(world: &World) {
    world.candidates(2).await;
    let of = async |name: &str| conditions_of(&*world.promotion(name).await).to_vec();
    until("the waiting one is shown", async || mirrors(world).await == (of("menu-to-dev-2").await, Vec::new())).await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    until("the success is shown", async || {
        let done = of("menu-to-dev-2").await;
        mirrors(world).await == (done.clone(), done)
    })
    .await;
    // A newer one that waits blanks nothing; one that was rejected is the last result.
    world.assemble("menu:3").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Waiting"]).await;
    world.rest().await;
    let done = of("menu-to-dev-2").await;
    assert_eq!(mirrors(world).await, (done.clone(), done.clone()));
    world.reject("menu-to-dev-3").await.unwrap();
    until("the rejection is shown", async || mirrors(world).await == (of("menu-to-dev-3").await, done.clone())).await;
}

async fn p42_what_is_gone_stays_mirrored(world: &World) {
    world.automatic().await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.rest().await;
    let before = mirrors(world).await;
    assert!(!before.1.is_empty());
    world.delete::<VectorPromotion>(&world.project, "menu-to-dev-1").await;
    world.nudge("menu-to-dev").await;
    world.rest().await;
    assert_eq!(mirrors(world).await, before);
}

async fn p43_beyond_the_cap_what_ended_is_deleted_oldest_first(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 3).await;
    for n in 1..=5 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    until("the cap is kept", async || {
        let all = world.promotions("menu-to-dev").await;
        all.iter().map(|it| it.spec.sequence).eq([3, 4, 5])
    })
    .await;
}

async fn p43_the_newest_success_survives_newer_failures(world: &World) {
    world
        .automatic_with(|spec| {
            spec.keep_last_promotions = 1;
            spec.require_approval = Some(true);
        })
        .await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Waiting"]).await;
    world.approve("menu-to-dev-1").await.unwrap();
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    for n in 2..=3 {
        world.assemble(&format!("menu:{n}")).await;
        until("it waits", async || world.states("menu-to-dev").await.last().is_some_and(|state| state == "Waiting"))
            .await;
        world.reject(&format!("menu-to-dev-{n}")).await.unwrap();
        world.rest().await;
    }
    world.assemble("menu:4").await;
    until("the older rejection is gone", async || {
        let all = world.promotions("menu-to-dev").await;
        all.iter().map(|it| it.spec.sequence).eq([1, 3, 4])
    })
    .await;
}

async fn p44_a_ttl_deletes_all_but_the_newest_result(world: &World) {
    world.automatic_with(|spec| spec.ttl_after_finished = Some("1h".parse().unwrap())).await;
    for n in 1..=3 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.come_to("menu-to-dev", &["Succeeded"; 3]).await;
    world.advance("menu-to-dev", SignedDuration::from_mins(59)).await;
    world.rest().await;
    assert_eq!(world.promotions("menu-to-dev").await.len(), 3);
    world.advance("menu-to-dev", SignedDuration::from_mins(2)).await;
    until("the newest is left", async || {
        world.promotions("menu-to-dev").await.iter().map(|it| it.spec.sequence).eq([3])
    })
    .await;
}

async fn p45_promotions_go_with_their_config(world: &World) {
    world.candidates(2).await;
    let hand_made = world.by_hand("nobody", 1, "menu:1").await;
    for promotion in world.promotions("menu-to-dev").await {
        assert!(promotion.finalizers().is_empty());
    }
    assert!(world.stored_config("menu-to-dev").await.finalizers().is_empty());
    world.delete::<VectorPromotionConfig>(&world.project, "menu-to-dev").await;
    until("they are gone", async || world.promotions("menu-to-dev").await.is_empty()).await;
    assert!(world.find::<VectorPromotion>(&world.project, &hand_made.name_any()).await.is_some());
}

async fn p46_clean_up_is_one_delete_each_and_no_list(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 100).await;
    for n in 1..=12 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.rest().await;
    let made = world.promotions("menu-to-dev").await.len();
    world.wire.clear();
    let fewer = json!({"spec": {"keepLastPromotions": 2}});
    world.change::<VectorPromotionConfig>(&world.project, "menu-to-dev", fewer).await;
    until("the cap is kept", async || world.promotions("menu-to-dev").await.len() == 2).await;
    world.rest().await;
    let calls = world.calls();
    let reads: Vec<_> = calls.iter().filter(|call| !call.writes()).collect();
    assert!(reads.is_empty(), "{reads:?}");
    assert_eq!(calls.iter().filter(|call| call.verb == "delete").count(), made - 2);
}
