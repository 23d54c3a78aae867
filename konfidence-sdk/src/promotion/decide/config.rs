//! The config's status: `Ready` first and at once, sequence and mirrors last (P2, P40 to P42, C2, R14).

use konfidence_types::{
    Condition, ReadyReason, VectorPromotionConfig, VectorPromotionConfigStatus, condition, condition_type,
};
use serde_json::{Map, Value, json};

use super::Deciding;
use super::drift::Creation;
use super::member::Member;
use crate::condition::{Moves, merge, with};
#[cfg(test)]
use crate::promotion::flaw;
use crate::promotion::make::requires_approval;
use crate::promotion::snapshot::Seen;
use crate::promotion::state::Phase;
use crate::promotion::steps::{Action, Step, Write};
use crate::store::{Key, Patch, Unreadable, Version};

impl Deciding<'_> {
    /// An object that does not parse stops its own config, with a condition; never the watch or another config.
    pub(super) fn something_is_unreadable(&self) -> bool {
        matches!(self.snapshot.config, Seen::Unreadable(_)) || !self.snapshot.unreadable.is_empty()
    }

    pub(super) fn report_unreadable(&mut self) {
        let remedy = "correct it, or upgrade Konfidence; nothing is done for this config meanwhile";
        match &self.snapshot.config {
            Seen::Unreadable(config) => {
                let message = format!("{} does not parse: {}; {remedy}", config.object, config.message);
                self.report_raw(config, &message);
            }
            Seen::Found(config) => {
                if let Some(first) = self.snapshot.unreadable.first() {
                    let message = format!("{} does not parse: {}; {remedy}", first.object, first.message);
                    let ready = self.ready(config, false, ReadyReason::ObjectUnreadable, message);
                    self.report(config, ready, None);
                }
            }
            Seen::Absent => {}
        }
    }

    /// The config itself does not parse: its conditions are read from the raw object.
    fn report_raw(&mut self, config: &Unreadable, message: &str) {
        let stored: Vec<Condition> = config
            .raw
            .pointer("/status/conditions")
            .and_then(|conditions| serde_json::from_value(conditions.clone()).ok())
            .unwrap_or_default();
        let before = condition(&stored, condition_type::READY);
        let ready = merge(
            before,
            condition_type::READY,
            ("False", ReadyReason::ObjectUnreadable.as_str()),
            message,
            config.raw.pointer("/metadata/generation").and_then(Value::as_i64),
            Moves::OnReason,
            self.now,
        );
        if before == Some(&ready) {
            return;
        }
        let version = Version {
            uid: config.object.uid.clone(),
            resource_version: config
                .raw
                .pointer("/metadata/resourceVersion")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        };
        let merge = json!({"status": {"conditions": with(&stored, ready)}});
        let write = Write::ConfigStatus(self.snapshot.key.clone(), Patch::new(version, merge));
        self.push(Action::ReportReady, self.snapshot.key.name().to_owned(), write, Vec::new());
    }

    /// `Ready` and `observedGeneration`, and at first the number base. First in the plan.
    pub(super) fn report_ready(&mut self) {
        let Some(config) = self.config() else { return };
        let missing = self
            .snapshot
            .target_stage(&config.spec.target)
            .err()
            .or_else(|| self.snapshot.source(&config.spec.source).err());
        let ready = if let Some(missing) = missing {
            self.ready(config, false, missing.reason(), missing.to_string())
        } else {
            let message = self.ready_message(config);
            self.ready(config, true, ReadyReason::TargetResolved, message)
        };
        self.report(config, ready, self.base);
    }

    fn report(&mut self, config: &VectorPromotionConfig, ready: Condition, base: Option<i64>) {
        let none = VectorPromotionConfigStatus::default();
        let status = config.status.as_ref().unwrap_or(&none);
        let mut changes = Map::new();
        if condition(&status.conditions, condition_type::READY) != Some(&ready) {
            changes.insert("conditions".into(), json!(with(&status.conditions, ready)));
        }
        if status.observed_generation != config.metadata.generation {
            changes.insert("observedGeneration".into(), json!(config.metadata.generation));
        }
        if let Some(base) = base {
            changes.insert("sequence".into(), json!(base));
        }
        if let Some(write) = config_status(config, &changes) {
            let subject = self.snapshot.key.name().to_owned();
            self.plan.steps.insert(0, Step { action: Action::ReportReady, subject, write, events: Vec::new() });
        }
    }

    fn ready(&self, config: &VectorPromotionConfig, is_ready: bool, reason: ReadyReason, message: String) -> Condition {
        let before = config.status.as_ref().and_then(|status| condition(&status.conditions, condition_type::READY));
        let status = if is_ready { "True" } else { "False" };
        let generation = config.metadata.generation;
        merge(before, condition_type::READY, (status, reason.as_str()), message, generation, Moves::OnReason, self.now)
    }

    /// Stable words only: a message that changes by itself would be a write by itself.
    fn ready_message(&self, config: &VectorPromotionConfig) -> String {
        let gate = if requires_approval(config) { "after approval" } else { "automatically" };
        let flow = format!("promotes from {} to {} {gate}", config.spec.source, config.spec.target);
        match &self.creation {
            Creation::Suspended => format!("{flow}; suspended: nothing is created or started"),
            Creation::Held { promotion, overrules } => format!(
                "{flow}; held by {} with promotion {promotion} against vector {}: release it, or wait for a new vector",
                overrules.by, overrules.vector
            ),
            Creation::Exhausted => {
                format!("{flow}; all sequence numbers are used up: nothing more is made, use a config of another name")
            }
            _ => flow,
        }
    }

    /// R10: the number goes with the name, whoever holds it.
    pub(super) fn reserve_sequence(&mut self, sequence: i64) {
        let Some(config) = self.config() else { return };
        let changes = Map::from_iter([("sequence".to_owned(), json!(sequence))]);
        if let Some(write) = config_status(config, &changes) {
            self.push(Action::ReserveSequence, self.snapshot.key.name().to_owned(), write, Vec::new());
        }
    }

    /// The stored number after this plan; it never falls.
    pub(super) fn settled_sequence(&self) -> i64 {
        self.members.last().map_or(0, Member::sequence).max(self.stored_sequence())
    }

    /// What the config's status says, or is made to say by this plan: the number base may be above every member (R12).
    fn stored_sequence(&self) -> i64 {
        let status = self.config().and_then(|config| config.status.as_ref());
        status.and_then(|status| status.sequence).or(self.base).unwrap_or(0)
    }

    /// Sequence and mirrors, when nothing is left to create or start.
    pub(super) fn write_config_status(&mut self) {
        let Some(config) = self.config() else { return };
        let none = VectorPromotionConfigStatus::default();
        let status = config.status.as_ref().unwrap_or(&none);
        let mut changes = Map::new();
        let sequence = self.settled_sequence();
        if self.stored_sequence() < sequence {
            changes.insert("sequence".into(), json!(sequence));
        }
        flawed!(NumberFalls => changes.extend(flaw::number_of_members(self)));
        // What the set no longer holds keeps its last mirrored value (P42), also when a waiting one is all that is left.
        let has_result = condition(&status.last_promotion_conditions, condition_type::SUCCEEDED).is_some();
        if let Some(acting) = self
            .acting()
            .filter(|acting| acting.succeeded().is_some() || !has_result)
            .filter(|acting| acting.conditions() != status.last_promotion_conditions)
        {
            changes.insert("lastPromotionConditions".into(), json!(acting.conditions()));
        }
        if let Some(succeeded) = self
            .newest_succeeded()
            .filter(|succeeded| succeeded.conditions() != status.last_successful_promotion_conditions)
        {
            changes.insert("lastSuccessfulPromotionConditions".into(), json!(succeeded.conditions()));
        }
        if let Some(write) = config_status(config, &changes) {
            self.push(Action::WriteConfigStatus, self.snapshot.key.name().to_owned(), write, Vec::new());
        }
    }

    /// The one in progress; else the highest that has a `Succeeded` condition; else the highest of all (P40).
    pub(super) fn acting(&self) -> Option<&Member> {
        let newest = |test: fn(&Member) -> bool| self.members.iter().rev().find(|member| test(member));
        newest(|member| member.phase == Phase::InProgress)
            .or_else(|| newest(|member| member.succeeded().is_some()))
            .or_else(|| newest(|_| true))
    }

    pub(super) fn newest_succeeded(&self) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.phase == Phase::Succeeded)
    }
}

fn config_status(config: &VectorPromotionConfig, changes: &Map<String, Value>) -> Option<Write> {
    (!changes.is_empty()).then(|| {
        let merge = json!({ "status": changes });
        Write::ConfigStatus(Key::of(config), Patch::new(Version::of(config), merge))
    })
}
