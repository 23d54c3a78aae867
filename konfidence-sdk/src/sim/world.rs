//! A world: one store, several controllers, people, and a checker that looks at every write.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::VectorPromotionConfig;

use super::check::{Author, Checker, Violation};
use super::controller::{Controller, Turned};
use super::people::{People, Person, Said};
use super::scenario::Scenario;
use super::server::Server;
use super::step::{Kind, Step};
use super::story::Story;
use super::view::Asked;
use crate::clock::{Clock, ManualClock};
use crate::event::RecordedEvents;
use crate::store::engine::{Collector, Engine, Options};
use crate::store::{Key, MemoryStore};

/// A whole world in virtual time. It does nothing by itself: [`step`](Self::step) lets one thing happen.
pub struct World {
    pub(super) scenario: Scenario,
    pub(super) clock: ManualClock,
    pub(super) server: Server,
    pub(super) people: People,
    pub(super) persons: Vec<Person>,
    pub(super) events: RecordedEvents,
    pub(super) controllers: Vec<Controller>,
    pub(super) keys: Vec<Key<VectorPromotionConfig>>,
    pub(super) checker: Checker,
    pub(super) story: Story,
    pub(super) tally: Tally,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps that did something.
    pub steps: u64,
    /// Requests of controllers to the store, cached reads included.
    pub requests: u64,
    /// Writes that changed something, whoever made them.
    pub writes: u64,
    /// Requests that went wrong on purpose.
    pub mishaps: u64,
    /// Processes that died.
    pub crashes: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.requests += other.requests;
        self.writes += other.writes;
        self.mishaps += other.mishaps;
        self.crashes += other.crashes;
    }
}

/// When every world begins.
const BEGINNING: &str = "2026-03-01T12:00:00Z";

impl World {
    /// A world in which everything of `scenario` stands and no controller has looked at it yet.
    pub fn new(scenario: &Scenario) -> Self {
        let clock = ManualClock::new(BEGINNING.parse().unwrap_or(Timestamp::UNIX_EPOCH));
        let options = Options { collector: Collector::OnRequest, ..Options::new(std::sync::Arc::new(clock.clone())) };
        Self::over(scenario, clock, Server::new(MemoryStore::over(Engine::new(options))))
    }

    pub(super) fn over(scenario: &Scenario, clock: ManualClock, server: Server) -> Self {
        let mut people = People::new(scenario.configs.clone(), server.clone());
        people.make_everything();
        let events = RecordedEvents::default();
        let controllers = (0..scenario.controllers).map(|number| {
            let is_last = number > 0 && number + 1 == scenario.controllers;
            let offset = if is_last { scenario.clock_offset } else { SignedDuration::ZERO };
            Controller::new(server.clone(), clock.clone(), offset, events.clone(), scenario.has_barrier)
        });
        let persons = ["the head baker", "the night shift"];
        let mut world = Self {
            persons: persons.map(|name| Person::new(name, server.clone(), clock.clone())).into(),
            controllers: controllers.collect(),
            events,
            keys: people.keys(),
            checker: Checker::new(scenario.hands_out_numbers_alone()),
            story: Story::default(),
            tally: Tally::default(),
            scenario: scenario.clone(),
            clock,
            server,
            people,
        };
        // What is there from the start breaks no rule.
        let _ = world.checker.see(world.server.store(), Author::People, &mut world.story);
        world
    }

    /// Begins to write down what happens.
    pub fn tell(&mut self) {
        self.story.begin();
    }

    /// What happened, one line each, if it was written down.
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// What has happened so far, in numbers.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The present instant of the world.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The store as a linearizable read shows it.
    pub fn store(&self) -> &MemoryStore {
        self.server.store()
    }

    /// Lets one thing happen, and checks every write that it made. Answers whether it was possible.
    ///
    /// # Errors
    /// The first statement of the specification that does not hold any more.
    pub fn step(&mut self, step: Step) -> Result<bool, Violation> {
        self.story.now(self.clock.now());
        if let Step::Settle { healthy } = step {
            self.settle(healthy)?;
            return Ok(true);
        }
        let author = match step {
            Step::Turn { .. } => Author::Controller,
            Step::Say { .. } => Author::Operation,
            Step::CollectGarbage => Author::Collector,
            _ => Author::People,
        };
        let before = self.server.store().engine().revision();
        let happened = self.happen(step);
        if happened {
            self.tally.steps += 1;
            let after = self.server.store().engine().revision();
            if after != before {
                self.tally.writes += after - before;
                self.checker.see(self.server.store(), author, &mut self.story)?;
            }
        }
        Ok(happened)
    }

