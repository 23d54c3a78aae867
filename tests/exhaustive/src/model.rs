//! The model: which steps there are from a state, and where each leads.
//!
//! ```text
//!   begin   a controller decides from any view and makes the first write of its plan    one step: an idle controller's
//!                                                              old view stands for a plan that was decided long ago
//!   look    a controller decides with live reads; its plan waits, however long
//!   go on   a plan that waits makes its next write; or it never does
//!   crash   a plan that waits is gone, when both controllers are in the middle of something and one is to do another
//!   deed    people, the clock, the garbage collector
//! ```

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::promotion::{Action, Write};
use konfidence_sdk::store::Key;
use konfidence_types::VectorPromotionConfig;
use serde_json::Value;
use stateright::{Model, Property};

use crate::answer::{Answer, Request, Scope};
use crate::check::{Author, Ledger, check, nothing_waits_below};
use crate::feasible::Offers;
use crate::flaw::Flaw;
use crate::people::{Deed, Done, publish};
use crate::rest::Rested;
use crate::rules::{Asks, Considered, Memo, Next, Planned, Rules, Sight, Told, recall, remember, rest};
use crate::scenario::Scenario;
use crate::server::{Effect, Refused, Server, create};
use crate::shelf::{Kind, View, mix};
use crate::views::Look;
use crate::world::{Pending, Waits, World, no_version};

/// How many controllers are active at once.
const CONTROLLERS: usize = 2;

/// What a refusing server says.
const REFUSAL: &str = "admission webhook \"oven.bakery.example\" denied the request";

/// One step of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Step(pub(crate) Move);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Move {
    Begin(Look),
    Look(Look),
    GoOn(usize),
    Crash(usize),
    Deed(Deed),
}

/// A scenario to be explored.
pub struct Exploration {
    pub(crate) scenario: Scenario,
    pub(crate) flows: Vec<Key<VectorPromotionConfig>>,
    pub(crate) instants: Vec<Timestamp>,
    pub(crate) rules: Rules,
    pub(crate) rested: Mutex<Rested>,
    pub(crate) offers: Memo<Arc<Offers>>,
    effects: Memo<Result<Effect, Refused>>,
    pub(crate) flaw: Flaw,
    beginning: World,
}

impl Exploration {
    /// The scenario with its first vector, its configs initialised and everything at rest before that.
    pub fn new(scenario: Scenario, flaw: Flaw) -> Self {
        let noon = Timestamp::from_second(1_772_366_400).unwrap_or_default();
        let at = |second: &i64| noon.saturating_add(SignedDuration::from_secs(*second)).unwrap_or(noon);
        let mut exploration = Self {
            flows: scenario.flows(),
            instants: scenario.instants.iter().map(at).collect(),
            rules: Rules::new(flaw == Flaw::LiveReadsFromCache, scenario.reports),
            rested: Mutex::default(),
            offers: Memo::default(),
            effects: Memo::default(),
            flaw,
            beginning: World::beginning(View::empty(), scenario.left()),
            scenario,
        };
        let server = Server::new(View::empty());
        for (kind, object) in exploration.scenario.objects() {
            server.put(create(&server.live(), kind, object, Scope::Whole));
        }
        exploration.initialise(&server);
        for source in exploration.scenario.sources() {
            server.put(publish(&server.live(), source, 1).ok_or(Refused::NotFound));
        }
        exploration.beginning = World::beginning(server.live(), exploration.scenario.left());
        exploration
    }

    pub(crate) fn instant(&self, now: usize) -> Timestamp {
        self.instants.get(now).copied().unwrap_or_default()
    }

    fn begin(&self, world: &World, look: &Look, looks: bool) -> Option<World> {
        let (planned, _) = self.decide(world, look);
        let first = planned.first.clone()?;
        let mut new = world.clone();
        if let Some(slot) = look.after {
            new.pending.remove(slot);
        }
        if looks {
            new.pending.push(Pending::plan(planned, first, look.flow, look.now));
        } else {
            self.write(&mut new, &planned, &first, (look.flow, look.now))?;
        }
        self.tidy(&mut new);
        Some(new)
    }

