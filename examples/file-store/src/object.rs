//! What a server does to an object that is written: what it sets itself, and what a write may not touch.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The part of an object that a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
}

/// Metadata that only the server sets.
const OWN: [&str; 7] =
    ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"];

/// `metadata.<field>`, or nothing.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// `metadata.<field>` as a list.
pub(crate) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object["metadata"][field].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

pub(crate) fn set_version(object: &mut Value, revision: u64) {
    in_metadata(object, |metadata| drop(metadata.insert("resourceVersion".into(), revision.to_string().into())));
}

/// The object as it is made.
pub(crate) fn created(mut object: Value, now: Timestamp) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    in_metadata(&mut object, |metadata| {
        metadata.remove("deletionTimestamp");
        metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), seconds(now));
        metadata.insert("generation".into(), 1.into());
    });
    object
}

/// What becomes of `current` under a merge patch.
///
/// # Errors
/// Why the server refuses it.
pub(crate) fn patched(current: &Value, merge: &Value, part: Part) -> Result<Value, String> {
    let mut merged = current.clone();
    json_patch::merge(&mut merged, merge);
    if part == Part::Status {
        let mut next = current.clone();
        next["status"] = merged["status"].take();
        return Ok(without_nulls(next));
    }
    merged["status"] = current["status"].clone();
    in_metadata(&mut merged, |metadata| {
        metadata.extend(OWN.map(|field| (field.to_owned(), current["metadata"][field].clone())));
    });
    let is_new = |finalizer: &&Value| !list(current, "finalizers").contains(finalizer);
    if is_deleting(current) && list(&merged, "finalizers").iter().any(|it| is_new(&it)) {
        return Err("metadata.finalizers: a deleted object takes no new finalizer".into());
    }
    let mut next = without_nulls(merged);
    if next["spec"] != current["spec"] {
        let generation = current["metadata"]["generation"].as_i64().unwrap_or_default();
        in_metadata(&mut next, |metadata| drop(metadata.insert("generation".into(), (generation + 1).into())));
    }
    Ok(next)
}

/// The object after a delete; `None`: it is gone at once, as nothing holds it.
pub(crate) fn deleted(object: &Value, now: Timestamp) -> Option<Value> {
    if list(object, "finalizers").is_empty() {
        return None;
    }
    let mut next = object.clone();
    if !is_deleting(object) {
        in_metadata(&mut next, |metadata| drop(metadata.insert("deletionTimestamp".into(), seconds(now))));
    }
    Some(next)
}

/// The object with these owners.
pub(crate) fn owned_by(object: &Value, owners: Vec<Value>) -> Value {
    let mut next = object.clone();
    in_metadata(&mut next, |metadata| drop(metadata.insert("ownerReferences".into(), owners.into())));
    next
}

fn in_metadata(object: &mut Value, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut metadata = match object["metadata"].take() {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    change(&mut metadata);
    object["metadata"] = metadata.into();
}

/// Without what was put there as null for want of a value.
fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    in_metadata(&mut object, |metadata| metadata.retain(|_, value| !value.is_null()));
    object
}

/// RFC 3339 in whole seconds, as the API writes times.
fn seconds(now: Timestamp) -> Value {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string().into()
}
