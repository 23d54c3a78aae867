//! What happened in worlds, in numbers: that nothing was violated says something only where much went wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use super::step::{Deed, Mishap};
use crate::store::Fault;

/// What has happened so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps that did something.
    pub steps: u64,
    /// Requests of controllers and people to the store, cached reads included.
    pub requests: u64,
    /// Writes that changed something, whoever made them.
    pub writes: u64,
    /// Requests that went wrong on purpose, of controllers and people alike.
    pub mishaps: BTreeMap<Mishap, u64>,
    /// Deeds of people that were possible.
    pub deeds: BTreeMap<Deed, u64>,
    /// Everything else that is not as one would wish.
    pub nuisances: BTreeMap<Nuisance, u64>,
}

/// What goes wrong besides requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nuisance {
    /// A process died between two requests.
    Crash,
    /// A controller stopped with nothing under way.
    Pause,
    /// A controller stopped in the middle of a reconcile, between reading and writing.
    PauseUnderWay,
    /// A cached read showed a state of its kind that was no longer the present one.
    StaleRead,
    /// A change was delivered after others of its kind had happened.
    DelayedEvent,
    /// A change was delivered after a later one of another kind.
    OvertakenEvent,
    /// A change was delivered once more.
    RepeatedEvent,
    /// A change reached the cache and touched no flow.
    LostEvent,
    /// A view jumped to the present, and what happened in between was never seen.
    Relist,
    /// A flow was taken up for no reason.
    Stir,
    /// The clock moved.
    ClockMove,
}

impl Tally {
    /// How many requests went wrong on purpose.
    pub fn faults(&self) -> u64 {
        self.mishaps.values().sum()
    }

    /// How often `nuisance` happened.
    pub fn count(&self, nuisance: Nuisance) -> u64 {
        self.nuisances.get(&nuisance).copied().unwrap_or_default()
    }

    pub(super) fn note(&mut self, nuisance: Nuisance) {
        *self.nuisances.entry(nuisance).or_default() += 1;
    }

    pub(super) fn note_request(&mut self, mishap: Option<Mishap>) {
        self.requests += 1;
        if let Some(mishap) = mishap {
            *self.mishaps.entry(mishap).or_default() += 1;
        }
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.steps += other.steps;
        self.requests += other.requests;
        self.writes += other.writes;
        add(&mut self.mishaps, &other.mishaps);
        add(&mut self.deeds, &other.deeds);
        add(&mut self.nuisances, &other.nuisances);
    }
}

fn add<K: Copy + Ord>(sum: &mut BTreeMap<K, u64>, other: &BTreeMap<K, u64>) {
    for (key, count) in other {
        *sum.entry(*key).or_default() += count;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} steps", self.steps)?;
        writeln!(f, "{:>12} requests", self.requests)?;
        writeln!(f, "{:>12} writes", self.writes)?;
        writeln!(f, "requests that went wrong")?;
        for (mishap, count) in &self.mishaps {
            writeln!(f, "{count:>12} {mishap}")?;
        }
        writeln!(f, "what else went wrong")?;
        for (nuisance, count) in &self.nuisances {
            writeln!(f, "{count:>12} {nuisance}")?;
        }
        writeln!(f, "what people did")?;
        for (deed, count) in &self.deeds {
            writeln!(f, "{count:>12} {deed:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::NotFound => "not found",
            Fault::AlreadyExists => "already exists",
            Fault::Conflict => "conflict",
            Fault::Invalid => "invalid",
            Fault::Forbidden => "forbidden",
            Fault::Unavailable | Fault::AnswerLost => "unavailable",
            Fault::Expired => "expired",
            Fault::Unreadable => "unreadable",
        };
        let carried_out = if self.carried_out { "carried out all the same" } else { "not carried out" };
        write!(f, "{fault}, {carried_out}")
    }
}

impl fmt::Display for Nuisance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crash => "crashes",
            Self::Pause => "pauses with nothing under way",
            Self::PauseUnderWay => "pauses in the middle of a reconcile",
            Self::StaleRead => "stale reads",
            Self::DelayedEvent => "delayed events",
            Self::OvertakenEvent => "events overtaken by another kind's",
            Self::RepeatedEvent => "repeated events",
            Self::LostEvent => "lost events",
            Self::Relist => "views that jumped to the present",
            Self::Stir => "reconciles for no reason",
            Self::ClockMove => "clock moves",
        })
    }
}