    fn go_on(&self, world: &World, slot: usize) -> Option<World> {
        let mut new = world.clone();
        let pending = new.pending.remove(slot);
        let Waits::Plan { planned, asks } = pending.waits else { return None };
        self.write(&mut new, &planned, &asks, (pending.flow, pending.now))?;
        self.tidy(&mut new);
        Some(new)
    }

    /// Makes one write of a plan. `None`: it cannot succeed, or is beyond the bounds.
    fn write(&self, world: &mut World, planned: &Arc<Planned>, asks: &Asks, (flow, now): (usize, usize)) -> Option<()> {
        let live = world.live();
        let mut told = asks.told.to_vec();
        let is_of_stage = matches!(*asks.request, Request::Patch { kind: Kind::Stage, .. });
        if is_of_stage && world.refuses {
            told.push(Told { answer: Answer::Refused(REFUSAL.to_owned()), version: no_version(), key: 1 });
        } else {
            let effect = match self.carry_out(&live, asks) {
                Ok(effect) => Some(effect),
                Err(Refused::NotFound) if matches!(*asks.request, Request::Delete { .. }) => None,
                Err(_) => return None,
            };
            if let Some(effect) = effect.as_ref().filter(|effect| !effect.is_none()) {
                self.count(world, &live, planned, &told, (flow, now))?;
                self.see(world, &live, effect, Author::Controller);
            }
            let after = effect.as_ref().and_then(|effect| effect.after.as_ref());
            let version = after.map_or_else(no_version, |after| after.version.clone());
            let key = after.map_or(2, |after| after.hash);
            told.push(Told { answer: effect.as_ref().map_or(Answer::Deleted, Effect::answer), version, key });
        }
        match self.rules.next(planned, told) {
            Next::Write(asks) => world.pending.push(Pending::plan(Arc::clone(planned), asks, flow, now)),
            Next::Setback(setback) => world.pending.push(Pending::setback(setback, flow, now)),
            Next::End => {}
        }
        Some(())
    }

