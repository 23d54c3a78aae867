//! From what a client sends to what may be stored: the same road for create, update and every patch.

use serde_json::{Map, Value, json};

use super::validate;
use crate::field::FieldError;
use crate::http::Call;
use crate::http::params::FieldValidation;
use crate::json::text;
use crate::resource::{METADATA, Resource};
use crate::status::{ApiError, ApiResult};

/// Refuses an object that is of another kind than its path says.
pub(super) fn check_kind(resource: &Resource, object: &Value) -> ApiResult<()> {
    let Value::Object(fields) = object else {
        return Err(ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct",
            crate::schema::kind_of(object)
        )));
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    // A path says what an object is as well as the object does, for the built-in kinds.
    if kind.is_empty() && resource.custom {
        return Err(ApiError::bad_request(format!("Object 'Kind' is missing in '{}'", excerpt(object))));
    }
    if version.is_empty() && resource.custom {
        return Err(ApiError::bad_request(format!("Object 'apiVersion' is missing in '{}'", excerpt(object))));
    }
    if !version.is_empty() && version != resource.api_version() {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            resource.api_version()
        )));
    }
    if !kind.is_empty() && kind != resource.kind && !resource.custom {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): no kind {kind:?} is registered for version \
             \"{}\" at this path",
            resource.kind,
            resource.api_version()
        )));
    }
    Ok(())
}

fn excerpt(object: &Value) -> String {
    let text = object.to_string();
    if text.chars().count() > 100 { format!("{}...", text.chars().take(100).collect::<String>()) } else { text }
}

/// Fits the metadata to the path: the namespace is filled in, a name or a namespace that says otherwise is refused.
pub(super) fn fit_to_path(call: &Call, object: &mut Value, name: Option<&str>) -> ApiResult<()> {
    let Value::Object(fields) = object else { return Ok(()) };
    let resource = &call.target.resource;
    for (field, value) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
        fields.entry(field).or_insert_with(|| value.into());
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    let Value::Object(metadata) = metadata else { return Ok(()) };
    let text = |metadata: &Map<String, Value>, field: &str| {
        metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if let Some(name) = name {
        let own = text(metadata, "name");
        if own.is_empty() {
            metadata.insert("name".into(), name.into());
        } else if own != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({own}) does not match the name on the URL ({name})"
            )));
        }
    }
    let own = text(metadata, "namespace");
    match &call.target.namespace {
        Some(namespace) if own.is_empty() => {
            metadata.insert("namespace".into(), namespace.clone().into());
        }
        Some(namespace) if own != *namespace => {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        None if !own.is_empty() && !resource.namespaced => {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        _ => {}
    }
    Ok(())
}

/// How an object came in, for the words of a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// As a whole object.
    Body,
    /// As the result of a patch.
    Patch,
}

/// Drops what no schema knows, fills in defaults, and gives back the warnings.
///
/// # Errors
/// 400 (of a patch 422) for unknown or duplicate fields under strict validation, 400 for a value of a type that the
/// metadata or a built-in kind cannot hold.
pub(super) fn decode(call: &Call, object: &mut Value, duplicates: &[String], origin: Origin) -> ApiResult<Vec<String>> {
    let resource = &call.target.resource;
    resource.schema.drop_nulls(object);
    drop_empty_metadata(object);
    if let Some(why) = validate::undecodable(resource, object) {
        return Err(ApiError::bad_request(undecodable(resource, &why)));
    }
    let mut strange: Vec<String> = duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect();
    let strict = call.params.field_validation == FieldValidation::Strict;
    let received = if strict && origin == Origin::Patch { object.to_string() } else { String::new() };
    let mut unknown = resource.schema.prune(object);
    if let Some(metadata) = object.get_mut("metadata").filter(|metadata| metadata.is_object()) {
        unknown.extend(METADATA.prune(metadata).into_iter().map(|path| format!("metadata.{path}")));
    }
    unknown.sort();
    strange.extend(unknown.into_iter().map(|path| format!("unknown field {path:?}")));
    resource.schema.default(object);
    match call.params.field_validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(strange),
        FieldValidation::Strict if strange.is_empty() => Ok(strange),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", strange.join(", "));
            Err(match origin {
                Origin::Body => ApiError::bad_request(undecodable(resource, &why)),
                Origin::Patch => ApiError::invalid("", "", "", &vec![FieldError::invalid("patch", received, why)]),
            })
        }
    }
}

