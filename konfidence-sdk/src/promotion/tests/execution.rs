//! Section 7 and 8: start, Stage, finish; crashes, refusals, the deadline and the fence.

use futures::executor::block_on;
use jiff::SignedDuration;
use konfidence_types::{Stage, VectorPromotion, annotation, condition, condition_type};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, MANAGED, PROJECT, World, attempt, named, promotion};
use crate::plan::Plan;
use crate::promotion::{Action, During, Phase, apply, conditions_of};
use crate::store::{Fault, Verb};

#[test]
fn p34_start_stage_finish_in_this_order() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).into(&world);
    let name = || "menu-to-dev-1".to_owned();
    assert_eq!(
        world.steps(AUTO),
        [
            (Action::Start, name()),
            (Action::WriteStage(During::Start), name()),
            (Action::Finish, name()),
            (Action::WriteConfigStatus, AUTO.to_owned()),
        ]
    );
}

#[test]
fn p34_the_stage_patch_leaves_every_other_field() {
    let world = World::automatic();
    world.edit::<Stage>(
        MANAGED,
        "dev",
        json!({
            "metadata": {"annotations": {"bakery.example/note": "fresh"}, "labels": {"a": "b"}}, "spec": {"ovens": 3},
        }),
    );
    world.publish("menu:1");
    world.settle(AUTO);
    let raw = world.memory().collection::<Stage>().get(MANAGED, "dev").unwrap();
    assert_eq!(raw.json().pointer("/spec/ovens"), Some(&json!(3)));
    let stage = world.stage("dev");
    assert_eq!(stage.annotations()["bakery.example/note"], "fresh");
    assert_eq!(stage.annotations()[annotation::PROMOTED_BY], "bakery/menu-to-dev-1");
    let record = world.record("dev", AUTO);
    assert_eq!(record.promotion, world.promotion("menu-to-dev-1").uid().unwrap());
    assert_eq!((record.owner, record.sequence), (world.stored_config(AUTO).uid().unwrap(), 1));
    let reference = world.promotion("menu-to-dev-1").status.clone().unwrap().promoted_stage_ref.unwrap();
    assert_eq!((reference.namespace.as_str(), reference.name.as_str()), (MANAGED, "dev"));
}

#[test]
fn p35_a_crash_after_any_write_is_gone_on_from() {
    let whole = {
        let world = World::automatic();
        world.publish("menu:1");
        world.settle(AUTO);
        world.writes().len()
    };
    for survive in 0..=whole {
        let world = World::automatic();
        world.publish("menu:1");
        // Makes so many writes and then dies; what was in its memory is lost.
        let mut left = survive;
        while left > 0 {
            let mut plan = match crate::promotion::decide(&world.snapshot(AUTO), world.now()) {
                crate::plan::Decision::Plan(plan) => plan,
                crate::plan::Decision::Verify(doubt) => {
                    let mut snapshot = world.snapshot(AUTO);
                    let verdict = block_on(crate::promotion::verify(world.memory(), &snapshot, &doubt)).unwrap();
                    snapshot.confirmed.insert(doubt, verdict);
                    super::world::plan_of(&snapshot, world.now())
                }
            };
            plan.steps.truncate(left);
            left -= plan.steps.len();
            let applied = block_on(apply(world.memory(), &plan));
            assert!(applied.stopped.is_none(), "{applied:?}");
            if plan == Plan::default() {
                break;
            }
        }
        world.wait(1);
        world.settle(AUTO);
        assert_eq!(world.vector("dev"), "menu:1", "after {survive} writes");
        assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded, "after {survive} writes");
        assert_eq!(world.overview().len(), 1, "after {survive} writes");
        world.assert_quiet(AUTO);
    }
}

