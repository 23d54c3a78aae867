//! What people, the clock and the garbage collector do. All of it is permitted by the API.

use std::fmt;

use futures::FutureExt;
use jiff::Timestamp;
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{Phase, approve, controller_uid, resume, suspend};
use konfidence_sdk::store::{Key, Precondition};
use konfidence_types::{VectorPromotion, VectorPromotionConfig};
use kube::core::ResourceExt;
use serde_json::json;

use crate::answer::{Request, Scope};
use crate::scenario::{self, AUTO, Left, PROJECT, Scenario};
use crate::server::{Effect, Server, carry_out, create, patch};
use crate::shelf::{Kind, View};

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The source gets its next vector.
    Publish,
    EditStage(usize),
    DeleteStage(usize),
    MakeStage(usize),
    Approve(String),
    MakePromotion(usize),
    DeletePromotion(String),
    DeleteConfig(usize),
    MakeConfig(usize),
    /// The collector removes a promotion whose owner is gone.
    Collect(String),
    Suspend(usize),
    Resume(usize),
    DeleteLandscape,
    /// It is made again, with another managed namespace.
    MakeLandscape,
    /// The server refuses every write to a Stage from now on.
    Refuse,
    Accept,
    /// The clock moves to its next instant.
    Wait,
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish => f.write_str("the source gets its next vector"),
            Self::EditStage(_) => f.write_str("somebody writes another vector on the Stage"),
            Self::DeleteStage(_) => f.write_str("somebody deletes the Stage"),
            Self::MakeStage(_) => f.write_str("somebody makes the Stage again"),
            Self::Approve(name) => write!(f, "somebody approves {name}"),
            Self::MakePromotion(_) => f.write_str("somebody makes a promotion by hand"),
            Self::DeletePromotion(name) => write!(f, "somebody deletes {name}"),
            Self::DeleteConfig(_) => f.write_str("somebody deletes the config"),
            Self::MakeConfig(_) => f.write_str("somebody makes the config again"),
            Self::Collect(name) => write!(f, "the garbage collector removes {name}"),
            Self::Suspend(_) => f.write_str("somebody suspends the config"),
            Self::Resume(_) => f.write_str("somebody resumes the config"),
            Self::DeleteLandscape => f.write_str("somebody deletes the Landscape"),
            Self::MakeLandscape => f.write_str("somebody makes the Landscape again, with another namespace"),
            Self::Refuse => f.write_str("the server begins to refuse writes to the Stage"),
            Self::Accept => f.write_str("the server accepts writes to the Stage again"),
            Self::Wait => f.write_str("time passes"),
        }
    }
}

/// What a deed changes.
pub(crate) struct Done {
    pub(crate) effects: Vec<Effect>,
    pub(crate) left: Left,
    pub(crate) refuses: bool,
}

impl Scenario {
    /// Everything that may be done now; the clock is the model's.
    pub(crate) fn deeds(&self, live: &View, left: &Left, refuses: bool) -> Vec<Deed> {
        let mut deeds = Vec::new();
        if left.vectors > 0 {
            deeds.push(Deed::Publish);
        }
        for (number, (namespace, name)) in self.stages.iter().enumerate() {
            let is_there = live.of(Kind::Stage).get(namespace, name).is_some();
            match is_there {
                true if left.edits > 0 => deeds.push(Deed::EditStage(number)),
                true => {}
                false => deeds.push(Deed::MakeStage(number)),
            }
            if is_there && left.stages > 0 {
                deeds.push(Deed::DeleteStage(number));
            }
        }
        self.promotion_deeds(live, left, &mut deeds);
        for (number, config) in self.configs.iter().enumerate() {
            let standing = live.of(Kind::Config).get(PROJECT, config.name);
            match standing.and_then(|it| it.parsed::<VectorPromotionConfig>()) {
                None => deeds.push(Deed::MakeConfig(number)),
                Some(standing) => {
                    if left.configs > 0 {
                        deeds.push(Deed::DeleteConfig(number));
                    }
                    if standing.spec.suspend == Some(true) {
                        deeds.push(Deed::Resume(number));
                    } else if left.suspends > 0 {
                        deeds.push(Deed::Suspend(number));
                    }
                }
            }
        }
        match live.of(Kind::Landscape).objects.is_empty() {
            true => deeds.push(Deed::MakeLandscape),
            false if left.landscapes > 0 => deeds.push(Deed::DeleteLandscape),
            false => {}
        }
        if refuses {
            deeds.push(Deed::Accept);
        } else if left.refusals > 0 {
            deeds.push(Deed::Refuse);
        }
        deeds
    }

    fn promotion_deeds(&self, live: &View, left: &Left, deeds: &mut Vec<Deed>) {
        for promotion in live.of(Kind::Promotion).all::<VectorPromotion>() {
            if promotion.spec.vector_promotion_config_name == "other" {
                continue;
            }
            let name = promotion.name_any();
            if left.approvals > 0 && Phase::of_promotion(&promotion) == Phase::Waiting {
                deeds.push(Deed::Approve(name.clone()));
            }
            if left.promotions > 0 {
                deeds.push(Deed::DeletePromotion(name.clone()));
            }
            if is_orphan(live, &promotion) {
                deeds.push(Deed::Collect(name));
            }
        }
        if left.hand_made > 0 {
            deeds.push(Deed::MakePromotion(self.hand_made.len() - usize::from(left.hand_made)));
        }
    }

