//! The end of a world: the faults stop, and it has to come to rest.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::check::rest::AtRest;
use super::check::{Author, Known, Violation, violates};
use super::controller::Controller;
use super::people::Word;
use super::step::{Kind, Step};
use super::world::World;

/// So long a world is watched at most; what P38 and P51 delay is over by then, and a contest has shown its pace.
const HORIZON: SignedDuration = SignedDuration::from_hours(12);
/// A Stage that refuses even the fence has it tried every 30 seconds (P36, P37): it shows its pace sooner.
const HORIZON_OF_REFUSED: SignedDuration = SignedDuration::from_hours(4);
/// So many wake-ups at most in that time: an hourly one for each flow, and some for each deadline and TTL.
const WAKE_UPS: usize = 400;
const WAKE_UPS_OF_REFUSED: usize = 4_000;
/// At most so many promotions of one config are made an hour by what cannot come to rest: at once, then after 1, 2, 4, 8
/// and 16 minutes, and a wait of a whole hour begins anew.
const PROMOTIONS_AN_HOUR: usize = 6;
/// And at most so many writes for one config: two attempts a minute at a fence (P36), and what the promotions cost.
const WRITES_AN_HOUR: u64 = 2 * 60 + 60;
/// In the last so many hours of those that a world is watched.
const PACE_HOURS: u32 = 3;
/// So many approvals at most: a person for each vector that a source held, and some for what becomes of them.
const APPROVALS: usize = 300;
/// So many rounds at most without that time passes.
const ROUNDS: usize = 3000;

impl World {
    pub(super) fn settle(&mut self, healthy: usize) -> Result<(), Violation> {
        self.story.line(|| format!("the faults stop; {healthy} of the controllers go on"));
        for (number, controller) in self.controllers.iter_mut().enumerate() {
            controller.is_asleep = number >= healthy.max(1);
        }
        self.forget_states();
        for person in 0..self.persons.len() {
            while self.step(Step::Say { person, mishap: None })? {}
        }
        self.repair()?;
        self.controllers.iter_mut().for_each(Controller::resync);
        let horizon = if self.is_refusing() { HORIZON_OF_REFUSED } else { HORIZON };
        let end = self.now().saturating_add(horizon).unwrap_or(self.now());
        let since = end.saturating_sub(SignedDuration::from_hours(i64::from(PACE_HOURS))).unwrap_or(end);
        let (mut wake_ups, mut approvals, mut from) = (0, 0, None);
        loop {
            self.come_to_rest()?;
            if self.now() >= since {
                from.get_or_insert(self.server.store().engine().revision());
            }
            // Two flows with approvals that put different vectors on one Stage go on as long as people let them.
            let are_tired = approvals == APPROVALS && self.is_contested();
            if !are_tired && self.approve_newest()? {
                approvals += 1;
                if approvals > APPROVALS {
                    return violates("S6", format!("after {approvals} approvals in a row somebody else is waited for"));
                }
                continue;
            }
            let next = self.awake().filter_map(Controller::next_wake_up).min();
            let Some(next) = next else { break };
            let is_over = self.now().saturating_add(next).is_ok_and(|at| at > end);
            if is_over {
                break;
            }
            wake_ups += 1;
            if wake_ups > if self.is_refusing() { WAKE_UPS_OF_REFUSED } else { WAKE_UPS } {
                return violates("P50", format!("a controller still wakes up after {wake_ups} wake-ups"));
            }
            // At once is possible too: several conflicts in a row give up so.
            self.step(Step::Wait { seconds: u32::try_from(next.as_secs()).unwrap_or(0) + 1 })?;
        }
        if self.is_contested() || self.is_refusing() {
            return self.check_pace(since, from);
        }
        self.check_silence()?;
        self.check_events()?;
        AtRest { server: &self.server, checker: &self.checker, now: self.now() }.check(&self.keys)
    }

    /// Gives the approvals that are waited for. Answers whether there were any.
    fn approve_newest(&mut self) -> Result<bool, Violation> {
        let waiting = self.people.newest_waiting();
        for promotion in &waiting {
            if let Some(person) = self.persons.first_mut() {
                let told = person.begin(Word::Approve(promotion.clone()));
                self.story.line(|| told);
            }
            while self.step(Step::Say { person: 0, mishap: None })? {}
        }
        Ok(!waiting.is_empty())
    }

    fn awake(&self) -> impl Iterator<Item = &Controller> {
        self.controllers.iter().filter(|controller| !controller.is_asleep)
    }

