//! P13: one promotion for one drift, each with a higher number than all before it.
//!
//! A second promotion of the same vector for the same target needs a reason that lies after the first was made: the
//! source held something else in between, the target was changed by somebody else, the first failed or was rejected,
//! or the config was changed. This is checked where names are never freed and numbers come from the machinery alone.

use std::collections::BTreeMap;

use konfidence_types::{Stage, VectorPromotion, VectorTemplate, annotation};
use kube::core::ResourceExt;

use super::safety::records;
use super::{Author, Violation, violates};
use crate::promotion::{Phase, controller_uid};
use crate::sim::step::Kind;
use crate::store::Key;
use crate::store::engine::{Change, Event};

#[derive(Default)]
pub(super) struct Numbers {
    /// Every vector that a source held, with the revision of the write that put it there, by kind, namespace and name.
    held: BTreeMap<(Kind, String, String), Vec<(u64, String)>>,
    /// What was made last, by config.
    newest: BTreeMap<(String, String), Made>,
    /// Revision of the last event that can be a reason for a repetition, whatever it was about.
    reason: u64,
    /// The namespace that each Landscape manages, by namespace and name.
    managed: BTreeMap<(String, String), String>,
    /// Writes of controllers to Stages, each with the revision and the config that it was for.
    written: Vec<(u64, String)>,
}

struct Made {
    revision: u64,
    promotion: std::sync::Arc<VectorPromotion>,
}

impl Numbers {
    pub(super) fn see(&mut self, kind: Kind, event: &Event, author: Author) -> Result<(), Violation> {
        match kind {
            Kind::Template => {
                if let Ok(template) = event.object.parse::<VectorTemplate>() {
                    let vector = template.status.as_ref().and_then(|status| status.latest_vector.clone());
                    self.hold(kind, event, vector.unwrap_or_default());
                }
            }
            Kind::Stage => {
                if let Ok(stage) = event.object.parse::<Stage>() {
                    if author != Author::Controller {
                        self.reason = event.revision;
                    }
                    let before = event.previous.as_ref().and_then(|before| before.parse::<Stage>().ok());
                    let old = before.map(|before| records(&before)).unwrap_or_default();
                    let new = records(&stage).into_iter().filter(|(name, record)| old.get(name) != Some(record));
                    self.written.extend(new.map(|(name, _)| (event.revision, name)));
                    self.hold(kind, event, stage.spec.vector.clone());
                }
            }
            Kind::Landscape => {
                self.reason = event.revision;
                let landscape = (event.object.namespace().to_owned(), event.object.name().to_owned());
                let managed = event.object.json()["status"]["namespace"].as_str().unwrap_or_default();
                self.managed.insert(landscape, managed.to_owned());
            }
            Kind::Config => {
                if author != Author::Controller {
                    self.reason = event.revision;
                }
            }
            Kind::Promotion => {
                let Ok(promotion) = event.object.parse::<VectorPromotion>() else { return Ok(()) };
                if event.change == Change::Added {
                    return self.see_made(event, promotion);
                }
                if let Some(made) = self.newest.get_mut(&config_of(&promotion))
                    && made.promotion.metadata.uid == promotion.metadata.uid
                {
                    made.promotion = std::sync::Arc::clone(&promotion);
                }
                if matches!(Phase::of_promotion(&promotion), Phase::TimedOut | Phase::Refused | Phase::Rejected) {
                    self.reason = event.revision;
                }
            }
        }
        Ok(())
    }

    /// Whatever is made after this may be a repetition.
    pub(super) fn excuse(&mut self, revision: u64) {
        self.reason = revision;
    }

    fn hold(&mut self, kind: Kind, event: &Event, vector: String) {
        let source = (kind, event.object.namespace().to_owned(), event.object.name().to_owned());
        let held = self.held.entry(source).or_default();
        if held.last().is_none_or(|(_, last)| *last != vector) {
            // Another vector in between is a reason too.
            self.reason = self.reason.max(if kind == Kind::Template { event.revision } else { 0 });
            held.push((event.revision, vector));
        }
    }

    fn see_made(&mut self, event: &Event, promotion: std::sync::Arc<VectorPromotion>) -> Result<(), Violation> {
        let key = Key::of(&*promotion);
        let config = config_of(&promotion);
        if let Some(last) = self.newest.get(&config) {
            let (new, old) = (&promotion.spec, &last.promotion.spec);
            if new.sequence <= old.sequence {
                return violates("P13", format!("{key} is made with sequence {} after {}", new.sequence, old.sequence));
            }
            let same_source = new.source == old.source;
            if let (Some((object, newer)), Some((before, older))) = (version(&promotion), version(&last.promotion))
                && same_source
                && object == before
                && newer < older
            {
                return violates("P13", format!("{key} is made for @{newer} of the source, after one for @{older}"));
            }
            if let (Some((config, newer)), Some((before, older))) =
                (generation(&promotion), generation(&last.promotion))
                && config == before
                && newer < older
            {
                let what = format!("{key} is made under generation {newer} of its config, after one under {older}");
                return violates("P13", what);
            }
            let repeats = same_source && new.target == old.target && new.vector == old.vector;
            let others = self.written.iter().any(|(at, name)| *at > last.revision && *name != config.1);
            let has_reason = self.reason >= last.revision || self.went_elsewhere(&last.promotion);
            if repeats && !has_reason && !others && !self.moved_since(&promotion, last.revision) {
                let what = format!("{key} repeats {} for no reason", Key::of(&*last.promotion));
                return violates("P13", what);
            }
        }
        self.newest.insert(config, Made { revision: event.revision, promotion });
        Ok(())
    }

    /// Whether a promotion was executed on a Stage that its target no longer means: whoever started it had not seen that
    /// the Landscape had moved before. The one that the target means has got nothing from it.
    fn went_elsewhere(&self, promotion: &VectorPromotion) -> bool {
        let stage = promotion.status.as_ref().and_then(|status| status.promoted_stage_ref.as_ref());
        let landscape = (promotion.namespace().unwrap_or_default(), promotion.spec.target.landscape.clone());
        stage.is_some_and(|stage| self.managed.get(&landscape).is_none_or(|managed| *managed != stage.namespace))
    }

    /// Whether the source of `promotion` held anything new since `revision`.
    fn moved_since(&self, promotion: &VectorPromotion, revision: u64) -> bool {
        let name = &promotion.spec.source.name;
        self.held.iter().any(|((_, _, held), vectors)| {
            held == name && vectors.last().is_some_and(|(changed, _)| *changed > revision)
        })
    }
}

fn config_of(promotion: &VectorPromotion) -> (String, String) {
    (promotion.namespace().unwrap_or_default(), promotion.spec.vector_promotion_config_name.clone())
}

/// Which object the source was, and which version of it. A Landscape that moves makes another object the source, whose
/// versions compare with nothing.
fn version(promotion: &VectorPromotion) -> Option<(String, u64)> {
    let (object, version) = promotion.annotations().get(annotation::SOURCE_VERSION)?.rsplit_once('/')?;
    Some((object.to_owned(), version.parse().ok()?))
}

/// Which config the promotion was made for, and which generation of it.
fn generation(promotion: &VectorPromotion) -> Option<(String, i64)> {
    let generation = promotion.annotations().get(annotation::CONFIG_GENERATION)?.parse().ok()?;
    Some((controller_uid(promotion)?.to_owned(), generation))
}
