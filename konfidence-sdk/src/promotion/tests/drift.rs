//! Section 3 and P18: when drift makes a promotion, and which.

use konfidence_types::{MAX_SEQUENCE, SourceRef, Stage, TargetRef, VectorPromotion, annotation, label};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, GATED, MANAGED, PROJECT, World, promotion};
use crate::promotion::{Action, Phase};
use crate::store::{Fault, Verb};

#[test]
fn p6_a_vector_that_the_target_has_is_no_drift() {
    let world = World::automatic();
    world.set_vector("dev", "menu:1");
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
}

#[test]
fn p6_an_absent_target_is_no_drift_and_the_inbox_is_kept() {
    let world = World::gated();
    world.settle(GATED);
    world.delete::<Stage>(MANAGED, "test");
    for vector in ["menu:1", "menu:2"] {
        world.set_vector("dev", vector);
        world.settle(GATED);
    }
    assert_eq!(world.overview(), []);
    world.make_stage("test");
    world.settle(GATED);
    let vectors: Vec<_> = world.promotions().iter().map(|made| made.spec.vector.clone()).collect();
    assert_eq!(vectors, ["menu:1", "menu:2"]);
}

#[test]
fn p7_one_change_makes_one_promotion() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p7_the_source_going_back_makes_a_new_one_and_supersedes_the_repeated() {
    let world = World::gated();
    for vector in ["menu:a", "menu:b", "menu:a"] {
        world.set_vector("dev", vector);
        world.settle(GATED);
    }
    assert_eq!(world.phase("dev-to-test-1"), Phase::Superseded);
    assert_eq!(world.phase("dev-to-test-2"), Phase::Waiting);
    assert_eq!(
        (world.phase("dev-to-test-3"), world.promotion("dev-to-test-3").spec.vector.as_str()),
        (Phase::Waiting, "menu:a")
    );
}

#[test]
fn p7_one_that_is_executed_while_it_is_deleted_needs_no_twin() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    let keep = json!({"metadata": {"finalizers": ["bakery.example/keep"]}});
    world.edit::<VectorPromotion>(PROJECT, "menu-to-dev-1", keep);
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
    world.settle(AUTO);
    assert_eq!(world.overview().len(), 1);
    world.wait(8);
    world.settle(AUTO);
    assert_eq!((world.overview().len(), world.vector("dev").as_str()), (1, "menu:1"));
}

#[test]
fn p7_a_repointed_config_makes_one_for_its_new_target() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.edit_config(AUTO, json!({"spec": {"target": {"kind": "Stage", "landscape": "eu", "name": "test"}}}));
    world.settle(AUTO);
    assert_eq!(world.vector("test"), "menu:1");
    assert_eq!(world.overview().len(), 2);
}

#[test]
fn p9_names_and_labels_stay_legal_for_the_longest_config_name() {
    let long = "a".repeat(253);
    let world = World::empty();
    world.config(&long, SourceRef::template("menu"), TargetRef::stage("eu", "dev"), |_| {});
    world.publish("menu:1");
    world.settle(&long);
    let made = world.promotions().remove(0);
    assert!(made.name_any().len() <= 253, "{}", made.name_any());
    assert!(made.labels()[label::CONFIG].len() <= 63);
    assert_eq!(world.vector("dev"), "menu:1");
}

#[test]
fn p10_the_gate_follows_the_source_unless_the_config_says_otherwise() {
    for (from_stage, wish, expected) in
        [(true, None, true), (false, None, false), (true, Some(false), false), (false, Some(true), true)]
    {
        let world = World::empty();
        let source = if from_stage { SourceRef::stage("eu", "dev") } else { SourceRef::template("menu") };
        world.config("flow", source, TargetRef::stage("eu", "test"), |spec| spec.require_approval = wish);
        world.publish("menu:1");
        world.set_vector("dev", "menu:1");
        world.settle("flow");
        assert_eq!(world.promotion("flow-1").spec.require_approval, expected, "{from_stage} {wish:?}");
    }
}

#[test]
fn p11_a_promotion_carries_owner_snapshots_ttl_and_sequence() {
    let world = World::gated_with(|spec| spec.ttl_after_finished = Some("90m".parse().unwrap()));
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    let (made, config) = (world.promotion("dev-to-test-1"), world.stored_config(GATED));
    let owner = &made.owner_references()[0];
    assert_eq!((owner.name.as_str(), Some(owner.uid.as_str())), (GATED, config.metadata.uid.as_deref()));
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), None));
    assert_eq!((&made.spec.source, &made.spec.target), (&config.spec.source, &config.spec.target));
    assert_eq!(made.spec.ttl_after_finished, config.spec.ttl_after_finished);
    assert_eq!((made.spec.sequence, made.spec.vector.as_str()), (1, "menu:1"));
}

