//! What of a plan can still be done, and which plans add nothing to others.
//!
//! ```text
//!   a plan         start c-1   write Stage (on a version that is gone)   finish c-1
//!   feasible       start c-1   ── never ──▶
//! ```
//!
//! A plan stops at the first write that does not go through. So it is known by its writes before the first that can
//! never succeed, and one of which that is nothing is forgotten.
//!
//! One plan adds nothing beside another that begins with the same writes on the same versions: a controller may sleep
//! at any point, so whoever does the longer one can do the shorter, and of the two the first write succeeds once. The
//! longer one may be
//!
//! * one that waits too;
//! * one that an idle controller can begin: what it is decided from stays in the history.

use std::collections::HashSet;
use std::sync::Arc;

use konfidence_sdk::promotion::{Action, Write};
use konfidence_sdk::store::{Key, Precondition, Version};
use konfidence_types::VectorPromotion;

use crate::model::{Exploration, Step};
use crate::people::is_orphan;
use crate::scenario::PROJECT;
use crate::shelf::{Kind, View, hash_of, mix};
use crate::world::{Waits, World};

/// One write of a plan that is still to come.
#[derive(Clone)]
pub(crate) struct Due {
    /// Tells what it changes on which condition.
    id: u64,
    kind: Kind,
    namespace: String,
    name: String,
    needs: Needs,
}

#[derive(Clone)]
enum Needs {
    /// The name is free.
    FreeName,
    /// The object has this version.
    Version(Version),
    /// The same, and for a fence the promotion with the version that it is about.
    Fence(Version, Key<VectorPromotion>, Version),
    /// The object has these, or is gone.
    Gone(Precondition),
}

impl Due {
    /// `essence` tells what is changed.
    pub(crate) fn new(essence: u64, action: Action, write: &Write) -> Self {
        let (kind, namespace, name, needs) = match write {
            Write::Create(promotion) => {
                let key = Key::of(&**promotion);
                (Kind::Promotion, key.namespace().to_owned(), key.name().to_owned(), Needs::FreeName)
            }
            Write::Promotion(key, patch) | Write::PromotionStatus(key, patch) => {
                let needs = Needs::Version(patch.expected.clone());
                (Kind::Promotion, key.namespace().to_owned(), key.name().to_owned(), needs)
            }
            Write::ConfigStatus(key, patch) => {
                let needs = Needs::Version(patch.expected.clone());
                (Kind::Config, key.namespace().to_owned(), key.name().to_owned(), needs)
            }
            Write::Stage { key, patch, promotion, read } => {
                let expected = patch.expected.clone();
                let needs = match action {
                    Action::Fence => Needs::Fence(expected, promotion.clone(), read.clone()),
                    _ => Needs::Version(expected),
                };
                (Kind::Stage, key.namespace().to_owned(), key.name().to_owned(), needs)
            }
            Write::Delete(key, precondition) => {
                let needs = Needs::Gone(precondition.clone());
                (Kind::Promotion, key.namespace().to_owned(), key.name().to_owned(), needs)
            }
        };
        let on = match &needs {
            Needs::FreeName => 0,
            Needs::Version(version) => hash_of(&(&version.uid, &version.resource_version)),
            Needs::Fence(version, _, read) => {
                hash_of(&(&version.uid, &version.resource_version, &read.uid, &read.resource_version))
            }
            Needs::Gone(precondition) => hash_of(&(&precondition.uid, &precondition.resource_version)),
        };
        Self { id: mix(essence, on), kind, namespace, name, needs }
    }
}

/// The decisions that can be made in a state, and what they come to.
pub(crate) struct Offers {
    /// None of them adds nothing to another.
    pub(crate) steps: Arc<[Step]>,
    /// Every beginning of what can be done without a live read.
    begun: HashSet<u64>,
}

/// The feasible writes of a plan: the hash of each of their beginnings, the shortest first.
pub(crate) struct Feasible(Vec<u64>);

impl Feasible {
    /// The same for plans that write the same.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.0.last().copied()
    }

    fn begins(&self, other: &Self) -> bool {
        self.whole().is_none_or(|whole| other.0.contains(&whole))
    }
}

/// Collects decisions of which none adds nothing to another.
#[derive(Default)]
pub(crate) struct Collected {
    begun: Vec<(Feasible, Step)>,
    looked: Vec<(Feasible, Step)>,
    seen: HashSet<(u64, bool)>,
}

impl Collected {
    /// Whether the plan is a new one.
    pub(crate) fn is_new(&mut self, feasible: &Feasible, looked: bool) -> bool {
        feasible.whole().is_some_and(|whole| self.seen.insert((whole, looked)))
    }

    pub(crate) fn put(&mut self, feasible: Feasible, looked: bool, step: Step) {
        let place = if looked { &mut self.looked } else { &mut self.begun };
        place.push((feasible, step));
    }

