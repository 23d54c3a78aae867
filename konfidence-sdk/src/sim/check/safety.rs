//! What must hold after each write.

use std::collections::BTreeMap;

use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, annotation};
use serde_json::Value;

use super::{Checker, Known, Violation, violates};
use crate::promotion::{Phase, Record, conditions_of, controller_uid, gate_is_open};
use crate::store::Key;
use crate::store::engine::{Change, Event};

impl Checker {
    fn config_uid(&self, namespace: &str, name: &str) -> Option<&str> {
        self.configs.get(&Key::new(namespace, name)).and_then(|config| config.metadata.uid.as_deref())
    }

    /// S1.
    pub(super) fn check_one_in_progress(&self, group: &(String, String)) -> Result<(), Violation> {
        let Some(running) = self.running.get(group).filter(|running| running.len() > 1) else { return Ok(()) };
        let owner = self.config_uid(&group.0, &group.1);
        let members: Vec<_> = running
            .iter()
            .filter_map(|uid| self.promotions.get(uid))
            .filter(|known| controller_uid(&known.promotion).is_none_or(|uid| Some(uid) == owner))
            .map(Known::name)
            .collect();
        if members.len() > 1 {
            return violates("S1", format!("{} are in progress at once", members.join(" and ")));
        }
        Ok(())
    }

    /// P22, P28, S5, and the table of transitions.
    pub(super) fn check_transition(
        &self,
        event: &Event,
        promotion: &VectorPromotion,
        before: Option<Phase>,
        phase: Phase,
    ) -> Result<(), Violation> {
        let name = event.object.name();
        let deletes = event.change == Change::Deleted || is_going(event) && !was_going(event);
        let Some(before) = before else { return Ok(()) };
        if deletes {
            if !before.is_terminal() {
                return violates("P43", format!("{name} is deleted by a controller while it is {before:?}"));
            }
            return self.check_deletion(promotion);
        }
        if before.is_terminal() {
            return violates("P22", format!("{name} was {before:?} and is written again, to {phase:?}"));
        }
        let legal = matches!(
            (before, phase),
            (Phase::Waiting, Phase::Waiting | Phase::Superseded)
                | (Phase::Ready | Phase::Blocked, Phase::Blocked | Phase::InProgress | Phase::Superseded)
                | (Phase::Unknown, Phase::Superseded)
                | (Phase::InProgress, Phase::InProgress | Phase::Succeeded | Phase::TimedOut | Phase::Refused)
        );
        if !legal {
            let statement = if before == Phase::InProgress { "P28" } else { "P20" };
            return violates(statement, format!("{name} goes from {before:?} to {phase:?}"));
        }
        self.check_end(event.object.uid(), phase)
    }

    /// P15, P18, P22: what a person's word may make of a promotion.
    pub(super) fn check_operation(
        event: &Event,
        promotion: &VectorPromotion,
        before: Option<Phase>,
        phase: Phase,
    ) -> Result<(), Violation> {
        let (Some(before), Some(previous)) = (before, &event.previous) else { return Ok(()) };
        let name = event.object.name();
        let approved =
            |promotion: &VectorPromotion| promotion.status.as_ref().is_some_and(|status| status.approval.is_some());
        let was_approved = previous.parse::<VectorPromotion>().is_ok_and(|previous| approved(&previous));
        if was_approved && phase != Phase::Rejected {
            return violates("P16", format!("{name} is approved a second time"));
        }
        let legal = matches!(
            (before, phase),
            (Phase::Waiting, Phase::Ready) | (Phase::Waiting | Phase::Ready | Phase::Blocked, Phase::Rejected)
        );
        if !legal || (phase == Phase::Ready && !approved(promotion)) {
            return violates("P22", format!("an operation takes {name} from {before:?} to {phase:?}"));
        }
        Ok(())
    }

    /// S5: the ends of an execution tell the truth about the Stage.
    fn check_end(&self, uid: &str, phase: Phase) -> Result<(), Violation> {
        let Some(known) = self.promotions.get(uid) else { return Ok(()) };
        match phase {
            Phase::TimedOut | Phase::Refused => {
                let standing = self.stages.iter().find(|(_, stage)| {
                    let uid = stage.metadata.uid.as_ref();
                    uid.is_some_and(|uid| known.wrote.contains(uid) && !known.erased.contains(uid))
                });
                if let Some((stage, _)) = standing {
                    return violates("S5", format!("{} ends {phase:?}, and it wrote Stage {stage}", known.name()));
                }
            }
            Phase::Succeeded if known.wrote.is_empty() => {
                return violates("S5", format!("{} ends Succeeded, and it wrote no Stage", known.name()));
            }
            _ => {}
        }
        Ok(())
    }

    /// R14: the stored number never falls.
    pub(super) fn check_config_write(&self, config: &VectorPromotionConfig) -> Result<(), Violation> {
        let key = Key::of(config);
        let sequence = |config: &VectorPromotionConfig| config.status.as_ref().and_then(|status| status.sequence);
        let before = self.configs.get(&key).filter(|before| before.metadata.uid == config.metadata.uid);
        if before.is_some_and(|before| sequence(before) > sequence(config)) {
            return violates("R14", format!("the sequence of {key} falls to {:?}", sequence(config)));
        }
        Ok(())
    }

