//! One promotion: what it waits for, its place, and what it would supersede.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use konfidence_types::{VectorPromotion, condition, condition_type};
use kube::core::ResourceExt;
use serde::Serialize;

use super::Case;
use super::drift::{Drift, unreadable};
use super::words::{self, NextStep, listed};
use crate::promotion::attempt::Attempt;
use crate::promotion::decide::{deadline, member::Member};
use crate::promotion::snapshot::{Seen, promoted_stage};
use crate::promotion::state::{Phase, conditions_of};
use crate::promotion::steps::{Action, Write};
use crate::promotion::verify::Doubt;
use crate::store::Key;

/// Where one promotion stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromotionExplanation {
    /// `namespace/name`.
    pub promotion: String,
    /// Its sequence.
    pub sequence: i64,
    /// Its vector.
    pub vector: String,
    /// `Stage eu/test`.
    pub target: String,
    /// Its state, derived from its stored conditions.
    pub state: &'static str,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Its execution, while it is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// All that it waits for. Empty: nothing; see `next`.
    pub waits_for: Vec<Wait>,
    /// Its place among the live promotions of the config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Who would be superseded by its start, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// Who superseded it, or will when that one starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// What drift makes of it, where nothing is made because of this promotion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// What is written next about it.
    pub next: Vec<NextStep>,
    /// When that is, or when it is looked at again. Absent: when something changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// The end of a promotion, in its condition's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Reason of the condition `Succeeded`.
    pub reason: String,
    /// Its message.
    pub message: String,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// When it was started.
    pub since: Timestamp,
    /// When it is retired.
    pub deadline: Timestamp,
    /// How often it was resumed.
    pub attempts: u32,
    /// Its condition's words: what is being written, or what the server refuses (P37).
    pub message: String,
}

/// A place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// From 1, the newest, which goes first once its gates have passed.
    pub position: usize,
    /// How many live promotions the config has.
    pub length: usize,
}

/// What a promotion waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Wait {
    /// A person's approval.
    Approval,
    /// Somebody who resumes the config.
    Resume,
    /// The end of another promotion of the config.
    InProgress {
        /// Its name.
        promotion: String,
        /// When it was started.
        since: Timestamp,
        /// When it is retired.
        deadline: Timestamp,
    },
    /// Nothing: a newer one will go first, and supersede it.
    Newer {
        /// Its name.
        promotion: String,
    },
    /// An object that is missing.
    Target {
        /// What is missing where.
        missing: String,
    },
    /// The next attempt to write the Stage.
    Attempt {
        /// Its number.
        attempt: u32,
        /// Not before.
        until: Timestamp,
    },
    /// The next attempt to fence the Stage, without which it cannot be retired.
    Fence {
        /// Its number.
        attempt: u32,
        /// Not before.
        until: Timestamp,
        /// What is known of the last one.
        message: String,
    },
    /// An object that does not parse.
    Unreadable {
        /// `VectorPromotion bakery/menu-to-dev-3`.
        object: String,
    },
    /// A view that is behind the API server.
    View {
        /// What was read live.
        about: String,
    },
    /// Its own deletion.
    Deletion,
    /// The deletion of its config.
    ConfigDeletion,
    /// Its owner, which is not the config of that name.
    Owner,
    /// Nothing: its result is unknown, and it is never executed on a guess.
    UnknownResult,
}

