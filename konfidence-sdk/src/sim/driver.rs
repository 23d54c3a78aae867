//! Chance at the wheel: which step comes next in a random world.

use super::chance::Chance;
use super::people::Person;
use super::step::{Kind, Mishap, Step};
use super::world::World;
use crate::store::{Fault, Verb};

/// What a driver can choose between.
#[derive(Clone, Copy)]
enum Choice {
    Turn,
    Begin,
    Deliver,
    Repeat,
    Relist,
    Stir,
    Crash,
    Pause,
    Time,
    Collect,
    Deed,
}

pub(super) struct Driver {
    chance: Chance,
}

impl Driver {
    pub(super) fn new(seed: u64) -> Self {
        Self { chance: Chance::new(seed) }
    }

    /// The next step; often one that is possible.
    pub(super) fn next(&mut self, world: &World) -> Step {
        let mood = world.scenario.mood;
        let choice = self.chance.weighted(&[
            (Choice::Turn, mood.turn),
            (Choice::Begin, mood.begin),
            (Choice::Deliver, mood.deliver),
            (Choice::Repeat, mood.repeat),
            (Choice::Relist, mood.relist),
            (Choice::Stir, mood.stir),
            (Choice::Crash, mood.crash),
            (Choice::Pause, mood.pause),
            (Choice::Time, mood.time),
            (Choice::Collect, mood.collect),
            (Choice::Deed, mood.deed),
        ]);
        let controller = self.chance.below(world.controllers.len());
        let flow = self.chance.below(world.keys.len());
        match choice.unwrap_or(Choice::Turn) {
            Choice::Turn => self.turn(world, controller, flow),
            Choice::Begin => Step::Begin { controller, flow },
            Choice::Deliver => {
                let lost = mood.lost_one_in > 0 && self.chance.one_in(mood.lost_one_in);
                Step::Deliver { controller, kind: self.kind(), told: !lost }
            }
            Choice::Repeat => Step::Repeat { controller, kind: self.kind(), back: self.chance.below(6) },
            Choice::Relist => Step::Relist { controller, kind: self.kind() },
            Choice::Stir => Step::Stir { controller, flow },
            Choice::Crash => {
                let reach = self.chance.pick(&[1, 2, 4, 30]).unwrap_or(1);
                let ages = std::array::from_fn(|_| u8::try_from(self.chance.below(reach)).unwrap_or(0));
                Step::Crash { controller, ages }
            }
            Choice::Pause if self.chance.one_in(2) => Step::Pause { controller },
            Choice::Pause => Step::Continue { controller },
            Choice::Time if self.chance.one_in(3) => {
                let seconds = self.chance.pick(&[1, 10, 60, 290, 301, 700, 4000]).unwrap_or(1);
                Step::Wait { seconds }
            }
            Choice::Time => Step::WakeUp,
            Choice::Collect => Step::CollectGarbage,
            Choice::Deed if self.chance.one_in(2) => self.say(world, flow),
            Choice::Deed => {
                let deeds = &world.scenario.deeds;
                match self.chance.weighted(deeds) {
                    Some(deed) => Step::Deed { deed, flow, pick: self.chance.below(1000) },
                    None => Step::CollectGarbage,
                }
            }
        }
    }

    fn kind(&mut self) -> Kind {
        // Promotions change most.
        let of = [(Kind::Promotion, 5), (Kind::Config, 3), (Kind::Stage, 3), (Kind::Landscape, 1), (Kind::Template, 2)];
        self.chance.weighted(&of).unwrap_or(Kind::Promotion)
    }

    fn turn(&mut self, world: &World, controller: usize, flow: usize) -> Step {
        let Some(asked) = world.next(controller, flow) else {
            return Step::Begin { controller, flow };
        };
        if !asked.verb.is_live() && !self.chance.one_in(8) {
            return Step::Read { controller, flow };
        }
        let one_in = world.scenario.mood.mishap_one_in;
        let fails = one_in > 0 && asked.verb.is_live() && self.chance.one_in(one_in);
        Step::Turn { controller, flow, mishap: fails.then(|| self.mishap(asked.verb)).flatten() }
    }

    fn say(&mut self, world: &World, flow: usize) -> Step {
        let person = flow % world.persons.len().max(1);
        let asked = world.persons.get(person).and_then(Person::asked);
        let one_in = world.scenario.mood.mishap_one_in;
        let fails = one_in > 0 && self.chance.one_in(one_in);
        let mishap = asked.filter(|_| fails).and_then(|asked| self.mishap(asked.verb));
        Step::Say { person, mishap }
    }

    /// What a server, a network or a client library can make of a request.
    fn mishap(&mut self, verb: Verb) -> Option<Mishap> {
        let lost = |fault| Mishap { fault, carried_out: false };
        let done = |fault| Mishap { fault, carried_out: true };
        let mut of = vec![lost(Fault::Unavailable), lost(Fault::Forbidden)];
        if verb.is_write() {
            of.push(done(Fault::Unavailable));
        }
        // A client that repeats a request whose answer was lost meets its own first one.
        match verb {
            Verb::ListLive => of.push(lost(Fault::Expired)),
            Verb::Create => of.extend([lost(Fault::AlreadyExists), done(Fault::AlreadyExists), lost(Fault::Invalid)]),
            Verb::Patch | Verb::PatchStatus => {
                of.extend([lost(Fault::Conflict), done(Fault::Conflict), lost(Fault::Invalid)]);
            }
            Verb::Delete => of.extend([lost(Fault::Conflict), done(Fault::NotFound)]),
            _ => {}
        }
        self.chance.pick(&of)
    }
}
