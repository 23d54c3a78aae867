//! A clock that tests move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::clock::{Clock, SystemClock};

/// The system's clock, ahead by what the test says. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Shifted(Arc<AtomicI64>);

impl Shifted {
    /// Moves it ahead.
    pub fn advance(&self, by: SignedDuration) {
        self.0.fetch_add(by.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}
