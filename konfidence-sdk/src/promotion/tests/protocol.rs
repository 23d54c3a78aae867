//! The traces of promotion-protocol.md, section 5: what would go wrong if a rule were dropped, played by hand with two
//! controllers, one of which decided on an older view and slept.

use futures::executor::block_on;
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, MANAGED, PROJECT, World, named, plan_of, promotion};
use crate::plan::{Decision, Plan};
use crate::promotion::{Action, During, Phase, Seen, Step, Stopped, apply, decide};
use crate::promotion::{Doubt, Verdict};

/// A paused controller wakes and goes on with what it had decided.
fn wake(world: &World, plan: &Plan<Step>) -> Option<Stopped> {
    block_on(apply(&world.store, plan)).stopped
}

/// The plan without its first `done` steps, which were made before the pause; its later writes carry on from there.
fn rest(plan: &Plan<Step>, done: usize) -> Plan<Step> {
    Plan { steps: plan.steps[done..].to_vec(), wake_up: None }
}

#[test]
fn t1_the_lower_promotion_is_the_lock() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    let a = world.plan(AUTO); // does not see the second
    promotion(AUTO, 2).into(&world);
    let b = world.plan(AUTO);
    assert_eq!(named(&b)[0], (Action::Supersede, "menu-to-dev-1".to_owned()));
    assert!(wake(&world, &b).is_none());
    assert!(matches!(wake(&world, &a), Some(Stopped::Conflict)), "A's start meets B's supersede");
    assert_eq!(world.vector("dev"), "menu:2");
}

#[test]
fn t2_a_creation_ends_its_plan() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    assert_eq!(named(&world.plan(AUTO)), [(Action::Create, "menu-to-dev-1".to_owned())]);
}

#[test]
fn t5_t6_a_paused_writer_cannot_write_after_the_retirement() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    let paused = world.plan(AUTO);
    // It makes the start and sleeps before the Stage.
    assert!(wake(&world, &Plan { steps: paused.steps[..1].to_vec(), wake_up: None }).is_none());
    world.wait(301);
    // Another one resumes first (the back-off allows it), fails to answer, and then the deadline retires it.
    promotion(AUTO, 0).named("noise").gated().into(&world);
    let retire = {
        let plan = world.plan(AUTO);
        assert!(named(&plan).contains(&(Action::Fence, "menu-to-dev-1".to_owned())), "{:?}", named(&plan));
        plan
    };
    assert!(wake(&world, &retire).is_none());
    assert_eq!(world.phase("menu-to-dev-1"), Phase::TimedOut);
    let stopped = wake(&world, &rest(&paused, 1));
    assert!(matches!(stopped, Some(Stopped::Conflict)), "{stopped:?}");
    assert_eq!(world.vector("dev"), "", "S2");
}

#[test]
fn t6_the_fences_value_changes_with_the_promotions_version() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:00Z").into(&world);
    world.wait(301);
    let first = world.plan(AUTO);
    let crashed = Plan { steps: first.steps[..1].to_vec(), wake_up: None };
    assert_eq!(crashed.steps[0].action, Action::Fence);
    assert!(wake(&world, &crashed).is_none(), "the fence landed, and its writer died");
    // A resumption by somebody who has not seen the deadline moves the promotion.
    world.edit::<VectorPromotion>(
        PROJECT,
        "menu-to-dev-1",
        json!({"metadata": {"annotations": {annotation::ATTEMPT: "2@2026-03-01T12:04:00Z"}}}),
    );
    let before = world.stage("dev").resource_version();
    let second = world.plan(AUTO);
    assert!(wake(&world, &Plan { steps: second.steps[..1].to_vec(), wake_up: None }).is_none());
    assert_ne!(world.stage("dev").resource_version(), before, "a second fence moves the Stage again");
}

#[test]
fn t7_t8_a_resumption_that_did_not_write_the_promotion_first_is_not_possible() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    let slow = world.plan(AUTO);
    assert_eq!(named(&slow)[0].0, Action::Attempt);
    world.wait(301);
    let retire = world.plan(AUTO);
    assert!(wake(&world, &retire).is_none());
    assert!(matches!(wake(&world, &slow), Some(Stopped::Conflict)), "its attempt meets the retirement");
    assert_eq!(world.vector("dev"), "");
}

