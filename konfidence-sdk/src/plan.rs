//! Plans: what a decision wants done, as data.
//!
//! ```text
//!   load -> snapshot -> decide(snapshot, now) -> Decision -> apply -> outcome
//!                            ^                     |
//!                            |                     +-- Verify: what was read is in doubt;
//!                            +---- read that part live, decide again
//! ```
//!
//! The steps of a plan are the domain's own enum, in the order in which they have to be written. **Any prefix of a
//! plan is a legal state**: `apply` stops at the first conflict or error, and the next decision goes on from what is
//! stored.

use jiff::Timestamp;

/// An ordered list of steps, and when to look again if nothing changes meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S> {
    /// To be written in this order; empty: nothing is to be done now.
    pub steps: Vec<S>,
    /// The next instant at which the answer may differ although nothing else changed. `None`: never.
    pub wake_up: Option<Timestamp>,
}

impl<S> Default for Plan<S> {
    fn default() -> Self {
        Self { steps: Vec::new(), wake_up: None }
    }
}

impl<S> Plan<S> {
    /// Looks again at `at`, or earlier if an earlier instant was asked for before.
    pub fn wake_at(&mut self, at: Timestamp) {
        self.wake_up = Some(self.wake_up.map_or(at, |earlier| earlier.min(at)));
    }
}

/// What a decision answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<S, D> {
    /// What was read is in doubt: read this part live and decide again. Nothing else is done before.
    Verify(D),
    /// Do this.
    Plan(Plan<S>),
}
