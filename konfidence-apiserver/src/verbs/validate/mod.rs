//! What makes an object legal besides its schema.

mod builtin;
pub(crate) mod names;

use serde_json::Value;

use crate::field::{FieldError, FieldErrors};
use crate::json::{list, text};
use crate::resource::{METADATA, Resource};
use crate::schema::Structural;

/// All annotations of an object together may have this many bytes.
const ANNOTATIONS: usize = 256 * 1024;

/// Everything that is wrong with an object. `old` is its present state on an update.
pub(crate) fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = metadata(resource, object, old);
    if resource.custom {
        errors.extend(kind(resource, object));
        let scale = scale(resource, object);
        let refused = errors.iter().chain(&scale).any(FieldError::is_blocking);
        errors.extend(resource.schema.check(object, old, refused));
        // Before the last sentence, which says that the rules were not asked.
        let last = errors.iter().position(|error| error.field == "<nil>" && error.value == Some(Value::Null));
        let at = last.unwrap_or(errors.len());
        errors.splice(at..at, scale);
    } else {
        errors.extend(builtin::check(resource, object, old));
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

/// The numbers that a scale shows have to be numbers.
fn scale(resource: &Resource, object: &Value) -> FieldErrors {
    let Some(paths) = &resource.scale else { return Vec::new() };
    let at =
        |path: &str| path.split('.').filter(|name| !name.is_empty()).try_fold(object, |value, name| value.get(name));
    let mut errors = Vec::new();
    for path in [&paths.spec, &paths.status] {
        let error = match at(path) {
            None => continue,
            Some(Value::Number(number)) if number.is_i64() || number.is_u64() => match number.as_i64() {
                Some(number) if number < 0 => {
                    FieldError::invalid(path.clone(), number, "should be a non-negative integer")
                }
                Some(number) if number > i64::from(i32::MAX) => {
                    FieldError::invalid(path.clone(), number, format!("should be less than or equal to {}", i32::MAX))
                }
                _ => continue,
            },
            Some(other) => FieldError::invalid(path.clone(), 0, accessor(path, other, "int64")),
        };
        errors.push(error);
    }
    if let Some(path) = &paths.selector
        && let Some(other) = at(path).filter(|value| !value.is_string())
    {
        errors.push(FieldError::invalid(path.clone(), "", accessor(path, other, "string")));
    }
    errors
}

fn accessor(path: &str, found: &Value, expected: &str) -> String {
    let (shown, kind) = match found {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(_) => (found.to_string(), "bool"),
        Value::Number(number) if number.is_f64() => (found.to_string(), "float64"),
        Value::Number(_) => (found.to_string(), "int64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (found.to_string(), "[]interface {}"),
        Value::Object(_) => (found.to_string(), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {kind}, expected {expected}")
}

/// Types in the metadata; they are the same for every kind, and a wrong one does not decode.
pub(crate) fn undecodable(resource: &Resource, object: &Value) -> Option<String> {
    let metadata = object.get("metadata").filter(|metadata| !metadata.is_null())?;
    let type_error = |errors: FieldErrors, schema: &Structural, prefix: &str, of: &str| {
        let error = errors.into_iter().find(|error| error.detail.contains("must be of type"))?;
        let got = error.value.as_ref().and_then(Value::as_str).unwrap_or("value");
        let wanted = error.detail.split("must be of type ").nth(1).and_then(|rest| rest.split(':').next());
        if wanted == Some("byte") {
            let bad = got.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')));
            return Some(format!("illegal base64 data at input byte {}", bad.unwrap_or(got.len())));
        }
        let field = field_of(schema, &error.field);
        Some(match wanted {
            Some(wanted) => format!(
                "json: cannot unmarshal {} into Go struct field {of}.{prefix}{} of type {}",
                go(got),
                field,
                go_type(wanted)
            ),
            None => format!("{prefix}{error}"),
        })
    };
    let errors = METADATA.check(metadata, None, false);
    type_error(errors, &METADATA.structure, "metadata.", "ObjectMeta").or_else(|| {
        if resource.custom {
            return None;
        }
        type_error(resource.schema.check(object, None, false), &resource.schema.structure, "", &resource.kind)
    })
}

/// The part of a path that names fields of types: keys of maps and places in lists are not told.
fn field_of(schema: &Structural, path: &str) -> String {
    let mut names = Vec::new();
    let mut schema = Some(schema);
    for part in path.split('.') {
        let name = part.split('[').next().unwrap_or_default();
        let Some(here) = schema else { break };
        let Some(below) = here.properties.get(name) else { break };
        names.push(name);
        schema = if part.contains('[') { below.items.as_deref() } else { Some(below) };
    }
    names.join(".")
}

fn go(json_type: &str) -> &str {
    match json_type {
        "boolean" => "bool",
        "integer" => "number",
        other => other,
    }
}

fn go_type(schema_type: &str) -> &str {
    match schema_type {
        "boolean" => "bool",
        "integer" => "int64",
        "array" => "[]string",
        "object" => "map[string]string",
        other => other,
    }
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
            names::qualified_name(&key)
                .into_iter()
                .map(|why| FieldError::invalid("metadata.labels", key.as_str(), why)),
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
            names::qualified_name(&lower)
                .into_iter()
                .map(|why| FieldError::invalid("metadata.annotations", key.as_str(), why)),
        );
    }
    if size > ANNOTATIONS {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATIONS as u64));
    }
    owners(object, &mut errors);
    if let Some(old) = old {
        kept_by_the_server(object, old, &mut errors);
    }
    for (index, finalizer) in list(object, "/metadata/finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let field = "metadata.finalizers";
        errors.extend(names::qualified_name(name).into_iter().map(|why| FieldError::invalid(field, name, why)));
        if !name.contains('/') && !matches!(name, "foregroundDeletion" | "orphan" | "kubernetes") && !resource.custom {
            let field = format!("{field}[{index}]");
            errors.push(FieldError::invalid(
                field,
                name,
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    errors
}

/// What only the server sets, and what a deletion fixes.
fn kept_by_the_server(object: &Value, old: &Value, errors: &mut FieldErrors) {
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
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
    let mut controllers = 0;
    for (index, owner) in list(object, "/metadata/ownerReferences").iter().enumerate() {
        let field = format!("metadata.ownerReferences[{index}]");
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
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers += 1;
            if controllers > 1 {
                errors.push(FieldError::invalid(
                    "metadata.ownerReferences",
                    owner.clone(),
                    "Only one reference can have Controller set to true",
                ));
            }
        }
    }
}