#[test]
fn t10_the_fence_is_conditional_on_a_stage_without_the_record() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:04:59Z").into(&world);
    world.wait(301);
    let stale = world.snapshot(AUTO);
    // The writer that everybody thought dead writes after all.
    let uid = world.promotion("menu-to-dev-1").uid().unwrap();
    let records = json!({AUTO: {"owner": "", "sequence": 1, "promotion": uid, "vector": "menu:1"}}).to_string();
    world.edit::<Stage>(
        MANAGED,
        "dev",
        json!({
            "metadata": {"annotations": {annotation::PROMOTIONS: records}}, "spec": {"vector": "menu:1"},
        }),
    );
    assert!(matches!(wake(&world, &plan_of(&stale, world.now())), Some(Stopped::Conflict)));
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded, "evidence comes first");
}

#[test]
fn t4_another_owners_uid_makes_the_config_be_read_live() {
    let world = World::automatic();
    world.settle(AUTO);
    let old = world.snapshot(AUTO);
    world.delete::<VectorPromotionConfig>(PROJECT, AUTO);
    let new = world.config(
        AUTO,
        konfidence_types::SourceRef::template("menu"),
        konfidence_types::TargetRef::stage("eu", "dev"),
        |_| {},
    );
    promotion(AUTO, 1).owned_by(&new).in_progress().into(&world);
    promotion(AUTO, 9).named("by-hand").into(&world);
    // The config's view is old, the promotions' is not.
    let mut mixed = world.snapshot(AUTO);
    mixed.config = old.config.clone();
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Owner));
    mixed.confirmed.insert(Doubt::Owner, Verdict::Differs);
    assert_eq!(named(&plan_of(&mixed, world.now())), [], "nothing is done on a view that is known to be old");
}

#[test]
fn r2_another_owner_in_the_stages_record_makes_the_config_be_read_live() {
    let world = World::automatic();
    world.settle(AUTO);
    let record = json!({"owner": "another-uid", "sequence": 3, "promotion": "p", "vector": "menu:3"});
    let records = json!({AUTO: record}).to_string();
    world.edit::<Stage>(MANAGED, "dev", json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}}));
    promotion(AUTO, 1).into(&world);
    assert_eq!(decide(&world.snapshot(AUTO), world.now()), Decision::Verify(Doubt::Owner));
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1", "the live read agrees: the other config is gone");
}

#[test]
fn r2_s5_nobodys_record_beside_a_config_makes_the_config_be_read_live() {
    let world = World::automatic();
    world.settle(AUTO);
    let config = world.stored_config(AUTO);
    // The first has written the Stage, and its success is not noted yet.
    promotion(AUTO, 1).owned_by(&config).into(&world);
    let first = world.plan(AUTO);
    assert!(wake(&world, &Plan { steps: first.steps[..2].to_vec(), wake_up: None }).is_none());
    let old = world.snapshot(AUTO);
    // The config goes, and one made by hand takes the first one's place on the Stage and in its record.
    world.delete::<VectorPromotionConfig>(PROJECT, AUTO);
    promotion(AUTO, 1).named("by-hand").into(&world);
    world.settle(AUTO);
    let record = world.record("dev", AUTO);
    assert_eq!((record.owner.as_str(), record.promotion), ("", world.promotion("by-hand").uid().unwrap()));
    // Who has not seen the config go must not fail the first: it was written.
    let mut mixed = old;
    let seen = Seen::Found(world.stage("dev"));
    mixed.stages.values_mut().for_each(|stage| *stage = seen.clone());
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Owner));
    mixed.confirmed.insert(Doubt::Owner, Verdict::Differs);
    assert_eq!(plan_of(&mixed, world.now()), Plan::default());
}

