//! What the simulator and the exhaustive search found, each retold by hand in its few essential steps.

use futures::executor::block_on;
use konfidence_types::{Landscape, Stage, VectorPromotionConfig, VectorTemplate, annotation};
use kube::core::ResourceExt;
use serde_json::json;

use super::world::{AUTO, MANAGED, PROJECT, World, named, plan_of, promotion};
use crate::plan::Decision;
use crate::promotion::{Action, Doubt, During, Phase, Record, Records, Seen, Setback, Verdict, decide, verify};
use crate::store::Key;

#[test]
fn s5_a_record_is_evidence_also_when_the_config_that_owned_it_is_gone() {
    let world = World::automatic();
    world.settle(AUTO);
    promotion(AUTO, 1).in_progress().into(&world);
    // Somebody wrote the Stage for it, as a member of the config, and died.
    let record = Record {
        owner: world.stored_config(AUTO).uid().unwrap(),
        sequence: 1,
        promotion: world.promotion("menu-to-dev-1").uid().unwrap(),
        vector: "menu:1".to_owned(),
    };
    let records = Records::of(&world.stage("dev")).text_with(AUTO, record);
    let written = json!({"metadata": {"annotations": {annotation::PROMOTIONS: records}}, "spec": {"vector": "menu:1"}});
    world.edit::<Stage>(MANAGED, "dev", written);
    world.delete::<VectorPromotionConfig>(PROJECT, AUTO);
    world.wait(301);
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded);
}

#[test]
fn r14_the_number_base_is_not_undone_by_the_plan_that_stores_it() {
    let world = World::automatic();
    promotion(AUTO, 5).owned_by_uid(AUTO, "the config before").gated().into(&world);
    promotion(AUTO, 4).gated().into(&world);
    world.settle(AUTO);
    let status = world.stored_config(AUTO).status.clone().unwrap();
    assert_eq!(status.sequence, Some(5), "R12: whoever owns it holds the number");
}

#[test]
fn p13_a_source_that_came_back_to_an_older_vector_is_still_in_doubt() {
    let world = World::automatic();
    world.settle(AUTO);
    world.publish("menu:1");
    let old = world.snapshot(AUTO);
    world.publish("menu:2");
    let template = world.get::<VectorTemplate>(PROJECT, "menu").unwrap();
    let version = format!("{}/{}", template.uid().unwrap(), template.resource_version().unwrap());
    promotion(AUTO, 1)
        .owned_by(&world.stored_config(AUTO))
        .of("menu:2")
        .annotated(annotation::SOURCE_VERSION, &version)
        .into(&world);
    world.publish("menu:1");
    // The promotions are seen as they are, the template as it was at first: an older version with the present vector.
    let mut snapshot = world.snapshot(AUTO);
    snapshot.template = old.template;
    let verdict = block_on(verify(world.memory(), &snapshot, &Doubt::Source)).unwrap();
    assert_eq!(verdict, Verdict::Differs, "a promotion under the older version would hide the one after it");
}

#[test]
fn p36_controllers_whose_clocks_differ_do_not_take_turns_at_noting_a_refused_fence() {
    let world = World::automatic();
    world.settle(AUTO);
    world.wait(301);
    // The other controller, half a minute ahead, has noted that its fence failed.
    promotion(AUTO, 1).in_progress().annotated(annotation::ATTEMPT, "1@2026-03-01T12:05:31Z").into(&world);
    let mut snapshot = world.snapshot(AUTO);
    snapshot.setback = Some(Setback {
        promotion: world.promotion("menu-to-dev-1").uid().unwrap(),
        version: world.promotion("menu-to-dev-1").resource_version().unwrap(),
        during: During::Retirement,
        refused: false,
        message: "no answer".to_owned(),
    });
    let plan = plan_of(&snapshot, world.now());
    assert!(named(&plan).iter().all(|(action, _)| *action != Action::Attempt), "{:?}", named(&plan));
    assert_eq!(plan.wake_up, Some("2026-03-01T12:05:39Z".parse().unwrap()));
}

#[test]
fn p13_an_old_view_of_a_landscape_that_has_another_namespace_by_now_is_not_believed() {
    let world = World::automatic();
    world.settle(AUTO);
    let before = world.get::<Landscape>(PROJECT, "eu").unwrap();
    world.delete::<Landscape>(PROJECT, "eu");
    world.insert::<Landscape>(json!({
        "metadata": {"namespace": PROJECT, "name": "eu"}, "spec": {}, "status": {"namespace": "bakery-us"},
    }));
    world.insert::<Stage>(json!({"metadata": {"namespace": "bakery-us", "name": "dev"}, "spec": {"vector": ""}}));
    world.publish("menu:1");
    world.settle(AUTO);
    assert_eq!(world.phase("menu-to-dev-1"), Phase::Succeeded);
    // The Stage of the old namespace never got the vector, and a live read of it says so too.
    let mut snapshot = world.snapshot(AUTO);
    snapshot.landscapes.insert("eu".to_owned(), Seen::Found(before));
    snapshot.stages.insert(Key::new(MANAGED, "dev"), Seen::Found(world.stage("dev")));
    assert_eq!(decide(&snapshot, world.now()), Decision::Verify(Doubt::Creation));
    let verdict = block_on(verify(world.memory(), &snapshot, &Doubt::Creation)).unwrap();
    assert_eq!(verdict, Verdict::Differs, "a second promotion for one drift would be made");
}
