//! Running worlds from seeds, again from steps, and what a failure tells.

use std::fmt;

use jiff::SignedDuration;

use super::check::Violation;
use super::driver::Driver;
use super::meter::Profile;
use super::scenario::Scenario;
use super::shrink::shrink;
use super::states::Seen;
use super::step::Step;
use super::story::Story;
use super::tally::Tally;
use super::world::World;

/// How long an execution may last (P37).
const DEADLINE: SignedDuration = SignedDuration::from_mins(5);

/// A world in which a statement of the specification did not hold.
#[derive(Debug)]
pub struct Failure {
    /// The scenario's name.
    pub scenario: String,
    /// The seed that found it.
    pub seed: u64,
    /// The statement.
    pub violation: Violation,
    /// The steps that lead there, as few as were found to be needed.
    pub steps: Vec<Step>,
    /// What happened.
    pub story: Story,
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} of {:?}: {}", self.seed, self.scenario, self.violation)?;
        writeln!(f, "\n{}\nsteps for `replay` with the same scenario:", self.story)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "    Step::{step:?},"))
    }
}

/// Runs one world of `scenario` for `steps` steps, chosen by `seed`, and then lets it come to rest.
///
/// # Errors
/// The shrunk [`Failure`] when a statement of the specification does not hold.
pub fn run(scenario: &Scenario, seed: u64, steps: usize) -> Result<Tally, Box<Failure>> {
    let mut course = Course::run(World::new(scenario), seed, steps);
    match course.violation.take() {
        None => Ok(course.tally),
        Some(violation) => Err(course.tell(&|| World::new(scenario), violation)),
    }
}

/// Runs the worlds of [`Scenario::random`] for these seeds.
///
/// # Errors
/// As [`run`], for the first seed that fails.
pub fn run_seeds(seeds: std::ops::Range<u64>, steps: usize) -> Result<Tally, Box<Failure>> {
    let mut tally = Tally::default();
    for seed in seeds {
        tally += &run(&Scenario::random(seed), seed, steps)?;
    }
    Ok(tally)
}

/// Runs exactly these steps in a world of `scenario`, and writes down what happens.
///
/// # Errors
/// The [`Failure`] when a statement of the specification does not hold.
pub fn replay(scenario: &Scenario, steps: &[Step]) -> Result<Story, Box<Failure>> {
    let mut world = World::new(scenario);
    world.tell();
    match play(&mut world, steps) {
        Ok(()) => Ok(world.story().clone()),
        Err(violation) => Err(Box::new(Failure {
            scenario: scenario.name.clone(),
            seed: 0,
            violation,
            steps: steps.to_vec(),
            story: world.story().clone(),
        })),
    }
}

/// How one world went.
pub(super) struct Course {
    pub(super) seed: u64,
    pub(super) taken: Vec<Step>,
    pub(super) violation: Option<Violation>,
    pub(super) tally: Tally,
    /// Hashes of the states that it was in, if they were counted.
    pub(super) states: Seen,
    pub(super) profile: Profile,
}

impl Course {
    pub(super) fn run(mut world: World, seed: u64, steps: usize) -> Self {
        let (taken, violation) = drive(&mut world, seed, steps);
        let (tally, states) = world.end();
        Self { seed, taken, violation, tally, states, profile: Profile::default() }
    }

    /// The failure that this course came to, shrunk.
    pub(super) fn tell(self, make: &dyn Fn() -> World, violation: Violation) -> Box<Failure> {
        let steps = shrink(make, self.taken, &violation);
        let mut world = make();
        world.tell();
        let violation = play(&mut world, &steps).err().unwrap_or(violation);
        let story = world.story().clone();
        Box::new(Failure { scenario: world.scenario.name.clone(), seed: self.seed, violation, steps, story })
    }
}

/// Lets chance drive, and then the world come to rest. Answers the steps that were taken, and what went wrong.
pub(super) fn drive(world: &mut World, seed: u64, steps: usize) -> (Vec<Step>, Option<Violation>) {
    let (mut taken, violation) = drive_only(world, seed, steps);
    if violation.is_some() {
        return (taken, violation);
    }
    let end = Step::Settle { healthy: healthy(world, seed) };
    taken.push(end);
    let violation = world.step(end).err();
    (taken, violation)
}

/// Lets chance drive.
pub(super) fn drive_only(world: &mut World, seed: u64, steps: usize) -> (Vec<Step>, Option<Violation>) {
    let mut driver = Driver::new(seed);
    let mut taken = Vec::with_capacity(steps + 1);
    // Most proposals are possible; a world in which nothing is must still end.
    for _ in 0..steps.saturating_mul(4) {
        if taken.len() >= steps {
            break;
        }
        let step = driver.next(world);
        match world.step(step) {
            Ok(true) => taken.push(step),
            Ok(false) => {}
            Err(violation) => {
                taken.push(step);
                return (taken, Some(violation));
            }
        }
    }
    (taken, None)
}

/// One controller or several at the end. Where their clocks are further apart than an execution may last, each would
/// retire what the other starts; no rule promises liveness then.
fn healthy(world: &World, seed: u64) -> usize {
    let apart = world.scenario.clock_offset.abs() >= DEADLINE;
    if apart || seed.is_multiple_of(2) { 1 } else { world.controllers.len() }
}

pub(super) fn play(world: &mut World, steps: &[Step]) -> Result<(), Violation> {
    steps.iter().try_for_each(|step| world.step(*step).map(|_| ()))
}
