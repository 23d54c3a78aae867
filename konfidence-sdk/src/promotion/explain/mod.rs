//! What a config or a promotion waits for, and what happens next: from the decision itself, in words for people (P48).
//!
//! There is no rule here. The decision is run on the snapshot, and what it made of drift, of each member and of the
//! plan is told. A doubt that nobody has settled is taken as settled in favour of the view, and told as what is read
//! live first.

mod drift;
mod promotion;
mod words;

use std::fmt;

use jiff::Timestamp;
use kube::core::ResourceExt;
use serde::Serialize;

pub use drift::Drift;
pub use promotion::{Ended, Execution, Place, PromotionExplanation, Wait};
pub use words::NextStep;

use self::words::{indented, listed};
use super::decide::Deciding;
use super::make::requires_approval;
use super::reference::Missing;
use super::snapshot::Snapshot;
use super::state::Phase;
use super::verify::{Doubt, Verdict};

/// Where a config stands. [`Display`](fmt::Display) tells it in a few lines; serialized it is the same as data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `namespace/name`.
    pub config: String,
    /// What it promotes; absent while there is no readable config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// What becomes of the source's vector.
    pub drift: Drift,
    /// Its live promotions, newest first.
    pub promotions: Vec<PromotionExplanation>,
    /// The newest one that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<PromotionExplanation>,
    /// What is read live before anything is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads_first: Vec<String>,
    /// What is written next, in order; empty: nothing, until something changes or `next_at` comes.
    pub next: Vec<NextStep>,
    /// When that is. Absent: when something changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// From where to where, and with which gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flow {
    /// `VectorTemplate menu`, `Stage eu/dev`.
    pub source: String,
    /// What the source has. Absent: nothing, or there is no source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_vector: Option<String>,
    /// Why there is no source to have something: `does not exist`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_trouble: Option<String>,
    /// `Stage eu/test`.
    pub target: String,
    /// What the target has. Absent: nothing, or there is no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_vector: Option<String>,
    /// Why there is no target to have something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_trouble: Option<String>,
    /// Whether a person approves each promotion that is made from now on.
    pub requires_approval: bool,
    /// Whether nothing is created and started.
    pub suspended: bool,
}

/// Explains the config of `snapshot` at `now`. Pure; writes nothing.
///
/// ```
/// use konfidence_sdk::promotion::{Snapshot, explain};
/// use konfidence_sdk::store::Key;
///
/// let nothing = Snapshot::empty(Key::new("bakery", "menu-to-dev"));
/// let noon = "2026-03-01T12:00:00Z".parse().unwrap();
/// let told = explain(&nothing, noon).to_string();
/// assert!(told.starts_with("config bakery/menu-to-dev\n  drift: the config does not exist"), "{told}");
/// ```
pub fn explain(snapshot: &Snapshot, now: Timestamp) -> Explanation {
    with_decision(snapshot, now, |case| {
        let mut newest_first: Vec<_> = case.deciding.members.iter().rev().collect();
        let live = |member: &&super::decide::member::Member| !Phase::of_promotion(&member.stored).is_terminal();
        let last = newest_first.iter().find(|member| !live(member)).map(|member| case.promotion(&member.stored));
        newest_first.retain(live);
        let plan = &case.deciding.plan;
        Explanation {
            config: snapshot.key.to_string(),
            flow: flow(snapshot),
            drift: case.drift(),
            promotions: newest_first.iter().map(|member| case.promotion(&member.stored)).collect(),
            last,
            reads_first: case.reads_first.iter().map(words::doubt).collect(),
            next: plan.steps.iter().map(NextStep::of).collect(),
            next_at: if plan.steps.is_empty() { plan.wake_up } else { Some(now) },
        }
    })
}

