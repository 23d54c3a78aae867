//! What makes an object legal besides its schema.

mod builtin;
mod go;
pub(crate) mod names;
mod restore;

use serde_json::Value;

use crate::crd::within;
use crate::field::{FieldError, FieldErrors};
use crate::json::{list, owner_reference, text};
use crate::resource::{METADATA, Resource};

/// All annotations of an object together may have this many bytes.
const ANNOTATIONS: usize = 256 * 1024;

/// Everything that is wrong with an object. `old` is its present state on an update; `part`: the subresource through
/// which it comes.
pub(crate) fn check(resource: &Resource, object: &Value, old: Option<&Value>, part: Option<&str>) -> FieldErrors {
    if !resource.custom {
        let mut errors = metadata(resource, object, old);
        // What a status may be depends on the rest, which is not written with it; a namespace's is the exception.
        if part != Some("status") || resource.kind == "Namespace" {
            errors.extend(builtin::check(resource, object, old));
        }
        return errors;
    }
    let other = kind(resource, object);
    if !other.is_empty() {
        // Of what is of another kind nothing else is looked at.
        return other;
    }
    let mut errors = metadata(resource, object, old);
    if part == Some("status") {
        errors = resource.schema.check_status(object, old, errors);
        scale(resource.scale.as_ref().map(|scale| scale.status.as_str()), object, &mut errors);
    } else {
        errors = resource.schema.check(object, old, errors);
        scale(resource.scale.as_ref().map(|scale| scale.spec.as_str()), object, &mut errors);
    }
    errors
}

/// A custom resource must be what its path says. (A built-in one of another kind does not even decode.)
fn kind(resource: &Resource, object: &Value) -> FieldErrors {
    let expected = [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())];
    expected
        .into_iter()
        .filter(|(field, value)| object.get(*field).and_then(Value::as_str) != Some(value))
        .map(|(field, value)| {
            let found = object.get(field).cloned().unwrap_or_default();
            FieldError::invalid(field, found, format!("must be {value}"))
        })
        .collect()
}

/// What the scale subresource shows at a path has to be what a scale can show.
fn scale(path: Option<&str>, object: &Value, errors: &mut FieldErrors) {
    let Some(path) = path else { return };
    let refused = match accessed(object, path) {
        Ok(None) => return,
        Ok(Some(Value::Number(number))) if number.is_i64() || number.is_u64() => match number.as_i64() {
            Some(replicas) if replicas < 0 => FieldError::invalid(path, replicas, "should be a non-negative integer"),
            Some(replicas) if replicas > i64::from(i32::MAX) => {
                let why = format!("should be less than or equal to {}", i32::MAX);
                FieldError::invalid(path, replicas, why)
            }
            _ => return,
        },
        Ok(Some(other)) => {
            let why = format!("{} accessor error: {}, expected int64", path, go::is_of_the_type(other));
            FieldError::invalid(path, 0, why)
        }
        Err(other) => {
            let why =
                format!("{} accessor error: {}, expected map[string]interface{{}}", path, go::is_of_the_type(other));
            FieldError::invalid(path, 0, why)
        }
    };
    // The sentence about the rules that were not asked comes last.
    let at = errors.iter().position(|error| error.field == "<nil>" && error.value == Some(Value::Null));
    errors.insert(at.unwrap_or(errors.len()), refused);
}

/// The value at a dotted path; the value on the way that is no object.
fn accessed<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, &'a Value> {
    let mut value = object;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        match value {
            Value::Object(fields) => match fields.get(name) {
                Some(below) => value = below,
                None => return Ok(None),
            },
            other => return Err(other),
        }
    }
    Ok(Some(value))
}

/// The first value that the metadata, or a built-in kind, cannot hold, in the words of Go's decoder.
pub(crate) fn undecodable(resource: &Resource, object: &Value) -> Option<String> {
    let metadata = object.get("metadata").filter(|metadata| !metadata.is_null());
    let (root, prefix) = if resource.custom { ("ObjectMeta", "") } else { ("ObjectMeta", "metadata") };
    metadata
        .and_then(|metadata| go::undecodable(metadata, &METADATA.structure, root, prefix))
        .or_else(|| {
            if resource.custom { None } else { go::undecodable(object, &resource.schema.structure, &resource.kind, "") }
        })
        .or_else(|| undecodable_schema(resource, object))
        .or_else(|| if resource.custom { go::embedded(object, &resource.schema.structure) } else { None })
}

/// The first value that one of a definition's inner schemas cannot hold.
fn undecodable_schema(resource: &Resource, object: &Value) -> Option<String> {
    let schema = within::schema_of_schemas(resource)?;
    within::all(object)
        .into_iter()
        .find_map(|inner| go::undecodable(object.pointer(&inner.pointer)?, schema, "JSONSchemaProps", &inner.fields))
}

