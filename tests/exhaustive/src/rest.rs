//! S6: whatever happened, one controller with newest views brings the world to rest.
//!
//! From the present state of every state of the search: people give the approvals that are waited for, the collector
//! does its work, deleted Stages come back, the server accepts writes, and time passes as far as it is waited for. Then
//! nothing is left to do, and the target has the source's vector.
//!
//! Where two flows put different vectors on one Stage the world never comes to rest: there the run goes on for an hour,
//! and what that costs is bounded (P51).
//!
//! The run depends on the present state alone and each of its steps is such a state again, so what came to rest once is
//! not run again.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{Phase, apply, approve, controller_uid};
use konfidence_sdk::sim::Violation;
use konfidence_sdk::store::Key;
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use kube::core::ResourceExt;
use nohash_hasher::NoHashHasher;

use crate::answer::Scope;
use crate::check::violates;
use crate::model::Exploration;
use crate::people::{delete, is_orphan, missing_stages};
use crate::scenario::{self, PROJECT};
use crate::server::{Server, create};
use crate::shelf::{Kind, View, hash_of, mix};
use crate::world::World;

/// So many things at most happen on the way to rest.
const STEPS: usize = 200;
/// So long a contest is watched.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// At most so many promotions of one config are made in the hour after whatever happened: what is due at once, and then
/// corrections after 0, 1, 3, 7, 15 and 31 minutes.
const PROMOTIONS_AN_HOUR: i64 = 8;

/// Present states that come to rest.
pub(crate) type Rested = HashSet<u64, BuildHasherDefault<NoHashHasher<u64>>>;

impl Exploration {
    /// What does not hold in this state, if anything.
    pub(crate) fn violation(&self, world: &World) -> Option<Violation> {
        if let Some(violation) = &world.broken {
            return Some(Violation::clone(violation));
        }
        self.comes_to_rest(&Server::new(world.live()), self.instant(world.now), &mut |_| {}).err()
    }

    /// Brings a world without a vector to rest: its configs are told where they start.
    pub(crate) fn initialise(&self, server: &Server) {
        let now = self.instant(0);
        for flow in 0..self.flows.len() {
            while self.reconcile(server, flow, now).is_ok_and(|done| done.is_some()) {}
        }
    }

    /// Runs until nothing is left to do; `told` hears of each step.
    pub(crate) fn comes_to_rest(
        &self,
        server: &Server,
        now: Timestamp,
        told: &mut dyn FnMut(String),
    ) -> Result<(), Violation> {
        let mut now = now;
        let mut trail = Vec::new();
        let contest = self.scenario.is_contested().then(|| (now.saturating_add(HOUR).unwrap_or(now), server.live()));
        for _ in 0..STEPS {
            let live = server.live();
            let state = mix(live.hash(), hash_of(&now.as_second()));
            if self.rested.lock().is_ok_and(|rested| rested.contains(&state)) {
                self.remember(&trail);
                return Ok(());
            }
            if contest.is_none() || trail.is_empty() {
                trail.push(state);
            }
            if self.repair(server, &live, told) {
                continue;
            }
            let mut wake_up = None;
            let mut is_busy = false;
            for flow in 0..self.flows.len() {
                if let Some(done) = self.reconcile(server, flow, now)? {
                    told(done);
                    is_busy = true;
                    break;
                }
                let planned = self.plan_of(&live, flow, now);
                wake_up = [wake_up, planned.plan.wake_up].into_iter().flatten().min();
            }
            if is_busy || self.approve_newest(server, &live, now, told) {
                continue;
            }
            if let Some(at) = wake_up {
                if at <= now {
                    return violates("P50", format!("a controller wakes up at {at}, which is not after {now}"));
                }
                if let Some((until, before)) = &contest
                    && at >= *until
                {
                    self.costs_little(before, &live)?;
                    self.remember(&trail);
                    return Ok(());
                }
                now = at;
                told(format!("time passes until {now}"));
                continue;
            }
            self.is_at_rest(&live)?;
            self.remember(&trail);
            return Ok(());
        }
        violates("S6", format!("after {STEPS} steps without a fault the world is not at rest"))
    }

    /// P51: how many promotions an hour of contest has made.
    fn costs_little(&self, before: &View, after: &View) -> Result<(), Violation> {
        for flow in &self.flows {
            let highest = |view: &View| {
                let all = view.of(Kind::Promotion).all::<VectorPromotion>();
                let own = all.filter(|it| it.spec.vector_promotion_config_name == flow.name());
                own.map(|it| it.spec.sequence).max().unwrap_or(0)
            };
            let made = highest(after) - highest(before);
            if made > PROMOTIONS_AN_HOUR {
                return violates("P51", format!("{} makes {made} promotions within an hour", flow.name()));
            }
        }
        Ok(())
    }

    fn remember(&self, trail: &[u64]) {
        if let Ok(mut rested) = self.rested.lock() {
            rested.extend(trail);
        }
    }

    /// One decision from newest views, written to its end. Answers what was done, if anything.
    fn reconcile(&self, server: &Server, flow: usize, now: Timestamp) -> Result<Option<String>, Violation> {
        let planned = self.plan_of(&server.live(), flow, now);
        if planned.plan.steps.is_empty() {
            return Ok(None);
        }
        let applied = apply(server, &planned.plan).now_or_never();
        server.take_effects();
        let written = applied.map(|applied| applied.written).unwrap_or_default();
        let actions: Vec<_> = written.iter().map(|written| format!("{:?}", written.action)).collect();
        if written.len() < planned.plan.steps.len() {
            let what =
                format!("a plan from the newest views stops after {}: {:?}", actions.join(", "), planned.plan.steps);
            return violates("S6", what);
        }
        Ok(Some(format!("the controller: {}", actions.join(", "))))
    }