/// Explains one promotion of `snapshot` at `now`, whether or not it is a member of the config. `None`: the snapshot has
/// no readable one of that name.
///
/// ```
/// use konfidence_sdk::promotion::{Snapshot, explain_promotion};
/// use konfidence_sdk::store::Key;
///
/// let nothing = Snapshot::empty(Key::new("bakery", "menu-to-dev"));
/// let noon = "2026-03-01T12:00:00Z".parse().unwrap();
/// assert_eq!(explain_promotion(&nothing, noon, "menu-to-dev-1"), None);
/// ```
pub fn explain_promotion(snapshot: &Snapshot, now: Timestamp, name: &str) -> Option<PromotionExplanation> {
    let promotion = snapshot.promotions.iter().find(|promotion| promotion.name_any() == name)?;
    Some(with_decision(snapshot, now, |case| case.promotion(promotion)))
}

/// A decision that was run, and what it would have read live first.
struct Case<'a> {
    deciding: Deciding<'a>,
    reads_first: Vec<Doubt>,
}

fn with_decision<T>(snapshot: &Snapshot, now: Timestamp, tell: impl FnOnce(&Case<'_>) -> T) -> T {
    let mut settled = snapshot.clone();
    let mut reads_first = Vec::new();
    while let Some(doubt) = Deciding::run(&settled, now).err() {
        let verdict = match &doubt {
            Doubt::Initialise => {
                let held = settled.promotions.iter().map(|promotion| promotion.spec.sequence);
                Verdict::Highest(held.max().unwrap_or(0))
            }
            _ => Verdict::Agrees,
        };
        reads_first.push(doubt.clone());
        if settled.confirmed.insert(doubt, verdict).is_some() {
            break;
        }
    }
    let deciding = Deciding::run(&settled, now).unwrap_or_else(|_| Deciding::new(&settled, now));
    tell(&Case { deciding, reads_first })
}

fn flow(snapshot: &Snapshot) -> Option<Flow> {
    let config = snapshot.config.found()?;
    let filled = |vector: String| Some(vector).filter(|vector| !vector.is_empty());
    let source = snapshot.source(&config.spec.source).map(|source| source.vector);
    let target = snapshot.target_stage(&config.spec.target).map(|stage| stage.spec.vector.clone());
    let trouble = |of: &Result<String, Missing>| of.as_ref().err().map(|missing| missing.predicate().to_owned());
    Some(Flow {
        source: config.spec.source.to_string(),
        source_trouble: trouble(&source),
        source_vector: source.ok().and_then(filled),
        target: config.spec.target.to_string(),
        target_trouble: trouble(&target),
        target_vector: target.ok().and_then(filled),
        requires_approval: requires_approval(config),
        suspended: config.spec.suspend == Some(true),
    })
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |vector: &Option<String>, trouble: &Option<String>| match (vector, trouble) {
            (Some(vector), _) => format!("vector {vector}"),
            (None, Some(trouble)) => trouble.clone(),
            (None, None) => "no vector".to_owned(),
        };
        let gate = if self.requires_approval { "after approval" } else { "automatically" };
        write!(
            f,
            "promotes from {} ({}) to {} ({}) {gate}",
            self.source,
            has(&self.source_vector, &self.source_trouble),
            self.target,
            has(&self.target_vector, &self.target_trouble)
        )
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "config {}", self.config)?;
        if let Some(flow) = &self.flow {
            write!(f, " {flow}")?;
        }
        write!(f, "\n  drift: {}", self.drift)?;
        // What becomes of drift is said already.
        let told =
            |promotion: &PromotionExplanation| indented(&PromotionExplanation { drift: None, ..promotion.clone() });
        for promotion in &self.promotions {
            write!(f, "\n  {}", told(promotion))?;
        }
        if let Some(last) = &self.last {
            write!(f, "\n  last: {}", told(last))?;
        }
        if !self.reads_first.is_empty() {
            write!(f, "\n  first read live: {}", self.reads_first.join("; "))?;
        }
        match (self.next.is_empty(), self.next_at) {
            (false, _) => write!(f, "\n  next: {}", listed(&self.next, "; ")),
            (true, Some(at)) => write!(f, "\n  next: nothing before {at}, unless something changes"),
            (true, None) => write!(f, "\n  next: nothing, until something changes"),
        }
    }
}
