//! Where the time of a step goes. A world knows no clock but its own, so whoever asks brings a stopwatch.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Tells how much time has passed since some instant that does not change.
pub type Stopwatch = fn() -> Duration;

/// What the time is spent on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Requests of controllers and people, in the store's engine.
    Engine,
    /// Reconciles and operations between two requests, requests included.
    Reconciles,
    /// Changes on their way into caches and queues.
    Watches,
    /// Looking at every write.
    Checker,
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Requests in the store's engine.
    pub engine: Duration,
    /// Loading, deciding and applying, without the requests.
    pub rules: Duration,
    /// Changes on their way into caches and queues.
    pub watches: Duration,
    /// Looking at every write, and at the world at rest.
    pub checker: Duration,
    /// All of it, with choosing the steps, people's edits and the bookkeeping.
    pub whole: Duration,
}

impl AddAssign for Profile {
    fn add_assign(&mut self, other: Self) {
        self.engine += other.engine;
        self.rules += other.rules;
        self.watches += other.watches;
        self.checker += other.checker;
        self.whole += other.whole;
    }
}

/// Clones share what they measured. The default measures nothing.
#[derive(Clone, Default)]
pub(super) struct Meter(Option<Arc<Inner>>);

struct Inner {
    stopwatch: Stopwatch,
    began: Duration,
    /// Nanoseconds, in the order of [`Part`].
    spent: [AtomicU64; 4],
}

impl Meter {
    pub(super) fn new(stopwatch: Stopwatch) -> Self {
        Self(Some(Arc::new(Inner { stopwatch, began: stopwatch(), spent: Default::default() })))
    }

    /// Counts the time until the answer is dropped as spent on `part`.
    pub(super) fn spend(&self, part: Part) -> Spending {
        Spending(self.0.as_ref().map(|inner| (Arc::clone(inner), part, (inner.stopwatch)())))
    }

    pub(super) fn profile(&self) -> Profile {
        let Some(inner) = &self.0 else { return Profile::default() };
        let [engine, reconciles, watches, checker] =
            [0, 1, 2, 3].map(|part| inner.spent.get(part).map_or(0, |spent| spent.load(Ordering::Relaxed)));
        Profile {
            engine: Duration::from_nanos(engine),
            rules: Duration::from_nanos(reconciles.saturating_sub(engine)),
            watches: Duration::from_nanos(watches),
            checker: Duration::from_nanos(checker),
            whole: (inner.stopwatch)().saturating_sub(inner.began),
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meter").field(&self.profile()).finish()
    }
}

/// Time that is being spent.
pub(super) struct Spending(Option<(Arc<Inner>, Part, Duration)>);

impl Drop for Spending {
    fn drop(&mut self) {
        let Some((inner, part, since)) = self.0.take() else { return };
        let spent = (inner.stopwatch)().saturating_sub(since);
        if let Some(sum) = inner.spent.get(part as usize) {
            sum.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }
}
