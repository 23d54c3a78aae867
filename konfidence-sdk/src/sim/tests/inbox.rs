//! P8: every vector that a source held while somebody was watching is a candidate, in the order of the changes.

use konfidence_types::{VectorPromotion, VectorTemplate};

use crate::sim::run::drive;
use crate::sim::{Deed, Mood, Scenario, World};
use crate::store::Object;
use crate::store::engine::{Change, Event};

/// The vectors that the events show, each where it comes up first.
fn vectors<K: Object>(world: &World, vector: impl Fn(&Event) -> Option<String>) -> Vec<String> {
    let mut seen = Vec::new();
    for event in world.store().collection::<K>().events_after(0).unwrap() {
        if let Some(vector) = vector(&event).filter(|vector| !seen.contains(vector)) {
            seen.push(vector);
        }
    }
    seen
}

#[test]
fn p8_every_vector_gets_its_promotion_in_order_as_long_as_somebody_watches() {
    let mut scenario = Scenario::all().swap_remove(1);
    scenario.deeds = vec![(Deed::Assemble, 4), (Deed::Burst, 1), (Deed::TouchSource, 1), (Deed::Approve, 1)];
    let mut most = 0;
    for seed in 0..60 {
        // Caches lag, controllers sleep, requests fail; nobody dies and no watch expires.
        scenario.mood = Mood { deed: 8, pause: 2, mishap_one_in: 10, stir: 2, lost_one_in: 5, repeat: 4, ..Mood::CALM };
        let mut world = World::new(&scenario);
        let (_, violation) = drive(&mut world, seed, 300);
        assert_eq!(violation, None, "seed {seed}");
        let held = vectors::<VectorTemplate>(&world, |event| {
            let template = event.object.parse::<VectorTemplate>().ok()?;
            template.status.as_ref()?.latest_vector.clone().filter(|vector| !vector.is_empty())
        });
        let promoted = vectors::<VectorPromotion>(&world, |event| {
            let promotion = event.object.parse::<VectorPromotion>().ok()?;
            (event.change == Change::Added).then(|| promotion.spec.vector.clone())
        });
        most = most.max(held.len());
        // Which vector was the present one when the flow was first looked at is a matter of timing; one from before
        // may come back later.
        let first = held.iter().position(|vector| promoted.first() == Some(vector)).unwrap();
        let (before, since) = held.split_at(first);
        let promoted: Vec<_> = promoted.into_iter().filter(|vector| !before.contains(vector)).collect();
        assert_eq!(promoted, since, "seed {seed}");
    }
    assert!(most > 5, "no burst was long enough to prove anything: {most}");
}
