//! P48.

use konfidence_sdk::promotion::{self, Drift, Place, Verdict, Wait};
use konfidence_sdk::store::{ObjectStore, Precondition};
use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotion};
use serde_json::{Value, json};

use crate::world::{World, change, config, noon, promotion_key, stage, succeeded};

fn at(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn p48_one_that_waits_for_approval_tells_its_place_and_whom_it_would_supersede() {
    let world = World::approved().await;
    world.stage_has("dev", "menu:2").await;
    world.settle("dev-to-test").await;
    let told = world.explain_promotion("dev-to-test", "dev-to-test-2").await;
    assert_eq!(told.waits_for, [Wait::Approval]);
    assert_eq!(told.place, Some(Place { position: 1, length: 2 }));
    assert_eq!(told.supersedes, ["dev-to-test-1"]);
    assert_eq!(
        told.to_string(),
        "promotion bakery/dev-to-test-2 (vector menu:2 to Stage eu/test) is Waiting\n  \
         waits for somebody's approval\n  place 1 of 2, newest first\n  its start supersedes dev-to-test-1"
    );
    let config = world.explain("dev-to-test").await;
    assert_eq!(config.drift, Drift::Pinned { promotion: "dev-to-test-2".into() });
    assert_eq!(config.promotions.len(), 2);
    assert_eq!((config.next.len(), config.next_at), (0, None));
}

#[tokio::test]
async fn p48_one_that_was_approved_starts_next_and_the_older_one_learns_that() {
    let world = World::approved().await;
    world.stage_has("dev", "menu:2").await;
    world.settle("dev-to-test").await;
    world.approve("dev-to-test-2", "anna").await.unwrap();
    let told = world.explain_promotion("dev-to-test", "dev-to-test-2").await;
    assert_eq!((told.waits_for, told.next_at), (vec![], Some(noon())));
    let steps: Vec<_> = told.next.iter().map(|next| next.step).collect();
    assert_eq!(steps, ["starts", "writes its Stage", "succeeds"]);
    let older = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    assert_eq!(older.superseded_by.as_deref(), Some("dev-to-test-2"));
    assert_eq!(older.next[0].to_string(), "dev-to-test-1 is superseded");
}

#[tokio::test]
async fn p48_one_behind_another_in_progress_tells_which_since_when_and_until_when() {
    let world = World::approved().await;
    world.by_hand("running", "dev-to-test", 0, "menu:0", false, succeeded("False", "PromotionRunning"));
    world
        .set_status("running", json!({"promotedStageRef": {"kind": "Stage", "namespace": "bakery-eu", "name": "gone"}}))
        .await;
    world.approve("dev-to-test-1", "anna").await.unwrap();
    world.pass("10s".parse().unwrap());
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    let deadline = at("2026-03-01T12:05:00Z");
    assert_eq!(told.waits_for, [Wait::InProgress { promotion: "running".into(), since: noon(), deadline }]);
    let running = world.explain_promotion("dev-to-test", "running").await;
    assert_eq!(running.waits_for, [Wait::Target { missing: "Stage bakery-eu/gone does not exist".into() }]);
    assert_eq!(running.next_at, Some(deadline));
}

#[tokio::test]
async fn p48_a_blocked_one_names_the_object_that_is_missing() {
    let world = World::approved().await;
    world.memory().delete(&stage("test"), &Precondition::default()).await.unwrap();
    world.approve("dev-to-test-1", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    assert_eq!(told.state, "Blocked");
    let missing = "Stage test does not exist in namespace bakery-eu".to_owned();
    assert_eq!(told.waits_for, [Wait::Target { missing: missing.clone() }]);
    assert_eq!(world.explain("dev-to-test").await.drift, Drift::Unresolved { missing });
}

#[tokio::test]
async fn p48_one_that_backs_off_tells_the_next_attempt_and_its_time() {
    let world = World::approved().await;
    world.set_status("dev-to-test-1", running_on_test()).await;
    attempted(&world, "2@2026-03-01T12:00:30Z").await;
    world.pass("40s".parse().unwrap());
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    let until = at("2026-03-01T12:00:46Z");
    assert_eq!(told.waits_for, [Wait::Attempt { attempt: 3, until }]);
    assert_eq!(told.next_at, Some(until));
    assert_eq!(told.execution.unwrap().attempts, 2);
}

#[tokio::test]
async fn p37_p48_one_whose_fence_is_refused_says_so() {
    let world = World::approved().await;
    let mut status = running_on_test();
    status["conditions"][0]["message"] =
        json!("cannot be retired yet: the API server refuses the fence on its Stage: no");
    world.set_status("dev-to-test-1", status).await;
    attempted(&world, "5@2026-03-01T12:05:50Z").await;
    world.pass("6m".parse().unwrap());
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    let [Wait::Fence { attempt: 6, until, message }] = &told.waits_for[..] else { panic!("{told}") };
    assert_eq!(*until, at("2026-03-01T12:06:20Z"));
    assert!(message.contains("refuses the fence"), "{message}");
    assert_eq!(told.to_string().matches("refuses the fence").count(), 1, "{told}");
}

#[tokio::test]
async fn p37_p48_a_refused_fence_is_told_before_the_deadline_too() {
    let world = World::approved().await;
    let mut status = running_on_test();
    status["conditions"][0]["message"] =
        json!("cannot be retired yet: the API server refuses the fence on its Stage: no");
    world.set_status("dev-to-test-1", status).await;
    attempted(&world, "1@2026-03-01T12:00:30Z").await;
    world.pass("31s".parse().unwrap());
    let told = world.explain("dev-to-test").await.to_string();
    assert!(
        told.contains("resumed once: cannot be retired yet: the API server refuses the fence on its Stage: no"),
        "{told}"
    );
    assert!(told.contains("waits for attempt 2 to write its Stage"), "{told}");
}

fn running_on_test() -> Value {
    let mut status = succeeded("False", "PromotionRunning");
    status["promotedStageRef"] = json!({"kind": "Stage", "namespace": "bakery-eu", "name": "test"});
    status
}

async fn attempted(world: &World, attempt: &str) {
    let annotated = json!({"metadata": {"annotations": {"konfidence.cloud/attempt": attempt}}});
    change(world.memory(), &promotion_key("dev-to-test-1"), annotated).await;
}

#[tokio::test]
async fn p48_a_hold_names_who_holds_and_against_what() {
    let world = World::automatic().await;
    world.template_has("menu:2").await;
    world.promote("menu-to-dev", "menu:0", "anna").await.unwrap();
    world.settle("menu-to-dev").await;
    let held = Drift::Held { promotion: "menu-to-dev-2".into(), by: "anna".into(), vector: "menu:2".into() };
    let told = world.explain("menu-to-dev").await;
    assert_eq!(told.drift, held);
    assert_eq!(told.to_string().matches("held by anna").count(), 1, "{told}");
    assert_eq!(told.last.unwrap().drift, Some(held));
}

#[tokio::test]
async fn p38_p48_a_delay_after_a_failure_tells_its_end() {
    let world = World::approved().await;
    world.set_status("dev-to-test-1", succeeded("False", "PromotionFailed")).await;
    let until = at("2026-03-01T12:01:00Z");
    let delayed = Drift::Delayed { promotion: "dev-to-test-1".into(), failures: 1, until };
    let told = world.explain("dev-to-test").await;
    assert_eq!((&told.drift, told.next_at), (&delayed, Some(noon())), "its status is reported first");
    world.settle("dev-to-test").await;
    let told = world.explain("dev-to-test").await;
    assert_eq!((&told.drift, told.next_at), (&delayed, Some(until)));
    assert!(told.to_string().ends_with("nothing before 2026-03-01T12:01:00Z, unless something changes"), "{told}");
}

#[tokio::test]
async fn p51_p48_a_contested_target_tells_when_it_is_corrected_again() {
    let world = World::automatic().await;
    world.stage_has("dev", "mine").await;
    world.settle("menu-to-dev").await;
    assert_eq!(world.vector_of("dev").await, "menu:1");
    world.stage_has("dev", "mine").await;
    let told = world.explain("menu-to-dev").await;
    assert_eq!(told.drift, Drift::Contested { corrections: 1, until: at("2026-03-01T12:01:00Z") });
}

#[tokio::test]
async fn p18_p48_a_rejected_vector_tells_by_whom() {
    let world = World::approved().await;
    world.reject("dev-to-test-1", "anna", "no prices on it").await.unwrap();
    let rejected = Drift::Rejected { promotion: "dev-to-test-1".into(), by: Some("anna".into()) };
    assert_eq!(world.explain("dev-to-test").await.drift, rejected);
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    assert_eq!(told.drift, Some(rejected));
    assert!(told.to_string().contains("PromotionRejected: vector menu:1 is rejected by anna: no prices"), "{told}");
}

#[tokio::test]
async fn p48_a_suspended_config_tells_what_waits_for_its_resumption() {
    let world = World::approved().await;
    world.change_config("dev-to-test", json!({"spec": {"suspend": true}})).await;
    let told = world.explain("dev-to-test").await;
    assert_eq!(told.drift, Drift::Suspended);
    assert_eq!(told.promotions[0].waits_for, [Wait::Approval, Wait::Resume]);
}

#[tokio::test]
async fn p48_no_source_vector_no_drift_and_a_creation_are_told_apart() {
    let world = World::new();
    world.config("menu-to-dev", SourceRef::template("menu"), TargetRef::stage("eu", "dev")).await;
    let told = world.explain("menu-to-dev").await;
    assert_eq!(told.drift, Drift::NotInitialised);
    assert_eq!(told.reads_first, ["the highest sequence that a promotion of this name holds"]);
    world.settle("menu-to-dev").await;
    assert_eq!(world.explain("menu-to-dev").await.drift, Drift::SourceEmpty);
    world.template_has("menu:1").await;
    let made = Drift::Make { promotion: "menu-to-dev-1".into(), vector: "menu:1".into() };
    assert_eq!(world.explain("menu-to-dev").await.drift, made);
    world.settle("menu-to-dev").await;
    let told = world.explain("menu-to-dev").await;
    assert_eq!(told.drift, Drift::NoDrift);
    assert_eq!((told.next.len(), told.next_at), (0, None));
    let last = told.last.unwrap();
    assert_eq!((last.state, &*last.ended.unwrap().message), ("Succeeded", "Stage bakery-eu/dev carries vector menu:1"));
}

#[tokio::test]
async fn p48_a_view_that_lags_behind_a_live_read_is_told_as_doubt() {
    let world = World::approved().await;
    world.memory().delete(&promotion_key("dev-to-test-1"), &Precondition::default()).await.unwrap();
    let mut snapshot = world.snapshot("dev-to-test").await;
    let open = promotion::explain(&snapshot, noon());
    assert_eq!(open.reads_first, ["config, source, target and promotions, whose views do not vouch for each other"]);
    snapshot.confirmed.insert(promotion::Doubt::Creation, Verdict::Differs);
    assert_eq!(promotion::explain(&snapshot, noon()).drift, Drift::InDoubt);
}

#[tokio::test]
async fn p48_an_object_that_does_not_parse_is_named_as_what_stops_its_config() {
    let world = World::approved().await;
    let broken = json!({
        "metadata": {"namespace": "bakery", "name": "broken"},
        "spec": {"vectorPromotionConfigName": "dev-to-test", "sequence": "two"},
    });
    world.memory().insert_raw::<VectorPromotion>(broken).unwrap();
    let told = world.explain("dev-to-test").await;
    assert!(matches!(&told.drift, Drift::Unreadable { object, .. } if object.ends_with("bakery/broken")), "{told}");
    let object = "VectorPromotion bakery/broken".to_owned();
    assert_eq!(told.promotions[0].waits_for, [Wait::Unreadable { object }]);
}

#[tokio::test]
async fn p13_p48_used_up_sequences_are_told() {
    let world = World::automatic().await;
    let all = json!({"sequence": 9_007_199_254_740_991_i64});
    crate::world::change_status(world.memory(), &config("menu-to-dev"), all).await;
    world.template_has("menu:2").await;
    assert_eq!(world.explain("menu-to-dev").await.drift, Drift::Exhausted);
}

#[tokio::test]
async fn r10_p48_a_name_that_is_taken_is_told() {
    let world = World::automatic().await;
    world.by_hand("menu-to-dev-2", "another", 1, "bread:1", true, Value::Null);
    world.template_has("menu:2").await;
    assert_eq!(world.explain("menu-to-dev").await.drift, Drift::NameTaken { sequence: 2 });
}

#[tokio::test]
async fn p48_a_superseded_one_names_its_successor() {
    let world = World::approved().await;
    world.stage_has("dev", "menu:2").await;
    world.settle("dev-to-test").await;
    world.approve("dev-to-test-2", "anna").await.unwrap();
    world.settle("dev-to-test").await;
    let told = world.explain_promotion("dev-to-test", "dev-to-test-1").await;
    assert_eq!((told.state, told.superseded_by.as_deref()), ("Superseded", Some("dev-to-test-2")));
    assert_eq!((told.waits_for.len(), told.place), (0, None));
}

#[tokio::test]
async fn p48_a_lower_ready_one_behind_one_in_progress_learns_who_will_supersede_it() {
    let world = World::new();
    let gone = {
        let mut status = succeeded("False", "PromotionRunning");
        status["promotedStageRef"] = json!({"kind": "Stage", "namespace": "bakery-eu", "name": "gone"});
        status
    };
    world.by_hand("one", "loose", 1, "menu:1", false, gone);
    world.by_hand("two", "loose", 2, "menu:2", false, Value::Null);
    world.by_hand("three", "loose", 3, "menu:3", false, Value::Null);
    let told = world.explain_promotion("loose", "two").await;
    assert_eq!(told.superseded_by.as_deref(), Some("three"));
    assert!(told.waits_for.contains(&Wait::Newer { promotion: "three".into() }), "{told}");
    assert_eq!(world.explain("loose").await.drift, Drift::NoConfig);
}

#[tokio::test]
async fn p31_p48_what_never_starts_says_why() {
    let world = World::approved().await;
    world.by_hand("guess", "dev-to-test", 0, "menu:0", false, succeeded("Unknown", "WhoKnows"));
    assert_eq!(world.explain_promotion("dev-to-test", "guess").await.waits_for, [Wait::UnknownResult]);
    world.delete_slowly(&promotion_key("dev-to-test-1")).await;
    assert_eq!(world.explain_promotion("dev-to-test", "dev-to-test-1").await.waits_for, [Wait::Deletion]);

    let world = World::approved().await;
    world.delete_slowly(&config("dev-to-test")).await;
    let told = world.explain("dev-to-test").await;
    assert_eq!(told.drift, Drift::ConfigDeleting);
    assert_eq!(told.promotions[0].waits_for, [Wait::ConfigDeletion]);
}

#[tokio::test]
async fn p12_p48_a_leftover_of_an_earlier_config_says_that_it_never_starts() {
    let world = World::approved().await;
    let leftover = json!({
        "metadata": {"namespace": "bakery", "name": "leftover", "finalizers": ["bakery.example.com/slow"], "ownerReferences": [{
            "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotionConfig", "name": "dev-to-test",
            "uid": "of-an-earlier-one", "controller": true,
        }]},
        "spec": {
            "vectorPromotionConfigName": "dev-to-test", "source": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            "target": {"kind": "Stage", "landscape": "eu", "name": "test"}, "vector": "menu:0", "sequence": 1,
        },
    });
    world.memory().insert_raw::<VectorPromotion>(leftover).unwrap();
    assert_eq!(world.explain_promotion("dev-to-test", "leftover").await.waits_for, [Wait::Owner]);
}

#[tokio::test]
async fn p48_as_data_every_field_has_its_name_and_kind() {
    let world = World::approved().await;
    world.change_config("dev-to-test", json!({"spec": {"suspend": true}})).await;
    let told = serde_json::to_value(world.explain("dev-to-test").await).unwrap();
    assert_eq!(
        told["flow"],
        json!({
            "source": "Stage eu/dev", "sourceVector": "menu:1", "target": "Stage eu/test",
            "requiresApproval": true, "suspended": true,
        })
    );
    assert_eq!(told["drift"], json!({"kind": "suspended"}));
    assert_eq!(told["promotions"][0]["waitsFor"], json!([{"kind": "approval"}, {"kind": "resume"}]));
    assert_eq!(told["promotions"][0]["place"], json!({"position": 1, "length": 1}));
}

#[tokio::test]
async fn p48_a_long_queue_is_told_in_short_and_is_complete_as_data() {
    let world = World::approved().await;
    for number in 1..=30 {
        world.promote("dev-to-test", &format!("menu:{number}"), "anna").await.unwrap();
    }
    let told = world.explain("dev-to-test").await;
    let newest = &told.promotions[0];
    assert!(newest.supersedes.len() >= 29, "{told}");
    let last = format!("dev-to-test-9, and {} more", newest.supersedes.len() - 9);
    assert!(newest.to_string().contains(&last), "{newest}");
}

#[tokio::test]
async fn p48_the_lines_of_a_config_read_well() {
    let world = World::approved().await;
    let told = world.explain("dev-to-test").await.to_string();
    assert_eq!(
        told,
        "config bakery/dev-to-test promotes from Stage eu/dev (vector menu:1) to Stage eu/test (no vector) after approval
  drift: dev-to-test-1 carries the source's vector
  promotion bakery/dev-to-test-1 (vector menu:1 to Stage eu/test) is Waiting
    waits for somebody's approval
  next: nothing, until something changes"
    );
}

#[tokio::test]
async fn p48_a_source_that_is_missing_is_named() {
    let world = World::new();
    world.config("x-to-dev", SourceRef::template("nothing"), TargetRef::stage("eu", "dev")).await;
    world.settle("x-to-dev").await;
    let missing = "source VectorTemplate nothing does not exist in namespace bakery".to_owned();
    assert_eq!(world.explain("x-to-dev").await.drift, Drift::Unresolved { missing });
}