    /// S2, S3, S4, P12, P34: a write of a controller to a Stage.
    pub(super) fn check_stage_write(&mut self, event: &Event, stage: &Stage) -> Result<(), Violation> {
        let key = Key::of(stage);
        let Some(previous) = event.previous.as_ref().filter(|_| event.change == Change::Modified) else {
            return violates("P4", format!("Stage {key} is made or deleted by a controller"));
        };
        let Ok(before) = previous.parse::<Stage>() else { return Ok(()) };
        if foreign(previous.json()) != foreign(event.object.json()) {
            return violates("P34", format!("a write to Stage {key} changes what is not ours"));
        }
        let (old, new) = (records(&before), records(stage));
        let changed: Vec<&String> = new.keys().filter(|name| new.get(*name) != old.get(*name)).collect();
        let lost = old.keys().find(|name| !new.contains_key(*name));
        if let Some(lost) = lost {
            return violates("S3", format!("the record of {lost} disappears from Stage {key}"));
        }
        let [name] = changed.as_slice() else {
            if before.spec.vector != stage.spec.vector || !changed.is_empty() {
                return violates("S4", format!("Stage {key} gets a vector without exactly one record: {changed:?}"));
            }
            return Ok(()); // A fence, which changes no vector.
        };
        let Some(record) = new.get(*name) else { return Ok(()) };
        let Some(known) = self.promotions.get_mut(&record.promotion) else {
            return violates(
                "S4",
                format!("Stage {key} gets a record of promotion {}, which never was", record.promotion),
            );
        };
        known.wrote.insert(stage.metadata.uid.clone().unwrap_or_default());
        let known = known.clone();
        Self::check_promoted(&key, stage, &known)?;
        self.check_order(&key, name, old.get(*name), record, &known)
    }

    /// A record that somebody removed from a Stage is evidence no more.
    pub(super) fn note_erased(&mut self, event: &Event, stage: &Stage) {
        let before = event.previous.as_ref().and_then(|previous| previous.parse::<Stage>().ok());
        let old = before.map(|before| records(&before)).unwrap_or_default();
        let new = records(stage);
        for (_, record) in old.into_iter().filter(|(name, record)| new.get(name) != Some(record)) {
            if let Some(known) = self.promotions.get_mut(&record.promotion) {
                known.erased.insert(stage.metadata.uid.clone().unwrap_or_default());
            }
        }
    }

    /// S2, S4.
    fn check_promoted(key: &Key<Stage>, stage: &Stage, known: &Known) -> Result<(), Violation> {
        let name = known.name();
        if known.phase.is_terminal() {
            return violates("S2", format!("Stage {key} is written for {name}, which was {:?}", known.phase));
        }
        let promotion = &known.promotion;
        if stage.spec.vector != promotion.spec.vector {
            return violates("S4", format!("Stage {key} gets {} for {name}", stage.spec.vector));
        }
        if !gate_is_open(conditions_of(promotion), promotion.spec.require_approval) {
            return violates("S4", format!("Stage {key} is written for {name}, which nobody approved"));
        }
        if known.phase != Phase::InProgress {
            return violates("S4", format!("Stage {key} is written for {name}, which is {:?}", known.phase));
        }
        Ok(())
    }

    /// S3, P12.
    fn check_order(
        &self,
        key: &Key<Stage>,
        config: &str,
        old: Option<&Record>,
        new: &Record,
        known: &Known,
    ) -> Result<(), Violation> {
        let Some(old) = old else { return Ok(()) };
        let namespace = known.promotion.metadata.namespace.as_deref().unwrap_or_default();
        let standing = self.config_uid(namespace, config);
        let is_standing = |owner: &str| Some(owner) == standing;
        if is_standing(&old.owner) && !is_standing(&new.owner) {
            let what = format!("{} overwrites on Stage {key} what the config that stands now promoted", known.name());
            return violates("P12", what);
        }
        let same_config = old.owner == new.owner || old.owner.is_empty();
        if same_config && old.promotion != new.promotion && old.sequence >= new.sequence {
            let what = format!(
                "Stage {key} goes from sequence {} to {} of {config}, for {}",
                old.sequence,
                new.sequence,
                known.name()
            );
            return violates("S3", what);
        }
        Ok(())
    }
}

impl Known {
    pub(super) fn name(&self) -> String {
        let gone = if self.is_gone { " (deleted)" } else { "" };
        format!("{}{gone}", Key::of(&*self.promotion))
    }
}

/// What the machinery says on a Stage, read without its own code.
pub(super) fn records(stage: &Stage) -> BTreeMap<String, Record> {
    let annotations = stage.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(annotation::PROMOTIONS));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn is_going(event: &Event) -> bool {
    !event.object.json()["metadata"]["deletionTimestamp"].is_null()
}

fn was_going(event: &Event) -> bool {
    event.previous.as_ref().is_some_and(|previous| !previous.json()["metadata"]["deletionTimestamp"].is_null())
}

/// All of a Stage that promotion may not touch.
fn foreign(stage: &Value) -> Value {
    let mut stage = stage.clone();
    if let Some(spec) = stage["spec"].as_object_mut() {
        spec.remove("vector");
    }
    if let Some(metadata) = stage["metadata"].as_object_mut() {
        for field in ["resourceVersion", "generation", "managedFields"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            for name in [annotation::PROMOTED_BY, annotation::PROMOTIONS, annotation::FENCED] {
                annotations.remove(name);
            }
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    stage
}
