//! Events: one stored object, two views. Controllers write `events.k8s.io/v1`, `kubectl describe` reads `v1`.

use serde_json::{Map, Value, json};

/// Field names of the core view and of the `events.k8s.io` view.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The stored event as `events.k8s.io/v1`.
pub(crate) fn from_core(event: &Value) -> Value {
    let Value::Object(fields) = event else { return event.clone() };
    let mut shown: Map<String, Value> = fields
        .iter()
        .map(|(name, value)| {
            let other = NAMES.iter().find(|(core, _)| core == name).map_or(name.as_str(), |(_, new)| new);
            (other.to_owned(), value.clone())
        })
        .collect();
    shown.insert("apiVersion".into(), "events.k8s.io/v1".into());
    Value::Object(shown)
}

/// An `events.k8s.io/v1` event as it is stored.
pub(crate) fn to_core(event: Value) -> Value {
    let Value::Object(fields) = event else { return event };
    let mut stored: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| {
            let other = NAMES.iter().find(|(_, new)| *new == name).map_or(name.clone(), |(core, _)| (*core).to_owned());
            (other, value)
        })
        .collect();
    stored.insert("apiVersion".into(), "v1".into());
    // The core view always shows where an event comes from, also when only the newer fields say it.
    for (name, value) in [("source", json!({})), ("firstTimestamp", Value::Null), ("lastTimestamp", Value::Null)] {
        stored.entry(name).or_insert(value);
    }
    Value::Object(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_views_are_the_same_event() {
        let new = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
            "regarding": {"kind": "Stage"}, "note": "n", "reportingController": "c", "reason": "r"});
        let core = to_core(new.clone());
        assert_eq!(core["involvedObject"], json!({"kind": "Stage"}));
        assert_eq!(core["message"], "n");
        let back = from_core(&core);
        for field in ["regarding", "note", "reportingController", "reason"] {
            assert_eq!(back[field], new[field], "{field}");
        }
    }
}
