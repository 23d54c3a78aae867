//! Section 3: when a promotion is made, and which one.

use konfidence_types::{SourceRef, Stage, VectorPromotionConfig};
use kube::ResourceExt;
use serde_json::json;

use crate::on_every_server;
use crate::world::{World, until};

on_every_server!(
    p6_drift_is_a_source_vector_that_differs_from_the_targets,
    p6_p8_without_its_target_nothing_is_made_and_what_came_is_kept,
    p7_a_source_that_goes_back_is_followed,
    p7_a_repointed_config_promotes_to_its_new_target,
    p8_a_burst_makes_a_candidate_of_every_vector_where_a_person_decides,
    p9_names_of_253_characters_work_to_the_end,
    p10_approval_is_required_from_a_stage_and_not_from_a_template_unless_the_config_says_so,
    p11_a_promotion_is_owned_by_its_config_and_pins_what_it_promotes,
    p12_a_config_made_anew_starts_clean,
    p13_sequences_grow_and_no_vector_is_promoted_twice,
    p14_nothing_is_made_while_suspended,
);

async fn p6_drift_is_a_source_vector_that_differs_from_the_targets(world: &World) {
    world.automatic().await;
    world.change::<Stage>(&world.managed(), "dev", json!({"spec": {"vector": "menu:1"}})).await;
    world.rest().await;
    world.assemble("menu:1").await;
    world.rest().await;
    assert!(world.promotions("menu-to-dev").await.is_empty(), "the same vector is no drift");
    world.assemble("menu:2").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    assert_eq!(world.vector("dev").await, "menu:2");
}

async fn p6_p8_without_its_target_nothing_is_made_and_what_came_is_kept(world: &World) {
    world.template("menu").await;
    world.config("menu-to-dev", SourceRef::template("menu"), "dev", |it| it.require_approval = Some(true)).await;
    world.becomes("menu-to-dev", "StageNotFound").await;
    for n in 1..=3 {
        world.assemble(&format!("menu:{n}")).await;
    }
    world.rest().await;
    assert!(world.promotions("menu-to-dev").await.is_empty());
    world.stage("dev").await;
    world.come_to("menu-to-dev", &["Waiting"; 3]).await;
    let vectors: Vec<_> = world.promotions("menu-to-dev").await.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(vectors, ["menu:1", "menu:2", "menu:3"]);
}

async fn p7_a_source_that_goes_back_is_followed(world: &World) {
    world.automatic().await;
    for vector in ["menu:1", "menu:2", "menu:1"] {
        world.assemble(vector).await;
        world.carries("dev", vector).await;
    }
    world.come_to("menu-to-dev", &["Succeeded"; 3]).await;
}

async fn p7_a_repointed_config_promotes_to_its_new_target(world: &World) {
    world.automatic().await;
    world.stage("test").await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    let repointed = json!({"spec": {"target": {"name": "test"}}});
    world.change::<VectorPromotionConfig>(&world.project, "menu-to-dev", repointed).await;
    world.carries("test", "menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded", "Succeeded"]).await;
    assert_eq!(world.promotion("menu-to-dev-2").await.spec.target.name, "test");
}

async fn p8_a_burst_makes_a_candidate_of_every_vector_where_a_person_decides(world: &World) {
    world.gated().await;
    let vectors: Vec<_> = (1..=20).map(|n| format!("menu:{n}")).collect();
    for vector in &vectors {
        world.assemble(vector).await;
    }
    world.come_to("menu-to-dev", &["Waiting"; 20]).await;
    let made: Vec<_> = world.promotions("menu-to-dev").await.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(made, vectors);
}

async fn p9_names_of_253_characters_work_to_the_end(world: &World) {
    world.stage("dev").await;
    world.template("menu").await;
    let long = ["c".repeat(63), "c".repeat(63), "c".repeat(63), "c".repeat(61)].join(".");
    let (one, other) = (long.clone(), format!("{}x", &long[..252]));
    assert_eq!((one.len(), other.len()), (253, 253));
    world.config(&one, SourceRef::template("menu"), "dev", |_| {}).await;
    world.config(&other, SourceRef::template("menu"), "dev", |it| it.require_approval = Some(true)).await;
    world.becomes(&other, "TargetResolved").await;
    world.assemble("menu:1").await;
    world.come_to(&one, &["Succeeded"]).await;
    until("the other one has a candidate", async || !world.promotions(&other).await.is_empty()).await;
    let names = [&one, &other].map(async |config| world.promotions(config).await[0].name_any());
    let [first, second] = names;
    let (first, second) = (first.await, second.await);
    assert!(first != second && first.len() <= 253 && second.len() <= 253, "{first} {second}");
    world.approve(&second).await.unwrap();
    world.come_to(&other, &["Succeeded"]).await;
}

