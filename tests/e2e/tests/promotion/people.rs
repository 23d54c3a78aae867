//! Section 11: what people see, and what they may put in the way.

use std::sync::Arc;

use jiff::SignedDuration;
use konfidence_controllers::events::PostedEvents;
use konfidence_sdk::promotion::{self, Inbox, explain, load};
use konfidence_sdk::store::Key;
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};
use kube::ResourceExt;
use serde_json::json;

use crate::on_every_server;
use crate::world::{World, until};

on_every_server!(
    p47_each_transition_is_an_event_once,
    p47_whoever_approves_says_so,
    p48_a_config_is_explained_from_what_is_stored,
    p49_metrics_tell_states_transitions_and_writes,
    p50_noise_on_every_object_costs_no_write,
    p51_a_contested_stage_is_corrected_at_once_and_then_at_a_pace,
    p52_a_vector_that_a_person_promotes_stays_until_it_is_released,
    p52_a_new_source_vector_ends_a_hold,
);

async fn p47_each_transition_is_an_event_once(world: &World) {
    world.candidates(2).await;
    world.tells("menu-to-dev", &["PromotionCreated"; 2]).await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    // What has ended before its decisions rest is not said to have started.
    world.tells("menu-to-dev-2", &["PromotionSucceeded"]).await;
    world.tells("menu-to-dev-1", &["PromotionSuperseded"]).await;
    world.tells("menu-to-dev", &["PromotionCreated"; 2]).await;
    world.stop().await;
    world.start().await;
    world.rest().await;
    assert_eq!(world.events("menu-to-dev-1").await, ["PromotionSuperseded"], "a restart tells nothing again");
}

async fn p47_whoever_approves_says_so(world: &World) {
    world.candidates(1).await;
    let client = world.people.client(&world.server.approver);
    let (events, posting) = PostedEvents::start(client, Arc::new(world.clock.clone()), "bakery.example/tool", "anna");
    let key = world.key("menu-to-dev-1");
    promotion::approve(&world.person, &world.clock, &events, &key, "anna").await.unwrap();
    drop(events);
    posting.await.unwrap();
    assert!(world.events("menu-to-dev-1").await.contains(&"PromotionApproved".to_owned()));
}

async fn p48_a_config_is_explained_from_what_is_stored(world: &World) {
    world.candidates(2).await;
    world.rest().await;
    let key: Key<VectorPromotionConfig> = Key::new(&world.project, "menu-to-dev");
    let snapshot = load(&world.admin, &Inbox::default(), &key).await.unwrap();
    let told = explain(&snapshot, konfidence_sdk::clock::Clock::now(&world.clock));
    assert_eq!(told.promotions.len(), 2);
    assert!(told.next.is_empty(), "{:?}", told.next);
    let text = told.to_string();
    assert!(text.contains("menu-to-dev-2") && text.contains("approv"), "{text}");
}

async fn p49_metrics_tell_states_transitions_and_writes(world: &World) {
    world.candidates(2).await;
    world.approve("menu-to-dev-2").await.unwrap();
    world.come_to("menu-to-dev", &["Superseded", "Succeeded"]).await;
    world.assemble("menu:3").await;
    world.come_to("menu-to-dev", &["Superseded", "Succeeded", "Waiting"]).await;
    world.rest().await;
    let text = world.process().metrics().text().unwrap();
    // On the real server there may be promotions that other tests left.
    for line in [
        "konfidence_promotion_transitions_total{reason=\"PromotionSuperseded\"} 1",
        "konfidence_promotion_transitions_total{reason=\"PromotionSucceeded\"} 1",
        "konfidence_approval_wait_seconds_count 1",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    for word in ["konfidence_promotions{state=\"Waiting\"}", "konfidence_reconciles_total", "konfidence_write"] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    assert!(!text.contains("menu-to-dev"), "names are no labels");
}

async fn p50_noise_on_every_object_costs_no_write(world: &World) {
    world.automatic().await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.rest().await;
    world.wire.clear();
    for n in 0..10 {
        let noise = json!({"metadata": {"annotations": {"bakery.example/noise": n.to_string()}}});
        world.change::<Stage>(&world.managed(), "dev", noise.clone()).await;
        world.change::<VectorTemplate>(&world.project, "menu", noise.clone()).await;
        world.change::<VectorPromotion>(&world.project, "menu-to-dev-1", noise).await;
        world.nudge("menu-to-dev").await;
    }
    world.rest().await;
    assert_eq!(world.writes(), Vec::<String>::new());
}

async fn p51_a_contested_stage_is_corrected_at_once_and_then_at_a_pace(world: &World) {
    world.automatic().await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    let by_hand = async || {
        let vector = json!({"spec": {"vector": "by-hand:1"}});
        world.change::<Stage>(&world.managed(), "dev", vector).await;
    };
    by_hand().await;
    world.carries("dev", "menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"; 2]).await;
    by_hand().await;
    world.rest().await;
    assert_eq!(world.vector("dev").await, "by-hand:1", "the second one waits a minute");
    world.advance("menu-to-dev", SignedDuration::from_secs(61)).await;
    world.carries("dev", "menu:1").await;
    until("it is said", async || world.events("menu-to-dev").await.contains(&"TargetContested".to_owned())).await;
}

async fn p52_a_vector_that_a_person_promotes_stays_until_it_is_released(world: &World) {
    world.automatic().await;
    for n in 1..=2 {
        world.assemble(&format!("menu:{n}")).await;
        world.carries("dev", &format!("menu:{n}")).await;
    }
    world.come_to("menu-to-dev", &["Succeeded"; 2]).await;
    let made = world.promote("menu-to-dev", "menu:1").await.unwrap();
    assert!(made.annotations()[annotation::OVERRULES].contains("menu:2"));
    world.come_to("menu-to-dev", &["Succeeded"; 3]).await;
    assert_eq!(world.vector("dev").await, "menu:1");
    world.nudge("menu-to-dev").await;
    until("it says who holds it", async || {
        let (reason, message) = world.ready("menu-to-dev").await;
        reason == "TargetResolved" && message.contains("anna") && message.contains("menu:2")
    })
    .await;
    world.rest().await;
    assert_eq!(world.vector("dev").await, "menu:1");
    let key = Key::new(&world.project, "menu-to-dev");
    promotion::release(&world.person, &key, "anna").await.unwrap();
    world.carries("dev", "menu:2").await;
}

async fn p52_a_new_source_vector_ends_a_hold(world: &World) {
    world.automatic().await;
    world.assemble("menu:2").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.promote("menu-to-dev", "menu:1").await.unwrap();
    world.carries("dev", "menu:1").await;
    world.assemble("menu:3").await;
    world.carries("dev", "menu:3").await;
    until("nobody holds it", async || !world.ready("menu-to-dev").await.1.contains("anna")).await;
}
