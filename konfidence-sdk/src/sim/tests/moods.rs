//! What single scenarios are there for.

use konfidence_types::{ReadyReason, VectorPromotion, VectorPromotionConfig};
use serde_json::json;

use crate::sim::run::drive;
use crate::sim::{Scenario, World};
use crate::store::Object;

/// Worlds of a scenario in moods of their own, after they have come to rest.
fn worlds(name: &str, count: u64) -> impl Iterator<Item = World> {
    let scenario = Scenario::named(name).unwrap();
    (0..count).map(move |seed| {
        let mut world = World::new(&scenario.clone().moody(seed));
        let (_, violation) = drive(&mut world, seed, 200);
        assert_eq!(violation, None, "seed {seed}");
        world
    })
}

fn events<K: Object>(world: &World) -> Vec<serde_json::Value> {
    let past = world.store().collection::<K>().events_after(0).unwrap();
    past.iter().map(|event| event.object.json().clone()).collect()
}

/// R10: a number whose name is another config's is passed over.
#[test]
fn p13_names_that_others_hold_are_met_and_passed_over() {
    let passed_over = worlds("names held by others", 20).filter(|world| {
        let all = events::<VectorPromotion>(world);
        let taken = |it: &&serde_json::Value| it["spec"]["vectorPromotionConfigName"] == "loose";
        all.iter().filter(taken).any(|it| {
            let name = it["metadata"]["name"].as_str().unwrap();
            let (config, number) = name.rsplit_once('-').unwrap();
            let next = format!("{config}-{}", number.parse::<i64>().unwrap() + 1);
            all.iter()
                .any(|it| it["metadata"]["name"] == json!(next) && it["spec"]["vectorPromotionConfigName"] == config)
        })
    });
    assert!(passed_over.count() > 3);
}

/// Section 1: the config that is stopped says so; that no other one stops is checked at rest in every world.
#[test]
fn p2_a_config_says_that_it_is_stopped_by_what_does_not_parse() {
    let told = worlds("unreadable objects", 20).filter(|world| {
        events::<VectorPromotionConfig>(world).iter().any(|it| {
            let ready =
                it["status"]["conditions"].as_array().and_then(|all| all.iter().find(|it| it["type"] == "Ready"));
            ready.is_some_and(|ready| ready["reason"] == ReadyReason::ObjectUnreadable.as_str())
        })
    });
    assert!(told.count() > 5);
}