async fn p10_approval_is_required_from_a_stage_and_not_from_a_template_unless_the_config_says_so(world: &World) {
    world.automatic().await;
    world.stage("test").await;
    world.stage("prod").await;
    world.stage("kiosk").await;
    world.config("dev-to-test", SourceRef::stage("eu", "dev"), "test", |_| {}).await;
    world.config("dev-to-prod", SourceRef::stage("eu", "dev"), "prod", |it| it.require_approval = Some(false)).await;
    world.config("menu-to-kiosk", SourceRef::template("menu"), "kiosk", |it| it.require_approval = Some(true)).await;
    for config in ["dev-to-test", "dev-to-prod", "menu-to-kiosk"] {
        world.becomes(config, "TargetResolved").await;
    }
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    world.come_to("dev-to-test", &["Waiting"]).await;
    world.come_to("dev-to-prod", &["Succeeded"]).await;
    world.come_to("menu-to-kiosk", &["Waiting"]).await;
}

async fn p11_a_promotion_is_owned_by_its_config_and_pins_what_it_promotes(world: &World) {
    world.automatic_with(|spec| spec.ttl_after_finished = Some("24h".parse().unwrap())).await;
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["Succeeded"]).await;
    let config = world.stored_config("menu-to-dev").await;
    let made = world.promotion("menu-to-dev-1").await;
    let owners = made.owner_references();
    let [owner] = owners else { panic!("{owners:?}") };
    assert_eq!((owner.name.as_str(), Some(&owner.uid)), ("menu-to-dev", config.metadata.uid.as_ref()));
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), None));
    let spec = &made.spec;
    assert_eq!((&spec.source, &spec.target), (&config.spec.source, &config.spec.target));
    assert_eq!((spec.vector.as_str(), spec.sequence, spec.require_approval), ("menu:1", 1, false));
    assert_eq!(spec.ttl_after_finished, config.spec.ttl_after_finished);
    assert_eq!(spec.vector_promotion_config_name, "menu-to-dev");
    until("the sequence is on record", async || {
        let config = world.stored_config("menu-to-dev").await;
        config.status.as_ref().and_then(|status| status.sequence) == Some(1)
    })
    .await;
}

async fn p12_a_config_made_anew_starts_clean(world: &World) {
    world.candidates(2).await;
    let before = world.stored_config("menu-to-dev").await.uid();
    world.delete::<VectorPromotionConfig>(&world.project, "menu-to-dev").await;
    world.config("menu-to-dev", SourceRef::template("menu"), "dev", |_| {}).await;
    world.becomes("menu-to-dev", "TargetResolved").await;
    let config = world.stored_config("menu-to-dev").await;
    assert_ne!(config.uid(), before);
    // The old candidates neither block nor are executed; they go with their owner.
    world.carries("dev", "menu:2").await;
    world.assemble("menu:3").await;
    world.carries("dev", "menu:3").await;
    until("the old ones are gone", async || {
        let all = world.promotions("menu-to-dev").await;
        all.iter().all(|it| it.owner_references().iter().all(|owner| Some(&owner.uid) == config.metadata.uid.as_ref()))
    })
    .await;
    world.come_to("menu-to-dev", &["Succeeded", "Succeeded"]).await;
}

async fn p13_sequences_grow_and_no_vector_is_promoted_twice(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 100).await;
    for n in 1..=60 {
        world.assemble(&format!("menu:{n}")).await;
    }
    world.carries("dev", "menu:60").await;
    world.rest().await;
    let all = world.promotions("menu-to-dev").await;
    let numbers: Vec<i64> = all.iter().map(|it| it.spec.vector.trim_start_matches("menu:").parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "in the order of the source, none twice: {numbers:?}");
    assert!(all.is_sorted_by(|one, next| one.spec.sequence < next.spec.sequence));
    assert_eq!(numbers.last(), Some(&60));
}

async fn p14_nothing_is_made_while_suspended(world: &World) {
    world.automatic_with(|spec| spec.suspend = Some(true)).await;
    world.assemble("menu:1").await;
    world.rest().await;
    assert!(world.promotions("menu-to-dev").await.is_empty());
    let key = konfidence_sdk::store::Key::new(&world.project, "menu-to-dev");
    konfidence_sdk::promotion::resume(&world.person, &key).await.unwrap();
    world.come_to("menu-to-dev", &["Succeeded"]).await;
}
