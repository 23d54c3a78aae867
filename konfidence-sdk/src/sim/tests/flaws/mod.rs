//! The checker can fail, and every rule is needed: the machinery with one rule broken violates what the rule is for.
//!
//! ```text
//!   variants   what is broken, in which kind of world, which statement falls
//!   scripts    the steps that show it, found by chance and shrunk
//!   search     finds them: worlds from seeds until the statement falls; then leaves out whatever is not needed
//!   page       the table and the stories: docs/flaws.md
//!   rules      one test for each variant
//! ```
//!
//! A script is sound without its flaw: the same steps violate nothing, and the world comes to rest after them.

mod page;
mod rules;
mod scripts;
mod search;
mod variants;

use std::sync::Arc;

use crate::clock::ManualClock;
use crate::promotion::flaw::{Flaw, play};
use crate::sim::check::{Author, Checker};
use crate::sim::lie::{Lie, Lying};
use crate::sim::server::Server;
use crate::sim::{Scenario, Step, Story, Violation, World};
use crate::store::MemoryStore;
use crate::store::engine::{Collector, Engine, Options};

/// How the machinery is broken.
#[derive(Clone, Copy, Debug)]
enum Broken {
    /// A decision ignores a rule.
    Rule(Flaw),
    /// The server makes a rule void.
    Server(Lie),
}

/// One broken machinery, and what it leads to.
struct Variant {
    /// Of the script.
    name: &'static str,
    /// The rule, and its trace on the protocol's page if it has one: `R5 T16`.
    rule: &'static str,
    what: &'static str,
    broken: Broken,
    scenario: Scenario,
    /// P13 is held against every number, although names may be freed in this kind of world.
    counts: bool,
    /// What else is violated on the way, and is passed over.
    passes_over: Option<&'static str>,
    /// The statement that falls.
    violates: &'static str,
}

/// What a search found.
struct Script {
    variant: &'static str,
    /// How many worlds were looked at.
    worlds: u64,
    steps: &'static [Step],
}

impl Variant {
    fn world(&self, scenario: &Scenario, is_broken: bool) -> World {
        let clock = ManualClock::new("2026-03-01T12:00:00Z".parse().unwrap());
        let options = Options { collector: Collector::OnRequest, ..Options::new(Arc::new(clock.clone())) };
        let mut server = Server::new(MemoryStore::over(Engine::new(options)));
        if let (true, Broken::Server(lie)) = (is_broken, self.broken) {
            server.lying = Lying::with(lie);
        }
        let mut world = World::over(scenario, clock, server);
        if self.counts {
            world.checker = Checker::new(true);
            world.checker.see(world.server.store(), Author::People, &mut Story::default()).unwrap();
        }
        world.checker.passed_over = self.passes_over;
        world
    }

    /// Lets something happen with the rule broken, or as it is.
    fn with<T>(&self, is_broken: bool, happen: impl FnOnce() -> T) -> T {
        match self.broken {
            Broken::Rule(flaw) if is_broken => play(Some(flaw), happen),
            _ => happen(),
        }
    }

    /// What these steps violate.
    fn violation(&self, steps: &[Step]) -> Option<Violation> {
        let mut world = self.world(&self.scenario, true);
        self.with(true, || steps.iter().find_map(|step| world.step(*step).err()))
    }

    /// What they violate without the flaw, also once the world has come to rest after them.
    fn violation_without_flaw(&self, steps: &[Step]) -> Option<Violation> {
        let mut world = self.world(&self.scenario, false);
        let end = Step::Settle { healthy: 1 };
        let is_over = matches!(steps.last(), Some(Step::Settle { .. }));
        let all = steps.iter().chain((!is_over).then_some(&end));
        all.into_iter().find_map(|step| world.step(*step).err())
    }

    /// Whether the statement is about a world at rest.
    fn is_seen_at_rest(&self) -> bool {
        matches!(self.violates, "S6" | "P50")
    }

    fn script(&self) -> &'static Script {
        scripts::ALL.iter().find(|script| script.variant == self.name).unwrap()
    }
}
