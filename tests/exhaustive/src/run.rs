//! A search from end to end, and what came of it.

use std::time::Duration;

use konfidence_sdk::clock::{Clock, SystemClock};
use stateright::{Checker, Model};

use crate::flaw::Flaw;
use crate::model::{Exploration, HOLDS};
use crate::scenario::Scenario;

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Found {
    /// What was explored.
    pub scenario: Scenario,
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub transitions: usize,
    /// Steps on the longest shortest way to a state.
    pub depth: usize,
    /// Different decisions that were made.
    pub decisions: usize,
    /// Different present states that were brought to rest (S6).
    pub rested: usize,
    /// Whether there was nothing left to explore.
    pub is_complete: bool,
    /// How long it took.
    pub took: Duration,
    /// The shortest way to a violation, told; `None`: every statement holds.
    pub violation: Option<String>,
}

/// Explores `scenario`, breadth first on one thread: so a story is a shortest one, and the same in every run.
pub fn explore(scenario: Scenario, flaw: Flaw, depth: Option<usize>) -> Found {
    let started = SystemClock.now();
    let mut checker = Exploration::new(scenario.clone(), flaw).checker();
    if let Some(depth) = depth {
        checker = checker.target_max_depth(depth + 2);
    }
    let checker = checker.spawn_bfs().join();
    let model = checker.model();
    let violation = checker.discovery(HOLDS).map(|path| model.story(&path.into_vec()));
    Found {
        states: checker.unique_state_count(),
        transitions: checker.state_count().saturating_sub(1),
        // The search counts states, not steps, and looks at those only that are above its limit.
        depth: depth.unwrap_or(usize::MAX).min(checker.max_depth().saturating_sub(1)),
        decisions: model.rules.decisions(),
        rested: model.rested.lock().map_or(0, |rested| rested.len()),
        is_complete: violation.is_none() && depth.is_none_or(|depth| checker.max_depth() < depth + 2),
        took: SystemClock.now().duration_since(started).unsigned_abs(),
        violation,
        scenario,
    }
}