#[test]
fn p12_a_config_made_again_under_its_name_starts_clean() {
    let world = World::automatic();
    world.settle(AUTO);
    // A leftover of the old config that garbage collection has not reached.
    promotion(AUTO, 4).owned_by_uid(AUTO, "another-uid").into(&world);
    world.publish("menu:9");
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": null}));
    world.settle(AUTO);
    assert_eq!(world.promotion("menu-to-dev-5").spec.vector, "menu:9", "numbers go on above the leftovers");
    assert_eq!(world.vector("dev"), "menu:9");
    assert_eq!(world.phase("menu-to-dev-4"), Phase::Ready, "it is not ours: not executed, not superseded");
}

#[test]
fn p12_nothing_is_created_before_the_number_base_is_stored() {
    let world = World::automatic();
    world.publish("menu:1");
    world.store.fail_next::<konfidence_types::VectorPromotionConfig>(Verb::PatchStatus, Fault::Unavailable);
    assert!(world.try_settle(AUTO).is_err());
    assert_eq!(world.overview(), []);
    world.settle(AUTO);
    assert_eq!(world.overview().len(), 1);
}

#[test]
fn p13_the_next_number_is_above_status_record_and_members() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": 41}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.record("dev", AUTO).sequence, 42);

    // A restore that lost status and promotions: the Stage's record still counts.
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-42");
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": null}));
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!(world.record("dev", AUTO).sequence, 43);

    promotion(AUTO, 1000).of("menu:3").gated().into(&world);
    world.publish("menu:4");
    world.settle(AUTO);
    assert_eq!(world.record("dev", AUTO).sequence, 1001);
}

#[test]
fn p13_when_all_numbers_are_used_up_nothing_is_made_and_ready_says_so() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": MAX_SEQUENCE}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
    assert!(world.ready(AUTO).2.contains("used up"), "{:?}", world.ready(AUTO));
    world.assert_quiet(AUTO);
}

#[test]
fn p13_a_name_that_something_else_holds_costs_its_number_only() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion("another", 1).named("menu-to-dev-1").gated().into(&world);
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.record("dev", AUTO).sequence, 2);
}

#[test]
fn p13_sixty_vectors_give_at_most_sixty_promotions() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1000);
    for number in 1..=60 {
        world.publish(&format!("menu:{number}"));
        world.settle(AUTO);
    }
    assert_eq!(world.overview().len(), 60);
    assert_eq!(world.vector("dev"), "menu:60");
}

#[test]
fn p14_nothing_is_created_while_suspended() {
    let world = World::automatic_with(|spec| spec.suspend = Some(true));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.overview(), []);
    world.edit_config(AUTO, json!({"spec": {"suspend": false}}));
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
}

#[test]
fn p18_a_rejected_vector_does_not_come_back_until_another_came() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.edit_status::<VectorPromotion>(
        PROJECT,
        "dev-to-test-1",
        json!({
            "conditions": [{"type": "Succeeded", "status": "False", "reason": "PromotionRejected", "message": "no",
                "lastTransitionTime": "2026-03-01T12:00:00Z"}],
        }),
    );
    world.wait(1_000_000);
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1);
    world.set_vector("dev", "menu:2");
    world.settle(GATED);
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    assert_eq!(world.promotion("dev-to-test-3").spec.vector, "menu:1");
}

#[test]
fn p14_p7_creation_comes_before_the_start_and_ends_its_plan() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).of("menu:1").into(&world);
    world.publish("menu:2");
    assert_eq!(world.steps(AUTO), [(Action::Create, "menu-to-dev-2".to_owned())]);
}

#[test]
fn p13_the_last_number_is_handed_out_too() {
    let world = World::automatic();
    world.settle(AUTO);
    world.edit_status::<konfidence_types::VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": MAX_SEQUENCE - 1}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!((world.record("dev", AUTO).sequence, world.vector("dev").as_str()), (MAX_SEQUENCE, "menu:1"));
}

/// A restore into another etcd counts generations anew: what a live read confirms is no old view.
#[test]
fn r13_a_view_of_the_config_that_a_live_read_confirms_is_gone_on_with() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).annotated(annotation::CONFIG_GENERATION, "9").succeeded().into(&world);
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:2");
}