    /// All of them; where `is_reduced`, without those that add nothing.
    pub(crate) fn offers(self, is_reduced: bool) -> Offers {
        let Self { begun, looked, .. } = self;
        let all = |of: &[(Feasible, Step)]| of.iter().flat_map(|(feasible, _)| feasible.0.clone()).collect();
        let longer = |of: &[(Feasible, Step)]| -> HashSet<u64> {
            of.iter()
                .flat_map(|(feasible, _)| feasible.0.split_last().map_or(&[][..], |(_, less)| less))
                .copied()
                .collect()
        };
        let (begun_all, begun_longer, looked_longer): (HashSet<u64>, _, _) =
            (all(&begun), longer(&begun), longer(&looked));
        let is_left = |feasible: &Feasible, within: &[&HashSet<u64>]| {
            !is_reduced || feasible.whole().is_some_and(|whole| within.iter().all(|set| !set.contains(&whole)))
        };
        let mut steps = Vec::new();
        for (feasible, step) in begun {
            if is_left(&feasible, &[&begun_longer]) {
                steps.push(step);
            }
        }
        for (feasible, step) in looked {
            if is_left(&feasible, &[&begun_all, &looked_longer]) {
                steps.push(step);
            }
        }
        Offers { steps: steps.into(), begun: begun_all }
    }
}

impl Exploration {
    /// What of the writes that are left can still be done, in `world`.
    pub(crate) fn feasible(&self, world: &World, live: &View, flow: usize, left: &[Due]) -> Feasible {
        let mut hash = flow as u64;
        let possible = left.iter().take_while(|due| self.may_succeed(world, live, due, true));
        Feasible(
            possible
                .map(|due| {
                    hash = mix(hash, due.id);
                    hash
                })
                .collect(),
        )
    }

    /// Whether a write can succeed, now or ever.
    pub(crate) fn may_succeed(&self, world: &World, live: &View, due: &Due, ever: bool) -> bool {
        let current = live.of(due.kind).get(&due.namespace, &due.name);
        let has = |version: &Version| {
            current.is_some_and(|current| current.version == *version || self.flaw.ignores_version(due.kind))
        };
        match &due.needs {
            Needs::FreeName => {
                world.left.creations > 0 && (current.is_none() || (ever && self.names_become_free(world, live)))
            }
            Needs::Version(version) => has(version),
            Needs::Fence(version, promotion, read) => {
                let promotion = live.of(Kind::Promotion).get(promotion.namespace(), promotion.name());
                has(version) && (world.left.fences > 0 || promotion.is_some_and(|promotion| promotion.version == *read))
            }
            Needs::Gone(precondition) => current.is_none_or(|current| {
                precondition.resource_version.as_ref() == Some(&current.version.resource_version)
            }),
        }
    }

    /// Whether anything may remove a promotion from here on.
    pub(crate) fn names_become_free(&self, world: &World, live: &View) -> bool {
        let stands = |name: &str| live.of(Kind::Config).get(PROJECT, name).is_some();
        let configs = self.scenario.configs;
        let removes = self.scenario.removes();
        configs.iter().any(|config| config.keep < 10)
            || world.left.promotions > 0
            || world.left.configs > 0
            || removes && !configs.iter().all(|config| stands(config.name))
            || removes && live.of(Kind::Promotion).all::<VectorPromotion>().any(|promotion| is_orphan(live, &promotion))
    }

    /// Forgets plans that cannot go on, and those that add nothing.
    pub(crate) fn forget_plans(&self, world: &mut World, live: &View) {
        let mut ways: Vec<_> = std::mem::take(&mut world.pending)
            .into_iter()
            .filter_map(|mut pending| {
                let Waits::Plan { asks, .. } = &pending.waits else { return Some((None, pending)) };
                let feasible = self.feasible(world, live, pending.flow, &asks.left);
                pending.hash = feasible.whole()?;
                if !self.scenario.is_reduced {
                    pending.hash = asks.left.iter().fold(pending.flow as u64, |hash, due| mix(hash, due.id));
                }
                Some((Some(feasible), pending))
            })
            .collect();
        if self.scenario.is_reduced && ways.iter().any(|(feasible, _)| feasible.is_some()) {
            let offers = self.offers(world, live, None);
            ways.retain(|(feasible, pending)| feasible.is_none() || !offers.begun.contains(&pending.hash));
            if let [(Some(one), _), (Some(other), _)] = ways.as_slice() {
                if one.begins(other) {
                    ways.remove(0);
                } else if other.begins(one) {
                    ways.remove(1);
                }
            }
        }
        world.pending = ways.into_iter().map(|(_, pending)| pending).collect();
        world.pending.sort_by_key(|pending| pending.hash);
    }
}
