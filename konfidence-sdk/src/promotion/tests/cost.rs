//! Section 12, in requests to the store.

use konfidence_types::{SourceRef, TargetRef};

use super::world::{AUTO, GATED, World, promotion};
use crate::store::Verb;

#[test]
fn c1_an_automatic_promotion_costs_five_writes_and_no_live_read() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.publish("menu:2");
    world.store.inner().take();
    world.settle(AUTO);
    let requests = world.store.inner().take();
    let writes: Vec<_> = requests.iter().filter(|request| request.verb.is_write()).map(ToString::to_string).collect();
    assert_eq!(
        writes,
        [
            "Create VectorPromotion bakery menu-to-dev-2",
            "PatchStatus VectorPromotion bakery menu-to-dev-2",
            "Patch Stage bakery-eu dev",
            "PatchStatus VectorPromotion bakery menu-to-dev-2",
            "PatchStatus VectorPromotionConfig bakery menu-to-dev",
        ]
    );
    let live =
        requests.iter().filter(|request| request.verb == Verb::GetLive || request.verb == Verb::ListLive).count();
    assert_eq!(live, 0);
}

#[test]
fn c1_at_the_cap_a_clean_up_delete_is_the_sixth() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1);
    for number in 1..=3 {
        world.publish(&format!("menu:{number}"));
        world.writes();
        world.settle(AUTO);
    }
    assert_eq!(world.writes().len(), 6);
}

#[test]
fn c1_an_approved_promotion_costs_seven_writes_of_ours() {
    let world = World::gated();
    world.settle(GATED);
    world.writes();
    world.set_vector("dev", "menu:1");
    world.settle(GATED);
    world.approve("dev-to-test-1");
    world.settle(GATED);
    assert_eq!(world.writes().len(), 7);
}

#[test]
fn c2_each_superseded_one_of_a_burst_costs_its_create_and_one_status_write() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1000);
    world.settle(AUTO);
    for sequence in 1..=7 {
        promotion(AUTO, sequence).into(&world);
    }
    world.publish("menu:last");
    world.writes();
    world.settle(AUTO);
    // Seven superseded, one made and executed, and the config's status once.
    let writes = world.writes();
    assert_eq!(writes.len(), 7 + 5);
    assert_eq!(writes.iter().filter(|write| write.kind == "VectorPromotionConfig").count(), 1);
}

#[test]
fn c2_the_configs_status_waits_for_a_creation_that_a_start_came_before() {
    let world = World::automatic_with(|spec| spec.keep_last_promotions = 1000);
    world.settle(AUTO);
    for sequence in 1..=8 {
        promotion(AUTO, sequence).into(&world);
    }
    world.publish("menu:last");
    world.writes();
    world.settle(AUTO);
    let config_writes = world.writes().into_iter().filter(|write| write.kind == "VectorPromotionConfig").count();
    assert_eq!((config_writes, world.vector("dev").as_str()), (1, "menu:last"));
}

#[test]
fn c3_work_per_event_does_not_grow_with_configs_or_promotions() {
    let requests_with = |others: usize| {
        let world = World::automatic_with(|spec| spec.keep_last_promotions = 1000);
        for other in 0..others {
            let name = format!("other-{other}");
            world.config(&name, SourceRef::template("soup"), TargetRef::stage("eu", "test"), |_| {});
            promotion(&name, 1).succeeded().into(&world);
            let sequence = i64::try_from(other).unwrap() + 1;
            promotion(AUTO, sequence).failed("PromotionSuperseded").into(&world);
        }
        world.publish("menu:0");
        world.settle(AUTO);
        world.store.inner().take();
        world.publish("menu:1");
        world.settle(AUTO);
        world.store.inner().take().len()
    };
    assert_eq!(requests_with(0), requests_with(200));
}

#[test]
fn p50_ten_resyncs_of_a_quiet_world_write_nothing() {
    let world = World::automatic();
    world.publish("menu:1");
    world.settle(AUTO);
    world.wait(1_000_000);
    world.assert_quiet(AUTO);
}
