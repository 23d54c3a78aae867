//! How decisions become writes: the patches, and the projection of what they leave behind.

use konfidence_types::{Condition, EventReason, Stage, SucceededReason, annotation, condition_type};
use serde_json::{Value, json};

use super::Deciding;
use super::member::Member;
use crate::condition::{Moves, merge, with};
use crate::event::{Event, Severity};
#[cfg(test)]
use crate::promotion::flaw;
use crate::promotion::record::Record;
use crate::promotion::steps::{Action, Step, Write};
use crate::store::{Key, ObjectRef, Patch, Version};

/// A new `Succeeded` condition and what goes with it.
pub(super) struct Outcome {
    pub(super) action: Action,
    pub(super) status: &'static str,
    pub(super) reason: SucceededReason,
    pub(super) message: String,
    /// Further fields of the status.
    pub(super) also: Value,
    /// `None`: the transition was told before.
    pub(super) event: Option<(EventReason, Severity)>,
}

impl Deciding<'_> {
    pub(super) fn push(&mut self, action: Action, subject: String, write: Write, events: Vec<Event>) {
        self.plan.steps.push(Step { action, subject, write, events });
    }

    /// Sets `Succeeded` of the member at `index`, derives its state, and goes on with what it then is.
    pub(super) fn write_outcome(&mut self, index: usize, outcome: Outcome) {
        let Some(member) = self.members.get(index) else { return };
        let condition = merge(
            member.succeeded(),
            condition_type::SUCCEEDED,
            (outcome.status, outcome.reason.as_str()),
            outcome.message.clone(),
            member.stored.metadata.generation,
            Moves::OnReason,
            self.now,
        );
        let event = outcome.event.map(|(reason, severity)| promotion_event(member, reason, severity, outcome.message));
        self.write_condition(index, outcome.action, condition, outcome.also, event);
    }

    /// Writes one condition of the member at `index` with the derived state.
    pub(super) fn write_condition(
        &mut self,
        index: usize,
        action: Action,
        condition: Condition,
        also: Value,
        event: Option<Event>,
    ) {
        let Some(member) = self.members.get_mut(index) else { return };
        member.write(with(member.conditions(), condition));
        let mut status = json!({"conditions": member.conditions(), "state": member.phase.state().as_str()});
        if let (Some(status), Value::Object(also)) = (status.as_object_mut(), also) {
            status.extend(also);
        }
        let write = Write::PromotionStatus(member.key(), Patch::new(member.version(), json!({ "status": status })));
        let subject = member.name();
        self.push(action, subject, write, event.into_iter().collect());
    }

    /// One annotation on the member at `index`; moves no transition time.
    pub(super) fn annotate(&mut self, index: usize, action: Action, name: &str, value: &str) {
        let Some(member) = self.members.get(index) else { return };
        let merge = json!({"metadata": {"annotations": {name: value}}});
        let write = Write::Promotion(member.key(), Patch::new(member.version(), merge));
        let subject = member.name();
        self.push(action, subject, write, Vec::new());
    }

    /// The vector, the record and the promoted-by annotation in one patch that leaves everything else as it is (P34).
    /// A Stage that has the vector already gets the annotations only (P35).
    pub(super) fn write_stage(&mut self, index: usize, stage: &Stage, action: Action) {
        let Some(member) = self.members.get(index) else { return };
        let record = Record {
            owner: self.snapshot.owner().unwrap_or_default().to_owned(),
            sequence: member.sequence(),
            promotion: member.uid().to_owned(),
            vector: member.vector().to_owned(),
        };
        let records = crate::promotion::record::Records::of(stage).text_with(self.snapshot.key.name(), record);
        let mut merge = json!({"metadata": {"annotations": {
            annotation::PROMOTED_BY: member.key().to_string(),
            annotation::PROMOTIONS: records,
        }}});
        if stage.spec.vector != member.vector() {
            merge["spec"] = json!({"vector": member.vector()});
            flawed!(WritesPresentVector => merge["spec"]["vector"] = flaw::present_vector(self, member));
        }
        let write = stage_write(member, stage, merge);
        let subject = member.name();
        self.push(action, subject, write, Vec::new());
    }
}

/// An event on a promotion; its note names the vector (P47).
pub(super) fn promotion_event(member: &Member, reason: EventReason, severity: Severity, message: String) -> Event {
    Event {
        regarding: ObjectRef::of(&*member.stored),
        severity,
        reason: reason.as_str(),
        action: "Promote",
        note: if message.contains(member.vector()) {
            message
        } else {
            format!("vector {}: {message}", member.vector())
        },
    }
}

/// A patch of `stage` on behalf of `member`.
pub(super) fn stage_write(member: &Member, stage: &Stage, merge: Value) -> Write {
    Write::Stage {
        key: Key::of(stage),
        patch: Patch::new(Version::of(stage), merge),
        promotion: member.key(),
        read: member.version(),
    }
}