#[test]
fn p35_a_stage_that_carries_the_record_means_success_before_any_deadline() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    let uid = world.promotion("menu-to-dev-1").uid().unwrap();
    let owner = world.stored_config(AUTO).uid().unwrap();
    let records = json!({AUTO: {"owner": owner, "sequence": 1, "promotion": uid}}).to_string();
    world.edit::<Stage>(MANAGED, "dev", json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}}));
    world.wait(3600);
    world.writes();
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded);
    assert!(world.writes().iter().all(|write| write.kind != "Stage"), "the Stage is not written again");
}

#[test]
fn p35_a_record_of_the_same_name_and_another_uid_proves_nothing() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    let records = json!({AUTO: {"owner": "", "sequence": 0, "promotion": "another-uid"}}).to_string();
    world.edit::<Stage>(MANAGED, "dev", json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}}));
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:1", "it was written, not assumed");
}

#[test]
fn p35_whoever_resumes_writes_the_promotion_between_view_and_stage() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    let name = || "menu-to-dev-1".to_owned();
    assert_eq!(
        world.steps(AUTO)[..3],
        [(Action::Attempt, name()), (Action::WriteStage(During::Resumption), name()), (Action::Finish, name()),]
    );
}

#[test]
fn p35_a_stage_with_the_vector_but_without_our_record_gets_annotations_only() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.set_vector("dev", "menu:1");
    let generation = world.stage("dev").metadata.generation;
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded);
    assert_eq!(world.stage("dev").metadata.generation, generation);
    assert_eq!(world.record("dev", AUTO).sequence, 1);
}

#[test]
fn p36_a_refusal_ends_the_promotion_at_once_with_the_servers_words_and_without_a_fence() {
    for fault in [Fault::Invalid, Fault::Forbidden] {
        let world = World::automatic();
        world.settle(AUTO);
        world.publish("menu:1");
        world.store.fail_next::<Stage>(Verb::Patch, fault);
        world.writes();
        world.settle(AUTO);
        let failed = world.promotion("menu-to-dev-1");
        let succeeded = condition(conditions_of(&failed), condition_type::SUCCEEDED).unwrap();
        assert_eq!(succeeded.reason, "PromotionFailed");
        assert!(succeeded.message.contains("injected fault"), "{}", succeeded.message);
        assert_eq!(failed.status.as_ref().unwrap().promoted_stage_ref, None);
        let stage_writes = world.writes().into_iter().filter(|write| write.kind == "Stage").count();
        assert_eq!(stage_writes, 0, "the refused one did not reach the store, and there is no fence");
    }
}

#[test]
fn p36_a_refusal_that_meets_a_resumption_fences_first() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.store.fail_next::<Stage>(Verb::Patch, Fault::Invalid);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Refused);
    let uid = world.promotion("menu-to-dev-1").uid().unwrap();
    assert!(world.stage("dev").annotations()[annotation::FENCED].starts_with(&uid));
}

#[test]
fn p36_a_transient_error_is_retried_at_once_then_after_8_16_30_30_seconds() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    for _ in 0..7 {
        world.store.fail_next::<Stage>(Verb::Patch, Fault::Unavailable);
    }
    let mut waits = Vec::new();
    for _ in 0..5 {
        let outcome = world.settle(AUTO);
        let next = outcome.wake_up.unwrap();
        waits.push(next.duration_since(world.now()).as_secs());
        // Noise on the object does not make it spin.
        world.edit::<VectorPromotion>(
            PROJECT,
            "menu-to-dev-1",
            json!({"metadata": {"labels": {"noise": next.to_string().replace(':', "-")}}}),
        );
        world.assert_quiet(AUTO);
        world.clock.set(next);
    }
    assert_eq!(waits, [8, 16, 30, 30, 30]);
    assert_eq!(attempt(&world, "menu-to-dev-1"), Some(5));
}

