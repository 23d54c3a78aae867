//! The metadata that the server owns, and what a client's write may do to it.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::entropy::{self, Entropy};
use super::{Document, EngineError, ResourceType, Scope};

/// Finalizer of an object that waits for its dependants.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an object whose dependants are to be let go.
pub(super) const ORPHAN: &str = "orphan";

/// `metadata.<field>`; empty if it is absent or no text.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.finalizers`.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    list(object, "finalizers").iter().filter_map(Value::as_str).collect()
}

/// Whether a deleted object is held by more than its finalizers: a namespace that has `spec.finalizers` stays until
/// whoever empties it has taken them away.
pub(super) fn is_held(object: &Value, resource: &ResourceType) -> bool {
    resource.group.is_empty()
        && resource.plural == "namespaces"
        && object.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|finalizers| !finalizers.is_empty())
}

/// `metadata.ownerReferences`.
pub(super) fn owners(object: &Value) -> &[Value] {
    list(object, "ownerReferences")
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    let list = object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Whether the object has been deleted and waits for its finalizers.
pub(super) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// The metadata of an object that is about to be written, made if it is not there.
pub(super) fn of(object: &mut Value) -> Result<&mut Map<String, Value>, EngineError> {
    let Value::Object(fields) = object else {
        return Err(EngineError::refused("", "an object is needed"));
    };
    match fields.entry("metadata").or_insert_with(|| Value::Object(Map::new())) {
        Value::Object(metadata) => Ok(metadata),
        _ => Err(EngineError::refused("metadata", "must be an object")),
    }
}

/// Writes a list, or removes the field if nothing is left.
pub(super) fn set_list(object: &mut Value, field: &str, list: Vec<Value>) {
    let Ok(metadata) = of(object) else { return };
    if list.is_empty() {
        metadata.remove(field);
    } else {
        metadata.insert(field.into(), list.into());
    }
}

pub(super) fn set_revision(object: &mut Value, revision: u64) {
    if let Ok(metadata) = of(object) {
        metadata.insert("resourceVersion".into(), revision.to_string().into());
    }
}

/// RFC 3339 with seconds, as the API writes times.
fn seconds(now: Timestamp) -> Value {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string().into()
}

/// Completes an object that is to be created. Its name is not set yet if it is to be generated.
pub(super) fn complete(
    object: &mut Value,
    resource: &ResourceType,
    scope: Scope,
    now: Timestamp,
    entropy: &mut Entropy,
) -> Result<(), EngineError> {
    let metadata = of(object)?;
    if metadata.get("resourceVersion").and_then(Value::as_str).is_some_and(|version| !version.is_empty()) {
        return Err(EngineError::refused("metadata.resourceVersion", "must not be set on an object to be created"));
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(field);
    }
    // Where nobody counts, a client's number stays, as on a real server.
    if resource.counts_generations {
        metadata.insert("generation".into(), 1.into());
    }
    metadata.insert("uid".into(), entropy::uid(entropy).into());
    metadata.insert("creationTimestamp".into(), seconds(now));
    let has_namespace = metadata.get("namespace").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    match (resource.namespaced, has_namespace) {
        (true, false) => return Err(EngineError::refused("metadata.namespace", "is required")),
        (false, true) => {
            return Err(EngineError::refused("metadata.namespace", "must not be set on a cluster-scoped object"));
        }
        (true, true) => {}
        (false, false) => {
            metadata.remove("namespace");
        }
    }
    if scope != Scope::Whole
        && resource.status_subresource
        && let Value::Object(fields) = object
    {
        fields.remove("status");
    }
    Ok(())
}

/// Turns what a client wants an object to be into what the server makes of it: the part that the scope does not cover
/// stays, and so does what the server owns.
pub(super) fn admit(
    mut wanted: Value,
    current: &Document,
    resource: &ResourceType,
    scope: Scope,
) -> Result<Value, EngineError> {
    let version = text(&wanted, "resourceVersion");
    if !version.is_empty() && version != current.resource_version() {
        return Err(EngineError::conflict(format!(
            "the object has resourceVersion {}, not {version}",
            current.resource_version()
        )));
    }
    let uid = text(&wanted, "uid");
    if !uid.is_empty() && uid != current.uid() {
        return Err(EngineError::conflict(format!("the object has uid {}, not {uid}", current.uid())));
    }
    if scope == Scope::Status {
        return with_status_of(wanted, current.json());
    }
    keep_owned_by_server(&mut wanted, current.json())?;
    if let (Value::Object(fields), Scope::Main, true) = (&mut wanted, scope, resource.status_subresource) {
        match current.json().get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    if resource.counts_generations
        && differs_in_content(&wanted, current.json(), resource)
        && let Ok(metadata) = of(&mut wanted)
    {
        bump_generation(metadata);
    }
    Ok(wanted)
}

/// The current object with the wanted status. Of the metadata only `managedFields` is taken over, because it tells who
/// wrote the status. The rest is put back where it differs, which it seldom does: a copy would cost more.
fn with_status_of(mut wanted: Value, current: &Value) -> Result<Value, EngineError> {
    let metadata = of(&mut wanted)?;
    if let Some(current) = current.get("metadata").and_then(Value::as_object) {
        put_back(metadata, current, &["managedFields"]);
    }
    if let (Value::Object(wanted), Value::Object(current)) = (&mut wanted, current) {
        put_back(wanted, current, &["status", "metadata"]);
    }
    Ok(wanted)
}

/// Makes `wanted` equal to `current` in all fields but those that are `free`.
fn put_back(wanted: &mut Map<String, Value>, current: &Map<String, Value>, free: &[&str]) {
    wanted.retain(|field, _| free.contains(&field.as_str()) || current.contains_key(field));
    for (field, value) in current {
        if !free.contains(&field.as_str()) && wanted.get(field) != Some(value) {
            wanted.insert(field.clone(), value.clone());
        }
    }
}

/// What the server owns stays as it is: left out it comes back, changed it is refused.
fn keep_owned_by_server(wanted: &mut Value, current: &Value) -> Result<(), EngineError> {
    let was_deleting = is_deleting(current);
    let present: Vec<String> = finalizers(current).into_iter().map(str::to_owned).collect();
    let added: Vec<_> = finalizers(wanted).into_iter().filter(|name| !present.iter().any(|it| it == name)).collect();
    if was_deleting && !added.is_empty() {
        let message = format!("no finalizer can be added to an object that is being deleted: {}", added.join(", "));
        return Err(EngineError::refused("metadata.finalizers", message));
    }
    let current = current.get("metadata").and_then(Value::as_object);
    let metadata = of(wanted)?;
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let owned = current.and_then(|current| current.get(field));
        let asked = metadata.get(field).filter(|value| !value.is_null() && value.as_str() != Some(""));
        if asked.is_some() && asked != owned {
            return Err(EngineError::refused(&format!("metadata.{field}"), "field is immutable"));
        }
        restore(metadata, field, owned);
    }
    for field in ["generation", "resourceVersion", "selfLink"] {
        restore(metadata, field, current.and_then(|current| current.get(field)));
    }
    Ok(())
}

fn restore(metadata: &mut Map<String, Value>, field: &str, owned: Option<&Value>) {
    match owned {
        Some(owned) => metadata.insert(field.into(), owned.clone()),
        None => metadata.remove(field),
    };
}

/// Whether anything differs that a generation counts: all but the metadata, and the status where it is kept apart.
fn differs_in_content(wanted: &Value, current: &Value, resource: &ResourceType) -> bool {
    let (Value::Object(wanted), Value::Object(current)) = (wanted, current) else { return true };
    let counts = |field: &str| field != "metadata" && !(field == "status" && resource.status_subresource);
    wanted.iter().any(|(field, value)| counts(field) && current.get(field) != Some(value))
        || current.keys().any(|field| counts(field) && !wanted.contains_key(field))
}

fn bump_generation(metadata: &mut Map<String, Value>) {
    let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or_default();
    metadata.insert("generation".into(), (generation + 1).into());
}

/// Marks the object as deleted. What is deleted already keeps its time.
pub(super) fn mark_deleted(object: &mut Value, now: Timestamp) {
    if is_deleting(object) {
        return;
    }
    let Ok(metadata) = of(object) else { return };
    if metadata.contains_key("generation") {
        bump_generation(metadata);
    }
    metadata.insert("deletionTimestamp".into(), seconds(now));
    metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
}