#[test]
fn r11_a_number_above_the_members_or_a_superseded_newest_is_read_live() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.edit_status::<VectorPromotionConfig>(PROJECT, AUTO, json!({"sequence": 7}));
    world.publish("menu:2");
    assert_eq!(decide(&world.snapshot(AUTO), world.now()), Decision::Verify(Doubt::Creation), "b");

    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    promotion(AUTO, 2).failed("PromotionSuperseded").into(&world);
    world.settle(AUTO);
    world.publish("menu:2");
    assert_eq!(decide(&world.snapshot(AUTO), world.now()), Decision::Verify(Doubt::Creation), "c");
}

#[test]
fn r11_p13_what_a_config_of_this_name_promoted_before_is_read_live_before_a_creation() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.publish("menu:2");
    let outdated = world.get::<VectorTemplate>(PROJECT, "menu").unwrap();
    world.publish("menu:3");
    world.settle(AUTO);
    world.delete::<VectorPromotionConfig>(PROJECT, AUTO);
    world.memory().engine().collect_garbage();
    world.config(
        AUTO,
        konfidence_types::SourceRef::template("menu"),
        konfidence_types::TargetRef::stage("eu", "dev"),
        |_| {},
    );
    world.settle(AUTO);
    assert_eq!(world.overview(), [], "no drift: the config before has promoted what the source holds");
    let mut mixed = world.snapshot(AUTO);
    mixed.template = Seen::Found(outdated);
    mixed.confirmed.insert(Doubt::Owner, Verdict::Agrees);
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Creation), "no member shows that the view is old");
    mixed.confirmed.insert(Doubt::Creation, Verdict::Differs);
    assert_eq!(named(&plan_of(&mixed, world.now())), [], "no rollback to an outdated vector");
}

#[test]
fn t13_a_stage_view_older_than_the_success_is_not_believed() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let before = world.stage("dev");
    world.publish("menu:2");
    world.settle(AUTO);
    let mut mixed = world.snapshot(AUTO);
    mixed.stages.insert(crate::store::Key::of(&*before), Seen::Found(before));
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Creation));
    mixed.confirmed.insert(Doubt::Creation, Verdict::Differs);
    assert_eq!(named(&plan_of(&mixed, world.now())), []);
}

#[test]
fn t14_a_source_view_older_than_the_newest_member_is_not_believed() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let before = world.get::<VectorTemplate>(PROJECT, "menu").unwrap();
    world.publish("menu:2");
    world.settle(AUTO);
    let mut mixed = world.snapshot(AUTO);
    mixed.template = Seen::Found(before);
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Source));
    mixed.confirmed.insert(Doubt::Source, Verdict::Differs);
    assert_eq!(named(&plan_of(&mixed, world.now())), [], "no rollback to an outdated vector");
}

#[test]
fn r13_a_config_view_older_than_the_newest_member_is_not_believed() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    let before = world.stored_config(AUTO);
    world.edit_config(AUTO, json!({"spec": {"target": {"kind": "Stage", "landscape": "eu", "name": "test"}}}));
    world.settle(AUTO);
    world.set_vector("dev", "by-hand:1");
    let mut mixed = world.snapshot(AUTO);
    mixed.config = Seen::Found(before);
    let dev = world.stage("dev");
    mixed.stages.insert(crate::store::Key::of(&*dev), Seen::Found(dev));
    assert_eq!(decide(&mixed, world.now()), Decision::Verify(Doubt::Config));
}

#[test]
fn t16_t17_an_outdated_promotion_made_again_is_not_executed() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.delete::<VectorPromotion>(PROJECT, "menu-to-dev-1");
    promotion(AUTO, 1).named("menu-to-dev-1").of("menu:outdated").into(&world);
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1");
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Superseded);
}

#[test]
fn t19_hand_made_numbers_count() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1000).of("by-hand:1000").into(&world);
    world.settle(AUTO);
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!((world.record("dev", AUTO).sequence, world.vector("dev").as_str()), (1001, "menu:1"));
    world.assert_quiet(AUTO);
}

#[test]
fn s1_a_start_is_conditional_on_the_version_that_chose_it() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    let (a, b) = (world.plan(AUTO), world.plan(AUTO));
    assert!(wake(&world, &a).is_none());
    assert!(matches!(wake(&world, &b), Some(Stopped::Conflict)));
    assert_eq!(named(&b)[1].0, Action::WriteStage(During::Start));
}