    fn is_refusing(&self) -> bool {
        !self.server.refused().is_empty()
    }

    /// P36, P38, P51: what cannot come to rest costs a bounded number of promotions, and of writes, an hour. `from` is
    /// the revision at `since`.
    fn check_pace(&self, since: Timestamp, from: Option<u64>) -> Result<(), Violation> {
        let written = from.map_or(0, |from| self.server.store().engine().revision() - from);
        let flows = u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        if written > WRITES_AN_HOUR * u64::from(PACE_HOURS) * flows {
            return violates("P36", format!("{written} writes in {PACE_HOURS} hours, and nothing changes"));
        }
        let mut made: BTreeMap<&str, usize> = BTreeMap::new();
        for Known { promotion, .. } in self.checker.promotions.values() {
            if promotion.metadata.creation_timestamp.as_ref().is_some_and(|made| made.0 > since) {
                *made.entry(&promotion.spec.vector_promotion_config_name).or_default() += 1;
            }
        }
        let most = PROMOTIONS_AN_HOUR * usize::try_from(PACE_HOURS).unwrap_or(1);
        match made.into_iter().find(|(_, made)| *made > most) {
            Some((config, made)) => violates("P51", format!("{config} makes {made} promotions in {PACE_HOURS} hours")),
            None => Ok(()),
        }
    }

    /// Two configs that stand and have one target.
    fn is_contested(&self) -> bool {
        let mut targets: Vec<_> = self.checker.configs.values().map(|config| &config.spec.target).collect();
        let all = targets.len();
        targets.sort();
        targets.dedup();
        targets.len() < all
    }

    /// What was deleted but held goes first, then it is made again.
    fn repair(&mut self) -> Result<(), Violation> {
        for _ in 0..2 {
            self.people.repair(self.scenario.refusals_stay, self.scenario.unreadable_stay);
            self.look(Author::People)?;
            self.server.store().engine().collect_garbage();
            self.look(Author::Collector)?;
        }
        Ok(())
    }

    pub(super) fn look(&mut self, author: Author) -> Result<(), Violation> {
        self.checker.see(self.server.store(), author, &mut self.story)
    }

    /// Everything is delivered, everything queued is done, until nothing is left. The controllers take turns request by
    /// request, so that two of them meet in every plan.
    pub(super) fn come_to_rest(&mut self) -> Result<(), Violation> {
        self.forget_states();
        for _ in 0..ROUNDS {
            self.step(Step::CollectGarbage)?;
            for controller in 0..self.controllers.len() {
                if self.controllers.get(controller).is_none_or(|it| it.is_asleep) {
                    continue;
                }
                for kind in Kind::ALL {
                    while self.step(Step::Deliver { controller, kind, told: true })? {}
                }
                for flow in 0..self.keys.len() {
                    self.step(Step::Begin { controller, flow })?;
                    self.step(Step::Read { controller, flow })?;
                    self.step(Step::Turn { controller, flow, mishap: None })?;
                }
            }
            let news = |number| Kind::ALL.into_iter().any(|kind| self.has_news(number, kind));
            let is_quiet = self.awake().all(Controller::is_idle) && !(0..self.controllers.len()).any(news);
            if is_quiet {
                return Ok(());
            }
        }
        violates("S6", format!("after {ROUNDS} rounds without a fault the controllers are still busy"))
    }

    /// P47: an event is told once per transition, and these transitions happen once.
    fn check_events(&self) -> Result<(), Violation> {
        let once =
            ["PromotionStarted", "PromotionSucceeded", "PromotionSuperseded", "PromotionTimedOut", "PromotionFailed"];
        let mut told = BTreeSet::new();
        for event in self.events.take().into_iter().filter(|event| once.contains(&event.reason)) {
            let (object, reason) = (event.regarding, event.reason);
            if !told.insert((object.uid.clone(), reason)) {
                return violates("P47", format!("{reason} of {object} is told twice"));
            }
        }
        Ok(())
    }

    /// S6, P50: a resync writes nothing.
    fn check_silence(&mut self) -> Result<(), Violation> {
        let before = self.server.store().engine().revision();
        for _ in 0..2 {
            self.controllers.iter_mut().for_each(Controller::resync);
            self.come_to_rest()?;
        }
        let after = self.server.store().engine().revision();
        if after > before {
            return violates("S6", format!("a resync of a world at rest makes {} writes", after - before));
        }
        Ok(())
    }
}
