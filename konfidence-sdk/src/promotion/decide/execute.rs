//! Going on with a promotion in progress (P34 to P37, R6 to R9).
//!
//! Two writers may be at it, one of them asleep. The one that executes views the Stage, writes the promotion, then
//! writes the Stage on the version it viewed; the one that retires views the promotion, writes the Stage (the fence),
//! then writes the promotion on the version it viewed. Whichever comes second fails.
//!
//! | the Stage | before the deadline | after it |
//! |---|---|---|
//! | carries the promotion's record | finish | finish |
//! | carries a higher record | fence, fail | fence, fail |
//! | is there | resume when the back-off allows | fence, time out |
//! | is absent | wait | look live; absent: time out without a fence |
//! | does not parse | wait | wait |
//!
//! A refusal for good in the plan that did the start fails at once without a fence: on that version of the promotion
//! nobody else can have written. In a resumption it fences first.

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{EventReason, Stage, SucceededReason, annotation};
use serde_json::{Value, json};

use super::Deciding;
use super::write::{Outcome, stage_write};
use crate::event::Severity;
use crate::promotion::attempt::Attempt;
#[cfg(test)]
use crate::promotion::flaw;
use crate::promotion::record::{Records, fence};
use crate::promotion::reference::Missing;
use crate::promotion::setback::{During, Setback};
use crate::promotion::snapshot::{Seen, promoted_stage};
use crate::promotion::state::Phase;
use crate::promotion::steps::{Action, Write};
use crate::promotion::verify::Doubt;
use crate::store::{Key, Patch};

/// How long an execution may last (P37).
pub(crate) const DEADLINE: SignedDuration = SignedDuration::from_mins(5);

/// When an execution that was started at `since` is retired.
pub(in crate::promotion) fn deadline(since: Timestamp) -> Timestamp {
    since.saturating_add(DEADLINE).unwrap_or(Timestamp::MAX)
}

