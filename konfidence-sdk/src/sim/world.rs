//! A world: one store, several controllers, people, and a checker that looks at every write.

use std::fmt;
use std::hash::{Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use konfidence_types::VectorPromotionConfig;

use super::check::{Author, Checker, Violation, violates};
use super::controller::{Controller, Turned};
use super::meter::{Meter, Part};
use super::people::{People, Person, Said};
use super::scenario::Scenario;
use super::server::Server;
use super::states::{Mixer, Seen, States};
use super::step::{Kind, Mishap, Step};
use super::story::Story;
use super::tally::{Nuisance, Tally};
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
    /// After so many steps it goes no further.
    limit: u64,
    /// By controller, while states are counted: its state since it last did something.
    states: Vec<Option<u64>>,
}

impl World {
    /// A world in which everything of `scenario` stands and no controller has looked at it yet.
    pub fn new(scenario: &Scenario) -> Self {
        let clock = ManualClock::new(scenario.beginning);
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
            limit: u64::MAX,
            states: vec![None; scenario.controllers],
            scenario: scenario.clone(),
            clock,
            server,
            people,
        };
        world.checker.ahead = world.scenario.clock_offset.max(SignedDuration::ZERO);
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
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Begins to count in how many different states it is.
    pub(super) fn count_states(&mut self) {
        self.checker.count_states(self.server.store());
    }

    /// Begins to measure where the time goes. Whoever has taken up something before is not measured.
    pub(super) fn measure(&mut self, meter: &Meter) {
        self.server.meter = meter.clone();
        self.controllers.iter_mut().for_each(|controller| controller.measure(meter.clone()));
        self.persons.iter_mut().for_each(|person| person.measure(meter.clone()));
    }

    /// Lets it go no further than so many steps.
    pub(super) fn limit(&mut self, steps: u64) {
        self.limit = steps;
    }

    /// What happened, and hashes of the states that it was in if they were counted.
    pub(super) fn end(self) -> (Tally, Seen) {
        (self.tally, self.checker.states.map(States::into_seen).unwrap_or_default())
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
        self.checker.now = self.clock.now();
        if self.tally.steps >= self.limit {
            return violates("the limit", format!("{} steps were not enough", self.limit));
        }
        let before = self.server.store().engine().revision();
        let happened = self.happen(step);
        if happened {
            self.tally.steps += 1;
            let after = self.server.store().engine().revision();
            if after != before {
                self.tally.writes += after - before;
                let _spending = self.server.meter.spend(Part::Checker);
                self.checker.see(self.server.store(), author, &mut self.story)?;
            }
            self.note_state();
        }
        Ok(happened)
    }

    fn note_state(&mut self) {
        let Some(states) = &mut self.checker.states else { return };
        let mut hasher = Mixer::default();
        for (controller, known) in self.controllers.iter().zip(&mut self.states) {
            known.get_or_insert_with(|| controller.state(states)).hash(&mut hasher);
        }
        self.persons.iter().for_each(|person| person.hash_into(&mut hasher));
        self.server.refused().hash(&mut hasher);
        states.note(hasher.finish());
    }

    /// The controllers' states have to be read anew.
    pub(super) fn forget_states(&mut self) {
        self.states.fill(None);
    }

