//! What no rule reads, and what is therefore the same in all objects: two states that differ in nothing else are one.
//!
//! | of a promotion | who reads it |
//! |---|---|
//! | message of a condition that says the end | nobody; that of one in progress or blocked is compared with the next one |
//! | `status.supersededBy`, `status.approval.approvedAt` | nobody |
//! | since when it is approved or superseded | nobody without a TTL |
//! | since when it has succeeded | P51, when it corrected something: `konfidence.cloud/corrections` |
//!
//! A promotion that has ended is not written again (P22), so one and the same object never differs in these alone, and
//! a live read that compares them with a view finds no difference less.

use konfidence_types::{SucceededReason, annotation, condition_type};
use serde_json::Value;

use crate::shelf::Kind;

/// What stands for an instant that nobody reads.
const NOON: &str = "2026-03-01T12:00:00Z";

/// Erases it from an object, or from a patch of one.
pub(crate) fn erase(kind: Kind, object: &mut Value) {
    match kind {
        Kind::Promotion => {
            let corrections = object.get("metadata").and_then(|it| it.get("annotations")?.get(annotation::CORRECTIONS));
            let corrects = corrections.is_some();
            if let Some(status) = object.get_mut("status") {
                erase_status(status, corrects);
            }
        }
        Kind::Config => {
            for mirror in ["lastPromotionConditions", "lastSuccessfulPromotionConditions"] {
                if let Some(conditions) = object.get_mut("status").and_then(|status| status.get_mut(mirror)) {
                    erase_conditions(conditions, true);
                }
            }
        }
        Kind::Stage | Kind::Landscape | Kind::Template => {}
    }
}

/// Erases it from the status of a promotion that corrects a Stage, or does not.
pub(crate) fn erase_status(status: &mut Value, corrects: bool) {
    if let Some(conditions) = status.get_mut("conditions") {
        erase_conditions(conditions, corrects);
    }
    if let Some(status) = status.as_object_mut() {
        status.remove("supersededBy");
    }
    if let Some(at) = status.get_mut("approval").and_then(|approval| approval.get_mut("approvedAt")) {
        *at = NOON.into();
    }
}

fn erase_conditions(conditions: &mut Value, corrects: bool) {
    let reason_of = |condition: &Value| condition["reason"].as_str().and_then(|reason| reason.parse().ok());
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let (has_message, has_instant) = if condition["type"] == condition_type::SUCCEEDED {
            match reason_of(condition) {
                Some(SucceededReason::PromotionRunning) => (true, true),
                Some(SucceededReason::PromotionTargetUnresolved) => (true, false),
                Some(SucceededReason::PromotionSuperseded) => (false, false),
                Some(SucceededReason::PromotionSucceeded) => (false, corrects),
                _ => (false, true),
            }
        } else {
            (false, false)
        };
        if !has_message {
            condition["message"] = "".into();
        }
        if !has_instant {
            condition["lastTransitionTime"] = NOON.into();
        }
    }
}