    /// Draws on what is left of what controllers may do. `None`: nothing is left.
    fn count(
        &self,
        world: &mut World,
        live: &View,
        planned: &Planned,
        told: &[Told],
        at: (usize, usize),
    ) -> Option<()> {
        let left = &mut world.left;
        match &rest(&planned.plan, told).next()? {
            (Action::Create, _) => left.creations = left.creations.checked_sub(1)?,
            (Action::Fence, Write::Stage { promotion, read, .. }) => {
                let promotion = live.of(Kind::Promotion).get(promotion.namespace(), promotion.name());
                // One that no retirement can follow is like any other write to the Stage.
                if promotion.is_none_or(|promotion| promotion.version != *read) {
                    left.fences = left.fences.checked_sub(1)?;
                }
            }
            (Action::ReportReady | Action::WriteConfigStatus, Write::ConfigStatus(_, patch)) => {
                let is_number = patch.merge["status"].get("sequence").is_some();
                if !is_number && !self.is_wanted(live, &patch.merge, at) {
                    left.reports = left.reports.checked_sub(1)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Whether the newest views would have this written too.
    fn is_wanted(&self, live: &View, merge: &Value, (flow, now): (usize, usize)) -> bool {
        let planned = self.plan_of(live, flow, self.instant(now));
        planned
            .plan
            .steps
            .iter()
            .any(|step| matches!(&step.write, Write::ConfigStatus(_, patch) if patch.merge == *merge))
    }

    /// What is decided from the newest views.
    pub(crate) fn plan_of(&self, live: &View, flow: usize, now: Timestamp) -> Arc<Planned> {
        let sight = Sight { flow: &self.flows[flow], now, setback: None, watched: &[] };
        match self.rules.consider(mix(sight.seed(), live.hash()), live, &sight) {
            Considered::Plan(planned) => planned,
            Considered::Doubt(doubtful) => self.rules.look(live, live, doubtful),
        }
    }

    /// What the request does to what stands, found once for each kind as it stands.
    fn carry_out(&self, live: &View, asks: &Asks) -> Result<Effect, Refused> {
        let standing = live.of(asks.request.kind());
        let key = mix(asks.id, mix(standing.hash, standing.names));
        recall(&self.effects, key).unwrap_or_else(|| {
            let effect = self.flaw.carry_out(live, &self.without_mirrors(&asks.request));
            remember(&self.effects, key, effect.clone());
            effect
        })
    }

    fn without_mirrors(&self, request: &Request) -> Request {
        let mut request = request.clone();
        if let Request::Patch { kind: Kind::Config, scope: Scope::Status, merge, .. } = &mut request
            && !self.scenario.reports
            && let Some(status) = merge["status"].as_object_mut()
        {
            status.remove("lastPromotionConditions");
            status.remove("lastSuccessfulPromotionConditions");
        }
        request
    }

    fn see(&self, world: &mut World, before: &View, effect: &Effect, author: Author) {
        world.push(effect.kind, Arc::clone(&effect.shelf), self.scenario.old);
        let after = world.live();
        let checked = check(&mut world.ledger, before, &after, effect, author, self.scenario.numbers);
        let in_order = || {
            let is_promised = self.scenario.numbers_promotions_in_order();
            if is_promised { nothing_waits_below(&after, effect) } else { Ok(()) }
        };
        if let Err(violation) = checked.and_then(|()| in_order()) {
            world.broken = Some(Arc::new(violation));
        }
    }

    /// Forgets whatever makes no difference any more.
    fn tidy(&self, world: &mut World) {
        if world.broken.is_some() {
            world.pending.clear();
            return;
        }
        let live = world.live();
        if self.scenario.is_reduced {
            self.forget_settled(world, &live);
        }
        self.forget_plans(world, &live);
        let pending = &world.pending;
        Ledger::forget(&mut world.ledger, &live, |uid| pending.iter().any(|pending| pending.writes_for(uid)));
        if self.scenario.is_reduced {
            Ledger::forget_last(&mut world.ledger, world.left.creations > 0, self.scenario.has_one_vector());
        }
    }

    fn do_deed(&self, world: &World, deed: &Deed) -> Option<World> {
        let mut new = world.clone();
        if *deed == Deed::Wait {
            new.now += 1;
            self.tidy(&mut new);
            return Some(new);
        }
        let live = world.live();
        let now = self.instant(world.now);
        let Done { effects, left, refuses } = self.scenario.perform(deed, &live, world.left, world.refuses, now)?;
        (new.left, new.refuses) = (left, refuses);
        for effect in effects.iter().filter(|effect| !effect.is_none()) {
            self.see(&mut new, &live, effect, Author::Person);
        }
        self.tidy(&mut new);
        Some(new)
    }
}

impl Model for Exploration {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.beginning.clone()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.broken.is_some() {
            return;
        }
        let live = world.live();
        for (slot, pending) in world.pending.iter().enumerate() {
            match &pending.waits {
                Waits::Plan { asks, .. }
                    if asks.left.first().is_some_and(|due| self.may_succeed(world, &live, due, false)) =>
                {
                    steps.push(Step(Move::GoOn(slot)));
                }
                Waits::Plan { .. } => {}
                Waits::Setback(_) => steps.extend_from_slice(&self.offers(world, &live, Some(slot)).steps),
            }
        }
        if world.pending.len() < CONTROLLERS {
            steps.extend_from_slice(&self.offers(world, &live, None).steps);
        } else {
            steps.extend((0..world.pending.len()).map(|slot| Step(Move::Crash(slot))));
        }
        let deeds = self.scenario.deeds(&live, &world.left, world.refuses);
        let wait = (world.now + 1 < self.instants.len()).then_some(Deed::Wait);
        steps.extend(deeds.into_iter().chain(wait).map(|deed| Step(Move::Deed(deed))));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        match &step.0 {
            Move::Begin(look) => self.begin(world, look, false),
            Move::Look(look) => self.begin(world, look, true),
            Move::GoOn(slot) => self.go_on(world, *slot),
            Move::Crash(slot) => {
                let mut new = world.clone();
                new.pending.remove(*slot);
                Some(new)
            }
            Move::Deed(deed) => self.do_deed(world, deed),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(HOLDS, |exploration: &Self, world: &World| exploration.violation(world).is_none())]
    }
}

/// The one property: every statement holds.
pub(crate) const HOLDS: &str = "every statement holds";
