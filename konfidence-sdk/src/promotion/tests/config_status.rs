//! Section 9: the mirrors on the config.

use konfidence_types::{VectorPromotion, annotation};

use super::world::{AUTO, GATED, PROJECT, World, promotion};
use crate::promotion::conditions_of;

fn mirrors(world: &World, config: &str) -> (Option<String>, Option<String>) {
    let status = world.stored_config(config).status.clone().unwrap_or_default();
    let reason = |conditions: &[konfidence_types::Condition]| conditions.last().map(|last| last.reason.clone());
    (reason(&status.last_promotion_conditions), reason(&status.last_successful_promotion_conditions))
}

#[test]
fn p40_p41_the_acting_and_the_last_succeeded_promotion_are_mirrored() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let status = world.stored_config(AUTO).status.clone().unwrap();
    let done = world.promotion("menu-to-dev-1");
    assert_eq!(status.last_promotion_conditions, conditions_of(&done));
    assert_eq!(status.last_successful_promotion_conditions, conditions_of(&done));
    assert_eq!(status.sequence, Some(1));
}

#[test]
fn p40_a_newer_waiting_one_never_blanks_the_last_result() {
    let world = World::gated();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    assert_eq!(mirrors(&world, GATED), (Some("WaitingForApproval".into()), None));
    world.approve("dev-to-test-1");
    world.settle(GATED);
    world.set_vector("dev", "menu:2");
    world.settle(GATED);
    assert_eq!(mirrors(&world, GATED), (Some("PromotionSucceeded".into()), Some("PromotionSucceeded".into())));
}

#[test]
fn p40_one_in_progress_is_mirrored_when_it_outlives_its_reconcile() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    world.settle(AUTO);
    assert_eq!(mirrors(&world, AUTO).0.as_deref(), Some("PromotionRunning"));
}

#[test]
fn p42_the_mirrors_do_not_depend_on_the_order_of_events() {
    let status = |order: &[i64]| {
        let world = World::automatic();
        world.settle(AUTO);
        for sequence in order {
            promotion(AUTO, *sequence).succeeded().into(&world);
            world.settle(AUTO);
        }
        let conditions = world.stored_config(AUTO).status.clone().unwrap();
        (conditions.sequence, conditions.last_promotion_conditions, conditions.last_successful_promotion_conditions)
    };
    assert_eq!(status(&[1, 2, 3]), status(&[3, 1, 2]));
}

#[test]
fn p40_p42_a_waiting_one_does_not_blank_what_clean_up_removed() {
    let world = World::gated_with(|spec| spec.keep_last_promotions = 0);
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.approve("dev-to-test-1");
    world.settle(GATED);
    world.set_vector("dev", "menu:2");
    world.settle(GATED);
    assert_eq!(world.overview().len(), 1, "the finished one is gone");
    assert_eq!(mirrors(&world, GATED).0.as_deref(), Some("PromotionSucceeded"));
    world.assert_quiet(GATED);
}

#[test]
fn p42_what_the_set_no_longer_holds_keeps_its_last_mirror() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let before = mirrors(&world, AUTO);
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
    world.settle(AUTO);
    assert_eq!(mirrors(&world, AUTO), before);
}

#[test]
fn p40_the_one_in_progress_is_mirrored_before_a_higher_one_that_ended() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    promotion(AUTO, 2).failed("PromotionRejected").into(&world);
    world.settle(AUTO);
    assert_eq!(mirrors(&world, AUTO).0.as_deref(), Some("PromotionRunning"));
}
