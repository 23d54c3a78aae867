//! A small world: what is in it at first, and what may happen to it.

use std::collections::BTreeSet;

use konfidence_sdk::store::Key;
use konfidence_types::VectorPromotionConfig;
use serde_json::{Value, json};

use crate::check::Numbers;
use crate::shelf::Kind;

pub(crate) const PROJECT: &str = "bakery";
const GROUP: &str = "konfidence.cloud";

/// What is there at first, and how often each thing may happen.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// As the specification's table names it.
    pub name: &'static str,
    /// In a few words.
    pub about: &'static str,
    /// The flows that are declared.
    pub configs: &'static [Config],
    /// The Stages, by namespace and name.
    pub stages: &'static [(&'static str, &'static str)],
    /// How many vectors the source holds, one after the other; the first is there from the start.
    pub vectors: u8,
    /// The instants that the clock shows, in seconds.
    pub instants: &'static [i64],
    /// How many changes of its kind a view may be behind; `None`: any number.
    pub old: Option<usize>,
    /// How often each thing may happen.
    pub left: Left,
    /// Promotions that a person makes by hand, in this order.
    pub hand_made: &'static [HandMade],
    /// Names of promotions of another flow that are there at first.
    pub foreign: &'static [&'static str],
    /// How much of P13 is promised.
    pub numbers: Numbers,
    /// Whether conditions and mirrors of the config's status are kept, which no rule reads.
    pub reports: bool,
    /// Whether controllers watched the source all the time (P8).
    pub watches: bool,
    /// Whether settled moments are forgotten, where that loses nothing.
    pub is_reduced: bool,
}

/// One declared flow to dev.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// The template that it follows.
    pub source: &'static str,
    /// Whether a person approves.
    pub gated: bool,
    /// How many finished promotions are kept.
    pub keep: i64,
}

/// A promotion without an owner.
#[derive(Clone, Copy, Debug)]
pub struct HandMade {
    /// Its name.
    pub name: &'static str,
    /// Its sequence.
    pub sequence: i64,
    /// The Stage in the Landscape `eu` that it goes to.
    pub target: &'static str,
    /// Whether a person approves.
    pub gated: bool,
}

/// How often each thing may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// The source gets its next vector.
    pub vectors: u8,
    /// Somebody writes another vector on a Stage.
    pub edits: u8,
    /// Somebody deletes a Stage; it can always be made again.
    pub stages: u8,
    /// Somebody deletes a promotion.
    pub promotions: u8,
    /// Somebody deletes a config; it can always be made again under its name.
    pub configs: u8,
    /// Somebody approves a promotion.
    pub approvals: u8,
    /// The promotions of [`Scenario::hand_made`] that are still to be made.
    pub hand_made: u8,
    /// Somebody suspends a config; it can always be resumed.
    pub suspends: u8,
    /// Somebody deletes the Landscape; it can always be made again, with another managed namespace.
    pub landscapes: u8,
    /// The server begins to refuse writes to Stages; it can always end that.
    pub refusals: u8,
    /// A controller writes a condition of the config that its newest view would not write.
    pub reports: u8,
    /// A controller makes a promotion.
    pub creations: u8,
    /// A controller writes a fence that no retirement can follow, because the promotion has changed.
    pub fences: u8,
}

/// From the template to dev.
pub const AUTO: Config = Config { name: "menu-to-dev", source: "menu", gated: false, keep: 10 };
/// The same, where a person approves.
pub const GATED: Config = Config { gated: true, ..AUTO };
/// What every world is made from: one automatic flow, one vector, a clock that stands.
pub const BASE: Scenario = Scenario {
    name: "",
    about: "",
    configs: &[AUTO],
    stages: &[("bakery-eu", "dev")],
    vectors: 1,
    instants: &[0],
    old: None,
    left: Left {
        vectors: 0,
        edits: 0,
        stages: 0,
        promotions: 0,
        configs: 0,
        approvals: 0,
        hand_made: 0,
        suspends: 0,
        landscapes: 0,
        refusals: 0,
        reports: 1,
        creations: 3,
        fences: 1,
    },
    hand_made: &[],
    foreign: &[],
    numbers: Numbers::Exact,
    reports: false,
    watches: false,
    is_reduced: true,
};

