//! What a Landscape waits for, in words for people.

use std::fmt;

use jiff::Timestamp;
use konfidence_types::{Landscape, LandscapeReason};

use super::decide::judge;
use super::{Snapshot, Step};
use crate::store::Key;

/// Where a Landscape stands and what happens next, from the same rules that decide it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Which Landscape.
    pub landscape: Key<Landscape>,
    /// Its project.
    pub project: String,
    /// The namespace that it has or wants.
    pub namespace: String,
    /// The reason that its condition `Ready` carries, or is about to.
    pub reason: LandscapeReason,
    /// What that means here, and the remedy where a person has to act.
    pub message: String,
    /// What the controller does next, in order; empty: it waits for somebody else, or all is done.
    pub next: Vec<String>,
}

/// Explains the Landscape of `snapshot`. Writes nothing.
pub fn explain(snapshot: &Snapshot, now: Timestamp) -> Explanation {
    let judgement = judge(snapshot, now);
    Explanation {
        landscape: Key::of(&*snapshot.landscape),
        project: snapshot.project.clone(),
        namespace: snapshot.wanted.clone(),
        reason: judgement.reason,
        message: judgement.message,
        next: judgement.steps.iter().map(Step::to_string).collect(),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Landscape {} of project {}, namespace {}", self.landscape, self.project, self.namespace)?;
        write!(f, "  {}: {}", self.reason, self.message)?;
        if !self.next.is_empty() {
            write!(f, "\n  next: {}", self.next.join(", "))?;
        }
        Ok(())
    }
}