impl Case<'_> {
    pub(super) fn promotion(&self, stored: &Arc<VectorPromotion>) -> PromotionExplanation {
        let name = stored.name_any();
        let phase = Phase::of_promotion(stored);
        let succeeded = condition(conditions_of(stored), condition_type::SUCCEEDED);
        let is_live = !phase.is_terminal();
        let steps = &self.deciding.plan.steps;
        let own: Vec<_> =
            steps.iter().filter(|step| step.subject == name && is_about_a_promotion(step.action)).collect();
        let index = self.deciding.members.iter().position(|member| member.name() == name);
        let superseded_by = match index {
            Some(index) if is_live => self.successor(index),
            _ => stored.status.as_ref().and_then(|status| status.superseded_by.clone()),
        };
        let execution = succeeded.filter(|_| phase == Phase::InProgress).map(|running| Execution {
            since: running.last_transition_time.0,
            deadline: deadline(running.last_transition_time.0),
            attempts: Attempt::of(stored).map_or(0, |last| last.number),
            message: running.message.clone(),
        });
        let waits_for = match index {
            _ if !is_live => Vec::new(),
            None => vec![self.stopped().unwrap_or(Wait::Owner)],
            Some(_) if !own.is_empty() && phase == Phase::InProgress => Vec::new(),
            Some(index) => self.waits(index, phase, execution.as_ref()),
        };
        let next_at = if own.is_empty() {
            waits_for.iter().find_map(Wait::until).or(execution.as_ref().map(|execution| execution.deadline))
        } else {
            Some(self.deciding.now)
        };
        let live: Vec<_> = self.deciding.members.iter().filter(|member| is_stored_live(member)).collect();
        let place = live.iter().rev().position(|member| member.name() == name);
        PromotionExplanation {
            promotion: Key::of(&**stored).to_string(),
            sequence: stored.spec.sequence,
            vector: stored.spec.vector.clone(),
            target: stored.spec.target.to_string(),
            state: phase.state().as_str(),
            ended: succeeded.filter(|_| !is_live).map(|ended| Ended {
                at: ended.last_transition_time.0,
                reason: ended.reason.clone(),
                message: ended.message.clone(),
            }),
            execution,
            waits_for,
            place: place.map(|place| Place { position: place + 1, length: live.len() }),
            supersedes: match index {
                Some(index) if is_live && superseded_by.is_none() && phase != Phase::Unknown => self.lower(index),
                _ => Vec::new(),
            },
            superseded_by,
            drift: Some(self.drift()).filter(|drift| drift.because_of() == Some(&name)),
            next: own.into_iter().map(NextStep::of).collect(),
            next_at,
        }
    }

    /// Who supersedes the member at `index`: in this plan, or by starting some day.
    fn successor(&self, index: usize) -> Option<String> {
        let members = &self.deciding.members;
        let member = members.get(index)?;
        let now = self.deciding.plan.steps.iter().find_map(|step| match &step.write {
            Write::PromotionStatus(key, patch) if step.action == Action::Supersede && key.name() == member.name() => {
                Some(patch.merge.pointer("/status/supersededBy").and_then(|by| by.as_str()))
            }
            _ => None,
        });
        match now {
            Some(by) => Some(by.unwrap_or("a newer promotion").to_owned()),
            None if as_stored(member).is_pending() => {
                members.iter().skip(index + 1).rev().find(|higher| as_stored(higher).may_start()).map(Member::name)
            }
            None => None,
        }
    }

    /// The pending members below `index`.
    fn lower(&self, index: usize) -> Vec<String> {
        let below = self.deciding.members.iter().take(index);
        below.filter(|member| as_stored(member).is_pending()).map(Member::name).collect()
    }

    /// What stops everything.
    fn stopped(&self) -> Option<Wait> {
        if let Some(unreadable) = unreadable(self.deciding.snapshot) {
            return Some(Wait::Unreadable { object: unreadable.object.to_string() });
        }
        self.owner_is_another().then(|| Wait::View { about: words::doubt(&Doubt::Owner) })
    }

    fn waits(&self, index: usize, phase: Phase, execution: Option<&Execution>) -> Vec<Wait> {
        if let Some(stopped) = self.stopped() {
            return vec![stopped];
        }
        let Some(member) = self.deciding.members.get(index) else { return Vec::new() };
        if let Some(execution) = execution {
            return self.execution_waits(member, execution).into_iter().collect();
        }
        if member.is_deleting() {
            return vec![Wait::Deletion];
        }
        if phase == Phase::Unknown {
            return vec![Wait::UnknownResult];
        }
        if member.phase == Phase::Superseded {
            return Vec::new();
        }
        if self.deciding.snapshot.config.found().is_some() && self.deciding.config().is_none() {
            return vec![Wait::ConfigDeletion];
        }
        let mut waits = Vec::new();
        if !as_stored(member).may_start() {
            waits.push(Wait::Approval);
        }
        if self.deciding.is_suspended() {
            waits.push(Wait::Resume);
        }
        let running = self.deciding.members.iter().find(|other| as_stored(other).phase == Phase::InProgress);
        if let Some(running) = running {
            let since = as_stored(running).since().unwrap_or(self.deciding.now);
            waits.push(Wait::InProgress { promotion: running.name(), since, deadline: deadline(since) });
        }
        if let Some(promotion) = self.successor(index) {
            waits.push(Wait::Newer { promotion });
        } else if let Err(missing) = self.deciding.snapshot.target_stage(&member.stored.spec.target) {
            waits.push(Wait::Target { missing: missing.to_string() });
        }
        waits
    }

    /// What an execution that has nothing to do now waits for; the rules are those of `decide/execute.rs`.
    fn execution_waits(&self, member: &Member, execution: &Execution) -> Option<Wait> {
        let snapshot = self.deciding.snapshot;
        let now = self.deciding.now;
        let key = match (promoted_stage(&member.stored), snapshot.target_stage(&member.stored.spec.target)) {
            (Some(key), _) => key,
            (None, Ok(stage)) => Key::of(&**stage),
            (None, Err(missing)) => return Some(Wait::Target { missing: missing.to_string() }),
        };
        let stage = match snapshot.stages.get(&key) {
            Some(Seen::Found(stage)) => stage,
            Some(Seen::Unreadable(stage)) => return Some(Wait::Unreadable { object: stage.object.to_string() }),
            Some(Seen::Absent) | None if now < execution.deadline => {
                return Some(Wait::Target { missing: format!("Stage {key} does not exist") });
            }
            Some(Seen::Absent) | None => return Some(Wait::View { about: words::doubt(&Doubt::Gone(key)) }),
        };
        let last = Attempt::of(&member.stored).filter(|last| last.waits_until(now).is_some());
        match last {
            Some(last) if now >= execution.deadline => Some(Wait::Fence {
                attempt: last.number.saturating_add(1),
                until: last.next_not_before(),
                message: member.succeeded().map_or_else(String::new, |running| running.message.clone()),
            }),
            Some(last) => Some(Wait::Attempt { attempt: last.number.saturating_add(1), until: last.next_not_before() }),
            None if stage.metadata.deletion_timestamp.is_some() => {
                Some(Wait::Target { missing: format!("Stage {key} is being deleted") })
            }
            None => None,
        }
    }
}

