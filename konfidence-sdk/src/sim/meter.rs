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

/// Where the time went, without what measuring it took.
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
    /// All of it, with making and dropping worlds, choosing the steps, people's edits and the bookkeeping.
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
    /// What asking the stopwatch once takes: it is no part of what is measured.
    asking: Duration,
    began: Duration,
    /// In the order of [`Part`].
    spent: [Spent; 4],
}

#[derive(Default)]
struct Spent {
    nanoseconds: AtomicU64,
    times: AtomicU64,
}

/// What asking `stopwatch` once takes.
pub(super) fn asking(stopwatch: Stopwatch) -> Duration {
    const TIMES: u32 = 2000;
    let began = stopwatch();
    for _ in 1..TIMES {
        stopwatch();
    }
    stopwatch().saturating_sub(began) / TIMES
}

impl Meter {
    /// Begins to measure; asking the stopwatch once takes `asking`.
    pub(super) fn new(stopwatch: Stopwatch, asking: Duration) -> Self {
        Self(Some(Arc::new(Inner { stopwatch, asking, began: stopwatch(), spent: Default::default() })))
    }

    /// Counts the time until the answer is dropped as spent on `part`.
    pub(super) fn spend(&self, part: Part) -> Spending {
        Spending(self.0.as_ref().map(|inner| (Arc::clone(inner), part, (inner.stopwatch)())))
    }

    pub(super) fn profile(&self) -> Profile {
        let Some(inner) = &self.0 else { return Profile::default() };
        let whole = (inner.stopwatch)().saturating_sub(inner.began);
        let asked = |times: u64| Duration::from_nanos(times.saturating_mul(nanoseconds(inner.asking)));
        let times = inner.spent.each_ref().map(|spent| spent.times.load(Ordering::Relaxed));
        // Between its two questions each part pays for one of them, and for both of every part within.
        let [engine, reconciles, watches, checker] = inner.spent.each_ref().map(|spent| {
            let spent_so = Duration::from_nanos(spent.nanoseconds.load(Ordering::Relaxed));
            spent_so.saturating_sub(asked(spent.times.load(Ordering::Relaxed)))
        });
        let requests = times.first().copied().unwrap_or_default();
        Profile {
            engine,
            rules: reconciles.saturating_sub(engine + asked(requests * 2)),
            watches,
            checker,
            whole: whole.saturating_sub(asked(times.iter().sum::<u64>() * 2)),
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
            sum.nanoseconds.fetch_add(nanoseconds(spent), Ordering::Relaxed);
            sum.times.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
