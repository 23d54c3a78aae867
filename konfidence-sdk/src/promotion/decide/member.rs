//! A member of the config as the decision sees it: what is stored, and what the plan's own steps so far make of it.

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_types::{Condition, VectorPromotion, condition, condition_type};
use kube::core::ResourceExt;

use crate::promotion::state::{Phase, conditions_of, gate_is_open};
use crate::store::{Key, Version};

/// One member.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// As it was read.
    pub(crate) stored: Arc<VectorPromotion>,
    /// Its conditions after the plan's steps so far, where one of them wrote any: nearly no member of a long list is
    /// written, and a copy of all would be most of what a decision costs.
    written: Option<Vec<Condition>>,
    /// Its phase after the plan's steps so far.
    pub(crate) phase: Phase,
    /// Its phase as it was read. Drift goes by this one: until the view shows a success, it also lacks the Stage's new
    /// vector, and a plan that mixed the two would make the same promotion again.
    pub(crate) viewed: Phase,
}

impl Member {
    pub(crate) fn new(stored: &Arc<VectorPromotion>) -> Self {
        Self {
            written: None,
            phase: Phase::of_promotion(stored),
            viewed: Phase::of_promotion(stored),
            stored: Arc::clone(stored),
        }
    }

    /// Its conditions after the plan's steps so far.
    pub(crate) fn conditions(&self) -> &[Condition] {
        self.written.as_deref().unwrap_or_else(|| conditions_of(&self.stored))
    }

    /// Goes on with these conditions.
    pub(crate) fn write(&mut self, conditions: Vec<Condition>) {
        self.phase = Phase::of(&conditions, self.stored.spec.require_approval);
        self.written = Some(conditions);
    }

    /// The total order of a config's promotions: the sequence alone, equal ones (hand-made) by uid.
    pub(crate) fn order(&self) -> (i64, &str) {
        (self.stored.spec.sequence, self.uid())
    }

    pub(crate) fn sequence(&self) -> i64 {
        self.stored.spec.sequence
    }

    /// Whether the execution of number `executed` covers this one: what was executed is a floor, and an equal number is
    /// not above it (R5). It may be an outdated vector made again under its old name (trace T17).
    pub(crate) fn is_covered_by(&self, executed: i64) -> bool {
        flawed!(NoFloor => return false);
        flawed!(EqualIsAboveFloor => return executed > self.sequence());
        executed >= self.sequence()
    }

    pub(crate) fn uid(&self) -> &str {
        self.stored.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> String {
        self.stored.name_any()
    }

    pub(crate) fn vector(&self) -> &str {
        &self.stored.spec.vector
    }

    pub(crate) fn key(&self) -> Key<VectorPromotion> {
        Key::of(&*self.stored)
    }

    pub(crate) fn version(&self) -> Version {
        Version::of(&*self.stored)
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.stored.metadata.deletion_timestamp.is_some()
    }

    /// Live, not being executed and not going away: may be superseded.
    pub(crate) fn is_pending(&self) -> bool {
        !self.phase.is_terminal() && self.phase != Phase::InProgress && !self.is_deleting()
    }

    /// May be chosen: every gate has passed, whether or not the target resolved last time (P25).
    pub(crate) fn may_start(&self) -> bool {
        flawed!(GateIsOpen => return self.is_pending());
        matches!(self.phase, Phase::Ready | Phase::Blocked)
            && gate_is_open(self.conditions(), self.stored.spec.require_approval)
            && !self.is_deleting()
    }

    pub(crate) fn succeeded(&self) -> Option<&Condition> {
        condition(self.conditions(), condition_type::SUCCEEDED)
    }

    /// When `Succeeded` last moved; what deadlines, delays and TTLs count from (P21).
    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.succeeded().map(|succeeded| succeeded.last_transition_time.0)
    }

    /// A number that an annotation holds; 0 when it is absent or no number.
    pub(crate) fn count(&self, annotation: &str) -> u32 {
        self.stored.annotations().get(annotation).and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}
