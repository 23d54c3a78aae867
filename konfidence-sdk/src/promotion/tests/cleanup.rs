//! Section 10: the cap, the TTL and what survives them.

use konfidence_types::{VectorPromotion, VectorPromotionConfig, annotation};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, GATED, PROJECT, World, at, noon, promotion};
use crate::store::Verb;

fn left(world: &World) -> Vec<i64> {
    let mut left: Vec<_> = world.promotions().iter().map(|promotion| promotion.spec.sequence).collect();
    left.sort_unstable();
    left
}

#[test]
fn p43_beyond_the_cap_the_oldest_terminal_ones_go_at_once() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 3);
    for number in 1..=7 {
        world.publish(&format!("menu:{number}"));
        world.settle(AUTO);
    }
    assert_eq!(left(&world), [5, 6, 7]);
}

#[test]
fn p43_live_ones_are_neither_counted_nor_deleted() {
    let world = World::gated_with(|spec| spec.keep_last_promotions = 1);
    for number in 1..=5 {
        world.set_vector("dev", &format!("menu:{number}"));
        world.settle(GATED);
    }
    world.approve("dev-to-test-2");
    world.settle(GATED);
    assert_eq!(left(&world), [2, 3, 4, 5]);
}

#[test]
fn p43_the_newest_terminal_and_the_newest_succeeded_survive_within_the_cap() {
    for (cap, kept) in [(1, vec![3, 6]), (2, vec![3, 6]), (3, vec![3, 5, 6]), (4, vec![3, 4, 5, 6])] {
        let world = World::automatic_with(|spec| spec.keep_last_promotions = cap);
        world.settle(AUTO);
        for sequence in 1..=6 {
            let stored = promotion(AUTO, sequence);
            if sequence <= 3 { stored.succeeded() } else { stored.failed("PromotionSuperseded") }.into(&world);
        }
        world.settle(AUTO);
        assert_eq!(left(&world), kept, "cap {cap}");
    }
}

#[test]
fn p43_a_cap_of_zero_keeps_nothing() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 0);
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(left(&world), [0_i64; 0]);
    world.assert_quiet(AUTO);
    world.publish("menu:2");
    world.settle(AUTO);
    assert_eq!((left(&world).len(), world.vector("dev").as_str()), (0, "menu:2"));
}

#[test]
fn p43_without_a_config_there_is_no_cap() {
    let world = World::empty();
    for sequence in 1..=20 {
        promotion("nobody", sequence).succeeded().into(&world);
    }
    world.settle("nobody");
    assert_eq!(left(&world).len(), 20);
}

#[test]
fn p43_what_rejection_and_failure_still_need_is_kept_even_at_zero() {
    for reason in ["PromotionRejected", "PromotionFailed"] {
        let world = World::automatic_with(|spec| spec.keep_last_promotions = 0);
        world.settle(AUTO);
        world.publish("menu:1");
        promotion(AUTO, 1).failed(reason).expiring_after("1s").into(&world);
        world.wait(20);
        world.settle(AUTO);
        assert_eq!(left(&world), [1], "{reason}");
    }
}

#[test]
fn p44_the_ttl_deletes_at_its_instant() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).succeeded().expiring_after("90s").into(&world);
    promotion(AUTO, 2).succeeded().expiring_after("1h").into(&world);
    world.wait(89);
    let outcome = world.settle(AUTO);
    assert_eq!((left(&world), outcome.wake_up), (vec![1, 2], Some(at("12:01:30"))));
    world.wait(1);
    world.settle(AUTO);
    assert_eq!(left(&world), [2]);
}

#[test]
fn p44_an_aggressive_ttl_cannot_erase_the_audit_trail() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).succeeded().expiring_after("1s").into(&world);
    promotion(AUTO, 2).succeeded().expiring_after("1s").into(&world);
    promotion(AUTO, 3).failed("PromotionSuperseded").expiring_after("1s").into(&world);
    world.wait(86_400);
    world.settle(AUTO);
    assert_eq!(left(&world), [2, 3]);
    world.assert_quiet(AUTO);
}

#[test]
fn p44_the_ttl_counts_from_the_last_transition_and_may_change_later() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).ended("True", "PromotionSucceeded", noon()).into(&world);
    promotion(AUTO, 2).succeeded().into(&world);
    world.wait(3600);
    world.settle(AUTO);
    assert_eq!(left(&world), [1, 2]);
    world.edit::<VectorPromotion>(PROJECT, "menu-to-dev-1", json!({"spec": {"ttlAfterFinished": "30m"}}));
    world.settle(AUTO);
    assert_eq!(left(&world), [2]);
}

#[test]
fn p44_promotions_without_a_config_have_no_exemption() {
    let world = World::empty();
    promotion("nobody", 1).succeeded().expiring_after("1s").into(&world);
    world.wait(1);
    world.settle("nobody");
    assert_eq!(left(&world), [0_i64; 0]);
}

