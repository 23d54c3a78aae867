//! What is plain at sight: promotions that may never run any more, and those that wait for a person.

use konfidence_types::{ApprovedReason, EventReason, SucceededReason, condition, condition_type};
use serde_json::{Value, json};

use super::Deciding;
use super::write::Outcome;
use crate::condition::{Moves, merge};
use crate::event::Severity;
use crate::promotion::state::Phase;
use crate::promotion::steps::Action;

/// Who takes another one's place: its name (if known) and vector.
pub(super) struct Successor {
    pub(super) name: Option<String>,
    pub(super) vector: String,
}

impl Deciding<'_> {
    /// What was executed is a floor (R5): a live promotion that is not in progress and whose sequence is not above that
    /// of a succeeded one, or of its Stage's record, came late and is never executed. Dropped, a hand-made low number
    /// rolls the Stage back (S3, trace T16). And of two that pin the same, the older one that nobody approved goes (P7).
    pub(super) fn supersede_on_sight(&mut self) {
        for index in 0..self.members.len() {
            if let Some(successor) = self.already_overtaken(index).or_else(|| self.repeated_by(index)) {
                self.supersede(index, &successor);
            }
        }
    }

    fn already_overtaken(&self, index: usize) -> Option<Successor> {
        let member = self.members.get(index).filter(|member| member.is_pending())?;
        let executed = self
            .members
            .iter()
            .rev()
            .find(|other| other.phase == Phase::Succeeded && member.is_covered_by(other.sequence()));
        if let Some(executed) = executed {
            return Some(Successor { name: Some(executed.name()), vector: executed.vector().to_owned() });
        }
        let stage = self.snapshot.target_stage(&member.stored.spec.target).ok()?;
        let record = self.snapshot.record_on(stage)?;
        let overtaken = record.promotion != member.uid() && member.is_covered_by(record.sequence);
        overtaken.then(|| Successor {
            name: self.members.iter().find(|other| other.uid() == record.promotion).map(super::member::Member::name),
            vector: record.vector,
        })
    }

    fn repeated_by(&self, index: usize) -> Option<Successor> {
        let member = self.members.get(index).filter(|member| member.is_pending() && member.phase == Phase::Waiting)?;
        let newest = self.newest_live()?;
        let repeats = newest.order() > member.order()
            && newest.vector() == member.vector()
            && newest.stored.spec.target == member.stored.spec.target;
        repeats.then(|| Successor { name: Some(newest.name()), vector: newest.vector().to_owned() })
    }

    /// Final: it can be neither approved nor executed any more (P29).
    pub(super) fn supersede(&mut self, index: usize, successor: &Successor) {
        let Some(member) = self.members.get(index) else { return };
        let by = successor.name.as_deref().unwrap_or("a newer promotion");
        let message = format!("vector {} is superseded by {by} with vector {}", member.vector(), successor.vector);
        self.write_outcome(
            index,
            Outcome {
                action: Action::Supersede,
                status: "False",
                reason: SucceededReason::PromotionSuperseded,
                message,
                also: successor.name.as_ref().map_or(Value::Null, |name| json!({"supersededBy": name})),
                event: Some((EventReason::PromotionSuperseded, Severity::Normal)),
            },
        );
    }

    /// P17: a promotion that a person has to approve says so from its first reconcile on.
    pub(super) fn await_approval(&mut self) {
        for index in 0..self.members.len() {
            let Some(member) = self.members.get(index) else { continue };
            let untold = member.phase == Phase::Waiting
                && !member.is_deleting()
                && condition(member.conditions(), condition_type::APPROVED).is_none();
            if untold {
                let approved = merge(
                    None,
                    condition_type::APPROVED,
                    ("False", ApprovedReason::WaitingForApproval.as_str()),
                    format!("vector {} waits for somebody's approval", member.vector()),
                    member.stored.metadata.generation,
                    Moves::OnReason,
                    self.now,
                );
                self.write_condition(index, Action::AwaitApproval, approved, Value::Null, None);
            }
        }
    }
}
