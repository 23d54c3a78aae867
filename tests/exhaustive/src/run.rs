//! A search from end to end, and what came of it.

use std::time::Duration;

use konfidence_sdk::clock::{Clock, SystemClock};
use stateright::{Checker, Model};

use crate::flaw::Flaw;
use crate::model::{Exploration, HOLDS};
use crate::scenario::Scenario;

/// Where a search ends, whether or not there is more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// So many steps from the beginning.
    pub depth: Option<usize>,
    /// So many steps between states altogether. The step that reaches it may be one of a few thousand more.
    pub steps: Option<usize>,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Found {
    /// What was explored.
    pub scenario: Scenario,
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub transitions: usize,
    /// Steps on the longest shortest way to a state; where the search is not complete, everything that can be reached
    /// in so many was visited.
    pub depth: usize,
    /// Different decisions that were made.
    pub decisions: usize,
    /// Different present states that were brought to rest (S6).
    pub rested: usize,
    /// The same for two searches that brought the same present states to rest.
    pub presents: u64,
    /// Whether there was nothing left to explore.
    pub is_complete: bool,
    /// How long it took.
    pub took: Duration,
    /// The shortest way to a violation, told; `None`: every statement holds.
    pub violation: Option<String>,
}

/// Explores `scenario`, breadth first on one thread: so a story is a shortest one, and the same in every run.
pub fn explore(scenario: Scenario, flaw: Flaw, limits: Limits) -> Found {
    let started = SystemClock.now();
    let mut checker = Exploration::new(scenario.clone(), flaw).checker();
    if let Some(depth) = limits.depth {
        checker = checker.target_max_depth(depth + 2);
    }
    if let Some(steps) = limits.steps {
        checker = checker.target_state_count(steps);
    }
    let checker = checker.spawn_bfs().join();
    let model = checker.model();
    // The search counts states, not steps.
    let reached = checker.max_depth().saturating_sub(1);
    let is_cut = limits.steps.is_some_and(|steps| checker.state_count() >= steps);
    let visited = if is_cut { reached.saturating_sub(1) } else { reached };
    let violation = checker.discovery(HOLDS).map(|path| model.story(&path.into_vec()));
    Found {
        states: checker.unique_state_count(),
        transitions: checker.state_count().saturating_sub(1),
        depth: limits.depth.unwrap_or(usize::MAX).min(visited),
        decisions: model.rules.decisions(),
        rested: model.rested.lock().map_or(0, |rested| rested.len()),
        presents: model.rested.lock().map_or(0, |rested| rested.iter().fold(0, |all, present| all ^ present)),
        is_complete: violation.is_none() && !is_cut && limits.depth.is_none_or(|depth| reached <= depth),
        took: SystemClock.now().duration_since(started).unsigned_abs(),
        violation,
        scenario,
    }
}