impl Scenario {
    /// What may happen in the beginning.
    pub(crate) fn left(&self) -> Left {
        let hand_made = u8::try_from(self.hand_made.len()).unwrap_or(u8::MAX);
        Left { vectors: self.vectors.saturating_sub(1), hand_made, ..self.left }
    }

    /// Whether people or the collector may remove promotions.
    pub(crate) fn removes(&self) -> bool {
        self.left.promotions > 0 || self.left.configs > 0
    }

    /// Whether a promotion that is made later has a higher number.
    pub(crate) fn numbers_promotions_in_order(&self) -> bool {
        self.hand_made.is_empty() && !self.removes() && self.configs.iter().all(|config| config.keep >= 10)
    }

    /// Whether there is one vector for ever.
    pub(crate) fn has_one_vector(&self) -> bool {
        self.vectors == 1 && self.sources().len() == 1
    }

    /// Whether two flows put different vectors on one Stage: such a world never comes to rest (P51).
    pub(crate) fn is_contested(&self) -> bool {
        self.sources().len() > 1
    }

    /// The templates.
    pub(crate) fn sources(&self) -> BTreeSet<&'static str> {
        self.configs.iter().chain([&AUTO]).map(|config| config.source).collect()
    }

    /// The units of serialization: each config, and the name that hand-made promotions without one carry.
    pub(crate) fn flows(&self) -> Vec<Key<VectorPromotionConfig>> {
        let loose = self.configs.is_empty().then_some(AUTO.name);
        self.configs.iter().map(|config| config.name).chain(loose).map(|name| Key::new(PROJECT, name)).collect()
    }

    /// The objects that are there before the first vector.
    pub(crate) fn objects(&self) -> Vec<(Kind, Value)> {
        let mut objects = vec![(Kind::Landscape, landscape("bakery-eu"))];
        objects.extend(self.sources().into_iter().map(|source| (Kind::Template, template(source))));
        objects.extend(self.stages.iter().map(|place| (Kind::Stage, stage(*place))));
        objects.extend(self.configs.iter().map(|of| (Kind::Config, config(of))));
        let foreign = self.foreign.iter().zip(1..);
        objects
            .extend(foreign.map(|(name, sequence)| (Kind::Promotion, promotion(name, "other", sequence, "dev", true))));
        objects
    }
}

pub(crate) fn vector(source: &str, number: u8) -> String {
    format!("{source}:{number}")
}

pub(crate) fn landscape(namespace: &str) -> Value {
    json!({"metadata": {"namespace": PROJECT, "name": "eu"}, "spec": {}, "status": {"namespace": namespace}})
}

fn template(name: &str) -> Value {
    json!({
        "metadata": {"namespace": PROJECT, "name": name},
        "spec": {"uploadTarget": "registry.example/bakery//menu", "components": [{"name": "oven:latest"}]},
        "status": {"latestVector": ""},
    })
}

pub(crate) fn stage((namespace, name): (&str, &str)) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"vector": ""}})
}

pub(crate) fn config(config: &Config) -> Value {
    json!({
        "metadata": {"namespace": PROJECT, "name": config.name},
        "spec": {
            "source": {"kind": "VectorTemplate", "name": config.source},
            "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
            "requireApproval": config.gated,
            "keepLastPromotions": config.keep,
        },
    })
}

/// A promotion without an owner, of a vector that no source has.
pub(crate) fn promotion(name: &str, config: &str, sequence: i64, target: &str, gated: bool) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "metadata": {"namespace": PROJECT, "name": name},
        "spec": {
            "vectorPromotionConfigName": config,
            "source": {"kind": "VectorTemplate", "name": "menu"},
            "target": {"kind": "Stage", "landscape": "eu", "name": target},
            "vector": format!("by-hand:{name}"),
            "requireApproval": gated,
            "sequence": sequence,
        },
    })
}
