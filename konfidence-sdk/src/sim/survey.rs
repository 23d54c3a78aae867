//! Many worlds side by side, from consecutive seeds, with an answer that does not depend on how many threads looked.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::meter::{self, Meter, Profile, Stopwatch};
use super::run::{Course, Failure};
use super::scenario::Scenario;
use super::states::Seen;
use super::tally::Tally;
use super::world::World;

/// Lengths of worlds, in steps: short ones end in every half-done state, long ones pile up history.
const LENGTHS: [usize; 5] = [60, 120, 200, 400, 800];

/// Which worlds to run.
///
/// ```
/// use konfidence_sdk::sim::{Scenario, Survey};
///
/// let survey = Survey { scenario: Scenario::named("approval"), ..Survey::of(2_000, 7) };
/// let report = survey.run();
/// assert!(report.failure.is_none() && report.tally.steps >= 2_000);
/// // The same worlds, one after the other.
/// assert_eq!(Survey { threads: std::num::NonZero::<usize>::MIN, ..survey }.run().states, report.states);
/// ```
#[derive(Clone, Debug)]
pub struct Survey {
    /// The seed of the first world; the next one has the next seed.
    pub seed: u64,
    /// Worlds are run until they have taken so many steps in all, those of coming to rest included.
    pub steps: u64,
    /// The scenario of all of them, each in a mood of its own; `None`: those of [`Scenario::random`].
    pub scenario: Option<Scenario>,
    /// How many steps each takes before it comes to rest; `None`: some few, some many.
    pub length: Option<usize>,
    /// How many run at once.
    pub threads: NonZero<usize>,
    /// Measures where the time goes, if there is one.
    pub stopwatch: Option<Stopwatch>,
}

/// What a survey found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many worlds there were.
    pub worlds: u64,
    /// What happened in them.
    pub tally: Tally,
    /// How many different states they were in, counting neither versions nor times.
    pub states: usize,
    /// Where the time went, if it was measured: that of all threads.
    pub profile: Profile,
    /// The first world, by seed, in which a statement did not hold. None was run after it.
    pub failure: Option<Box<Failure>>,
}

impl Survey {
    /// Random worlds of `steps` steps in all, from `seed` on, on all cores.
    pub fn of(steps: u64, seed: u64) -> Self {
        let threads = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        Self { seed, steps, scenario: None, length: None, threads, stopwatch: None }
    }

    /// Runs them.
    pub fn run(&self) -> Report {
        self.run_in(&|seed| World::new(&self.scenario(seed)))
    }

    /// Runs those worlds that `make` makes of a seed.
    pub(super) fn run_in(&self, make: &(dyn Fn(u64) -> World + Sync)) -> Report {
        let asking = self.stopwatch.map(meter::asking).unwrap_or_default();
        let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::sync_channel(self.threads.get() * 4);
        thread::scope(|scope| {
            for _ in 0..self.threads.get() {
                let sender = sender.clone();
                scope.spawn(|| {
                    let sender = sender;
                    while !is_over.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if sender.send((number, self.course(number, asking, make))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let report = self.collect(receiver, make);
            is_over.store(true, Ordering::Relaxed);
            report
        })
    }

    /// Takes in the worlds in the order of their seeds, whichever came first, and leaves out what is too many.
    fn collect(&self, receiver: mpsc::Receiver<(u64, Course)>, make: &dyn Fn(u64) -> World) -> Report {
        let mut report = Report::default();
        let mut states = Seen::default();
        let mut early = BTreeMap::new();
        'all: for (number, course) in receiver {
            early.insert(number, course);
            while let Some(mut course) = early.remove(&report.worlds) {
                report.worlds += 1;
                report.tally += &course.tally;
                report.profile += course.profile;
                states.extend(std::mem::take(&mut course.states));
                if let Some(violation) = course.violation.take() {
                    let seed = course.seed;
                    report.failure = Some(course.tell(&|| make(seed), violation));
                }
                if report.failure.is_some() || report.tally.steps >= self.steps {
                    break 'all;
                }
            }
        }
        report.states = states.len();
        report
    }

    fn course(&self, number: u64, asking: Duration, make: &dyn Fn(u64) -> World) -> Course {
        let seed = self.seed.wrapping_add(number);
        let meter = self.stopwatch.map(|stopwatch| Meter::new(stopwatch, asking)).unwrap_or_default();
        let mut world = make(seed);
        world.count_states();
        world.measure(&meter);
        let course = Course::run(world, seed, self.length.unwrap_or_else(|| length(seed)));
        Course { profile: meter.profile(), ..course }
    }

    fn scenario(&self, seed: u64) -> Scenario {
        match &self.scenario {
            None => Scenario::random(seed),
            Some(scenario) => scenario.clone().moody(seed),
        }
    }
}

/// How many steps the world of `seed` takes before it comes to rest.
fn length(seed: u64) -> usize {
    let at = usize::try_from(seed % 5).unwrap_or_default();
    LENGTHS.get(at).copied().unwrap_or(LENGTHS[0])
}