#[test]
fn p45_deleting_the_config_removes_its_promotions_and_no_finalizer_is_in_the_way() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    assert!(world.promotion("menu-to-dev-1").finalizers().is_empty());
    assert!(world.stored_config(AUTO).finalizers().is_empty());
    world.delete::<VectorPromotionConfig>(PROJECT, AUTO);
    world.memory().engine().collect_garbage();
    assert_eq!(left(&world), [0_i64; 0]);
}

#[test]
fn p46_a_thousand_are_cleaned_with_a_thousand_deletes_and_a_bounded_number_of_reads() {
    let world = World::automatic();
    world.settle(AUTO);
    for sequence in 1..=1010 {
        promotion(AUTO, sequence).succeeded().into(&world);
    }
    world.store.inner().take();
    world.settle(AUTO);
    let requests = world.store.inner().take();
    let deletes = requests.iter().filter(|request| request.verb == Verb::Delete).count();
    let reads = requests.iter().filter(|request| !request.verb.is_write()).count();
    assert_eq!(deletes, 1000);
    assert!(reads <= 20, "{reads} reads");
    assert_eq!(left(&world).len(), 10);
}

#[test]
fn p46_not_found_is_success() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1);
    world.settle(AUTO);
    for sequence in 1..=3 {
        promotion(AUTO, sequence).succeeded().into(&world);
    }
    world.settle_config_only();
    world.store.fail_next::<VectorPromotion>(Verb::Delete, crate::store::Fault::NotFound);
    let plan = world.plan(AUTO);
    let applied = futures::executor::block_on(crate::promotion::apply(&world.store, &plan));
    assert!(applied.stopped.is_none(), "{applied:?}");
    assert_eq!(applied.written.len(), plan.steps.len());
    assert_eq!(left(&world).len(), 2, "the plan went on to the second");
}

#[test]
fn r14_nothing_above_the_stored_number_is_deleted() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 0);
    world.settle(AUTO);
    promotion(AUTO, 5).succeeded().into(&world);
    world.store.fail_next::<VectorPromotionConfig>(Verb::PatchStatus, crate::store::Fault::Unavailable);
    assert!(world.try_settle(AUTO).is_err());
    assert_eq!(left(&world), [5], "its number is not stored yet");
    world.settle(AUTO);
    assert_eq!(left(&world), [0_i64; 0]);
    assert_eq!(world.stored_config(AUTO).status.as_ref().unwrap().sequence, Some(5));
}

#[test]
fn p51_a_correction_survives_clean_up_while_it_counts() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 0);
    world.publish("menu:1");
    world.settle(AUTO);
    world.set_vector("dev", "by-hand:1");
    world.settle(AUTO);
    assert_eq!(left(&world), [2]);
    assert_eq!(world.annotation("menu-to-dev-2", annotation::CORRECTIONS).as_deref(), Some("1"));
    world.wait(3600);
    let outcome = world.settle(AUTO);
    assert_eq!((left(&world), outcome.wake_up), (vec![2], Some(at("13:00:01"))));
    world.wait(1);
    world.settle(AUTO);
    assert_eq!(left(&world), [0_i64; 0], "it no longer counts");
}

#[test]
fn p44_a_hold_survives_any_clean_up() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 0);
    world.publish("menu:2");
    world.settle(AUTO);
    promotion(AUTO, 2)
        .of("menu:1")
        .annotated(annotation::OVERRULES, r#"{"vector":"menu:2","by":"ada"}"#)
        .expiring_after("1s")
        .into(&world);
    world.settle(AUTO);
    world.wait(100_000);
    world.settle(AUTO);
    assert_eq!((left(&world), world.vector("dev").as_str()), (vec![2], "menu:1"));
    world.publish("menu:3");
    world.settle(AUTO);
    assert_eq!((left(&world), world.vector("dev").as_str()), (vec![], "menu:3"));
}

/// The config points elsewhere and back, so that the correction is neither the newest that ended nor the newest that
/// succeeded. Without a wake-up it would stay until something changes, and a resync of a world at rest would write (S6).
#[test]
fn p51_p43_a_correction_goes_at_the_instant_when_it_no_longer_counts() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1);
    world.settle(AUTO);
    promotion(AUTO, 1).annotated(annotation::CORRECTIONS, "1").succeeded().into(&world);
    promotion(AUTO, 2).to("eu", "test").succeeded().into(&world);
    let outcome = world.settle(AUTO);
    assert_eq!((left(&world), outcome.wake_up), (vec![1, 2], Some(at("13:00:01"))));
    world.wait(3601);
    world.settle(AUTO);
    assert_eq!(left(&world), [2]);
    world.assert_quiet(AUTO);
}

#[test]
fn p43_p44_one_whose_ttl_still_runs_counts_for_the_cap() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 3);
    world.settle(AUTO);
    for sequence in 1..=5 {
        promotion(AUTO, sequence).succeeded().expiring_after("1h").into(&world);
    }
    world.settle(AUTO);
    assert_eq!(left(&world), [3, 4, 5]);
}