    fn happen(&mut self, step: Step) -> bool {
        match step {
            Step::Begin { controller, flow } => self.begin(controller, flow),
            Step::Turn { controller, flow, mishap } => self.turn(controller, flow, mishap),
            Step::Read { controller, flow } => {
                let mut read = false;
                while self.may_read(controller, flow) {
                    self.turn(controller, flow, None);
                    read = true;
                }
                read
            }
            Step::Deliver { controller, kind, told } => self.with(controller, |it| it.deliver(kind, told)),
            Step::Relist { controller, kind } => self.with(controller, |it| {
                it.relist(kind);
                true
            }),
            Step::Stir { controller, flow } => {
                let Some(key) = self.keys.get(flow).cloned() else { return false };
                self.with(controller, |it| {
                    it.stir(&key);
                    true
                })
            }
            Step::Crash { controller, ages } => {
                let Some(crashing) = self.controllers.get_mut(controller) else { return false };
                crashing.crash(ages);
                self.tally.crashes += 1;
                let ages = crashing.ages();
                self.story.line(|| format!("{} dies and starts again, seeing {ages}", name(controller)));
                true
            }
            Step::Pause { controller } => self.with(controller, |it| !std::mem::replace(&mut it.is_asleep, true)),
            Step::Continue { controller } => {
                self.controllers.get_mut(controller).is_some_and(|it| std::mem::replace(&mut it.is_asleep, false))
            }
            Step::WakeUp => {
                let next = self.controllers.iter().filter_map(Controller::next_wake_up).min();
                next.is_some_and(|wait| self.wait(wait))
            }
            Step::Wait { seconds } => self.wait(SignedDuration::from_secs(i64::from(seconds))),
            Step::CollectGarbage => {
                let collected = self.server.store().engine().collect_garbage() > 0;
                if collected {
                    self.story.line(|| "the garbage collector runs".to_owned());
                }
                collected
            }
            Step::Say { person } => self.say(person),
            Step::Deed { deed, flow, pick } => {
                let told = match self.persons.iter_mut().find(|person| person.is_idle()) {
                    Some(idle) if deed.is_operation() => {
                        self.people.word(deed, flow, pick).map(|word| idle.begin(word))
                    }
                    _ => self.people.edit(deed, flow, pick),
                };
                let did = told.is_some();
                if let Some(told) = told {
                    self.story.line(|| told);
                }
                did
            }
            Step::Settle { .. } => false,
        }
    }

    fn wait(&mut self, wait: SignedDuration) -> bool {
        if wait <= SignedDuration::ZERO {
            return false;
        }
        self.clock.advance(wait);
        self.story.line(|| format!("{wait:#} pass"));
        for controller in &mut self.controllers {
            controller.wake_due();
        }
        true
    }

    /// Something with a controller that is awake.
    fn with(&mut self, controller: usize, does: impl FnOnce(&mut Controller) -> bool) -> bool {
        self.controllers.get_mut(controller).filter(|it| !it.is_asleep).is_some_and(does)
    }

    fn begin(&mut self, controller: usize, flow: usize) -> bool {
        let Some(key) = self.keys.get(flow).cloned() else { return false };
        let begun = self.with(controller, |it| {
            let queued = it.has_queued(&key);
            if queued {
                it.begin(&key);
            }
            queued
        });
        if begun {
            let ages = self.controllers.get(controller).map(Controller::ages).unwrap_or_default();
            self.story.line(|| format!("{} takes up {key}, seeing {ages}", name(controller)));
        }
        begun
    }

    /// What a reconcile would do next, if it may.
    pub(super) fn next(&self, controller: usize, flow: usize) -> Option<Asked> {
        let controller = self.controllers.get(controller).filter(|it| !it.is_asleep)?;
        let asked = controller.asked(self.keys.get(flow)?)?;
        (!controller.is_behind_own_writes(&asked)).then_some(asked)
    }

    fn may_read(&self, controller: usize, flow: usize) -> bool {
        self.next(controller, flow).is_some_and(|asked| !asked.verb.is_live())
    }

    fn turn(&mut self, controller: usize, flow: usize, mishap: Option<super::step::Mishap>) -> bool {
        let Some(asked) = self.next(controller, flow) else { return false };
        let mishap = mishap.filter(|mishap| mishap.fault.is_possible(asked.verb) && asked.verb.is_live());
        let Some(key) = self.keys.get(flow).cloned() else { return false };
        let Some((turned, answered)) = self.controllers.get_mut(controller).and_then(|it| it.turn(&key, mishap)) else {
            return false;
        };
        self.tally.requests += 1;
        self.tally.mishaps += u64::from(mishap.is_some());
        if asked.verb.is_live() {
            self.story.line(|| match mishap {
                Some(mishap) if mishap.carried_out => {
                    format!("{} {asked}: carried out, but it sees: {answered}", name(controller))
                }
                Some(_) => format!("{} {asked}: it fails: {answered}", name(controller)),
                None => format!("{} {asked}: {answered}", name(controller)),
            });
        }
        if let Turned::Over(outcome) = turned {
            self.story.line(|| match outcome {
                Ok(outcome) => match outcome.wake_up {
                    Some(at) => format!("{} rests with {key} until {at}", name(controller)),
                    None => format!("{} rests with {key}", name(controller)),
                },
                Err(error) => format!("{} gives up {key}: {error}", name(controller)),
            });
        }
        true
    }

    fn say(&mut self, person: usize) -> bool {
        let Some(said) = self.persons.get_mut(person).and_then(Person::turn) else { return false };
        let Said { person, asked, answered, over } = said;
        if asked.verb.is_write() {
            self.story.line(|| format!("{person} {asked}: {answered}"));
        }
        if let Some((_, Err(refusal))) = over {
            self.story.line(|| format!("{person} is told: {refusal}"));
        }
        true
    }

    /// How many changes of `kind` a controller has still to see, counted up to one.
    pub(super) fn has_news(&self, controller: usize, kind: Kind) -> bool {
        self.controllers.get(controller).is_some_and(|it| !it.is_asleep && it.next_event(kind).is_some())
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("scenario", &self.scenario.name)
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}

/// Controllers are called A, B, C in stories.
pub(super) fn name(controller: usize) -> char {
    u8::try_from(controller).ok().and_then(|number| b'A'.checked_add(number)).map_or('?', char::from)
}