    fn happen(&mut self, step: Step) -> bool {
        match step.controller() {
            Some(controller) => self.states.iter_mut().skip(controller).take(1).for_each(|known| *known = None),
            None if matches!(step, Step::WakeUp | Step::Wait { .. }) => self.forget_states(),
            None => {}
        }
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
            Step::Deliver { controller, kind, told } => self.deliver(controller, kind, told),
            Step::Repeat { controller, kind, back } => {
                self.with(controller, Nuisance::RepeatedEvent, |it| it.repeat(kind, back))
            }
            Step::Relist { controller, kind } => self.with(controller, Nuisance::Relist, |it| {
                it.relist(kind);
                true
            }),
            Step::Stir { controller, flow } => {
                let Some(key) = self.keys.get(flow).cloned() else { return false };
                self.with(controller, Nuisance::Stir, |it| {
                    it.stir(&key);
                    true
                })
            }
            Step::Crash { controller, ages } => {
                let Some(crashing) = self.controllers.get_mut(controller) else { return false };
                crashing.crash(ages);
                self.tally.note(Nuisance::Crash);
                self.story.line(|| format!("{} dies and starts again, seeing {}", name(controller), crashing.ages()));
                true
            }
            Step::Pause { controller } => {
                let is_under_way = self.controllers.get(controller).is_some_and(Controller::is_under_way);
                let nuisance = if is_under_way { Nuisance::PauseUnderWay } else { Nuisance::Pause };
                self.with(controller, nuisance, |it| !std::mem::replace(&mut it.is_asleep, true))
            }
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
            Step::Say { person, mishap } => self.say(person, mishap),
            Step::Deed { deed, flow, pick } => {
                let told = match self.persons.iter_mut().find(|person| person.is_idle()) {
                    Some(idle) if deed.is_operation() => {
                        self.people.word(deed, flow, pick).map(|word| idle.begin(word))
                    }
                    _ => self.people.edit(deed, flow, pick),
                };
                let did = told.is_some();
                if let Some(told) = told {
                    *self.tally.deeds.entry(deed).or_default() += 1;
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
        self.tally.note(Nuisance::ClockMove);
        self.story.line(|| format!("{wait:#} pass"));
        for controller in &mut self.controllers {
            controller.wake_due();
        }
        true
    }

    /// The first instant that a controller which is awake waits for.
    pub(super) fn next_wake_up(&self) -> Option<Timestamp> {
        let awake = self.controllers.iter().filter(|controller| !controller.is_asleep);
        let wait = awake.filter_map(Controller::next_wake_up).min()?;
        self.now().saturating_add(wait).ok()
    }

    /// Lets time pass until `until`. Answers whether it did.
    pub(super) fn wait_until(&mut self, until: Timestamp) -> bool {
        self.story.now(self.now());
        self.wait(until.duration_since(self.now()))
    }

    /// Queues everything everywhere: the slow resync.
    pub(super) fn resync(&mut self) {
        self.controllers.iter_mut().for_each(Controller::resync);
    }

    fn awake_mut(&mut self, controller: usize) -> Option<&mut Controller> {
        self.controllers.get_mut(controller).filter(|it| !it.is_asleep)
    }

    /// A nuisance to a controller that is awake.
    fn with(&mut self, controller: usize, nuisance: Nuisance, does: impl FnOnce(&mut Controller) -> bool) -> bool {
        let did = self.awake_mut(controller).is_some_and(does);
        if did {
            self.tally.note(nuisance);
        }
        did
    }

    fn deliver(&mut self, controller: usize, kind: Kind, told: bool) -> bool {
        let Some(delivered) = self.awake_mut(controller).and_then(|it| it.deliver(kind, told)) else { return false };
        if delivered.is_late {
            self.tally.note(Nuisance::DelayedEvent);
        }
        if delivered.is_overtaken {
            self.tally.note(Nuisance::OvertakenEvent);
        }
        if !told {
            self.tally.note(Nuisance::LostEvent);
        }
        true
    }

    fn begin(&mut self, controller: usize, flow: usize) -> bool {
        let Some(key) = self.keys.get(flow) else { return false };
        let Some(begins) = self.controllers.get_mut(controller).filter(|it| !it.is_asleep) else { return false };
        let queued = begins.has_queued(key);
        if queued {
            begins.begin(key);
            self.story.line(|| format!("{} takes up {key}, seeing {}", name(controller), begins.ages()));
        }
        queued
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

    fn turn(&mut self, controller: usize, flow: usize, mishap: Option<Mishap>) -> bool {
        let Some(asked) = self.next(controller, flow) else { return false };
        if !asked.verb.is_live() && asked.kind.is_some_and(|kind| self.has_news(controller, kind)) {
            self.tally.note(Nuisance::StaleRead);
        }
        let mishap = mishap.filter(|mishap| mishap.fault.is_possible(asked.verb) && asked.verb.is_live());
        let Some(key) = self.keys.get(flow) else { return false };
        let Some((turned, answered)) = self.controllers.get_mut(controller).and_then(|it| it.turn(key, mishap)) else {
            return false;
        };
        self.tally.note_request(mishap);
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

    fn say(&mut self, person: usize, mishap: Option<Mishap>) -> bool {
        let Some(said) = self.persons.get_mut(person).and_then(|it| it.turn(mishap)) else { return false };
        let Said { person, asked, mishap, answered, over } = said;
        self.tally.note_request(mishap);
        if asked.verb.is_write() || mishap.is_some() {
            self.story.line(|| match mishap {
                Some(mishap) if mishap.carried_out => format!("{person} {asked}: carried out, but sees: {answered}"),
                Some(_) => format!("{person} {asked}: it fails: {answered}"),
                None => format!("{person} {asked}: {answered}"),
            });
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