    /// The collector's work, and what people put back. Answers whether anything was to be done.
    fn repair(&self, server: &Server, live: &View, told: &mut dyn FnMut(String)) -> bool {
        let orphan = live.of(Kind::Promotion).all::<VectorPromotion>().find(|promotion| is_orphan(live, promotion));
        if let Some(orphan) = orphan {
            told(format!("the garbage collector removes {}", orphan.name_any()));
            server.put(
                delete(live, Kind::Promotion, PROJECT, &orphan.name_any()).ok_or(crate::server::Refused::NotFound),
            );
            return true;
        }
        if let Some(stage) = missing_stages(&self.scenario, live).first() {
            told(format!("Stage {} is made again", stage.1));
            server.put(create(live, Kind::Stage, scenario::stage(*stage), Scope::Main));
            return true;
        }
        if live.of(Kind::Landscape).objects.is_empty() {
            told("the Landscape is made again".to_owned());
            server.put(create(live, Kind::Landscape, scenario::landscape("bakery-us"), Scope::Whole));
            return true;
        }
        false
    }

    /// Approves the newest promotion of each flow that waits for it. Answers whether there was one.
    fn approve_newest(&self, server: &Server, live: &View, now: Timestamp, told: &mut dyn FnMut(String)) -> bool {
        let members = live.of(Kind::Promotion).all::<VectorPromotion>();
        let waiting = members.filter(|it| {
            Phase::of_promotion(it) == Phase::Waiting
                && self.flows.iter().any(|flow| flow.name() == it.spec.vector_promotion_config_name)
        });
        let Some(newest) = waiting.max_by_key(|it| it.spec.sequence) else { return false };
        told(format!("{} is approved", newest.name_any()));
        let key = Key::new(PROJECT, newest.name_any());
        approve(server, &now, &NoEvents, &key, "anna").now_or_never().is_some_and(|approved| approved.is_ok())
    }

    fn is_at_rest(&self, live: &View) -> Result<(), Violation> {
        for flow in &self.flows {
            let config = live.of(Kind::Config).get(flow.namespace(), flow.name());
            let config = config.and_then(|it| it.parsed::<VectorPromotionConfig>());
            let is_suspended = config.as_ref().is_some_and(|config| config.spec.suspend == Some(true));
            let members = members(live, flow, config.as_deref());
            in_order(&members, is_suspended)?;
            let Some(config) = config.filter(|_| !is_suspended) else { continue };
            let highest = members.last().map_or(0, |(newest, _)| newest.spec.sequence);
            let stored = config.status.as_ref().and_then(|status| status.sequence);
            if stored.unwrap_or(-1) < highest {
                return violates("R14", format!("the config says sequence {stored:?}, not {highest}"));
            }
            let source = live.of(Kind::Template).get(PROJECT, &config.spec.source.name);
            let source = source.and_then(|it| it.parsed::<VectorTemplate>()?.status.as_ref()?.latest_vector.clone());
            let source = source.unwrap_or_default();
            let stage = target(live, &config);
            if let Some(stage) = stage.filter(|stage| stage.spec.vector != source) {
                let what = format!("at rest the source has {source} and the target {}", stage.spec.vector);
                return violates("S6", what);
            }
        }
        Ok(())
    }
}

/// The members of a flow with their phases, lowest first.
fn members(
    live: &View,
    flow: &Key<VectorPromotionConfig>,
    config: Option<&VectorPromotionConfig>,
) -> Vec<(Arc<VectorPromotion>, Phase)> {
    let owner = config.and_then(ResourceExt::uid);
    let own = live.of(Kind::Promotion).all::<VectorPromotion>().filter(|it| {
        it.spec.vector_promotion_config_name == flow.name()
            && controller_uid(it).is_none_or(|uid| Some(uid) == owner.as_deref())
    });
    let mut members: Vec<_> = own.map(|it| (Arc::clone(&it), Phase::of_promotion(&it))).collect();
    members.sort_by_key(|(it, _)| (it.spec.sequence, it.uid()));
    members
}

/// Nothing runs, nothing that could run waits, and nothing live is older than what succeeded.
fn in_order(members: &[(Arc<VectorPromotion>, Phase)], is_suspended: bool) -> Result<(), Violation> {
    let succeeded = members.iter().rev().find(|(_, phase)| *phase == Phase::Succeeded);
    for (promotion, phase) in members {
        let name = promotion.name_any();
        if *phase == Phase::InProgress {
            return violates("S6", format!("{name} is in progress for ever"));
        }
        if phase.is_terminal() {
            continue;
        }
        if succeeded.is_some_and(|(succeeded, _)| promotion.spec.sequence <= succeeded.spec.sequence) {
            return violates("S6", format!("{name} is {phase:?} for ever, below what succeeded"));
        }
        if !is_suspended {
            return violates("S6", format!("{name} is {phase:?} for ever"));
        }
    }
    Ok(())
}

fn target(live: &View, config: &VectorPromotionConfig) -> Option<Arc<Stage>> {
    let target = &config.spec.target;
    let landscape =
        live.of(Kind::Landscape).get(PROJECT, &target.landscape)?.parsed::<konfidence_types::Landscape>()?;
    let namespace = landscape.status.as_ref()?.namespace.clone()?;
    live.of(Kind::Stage).get(&namespace, &target.name)?.parsed()
}