impl Deciding<'_> {
    /// Goes on with whatever is in progress.
    pub(super) fn execute(&mut self) -> Result<(), Doubt> {
        for index in 0..self.members.len() {
            if self.members.get(index).is_some_and(|member| member.phase == Phase::InProgress) {
                self.go_on(index)?;
            }
        }
        Ok(())
    }

    fn go_on(&mut self, index: usize) -> Result<(), Doubt> {
        flawed!(NobodyGoesOn => return Ok(()));
        let Some(member) = self.members.get(index) else { return Ok(()) };
        let deadline = deadline(member.since().unwrap_or(self.now));
        let snapshot = self.snapshot;
        let stored = promoted_stage(&member.stored);
        flawed!(ResolvesAgain: stored = snapshot.target_stage(&member.stored.spec.target).ok().map(|it| Key::of(&**it)));
        // Started by a version that stored no reference: the first resumption stores what resolves now, and until one
        // has, nobody can have written a Stage, so retiring it needs no fence (R9).
        let key = match (&stored, snapshot.target_stage(&member.stored.spec.target)) {
            (Some(key), _) => key.clone(),
            (None, Ok(stage)) => Key::of(&**stage),
            (None, Err(Missing::Unreadable(_))) => return Ok(()),
            (None, Err(missing)) => {
                if self.now < deadline {
                    self.plan.wake_at(deadline);
                } else {
                    self.fail(index, SucceededReason::PromotionTimedOut, format!("{missing} until its deadline"));
                }
                return Ok(());
            }
        };
        match snapshot.stages.get(&key) {
            Some(Seen::Found(stage)) => self.go_on_with(index, stage, deadline, stored.is_some()),
            Some(Seen::Unreadable(_)) => {}
            Some(Seen::Absent) | None if self.now < deadline => self.plan.wake_at(deadline),
            Some(Seen::Absent) | None => {
                if self.settled(Doubt::Gone(key.clone()))? {
                    self.fail(
                        index,
                        SucceededReason::PromotionTimedOut,
                        format!("Stage {key} did not exist until the deadline of five minutes"),
                    );
                }
            }
        }
        Ok(())
    }

    fn go_on_with(&mut self, index: usize, stage: &Stage, deadline: Timestamp, stage_is_stored: bool) {
        let Some(member) = self.members.get(index) else { return };
        flawed!(DeadlineFirst => if self.now >= deadline { return self.time_out(index, stage, stage_is_stored, deadline) });
        flawed!(NameIsEvidence => if flaw::names(stage, member) { return self.finish(index, &Key::of(stage)) });
        let record = self.snapshot.record_on(stage);
        // Evidence comes before any deadline, and it is the uid that counts: a record that names the same promotion of
        // a deleted config proves nothing (trace T11).
        // Whoever owned the config then does not matter: it may be gone by now, and what it wrote is written (S5).
        let records = Records::of(stage);
        if records.named(self.snapshot.key.name()).is_some_and(|record| record.promotion == member.uid()) {
            self.finish(index, &Key::of(stage));
            return;
        }
        let setback = self.snapshot.setback.as_ref().filter(|setback| setback.promotion == member.uid());
        match setback {
            Some(setback) if setback.during == During::Retirement => {
                let setback = setback.clone();
                self.note_failed_fence(index, &setback);
                return;
            }
            Some(setback) if setback.refused => {
                let message = format!("the API server refuses to write Stage {}: {}", Key::of(stage), setback.message);
                let untouched = setback.during == During::Start
                    && member.stored.metadata.resource_version.as_deref() == Some(setback.version.as_str());
                if !untouched && stage_is_stored {
                    self.fence(index, stage);
                }
                self.fail(index, SucceededReason::PromotionFailed, message);
                return;
            }
            _ => {}
        }
        let last = Attempt::of(&member.stored);
        if record.is_some_and(|record| member.is_covered_by(record.sequence)) {
            let message = format!("Stage {} carries a newer promotion of this config", Key::of(stage));
            self.retire(index, stage, stage_is_stored, last, (SucceededReason::PromotionFailed, message));
        } else if self.now >= deadline {
            self.time_out(index, stage, stage_is_stored, deadline);
        } else {
            self.plan.wake_at(deadline);
            self.resume(index, stage, stage_is_stored, last);
        }
    }

    /// Views the Stage, writes the promotion, writes the Stage (R6); when the back-off allows.
    fn resume(&mut self, index: usize, stage: &Stage, stage_is_stored: bool, last: Option<Attempt>) {
        if stage.metadata.deletion_timestamp.is_some() {
            return;
        }
        flawed!(AsksTheFence => if flaw::has_fence(stage, self.members.get(index)) { return });
        if let Some(due) = last.and_then(|last| last.waits_until(self.now)) {
            self.plan.wake_at(due);
            return;
        }
        if !stage_is_stored {
            self.store_stage(index, stage);
        }
        let attempt = Attempt::following(last, self.now);
        self.annotate(index, Action::Attempt, annotation::ATTEMPT, &attempt.to_string());
        flawed!(NoAttempt | AsksTheFence => self.plan.steps.pop());
        self.write_stage(index, stage, Action::WriteStage(During::Resumption));
        self.finish(index, &Key::of(stage));
    }

    fn time_out(&mut self, index: usize, stage: &Stage, stage_is_stored: bool, deadline: Timestamp) {
        let Some(member) = self.members.get(index) else { return };
        let message = format!("Stage {} was not written within five minutes", Key::of(stage));
        let since_deadline = Attempt::of(&member.stored).filter(|last| last.at >= deadline);
        self.retire(index, stage, stage_is_stored, since_deadline, (SucceededReason::PromotionTimedOut, message));
    }

    /// Fences, then fails; when the back-off of the last failed fence allows.
    fn retire(
        &mut self,
        index: usize,
        stage: &Stage,
        stage_is_stored: bool,
        last: Option<Attempt>,
        (reason, message): (SucceededReason, String),
    ) {
        if let Some(due) = last.and_then(|last| last.waits_until(self.now)) {
            self.plan.wake_at(due);
            return;
        }
        if stage_is_stored {
            self.fence(index, stage);
        }
        self.fail(index, reason, message);
        flawed!(FencesAfterFailing => flaw::swap_last_two(&mut self.plan.steps));
    }

    /// The Stage's version moves, and with it every write that was decided on an older one fails (R7). The value names
    /// the promotion's version, or else a second fence would be a no-op and move nothing (trace T6).
    fn fence(&mut self, index: usize, stage: &Stage) {
        flawed!(NoFence => return);
        let Some(member) = self.members.get(index) else { return };
        let value = fence(member.uid(), &member.version().resource_version);
        flawed!(FenceNamesNoVersion: value = member.uid().to_owned());
        let merge = json!({"metadata": {"annotations": {annotation::FENCED: value}}});
        let write = stage_write(member, stage, merge);
        let subject = member.name();
        self.push(Action::Fence, subject, write, Vec::new());
    }

    pub(super) fn finish(&mut self, index: usize, stage: &Key<Stage>) {
        let Some(member) = self.members.get(index) else { return };
        let message = format!("Stage {stage} carries vector {}", member.vector());
        self.write_outcome(
            index,
            Outcome {
                action: Action::Finish,
                status: "True",
                reason: SucceededReason::PromotionSucceeded,
                message,
                also: Value::Null,
                event: Some((EventReason::PromotionSucceeded, Severity::Normal)),
            },
        );
    }

    /// A failed promotion carries no reference: it never wrote that Stage (S5).
    fn fail(&mut self, index: usize, reason: SucceededReason, message: String) {
        let event = if reason == SucceededReason::PromotionTimedOut {
            EventReason::PromotionTimedOut
        } else {
            EventReason::PromotionFailed
        };
        self.write_outcome(
            index,
            Outcome {
                action: Action::Fail,
                status: "False",
                reason,
                message,
                also: json!({"promotedStageRef": null}),
                event: Some((event, Severity::Warning)),
            },
        );
    }

    fn store_stage(&mut self, index: usize, stage: &Stage) {
        let Some(member) = self.members.get(index) else { return };
        let merge = json!({"status": {"promotedStageRef": stage_reference(stage)}});
        let write = Write::PromotionStatus(member.key(), Patch::new(member.version(), merge));
        let subject = member.name();
        self.push(Action::StoreStage, subject, write, Vec::new());
    }

    /// Until the fence lands the promotion stays in progress: S2 comes before the deadline. The attempt is noted so
    /// that the next try waits for its back-off, and the server's words go into the message once.
    fn note_failed_fence(&mut self, index: usize, setback: &Setback) {
        let Some(member) = self.members.get(index) else { return };
        let last = Attempt::of(&member.stored);
        // Or later: another controller whose clock is ahead has noted the same. Each noting its own would go on for
        // ever without that time passes.
        let noted = if let Some(noted) = last.filter(|last| last.at >= self.now) {
            noted
        } else {
            let attempt = Attempt::following(last, self.now);
            self.annotate(index, Action::Attempt, annotation::ATTEMPT, &attempt.to_string());
            attempt
        };
        self.plan.wake_at(noted.next_not_before());
        let message =
            format!("cannot be retired yet: the API server refuses the fence on its Stage: {}", setback.message);
        let told =
            self.members.get(index).and_then(|member| member.succeeded()).is_some_and(|told| told.message == message);
        if setback.refused && !told {
            self.write_outcome(
                index,
                Outcome {
                    action: Action::NoteRefusal,
                    status: "False",
                    reason: SucceededReason::PromotionRunning,
                    message,
                    also: Value::Null,
                    event: None,
                },
            );
        }
    }
}

/// `status.promotedStageRef` for `stage`.
pub(super) fn stage_reference(stage: &Stage) -> Value {
    flawed!(StartStoresNoStage => return Value::Null);
    let key = Key::of(stage);
    json!({"apiGroup": "konfidence.cloud", "kind": "Stage", "name": key.name(), "namespace": key.namespace()})
}
