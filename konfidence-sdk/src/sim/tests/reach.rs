//! The random worlds reach what they are meant to reach; a checker that sees nothing finds nothing.

use std::collections::BTreeSet;

use konfidence_types::{Stage, VectorPromotion, annotation};
use kube::core::ResourceExt;

use crate::promotion::{Attempt, Phase};
use crate::sim::run::drive;
use crate::sim::{Scenario, World, replay};

#[test]
fn random_worlds_reach_every_phase_and_every_kind_of_write() {
    let (mut phases, mut shapes) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..150 {
        let mut world = World::new(&Scenario::random(seed));
        let (_, violation) = drive(&mut world, seed, 200);
        assert_eq!(violation, None, "seed {seed}");
        for event in world.store().collection::<VectorPromotion>().events_after(0).unwrap() {
            let Ok(promotion) = event.object.parse::<VectorPromotion>() else { continue };
            phases.insert(Phase::of_promotion(&promotion));
            let carries = |name| promotion.annotations().contains_key(name);
            let attempts = Attempt::of(&promotion).map_or(0, |attempt| attempt.number);
            shapes.extend((attempts > 0).then_some("resumed"));
            shapes.extend((attempts > 1).then_some("resumed again"));
            shapes.extend(carries(annotation::FAILURES).then_some("after a failure"));
            shapes.extend(carries(annotation::CORRECTIONS).then_some("a correction"));
            shapes.extend(carries(annotation::OVERRULES).then_some("a hold"));
            shapes.extend((event.change == crate::store::engine::Change::Deleted).then_some("deleted"));
        }
        for event in world.store().collection::<Stage>().events_after(0).unwrap() {
            let Ok(stage) = event.object.parse::<Stage>() else { continue };
            shapes.extend(stage.annotations().contains_key(annotation::FENCED).then_some("fenced"));
        }
    }
    let all = [
        Phase::Waiting,
        Phase::Ready,
        Phase::Blocked,
        Phase::InProgress,
        Phase::Succeeded,
        Phase::Superseded,
        Phase::TimedOut,
        Phase::Refused,
        Phase::Rejected,
    ];
    assert_eq!(phases, BTreeSet::from(all));
    let wanted = ["a correction", "a hold", "after a failure", "deleted", "fenced", "resumed", "resumed again"];
    assert_eq!(shapes, BTreeSet::from(wanted));
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let of = |seed| {
        let mut world = World::new(&Scenario::random(seed));
        world.tell();
        let (steps, _) = drive(&mut world, seed, 120);
        (steps, world.story().to_string())
    };
    for seed in 0..10 {
        let ((steps, story), (again, retold)) = (of(seed), of(seed));
        assert_eq!(steps, again);
        assert_eq!(story, retold);
        // The steps alone lead to the same world, without chance.
        let replayed = replay(&Scenario::random(seed), &steps).unwrap();
        assert_eq!(replayed.to_string(), story);
    }
}