/// The config's steps may carry a name that a promotion has too.
fn is_about_a_promotion(action: Action) -> bool {
    !matches!(action, Action::ReportReady | Action::ReserveSequence | Action::WriteConfigStatus)
}

/// The member before the plan.
fn as_stored(member: &Member) -> Member {
    Member::new(&member.stored)
}

fn is_stored_live(member: &Member) -> bool {
    !Phase::of_promotion(&member.stored).is_terminal()
}

impl Wait {
    fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Attempt { until, .. } | Self::Fence { until, .. } => Some(*until),
            Self::InProgress { deadline, .. } => Some(*deadline),
            _ => None,
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approval => f.write_str("waits for somebody's approval"),
            Self::Resume => f.write_str("waits until the config is resumed"),
            Self::InProgress { promotion, since, deadline } => {
                write!(f, "waits for the end of {promotion}, in progress since {since}, retired at {deadline}")
            }
            Self::Newer { promotion } => write!(f, "is superseded by {promotion} as soon as that starts"),
            Self::Target { missing } => write!(f, "waits for its target: {missing}"),
            Self::Attempt { attempt, until } => write!(f, "waits for attempt {attempt} to write its Stage, at {until}"),
            Self::Fence { attempt, until, .. } => write!(
                f,
                "is past its deadline and cannot be retired before its Stage is fenced; attempt {attempt} at {until}"
            ),
            Self::Unreadable { object } => {
                write!(f, "waits until {object}, which does not parse, is corrected or Konfidence is upgraded")
            }
            Self::View { about } => write!(f, "waits until the view has caught up with what was read live: {about}"),
            Self::Deletion => f.write_str("is being deleted; nothing is done with it any more"),
            Self::ConfigDeletion => f.write_str("goes with its config, which is being deleted"),
            Self::Owner => f.write_str("belongs to another config than the one of that name, and never starts"),
            Self::UnknownResult => {
                f.write_str("has an unknown result: it is never executed, and the next one that starts supersedes it")
            }
        }
    }
}

impl fmt::Display for PromotionExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "promotion {} (vector {} to {}) is {}", self.promotion, self.vector, self.target, self.state)?;
        if let Some(ended) = &self.ended {
            write!(f, " since {}: {}: {}", ended.at, ended.reason, ended.message)?;
        }
        if let Some(execution) = &self.execution {
            write!(f, " since {}, to be done by {}", execution.since, execution.deadline)?;
            if execution.attempts > 0 {
                let times =
                    if execution.attempts == 1 { "once".into() } else { format!("{} times", execution.attempts) };
                write!(f, ", resumed {times}")?;
            }
            write!(f, ": {}", execution.message)?;
        }
        for wait in &self.waits_for {
            write!(f, "\n  {wait}")?;
        }
        if let Some(place) = self.place.filter(|place| place.length > 1) {
            write!(f, "\n  place {} of {}, newest first", place.position, place.length)?;
        }
        if !self.supersedes.is_empty() {
            let when = if self.execution.is_some() { "success" } else { "start" };
            write!(f, "\n  its {when} supersedes {}", listed(&self.supersedes, ", "))?;
        }
        if let Some(drift) = &self.drift {
            write!(f, "\n  drift: {drift}")?;
        }
        if !self.next.is_empty() {
            let steps: Vec<_> = self.next.iter().map(|next| next.step).collect();
            write!(f, "\n  next: it {}", listed(&steps, ", "))?;
        }
        Ok(())
    }
}
