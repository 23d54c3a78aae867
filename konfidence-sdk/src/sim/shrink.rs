//! Fewer steps that violate the same statement.
//!
//! First whole kinds of steps are left out at once (one controller, one flow, every mishap), then runs of steps, long
//! ones and then shorter ones, from the end backwards: what comes late seldom matters to what comes before. Every step
//! can be left out of a list, because one that is not possible does nothing.

use super::check::Violation;
use super::run::play;
use super::step::Step;
use super::world::World;

/// So many steps are played at most, those of coming to rest included: a few seconds in a debug build.
const BUDGET: u64 = 120_000;
/// What making a world costs, in steps.
const WORLD: u64 = 20;

struct Shrinking<'a> {
    make: &'a dyn Fn() -> World,
    statement: &'static str,
    steps: Vec<Step>,
    /// How many steps of the world the best list takes.
    cost: u64,
    budget: u64,
}

/// Leaves out of `steps` what `violation` does not need.
pub(super) fn shrink(make: &dyn Fn() -> World, steps: Vec<Step>, violation: &Violation) -> Vec<Step> {
    let cost = u64::try_from(steps.len()).unwrap_or(u64::MAX);
    let mut it = Shrinking { make, statement: violation.statement, steps, cost, budget: BUDGET };
    // What it costs is known once it was played.
    let all = it.steps.clone();
    it.cost = BUDGET / 4;
    if !it.attempt(all) {
        return it.steps;
    }
    it.leave_out_kinds();
    it.leave_out_runs();
    it.steps
}

impl Shrinking<'_> {
    /// Whether these steps violate the statement too; then they are the best so far.
    fn attempt(&mut self, steps: Vec<Step>) -> bool {
        let mut world = (self.make)();
        // Without a bound a list that no longer fails could come to rest for hours.
        let fuel = (self.cost * 2 + 200).min(self.budget);
        world.limit(fuel);
        let played = play(&mut world, &steps);
        let cost = world.tally().steps;
        self.budget = self.budget.saturating_sub(cost + WORLD);
        let fails = played.is_err_and(|violation| violation.statement == self.statement);
        if fails {
            (self.steps, self.cost) = (steps, cost);
        }
        fails
    }

    fn without(&mut self, leave_out: impl Fn(&Step) -> bool) {
        let fewer: Vec<_> = self.steps.iter().filter(|step| !leave_out(step)).copied().collect();
        if fewer.len() < self.steps.len() && self.budget > 0 {
            self.attempt(fewer);
        }
    }

    fn leave_out_kinds(&mut self) {
        for number in (0..8).rev() {
            self.without(|step| step.controller() == Some(number));
        }
        for number in (0..8).rev() {
            self.without(|step| step.flow() == Some(number));
        }
        self.without(|step| matches!(step, Step::Stir { .. }));
        self.without(|step| matches!(step, Step::Repeat { .. }));
        self.without(|step| matches!(step, Step::Relist { .. }));
        self.without(|step| matches!(step, Step::Crash { .. }));
        self.without(|step| matches!(step, Step::Pause { .. } | Step::Continue { .. }));
        self.without(|step| matches!(step, Step::Wait { .. } | Step::WakeUp));
        self.without(|step| matches!(step, Step::CollectGarbage));
        self.without(|step| matches!(step, Step::Say { .. }));
        self.without(|step| matches!(step, Step::Deed { .. }));
        let unharmed: Vec<_> = self.steps.iter().copied().map(Step::unharmed).collect();
        if unharmed != self.steps && self.budget > 0 {
            self.attempt(unharmed);
        }
    }

    fn leave_out_runs(&mut self) {
        let mut run = self.steps.len().div_ceil(2);
        while run > 0 && self.budget > 0 {
            let before = self.steps.len();
            let mut end = before;
            while end > 0 && self.budget > 0 {
                let start = end.saturating_sub(run);
                let mut fewer = self.steps.clone();
                fewer.drain(start..end.min(fewer.len()));
                self.attempt(fewer);
                end = start;
            }
            // Single steps as long as that helps: one that is gone makes another one needless.
            if run > 1 {
                run /= 2;
            } else if self.steps.len() == before {
                break;
            }
        }
        for at in 0..self.steps.len() {
            let mut simpler = self.steps.clone();
            let Some(step) = simpler.get_mut(at) else { break };
            let unharmed = step.unharmed();
            if unharmed != *step && self.budget > 0 {
                *step = unharmed;
                self.attempt(simpler);
            }
        }
    }
}
