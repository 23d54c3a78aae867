//! The state of the search: the server with its history per kind, the plans that wait, the clock, and what may still
//! happen.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use konfidence_sdk::promotion::{Setback, Write};
use konfidence_sdk::sim::Violation;
use konfidence_sdk::store::Version;

use crate::check::Ledger;
use crate::rules::{Asks, Planned};
use crate::scenario::Left;
use crate::shelf::{Kind, Shelf, View, hash_of, mix};

/// One kind at every moment that a view may still show, oldest first; the last is the present.
#[derive(Clone)]
pub(crate) struct History {
    pub(crate) shelves: Vec<Arc<Shelf>>,
    hash: u64,
}

impl History {
    pub(crate) fn new(shelves: Vec<Arc<Shelf>>) -> Self {
        let hash = shelves.iter().fold(0x41, |hash, shelf| mix(hash, shelf.hash));
        // What becomes of the names of the present alone is still to come.
        let hash = mix(hash, shelves.last().map_or(0, |newest| newest.names));
        Self { shelves, hash }
    }

    /// After one more write; what is more than `old` changes behind is forgotten.
    fn with(&self, newest: Arc<Shelf>, old: Option<usize>) -> Self {
        let mut shelves = self.shelves.clone();
        shelves.retain(|shelf| shelf.hash != newest.hash);
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
    Plan { planned: Arc<Planned>, asks: Asks },
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
    pub(crate) fn plan(planned: Arc<Planned>, asks: Asks, flow: usize, now: usize) -> Self {
        Self { waits: Waits::Plan { planned, asks }, flow, now, hash: 0 }
    }

    /// Whether a plan that waits is to write a Stage on behalf of that promotion.
    pub(crate) fn writes_for(&self, uid: &str) -> bool {
        let Waits::Plan { planned, .. } = &self.waits else { return false };
        planned.plan.steps.iter().any(|step| matches!(&step.write, Write::Stage { read, .. } if read.uid == uid))
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

    /// Forgets the older moments of a kind of which that holds.
    pub(crate) fn forget(&mut self, kind: Kind, is_settled: impl Fn(&Shelf) -> bool) {
        let history = &mut self.history[kind.index()];
        let Some((newest, older)) = history.shelves.split_last() else { return };
        let needed: Vec<_> =
            older.iter().filter(|moment| !is_settled(moment)).chain([newest]).map(Arc::clone).collect();
        if needed.len() < history.shelves.len() {
            *history = Arc::new(History::new(needed));
        }
    }

    /// The same, and the newest is asked first, the present too, which is kept whatever is answered.
    pub(crate) fn forget_from_newest(&mut self, kind: Kind, mut is_settled: impl FnMut(&Shelf) -> bool) {
        let history = &mut self.history[kind.index()];
        let newest_first = history.shelves.iter().rev().enumerate();
        let mut needed: Vec<_> = newest_first
            .filter(|(age, moment)| !is_settled(moment) || *age == 0)
            .map(|(_, it)| Arc::clone(it))
            .collect();
        if needed.len() < history.shelves.len() {
            needed.reverse();
            *history = Arc::new(History::new(needed));
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