    /// Does it. `None`: the API does not permit it now.
    pub(crate) fn perform(
        &self,
        deed: &Deed,
        live: &View,
        mut left: Left,
        refuses: bool,
        now: Timestamp,
    ) -> Option<Done> {
        let mut refuses = refuses;
        let effects = match deed {
            Deed::Publish => {
                let number = self.vectors + 1 - left.vectors;
                left.vectors -= 1;
                vec![publish(live, AUTO.source, number)?]
            }
            Deed::EditStage(stage) => {
                left.edits -= 1;
                let (namespace, name) = self.stages.get(*stage)?;
                let current = live.of(Kind::Stage).get(namespace, name)?;
                let vector = format!("edited:{}", left.edits);
                vec![patch(live, Kind::Stage, current, &json!({"spec": {"vector": vector}}), Scope::Main).ok()?]
            }
            Deed::DeleteStage(stage) => {
                left.stages -= 1;
                let (namespace, name) = self.stages.get(*stage)?;
                vec![delete(live, Kind::Stage, namespace, name)?]
            }
            Deed::MakeStage(stage) => {
                vec![create(live, Kind::Stage, scenario::stage(*self.stages.get(*stage)?), Scope::Main).ok()?]
            }
            Deed::Approve(name) => {
                left.approvals -= 1;
                let server = Server::new(live.clone());
                approve(&server, &now, &NoEvents, &Key::new(PROJECT, name), "anna").now_or_never()?.ok()?;
                server.take_effects()
            }
            Deed::MakePromotion(number) => {
                left.hand_made -= 1;
                let made = self.hand_made.get(*number)?;
                let config = self.flows().first()?.name().to_owned();
                let object = scenario::promotion(made.name, &config, made.sequence, made.target, made.gated);
                vec![create(live, Kind::Promotion, object, Scope::Main).ok()?]
            }
            Deed::DeletePromotion(name) => {
                left.promotions -= 1;
                vec![delete(live, Kind::Promotion, PROJECT, name)?]
            }
            Deed::Collect(name) => vec![delete(live, Kind::Promotion, PROJECT, name)?],
            Deed::DeleteConfig(config) => {
                left.configs -= 1;
                vec![delete(live, Kind::Config, PROJECT, self.configs.get(*config)?.name)?]
            }
            Deed::MakeConfig(config) => {
                vec![create(live, Kind::Config, scenario::config(self.configs.get(*config)?), Scope::Main).ok()?]
            }
            Deed::Suspend(config) => {
                left.suspends -= 1;
                let server = Server::new(live.clone());
                let key = Key::new(PROJECT, self.configs.get(*config)?.name);
                suspend(&server, &key).now_or_never()?.ok()?;
                server.take_effects()
            }
            Deed::Resume(config) => {
                let server = Server::new(live.clone());
                let key = Key::new(PROJECT, self.configs.get(*config)?.name);
                resume(&server, &key).now_or_never()?.ok()?;
                server.take_effects()
            }
            Deed::DeleteLandscape => {
                left.landscapes -= 1;
                vec![delete(live, Kind::Landscape, PROJECT, "eu")?]
            }
            Deed::MakeLandscape => {
                vec![create(live, Kind::Landscape, scenario::landscape("bakery-us"), Scope::Whole).ok()?]
            }
            Deed::Refuse => {
                left.refusals -= 1;
                refuses = true;
                Vec::new()
            }
            Deed::Accept => {
                refuses = false;
                Vec::new()
            }
            Deed::Wait => return None,
        };
        Some(Done { effects, left, refuses })
    }
}

/// The source gets the vector of that number.
pub(crate) fn publish(live: &View, source: &str, number: u8) -> Option<Effect> {
    let template = live.of(Kind::Template).get(PROJECT, source)?;
    let status = json!({"status": {"latestVector": scenario::vector(source, number)}});
    patch(live, Kind::Template, template, &status, Scope::Status).ok()
}

pub(crate) fn delete(live: &View, kind: Kind, namespace: &str, name: &str) -> Option<Effect> {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    let precondition = Precondition::default();
    carry_out(live, &Request::Delete { kind, namespace, name, precondition }).ok()
}

/// Whether the collector may remove it: its owner is gone.
pub(crate) fn is_orphan(live: &View, promotion: &VectorPromotion) -> bool {
    controller_uid(promotion).is_some_and(|owner| !live.of(Kind::Config).objects.iter().any(|it| it.uid() == owner))
}

/// The Stages of the scenario that are not there.
pub(crate) fn missing_stages(scenario: &Scenario, live: &View) -> Vec<(&'static str, &'static str)> {
    let is_missing = |(namespace, name): &&(&str, &str)| live.of(Kind::Stage).get(namespace, name).is_none();
    scenario.stages.iter().filter(is_missing).copied().collect()
}
