//! Writes in few words, for the story.

use std::fmt::Write;

use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};

use crate::promotion::{Attempt, Phase, controller_uid};
use crate::sim::step::Kind;
use crate::store::engine::{Change, Document, Event};

pub(super) fn effect(kind: Kind, event: &Event) -> String {
    let object = &event.object;
    let change = match event.change {
        Change::Added => "is new",
        Change::Modified => "is now",
        Change::Deleted => "is gone; it was",
    };
    let going = if object.json()["metadata"]["deletionTimestamp"].is_null() { "" } else { ", deleted but held" };
    format!("{kind:?} {} @{} {change} {}{going}", object.name(), event.revision, state(kind, object))
}

fn state(kind: Kind, object: &Document) -> String {
    let told = match kind {
        Kind::Promotion => object.parse::<VectorPromotion>().ok().map(|it| promotion(&it)),
        Kind::Config => object.parse::<VectorPromotionConfig>().ok().map(|it| config(&it)),
        Kind::Stage => object.parse::<Stage>().ok().map(|it| stage(&it)),
        Kind::Template => object
            .parse::<VectorTemplate>()
            .ok()
            .map(|it| it.status.as_ref().and_then(|status| status.latest_vector.clone()).unwrap_or_default()),
        Kind::Landscape => Some(String::new()),
    };
    told.unwrap_or_default()
}

fn promotion(promotion: &VectorPromotion) -> String {
    let mut told = format!("{:?}, {}", Phase::of_promotion(promotion), promotion.spec.vector);
    // Writing into a String cannot fail.
    let _ = write!(told, " to {}, sequence {}", promotion.spec.target, promotion.spec.sequence);
    match controller_uid(promotion) {
        Some(uid) => {
            let _ = write!(told, ", owner {}", short(uid));
        }
        None => told.push_str(", by hand"),
    }
    if let Some(attempt) = Attempt::of(promotion) {
        let _ = write!(told, ", attempt {}", attempt.number);
    }
    let _ = write!(told, " (uid {})", short(promotion.metadata.uid.as_deref().unwrap_or_default()));
    told
}

fn config(config: &VectorPromotionConfig) -> String {
    let uid = short(config.metadata.uid.as_deref().unwrap_or_default());
    let sequence = config.status.as_ref().and_then(|status| status.sequence);
    let sequence = sequence.map_or_else(|| "not initialised".to_owned(), |sequence| format!("at sequence {sequence}"));
    let suspended = if config.spec.suspend == Some(true) { ", suspended" } else { "" };
    format!("{} to {}, {sequence}{suspended} (uid {uid})", config.spec.source, config.spec.target)
}

fn stage(stage: &Stage) -> String {
    let annotations = stage.metadata.annotations.clone().unwrap_or_default();
    let mut told = format!("{:?}", stage.spec.vector);
    for name in [annotation::PROMOTIONS, annotation::FENCED] {
        if let Some(value) = annotations.get(name) {
            let _ = write!(told, ", {} {value}", name.trim_start_matches("konfidence.cloud/"));
        }
    }
    let _ = write!(told, " (uid {})", short(stage.metadata.uid.as_deref().unwrap_or_default()));
    told
}

/// Enough of a uid to tell it from the others.
fn short(uid: &str) -> &str {
    uid.get(..8).unwrap_or(uid)
}