#[test]
fn p36_an_answer_that_was_lost_is_no_second_write() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    world.store.fail_next::<Stage>(Verb::Patch, Fault::AnswerLost);
    let before = world.stage("dev").metadata.generation.unwrap();
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded);
    assert_eq!(world.stage("dev").metadata.generation, Some(before + 1));
    assert_eq!(attempt(&world, "menu-to-dev-1"), None, "the record on the Stage is evidence enough");
}

#[test]
fn p36_a_stage_that_is_gone_after_the_start_waits_until_it_is_back() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.delete::<Stage>(MANAGED, "dev");
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::InProgress);
    world.assert_quiet(AUTO);
    world.make_stage("dev");
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.vector("dev").as_str()), (Phase::Succeeded, "menu:1"));
}

#[test]
fn p37_at_the_deadline_the_stage_is_fenced_and_then_the_promotion_retired() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "9@2026-03-01T12:04:50Z").into(&world);
    world.wait(299);
    let plan = world.plan(AUTO);
    assert_eq!(plan.wake_up, Some(super::world::at("12:05:00")), "scheduled, not polled: {:?}", named(&plan));
    world.wait(1);
    let name = || "menu-to-dev-1".to_owned();
    assert_eq!(world.steps(AUTO)[..2], [(Action::Fence, name()), (Action::Fail, name())]);
    let (uid, version) = {
        let before = world.promotion("menu-to-dev-1");
        (before.uid().unwrap(), before.resource_version().unwrap())
    };
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::TimedOut);
    assert_eq!(world.stage("dev").annotations()[annotation::FENCED], format!("{uid}@{version}"));
    assert_eq!(world.vector("dev"), "", "S5: a failed one never wrote");
    assert_eq!(world.promotion("menu-to-dev-1").status.as_ref().unwrap().promoted_stage_ref, None);
}

#[test]
fn p37_an_absent_stage_needs_no_fence_once_a_live_read_says_so() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.delete::<Stage>(MANAGED, "dev");
    world.wait(300);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::TimedOut);
}

#[test]
fn p37_a_stage_that_only_looks_absent_is_not_taken_for_gone() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.wait(300);
    let mut behind = world.snapshot(AUTO);
    behind.stages.insert(crate::store::Key::new(MANAGED, "dev"), crate::promotion::Seen::Absent);
    let doubt = crate::promotion::Doubt::Gone(crate::store::Key::new(MANAGED, "dev"));
    assert_eq!(crate::promotion::decide(&behind, world.now()), crate::plan::Decision::Verify(doubt.clone()));
    let verdict = block_on(crate::promotion::verify(world.memory(), &behind, &doubt)).unwrap();
    behind.confirmed.insert(doubt, verdict);
    let steps = named(&super::world::plan_of(&behind, world.now()));
    assert!(steps.iter().all(|(action, _)| *action != Action::Fail), "{steps:?}");
}

#[test]
fn p37_an_attempt_noted_in_the_future_holds_nothing_up() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "3@9999-01-01T00:00:00Z").into(&world);
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), attempt(&world, "menu-to-dev-1")), (Phase::Succeeded, Some(4)));

    promotion(AUTO, 2).in_progress().annotated(annotation::ATTEMPT, "3@9999-01-01T00:00:00Z").into(&world);
    world.wait(301);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-2"), Phase::TimedOut);
}

#[test]
fn p36_an_attempt_that_a_clock_somewhat_ahead_noted_is_waited_for() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:00:30Z").into(&world);
    let outcome = world.settle(AUTO);
    assert_eq!((attempt(&world, "menu-to-dev-1"), outcome.wake_up), (Some(1), Some(super::world::at("12:00:38"))));
    world.assert_quiet(AUTO);
}