fn undecodable(resource: &Resource, why: &str) -> String {
    format!("{} in version {:?} cannot be handled as a {}: {why}", resource.kind, resource.version, resource.kind)
}

/// `null` and empty maps in the metadata say the same as nothing.
fn drop_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, value| match value {
            Value::Null => false,
            Value::Object(fields) => !(fields.is_empty() && matches!(name.as_str(), "labels" | "annotations")),
            Value::Array(items) => {
                !(items.is_empty() && matches!(name.as_str(), "finalizers" | "ownerReferences" | "managedFields"))
            }
            _ => true,
        });
    }
}

/// What an update may not touch comes back from the present state: the part that the scope does not cover, and what
/// the server keeps.
pub(super) fn keep(call: &Call, object: &mut Value, old: &Value) {
    let resource = &call.target.resource;
    let Value::Object(fields) = object else { return };
    if call.target.subresource.as_deref() == Some("status") {
        let status = fields.remove("status");
        let managed = fields.get("metadata").and_then(|metadata| metadata.get("managedFields")).cloned();
        let version = fields.get("metadata").and_then(|metadata| metadata.get("resourceVersion")).cloned();
        let uid = fields.get("metadata").and_then(|metadata| metadata.get("uid")).cloned();
        let kind = [fields.get("apiVersion").cloned(), fields.get("kind").cloned()];
        *object = old.clone();
        let Value::Object(fields) = object else { return };
        for (name, value) in ["apiVersion", "kind"].into_iter().zip(kind) {
            if let Some(value) = value {
                fields.insert(name.into(), value);
            }
        }
        match status {
            Some(status) => fields.insert("status".into(), status),
            None => fields.remove("status"),
        };
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            for (name, value) in [("managedFields", managed), ("resourceVersion", version), ("uid", uid)] {
                if let Some(value) = value {
                    metadata.insert(name.into(), value);
                }
            }
        }
        return;
    }
    if resource.status {
        match old.get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    let before = old.get("metadata").and_then(Value::as_object);
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for name in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "uid",
            "creationTimestamp",
            "generateName",
        ] {
            if !metadata.contains_key(name)
                && let Some(value) = before.and_then(|before| before.get(name))
            {
                metadata.insert(name.into(), value.clone());
            }
        }
    }
}

/// Counts in a write that is only pretended what the engine counts in one that happens.
pub(super) fn count_generation(resource: &Resource, object: &mut Value, old: &Value) {
    let counts = |name: &str| name != "metadata" && name != "apiVersion" && !(name == "status" && resource.status);
    let content = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(|(name, _)| counts(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    if resource.counts_generations() && content(object) != content(old) {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        object["metadata"]["generation"] = (generation + 1).into();
    }
}

/// Refuses what is not legal.
pub(super) fn check(call: &Call, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    let resource = &call.target.resource;
    let errors = validate::check(resource, object, old);
    if errors.is_empty() {
        return Ok(());
    }
    let name = text(object, "/metadata/name");
    // A custom resource is called what it calls itself.
    let kind = match text(object, "/kind") {
        own if resource.custom && !own.is_empty() => own,
        _ => &resource.kind,
    };
    let group = match text(object, "/apiVersion") {
        own if resource.custom && !own.is_empty() => own.rsplit_once('/').map_or("", |(group, _)| group),
        _ => &resource.group,
    };
    let errors: Vec<FieldError> = match call.target.subresource.as_deref() {
        Some("status") if resource.custom => errors.into_iter().map(FieldError::within_status).collect(),
        _ => errors,
    };
    Err(ApiError::invalid(group, kind, name, &errors))
}
