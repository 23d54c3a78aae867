//! The state of the search: the server with its history per kind, the plans that wait, the clock, and what may still
//! happen.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use konfidence_sdk::promotion::Setback;
use konfidence_sdk::store::Version;

use crate::answer::Request;
use crate::check::{Ledger, Violation};
use crate::rules::{Planned, Told, rest};
use crate::scenario::Left;
use crate::shelf::{Kind, Shelf, Stored, View, hash_of, mix};

/// One kind at every moment that a view may still show, oldest first; the last is the present.
#[derive(Clone)]
pub(crate) struct History {
    pub(crate) shelves: Vec<Arc<Shelf>>,
    hash: u64,
}

impl History {
    pub(crate) fn new(shelves: Vec<Arc<Shelf>>) -> Self {
        let hash = shelves.iter().fold(0x41, |hash, shelf| mix(hash, shelf.hash));
        Self { shelves, hash }
    }

    /// After one more write; what is more than `old` changes behind is forgotten.
    fn with(&self, newest: Arc<Shelf>, old: Option<usize>) -> Self {
        let mut shelves = self.shelves.clone();
        shelves.push(newest);
        if let Some(old) = old {
            shelves.drain(..shelves.len().saturating_sub(old + 1));
        }
        Self::new(shelves)
    }
}

/// A controller in the middle of something.
#[derive(Clone)]
pub(crate) enum Waits {
    /// A plan with writes to go.
    Plan { planned: Arc<Planned>, told: Vec<Told>, next: Arc<Request> },
    /// Its write to a Stage was refused, which its next decision is to know.
    Setback(Setback),
}

/// One of the controllers, and where it is.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) waits: Waits,
    /// Which flow it reconciles.
    pub(crate) flow: usize,
    /// Which instant it took for now.
    pub(crate) now: usize,
    /// The same for those that go on in the same way.
    pub(crate) hash: u64,
}

impl Pending {
    pub(crate) fn plan(planned: Arc<Planned>, told: Vec<Told>, next: Request, flow: usize, now: usize) -> Self {
        let hash = mix(hash_of(&format!("{:?}", rest(&planned.plan, &told))), flow as u64);
        Self { waits: Waits::Plan { planned, told, next: Arc::new(next) }, flow, now, hash }
    }

    pub(crate) fn setback(setback: Setback, flow: usize, now: usize) -> Self {
        let hash = mix(hash_of(&format!("{setback:?} {now}")), flow as u64);
        Self { waits: Waits::Setback(setback), flow, now, hash }
    }
}

/// One state. Two are equal when everything goes on alike from them.
#[derive(Clone)]
pub struct World {
    pub(crate) history: [Arc<History>; 5],
    /// Which instant the clock shows.
    pub(crate) now: usize,
    pub(crate) left: Left,
    /// The server refuses writes to Stages.
    pub(crate) refuses: bool,
    /// At most one a controller, in the order of their hashes: controllers are alike.
    pub(crate) pending: Vec<Pending>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) broken: Option<Arc<Violation>>,
}

impl World {
    /// The beginning, with nothing older to be seen.
    pub(crate) fn beginning(live: View, left: Left) -> Self {
        Self {
            history: live.0.map(|shelf| Arc::new(History::new(vec![shelf]))),
            now: 0,
            left,
            refuses: false,
            pending: Vec::new(),
            ledger: Arc::default(),
            broken: None,
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> &History {
        &self.history[kind.index()]
    }

    /// Every kind as it stands.
    pub(crate) fn live(&self) -> View {
        View(std::array::from_fn(|kind| {
            self.history[kind].shelves.last().map_or_else(|| Arc::new(Shelf::empty()), Arc::clone)
        }))
    }

    pub(crate) fn push(&mut self, kind: Kind, newest: Arc<Shelf>, old: Option<usize>) {
        let history = &mut self.history[kind.index()];
        *history = Arc::new(history.with(newest, old));
    }

    /// Forgets the moments of promotions at which each live one had a version that it has no more: what was decided from
    /// there can write no promotion, and a name that it would make is taken by now.
    pub(crate) fn forget_settled(&mut self) {
        let promotions = &mut self.history[Kind::Promotion.index()];
        let Some(newest) = promotions.shelves.last() else { return };
        let is_unchanged =
            |it: &Arc<Stored>| newest.get(&it.namespace, &it.name).is_some_and(|now| now.hash == it.hash);
        let is_needed = |shelf: &&Arc<Shelf>| {
            Arc::ptr_eq(shelf, newest) || shelf.objects.iter().any(|it| it.is_live && is_unchanged(it))
        };
        let needed: Vec<_> = promotions.shelves.iter().filter(is_needed).map(Arc::clone).collect();
        if needed.len() < promotions.shelves.len() {
            *promotions = Arc::new(History::new(needed));
        }
    }

    /// Histories and clock.
    pub(crate) fn moment(&self) -> u64 {
        self.history.iter().fold(self.now as u64, |hash, history| mix(hash, history.hash))
    }

    fn identity(&self) -> u64 {
        let hash = self.pending.iter().fold(self.moment(), |hash, pending| mix(hash, pending.hash));
        mix(hash, hash_of(&(self.left, self.refuses, &*self.ledger, self.broken.is_some())))
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.identity());
    }
}

/// The version that an answer carries; none after a deletion.
pub(crate) fn no_version() -> Version {
    Version::default()
}
