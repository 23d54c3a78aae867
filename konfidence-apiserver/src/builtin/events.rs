//! Events: one stored object, two views, one hour. Controllers write `events.k8s.io/v1`, `kubectl describe` reads `v1`.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::store::Precondition;
use serde_json::{Map, Value, json};

use crate::json::text;
use crate::resource::Resource;
use crate::server::Api;

/// How long the real server keeps an event after its last write.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// How often, at most, old events are looked for.
const PACE: SignedDuration = SignedDuration::from_mins(1);

/// When events were last looked through for old ones.
#[derive(Default)]
pub(crate) struct Expiry(Mutex<Timestamp>);

/// Deletes events that have been told long enough. New events drive it: without them the old ones do not grow.
pub(crate) fn expire(api: &Api, events: &Resource) {
    let now = api.clock.now();
    {
        let mut last = api.expiry.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*last) < PACE {
            return;
        }
        *last = now;
    }
    let Some(collection) = &events.collection else { return };
    for event in collection.list(None).items {
        if now.duration_since(last_told(event.json())) > LIFETIME {
            let unchanged = Precondition {
                uid: Some(event.uid().to_owned()),
                resource_version: Some(event.resource_version().to_owned()),
            };
            // Whoever tells it again meanwhile keeps it.
            let _ = collection.delete(event.namespace(), event.name(), &unchanged, None);
        }
    }
}

fn last_told(event: &Value) -> Timestamp {
    ["/metadata/creationTimestamp", "/eventTime", "/lastTimestamp", "/series/lastObservedTime"]
        .iter()
        .filter_map(|field| text(event, field).parse().ok())
        .max()
        .unwrap_or_default()
}

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
    // What the core view always shows and this one does not.
    for name in ["reportingController", "reportingInstance"] {
        if shown.get(name).and_then(Value::as_str) == Some("") {
            shown.remove(name);
        }
    }
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
    for (name, value) in [
        ("source", json!({})),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("reportingComponent", "".into()),
        ("reportingInstance", "".into()),
    ] {
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
