//! Which decisions a controller may make in a state: one from every combination of views.

use std::sync::Arc;

use konfidence_sdk::promotion::Setback;

use crate::feasible::{Collected, Offers};
use crate::model::{Exploration, Move, Step};
use crate::rules::{Considered, Planned, Sight, recall, remember};
use crate::shelf::{Kind, Shelf, View, hash_of, mix};
use crate::world::{Waits, World};

/// From which moments a controller decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) flow: usize,
    /// A controller that was slow takes an earlier instant for now.
    pub(crate) now: usize,
    /// Index into the history of each kind.
    pub(crate) view: [usize; 5],
    /// The setback that this decision knows of.
    pub(crate) after: Option<usize>,
}

impl Exploration {
    /// What is decided from there, and whether the live state was looked at.
    pub(crate) fn decide(&self, world: &World, look: &Look) -> (Arc<Planned>, bool) {
        let view = View(std::array::from_fn(|kind| shelf(world, kind, look.view[kind])));
        let watched = self.watched(world, look.view[Kind::Template.index()]);
        let sight = self.sight(world, look, watched);
        match self.rules.consider(mix(sight.seed(), view.hash()), &view, &sight) {
            Considered::Plan(planned) => (planned, false),
            Considered::Doubt(doubtful) => (self.rules.look(&view, &world.live(), doubtful), true),
        }
    }

    fn sight<'a>(&'a self, world: &'a World, look: &Look, watched: &'a [Arc<Shelf>]) -> Sight<'a> {
        Sight { flow: &self.flows[look.flow], now: self.instant(look.now), setback: setback(world, look), watched }
    }

    /// What somebody who watched the source up to a moment has seen.
    fn watched<'a>(&self, world: &'a World, upto: usize) -> &'a [Arc<Shelf>] {
        let templates = &world.of(Kind::Template).shelves;
        if self.scenario.watches { templates.get(..=upto).unwrap_or(templates) } else { &[] }
    }

    /// The decisions that can lead to a write now, each plan once, from its newest views. For a controller with nothing
    /// behind it they depend on the histories, the clock and what is out of bounds, so they are found once for each of
    /// these.
    pub(crate) fn offers(&self, world: &World, live: &View, after: Option<usize>) -> Arc<Offers> {
        let left = world.left;
        let bounds = [left.creations, left.fences, left.promotions, left.configs].map(|left| left > 0);
        let key = mix(world.moment(), hash_of(&bounds));
        if after.is_none()
            && let Some(offers) = recall(&self.offers, key)
        {
            return offers;
        }
        let mut collected = Collected::default();
        let pending = after.and_then(|slot| world.pending.get(slot));
        let flows = pending.map_or(0..self.flows.len(), |pending| pending.flow..pending.flow + 1);
        for flow in flows {
            let nows = pending.map_or(0..world.now + 1, |pending| pending.now..pending.now + 1);
            for now in nows.rev() {
                let look = Look { flow, now, view: [0; 5], after };
                self.offers_at(world, live, look, &mut collected);
            }
        }
        let offers = Arc::new(collected.offers(self.scenario.is_reduced));
        if after.is_none() {
            remember(&self.offers, key, Arc::clone(&offers));
        }
        offers
    }

    fn offers_at(&self, world: &World, live: &View, look: Look, collected: &mut Collected) {
        let lengths: [usize; 5] = std::array::from_fn(|kind| world.history[kind].shelves.len());
        let templates = 0..lengths[Kind::Template.index()];
        let seeds: Vec<u64> =
            templates.map(|upto| self.sight(world, &look, self.watched(world, upto)).seed()).collect();
        for number in (0..lengths.iter().product()).rev() {
            let indices = digits(number, lengths);
            let hash =
                |hash, kind: usize| mix(hash, world.history[kind].shelves.get(indices[kind]).map_or(0, |it| it.hash));
            let template = indices[Kind::Template.index()];
            let key = mix(seeds.get(template).copied().unwrap_or_default(), (0..5).fold(View::SEED, hash));
            let view = || View(std::array::from_fn(|kind| shelf(world, kind, indices[kind])));
            let considered = self.rules.known(key).unwrap_or_else(|| {
                self.rules.consider(key, &view(), &self.sight(world, &look, self.watched(world, template)))
            });
            let (planned, looked) = match considered {
                Considered::Plan(planned) => (planned, false),
                Considered::Doubt(doubtful) => (self.rules.look(&view(), live, doubtful), true),
            };
            let Some(first) = &planned.first else { continue };
            let feasible = self.feasible(world, live, look.flow, &first.left);
            if collected.is_new(&feasible, looked) {
                let look = Look { view: indices, ..look };
                let step = Step(if looked { Move::Look(look) } else { Move::Begin(look) });
                collected.put(feasible, looked, step);
            }
        }
    }
}

/// `number` as five digits, each below its length; the first is the highest.
fn digits(mut number: usize, lengths: [usize; 5]) -> [usize; 5] {
    let mut digits = [0; 5];
    for (digit, length) in digits.iter_mut().zip(lengths).rev() {
        *digit = number.checked_rem(length).unwrap_or_default();
        number = number.checked_div(length).unwrap_or_default();
    }
    digits
}

fn shelf(world: &World, kind: usize, index: usize) -> Arc<Shelf> {
    let shelves = &world.history[kind].shelves;
    shelves.get(index).or(shelves.last()).map_or_else(|| Arc::new(Shelf::empty()), Arc::clone)
}

fn setback<'a>(world: &'a World, look: &Look) -> Option<&'a Setback> {
    match &world.pending.get(look.after?)?.waits {
        Waits::Setback(setback) => Some(setback),
        Waits::Plan { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn every_combination_of_views_comes_once() {
        let all: std::collections::BTreeSet<_> = (0..24).map(|number| digits(number, [2, 1, 3, 1, 4])).collect();
        assert_eq!(all.len(), 24);
        assert_eq!(digits(23, [2, 1, 3, 1, 4]), [1, 0, 2, 0, 3]);
    }
}