#[test]
fn p37_a_refused_fence_keeps_it_in_progress_says_so_once_and_backs_off() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "9@2026-03-01T12:04:59Z").into(&world);
    world.wait(301);
    for _ in 0..3 {
        world.store.fail_next::<Stage>(Verb::Patch, Fault::Forbidden);
    }
    let outcome = world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::InProgress);
    let told = world.promotion("menu-to-dev-1");
    let running = condition(conditions_of(&told), condition_type::SUCCEEDED).unwrap();
    assert!(running.message.contains("injected fault"), "{}", running.message);
    assert_eq!(running.last_transition_time.0, super::world::noon(), "the deadline does not move");
    assert_eq!(outcome.wake_up.unwrap().duration_since(world.now()), SignedDuration::from_secs(30));
    world.assert_quiet(AUTO);

    for _ in 0..2 {
        world.wait(30);
        world.writes();
        world.settle(AUTO);
        let kinds: Vec<_> = world.writes().into_iter().map(|write| write.verb).collect();
        assert_eq!(kinds, [Verb::Patch], "the attempt alone; the message stands already");
    }
    world.wait(30);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::TimedOut, "once the Stage can be written it ends");
}

#[test]
fn p37_a_crashed_attempt_does_not_block_its_config() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "9@2026-03-01T12:04:59Z").into(&world);
    promotion(AUTO, 2).into(&world);
    world.wait(300);
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.phase("menu-to-dev-2")), (Phase::TimedOut, Phase::Succeeded));
}

#[test]
fn r9_one_started_without_a_stored_stage_stores_it_first() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).failed("PromotionRunning").into(&world);
    let actions: Vec<_> = world.steps(AUTO).into_iter().map(|(action, _)| action).collect();
    assert_eq!(
        actions[..4],
        [Action::StoreStage, Action::Attempt, Action::WriteStage(During::Resumption), Action::Finish]
    );
    world.settle(AUTO);
    assert_eq!(
        world.promotion("menu-to-dev-1").status.as_ref().unwrap().promoted_stage_ref.as_ref().unwrap().name,
        "dev"
    );
}

#[test]
fn r9_the_stage_is_the_stored_one_whatever_the_landscape_says_now() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    world.edit_status::<konfidence_types::Landscape>(PROJECT, "eu", json!({"namespace": "elsewhere"}));
    world.settle(AUTO);
    assert_eq!((world.phase("menu-to-dev-1"), world.vector("dev").as_str()), (Phase::Succeeded, "menu:1"));
}

#[test]
fn s3_a_higher_record_is_never_overwritten() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    let records = json!({AUTO: {"owner": "", "sequence": 7, "promotion": "another-uid"}}).to_string();
    world.edit::<Stage>(
        MANAGED,
        "dev",
        json!({
            "metadata": {"annotations": {annotation::PROMOTIONS: records}}, "spec": {"vector": "menu:7"},
        }),
    );
    world.settle(AUTO);
    assert_eq!(world.vector("dev"), "menu:7");
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Refused);
}

#[test]
fn p34_the_start_tells_which_vector_goes_to_which_stage() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    world.store.fail_next::<Stage>(Verb::Patch, Fault::Unavailable);
    world.store.fail_next::<Stage>(Verb::Patch, Fault::Unavailable);
    world.settle(AUTO);
    let running = conditions_of(&world.promotion("menu-to-dev-1"))[0].clone();
    assert_eq!(running.reason, "PromotionRunning");
    assert!(running.message.contains("menu:1") && running.message.contains("bakery-eu/dev"), "{}", running.message);
}

/// Started by a version that stored no Stage, and its target does not resolve: nobody can have written for it.
#[test]
fn p37_r9_one_without_any_stage_is_retired_at_its_deadline_and_not_before() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).to("eu", "nowhere").failed("PromotionRunning").into(&world);
    world.wait(299);
    let plan = world.plan(AUTO);
    assert_eq!(plan.wake_up, Some(super::world::at("12:05:00")), "{:?}", named(&plan));
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::InProgress);
    world.wait(1);
    assert_eq!(world.steps(AUTO)[..1], [(Action::Fail, "menu-to-dev-1".to_owned())], "without a fence");
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::TimedOut);
}