/// As [`undecodable`], in the words of what a strategic patch is turned into an object by.
pub(crate) fn unrestorable(resource: &Resource, object: &Value) -> Option<String> {
    restore::refused(object, &resource.ownership, &resource.kind)
}

fn metadata(resource: &Resource, object: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = Vec::new();
    let text = |field: &str| text(object, &format!("/metadata/{field}"));
    let (name, base) = (text("name"), text("generateName"));
    let legal = |name: &str| {
        if resource.group.is_empty() && resource.plural == "namespaces" {
            names::label(name)
        } else {
            names::subdomain(name)
        }
    };
    if old.is_none() {
        // What is generated ends well; only the beginning can be wrong.
        if !base.is_empty() {
            errors.extend(
                legal(&format!("{base}x"))
                    .into_iter()
                    .map(|why| FieldError::invalid("metadata.generateName", base, why)),
            );
        }
        if name.is_empty() && base.is_empty() {
            errors.push(FieldError::required("metadata.name", "name or generateName is required"));
        } else if !name.is_empty() {
            errors.extend(legal(name).into_iter().map(|why| FieldError::invalid("metadata.name", name, why)));
        }
    }
    let entries = |field: &str| {
        let map = object.pointer(&format!("/metadata/{field}")).and_then(Value::as_object);
        map.into_iter().flatten().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
    };
    for (key, value) in entries("labels") {
        errors.extend(
            names::label_key(&key).into_iter().map(|why| FieldError::invalid("metadata.labels", key.as_str(), why)),
        );
        errors.extend(
            names::label_value(&value)
                .into_iter()
                .map(|why| FieldError::invalid("metadata.labels", value.as_str(), why)),
        );
    }
    let mut size = 0;
    for (key, value) in entries("annotations") {
        size += key.len() + value.len();
        let lower = key.to_lowercase();
        errors.extend(
            names::label_key(&lower)
                .into_iter()
                .map(|why| FieldError::invalid("metadata.annotations", key.as_str(), why)),
        );
    }
    if size > ANNOTATIONS {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATIONS as u64));
    }
    owners(object, &mut errors);
    let finalizers: Vec<&str> = list(object, "/metadata/finalizers").iter().filter_map(Value::as_str).collect();
    for name in &finalizers {
        let field = "metadata.finalizers";
        errors.extend(names::label_key(name).into_iter().map(|why| FieldError::invalid(field, *name, why)));
    }
    if let Some(old) = old {
        let mut changed = Vec::new();
        kept_by_the_server(object, old, &mut changed);
        // The real server looks at an update several times; how often depends on who wrote the kind's part of it.
        let own = errors.clone();
        errors = [changed.clone(), errors, changed].concat();
        let more = if resource.group.is_empty() { 3 } else { 2 };
        errors.extend(std::iter::repeat_n(own, more).flatten());
    }
    for (index, name) in finalizers.iter().enumerate() {
        if !name.contains('/') && !matches!(*name, "foregroundDeletion" | "orphan" | "kubernetes") && !resource.custom {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(format!("metadata.finalizers[{index}]"), *name, why));
        }
    }
    errors
}

/// What only the server sets, and what a deletion fixes.
fn kept_by_the_server(object: &Value, old: &Value, errors: &mut FieldErrors) {
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        let pointer = format!("/metadata/{name}");
        if let Some(value) = object.pointer(&pointer).filter(|value| Some(*value) != old.pointer(&pointer)) {
            errors.push(FieldError::invalid(format!("metadata.{name}"), value.clone(), "field is immutable"));
        }
    }
    let deleting = old.pointer("/metadata/deletionTimestamp").is_some();
    let present = list(old, "/metadata/finalizers");
    let added: Vec<String> = list(object, "/metadata/finalizers")
        .iter()
        .filter(|finalizer| !present.contains(finalizer))
        .map(ToString::to_string)
        .collect();
    if deleting && !added.is_empty() {
        errors.push(FieldError::forbidden(
            "metadata.finalizers",
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            ),
        ));
    }
}

fn owners(object: &Value, errors: &mut FieldErrors) {
    let owners = list(object, "/metadata/ownerReferences");
    let field = "metadata.ownerReferences";
    let mut controllers: Vec<&Value> = Vec::new();
    for owner in owners {
        for (name, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            let value = owner.get(name).and_then(Value::as_str).unwrap_or_default();
            if value.is_empty() {
                errors.push(FieldError::invalid(format!("{field}.{name}"), value, why));
            }
        }
        if text(owner, "/apiVersion") == "v1" && text(owner, "/kind") == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::shown(field, owner_reference(owner), why));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers.push(owner);
        }
    }
    if let [first, .., last] = controllers.as_slice() {
        let all: Vec<String> = owners.iter().map(owner_reference).collect();
        let named = |owner: &Value| format!("{}/{}", text(owner, "/kind"), text(owner, "/name"));
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            named(first),
            named(last)
        );
        errors.push(FieldError::shown(field, format!("[{}]", all.join(",")), why));
    }
}
