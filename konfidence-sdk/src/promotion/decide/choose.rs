//! Which promotion is next, and its start (P24 to P27, P32, P34; R3, R4).
//!
//! ```text
//!   members by sequence:   1 Waiting   2 Ready   3 Waiting   4 Ready   5 Waiting
//!                              |          |          |          |         |
//!                          superseded superseded superseded   next   not touched
//! ```
//!
//! The choice depends on the members' stored content alone. A target that does not resolve stops the whole config; it
//! never lets a lower one pass (trace T3).

use konfidence_types::{EventReason, SucceededReason};
use serde_json::json;

use super::Deciding;
use super::execute::stage_reference;
use super::sight::Successor;
use super::write::Outcome;
use crate::event::Severity;
#[cfg(test)]
use crate::promotion::flaw;
use crate::promotion::reference::Missing;
use crate::promotion::setback::During;
use crate::promotion::state::Phase;
use crate::promotion::steps::Action;

/// So many startable promotions come before a creation, or a source that changes all the time starves execution (P25).
const START_FIRST: usize = 8;

impl Deciding<'_> {
    /// The highest promotion whose gates have passed, if anything may start at all.
    pub(super) fn next(&self) -> Option<usize> {
        flawed!(StartsBesideOneInProgress => return self.members.iter().rposition(super::member::Member::may_start));
        let config_is_going = self.snapshot.config.found().is_some() && self.config().is_none();
        if self.was_in_progress || self.is_suspended() || config_is_going {
            return None;
        }
        flawed!(LowerOvertakesBlocked => return flaw::highest_that_resolves(self));
        self.members.iter().rposition(super::member::Member::may_start)
    }

    /// Whether so many could start that creating has to wait.
    pub(super) fn starts_first(&self) -> bool {
        let crowded = self.members.iter().filter(|member| member.may_start()).count() >= START_FIRST;
        crowded
            && self
                .next()
                .and_then(|index| self.members.get(index))
                .is_some_and(|next| self.snapshot.target_stage(&next.stored.spec.target).is_ok())
    }

    /// Starts, or blocks, the next one. Answers whether nothing is left to start after this plan.
    pub(super) fn start_next(&mut self) -> bool {
        let Some(index) = self.next() else {
            // Finished in this very plan: the next one starts in the next decision, whose view shows that (R4).
            let still_running = self.members.iter().any(|member| member.phase == Phase::InProgress);
            let waiting = self.members.iter().any(super::member::Member::may_start);
            return still_running || !waiting || self.is_suspended();
        };
        let Some(next) = self.members.get(index) else { return true };
        let snapshot = self.snapshot;
        match snapshot.target_stage(&next.stored.spec.target) {
            Err(missing) => self.block(index, &missing),
            Ok(stage) => {
                let successor = Successor { name: Some(next.name()), vector: next.vector().to_owned() };
                // Each on the version that chose its successor: the lower promotion is the lock of S1.
                for lower in 0..index {
                    flawed!(SupersedesNobody => break);
                    if self.members.get(lower).is_some_and(super::member::Member::is_pending) {
                        self.supersede(lower, &successor);
                    }
                }
                let Some(next) = self.members.get(index) else { return true };
                let message = format!("vector {} is being written to Stage {}", next.vector(), stage_name(stage));
                self.write_outcome(
                    index,
                    Outcome {
                        action: Action::Start,
                        status: "False",
                        reason: SucceededReason::PromotionRunning,
                        message,
                        also: json!({"promotedStageRef": stage_reference(stage)}),
                        event: Some((EventReason::PromotionStarted, Severity::Normal)),
                    },
                );
                self.write_stage(index, stage, Action::WriteStage(During::Start));
                self.finish(index, &crate::store::Key::of(&**stage));
                flawed!(SupersedesAfterStart => flaw::supersede_last(&mut self.plan.steps));
            }
        }
        true
    }

    /// Gates passed, and the target does not resolve; it supersedes nobody. What does not parse is waited for instead.
    fn block(&mut self, index: usize, missing: &Missing) {
        let Some(next) = self.members.get(index) else { return };
        let message = format!("vector {} waits: {missing}", next.vector());
        let told = next.succeeded().is_some_and(|told| told.message == message);
        if matches!(missing, Missing::Unreadable(_)) || (next.phase == Phase::Blocked && told) {
            return;
        }
        let event = (next.phase != Phase::Blocked).then_some((EventReason::PromotionBlocked, Severity::Warning));
        self.write_outcome(
            index,
            Outcome {
                action: Action::Block,
                status: "False",
                reason: SucceededReason::PromotionTargetUnresolved,
                message,
                also: serde_json::Value::Null,
                event,
            },
        );
    }
}

fn stage_name(stage: &konfidence_types::Stage) -> String {
    crate::store::Key::of(stage).to_string()
}
