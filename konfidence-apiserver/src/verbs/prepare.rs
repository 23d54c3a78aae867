//! From what a client sends to what may be stored: the same road for create, update and every patch.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::validate;
use crate::builtin;
use crate::crd::{formats, within};
use crate::field::FieldError;
use crate::http::Call;
use crate::http::body::{self, Decoded, Twice, Unreadable};
use crate::http::params::FieldValidation;
use crate::json::{list, text};
use crate::resource::{METADATA, Resource};
use crate::schema::Schema;
use crate::status::{ApiError, ApiResult};

/// Of how many fields the real server's decoder tells at most that they are unknown or there twice.
const MOST_STRANGE: usize = 100;

/// The object in the body of a request.
///
/// # Errors
/// 415 for an encoding that is not served, 400 for what does not parse or is of another kind than its path says.
pub(super) fn read(call: &Call) -> ApiResult<Decoded> {
    let resource = &call.target.resource;
    let decoded = body::object(&call.headers, &call.body).map_err(|error| match error {
        Unreadable::MediaType => ApiError::unsupported_media_type(body::READ),
        Unreadable::Syntax(why) => unrecognized(resource, &why, &call.body),
    })?;
    check_kind(resource, &decoded.value, &call.body)?;
    Ok(decoded)
}

/// A body of which it is not even known what it is meant to be.
fn unrecognized(resource: &Resource, why: &str, body: &[u8]) -> ApiError {
    let kind = &resource.kind;
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        excerpt(body)
    ))
}

/// The beginning of a body, in hexadecimal if it does not look like JSON.
fn excerpt(body: &[u8]) -> String {
    const MOST: usize = 30;
    let (head, more) = (body.get(..MOST).unwrap_or(body), if body.len() > MOST { " ..." } else { "" });
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => {
            let hex: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}{more}", hex.concat())
        }
    }
}

/// Refuses an object that is of another kind than its path says. `body`: as it came in.
fn check_kind(resource: &Resource, object: &Value, body: &[u8]) -> ApiResult<()> {
    let Value::Object(fields) = object else {
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go(object)
        );
        return Err(unrecognized(resource, &why, body));
    };
    for name in ["apiVersion", "kind"] {
        if let Some(other) = fields.get(name).filter(|value| !value.is_string() && !value.is_null()) {
            let why = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field .{name} \
                 of type string",
                go(other)
            );
            return Err(unrecognized(resource, &why, body));
        }
    }
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    if resource.custom {
        if kind.is_empty() {
            let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
            return Err(unrecognized(resource, &why, body));
        }
        if version != resource.api_version() {
            return Err(ApiError::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                resource.api_version()
            )));
        }
        return Ok(());
    }
    // A path says what an object is as well as the object does, for the built-in kinds.
    match other_kind(resource, version, kind) {
        None => Ok(()),
        Some(why) => {
            if resource.group == builtin::APIEXTENSIONS && version != resource.api_version() {
                return Err(ApiError::bad_request(format!(
                    "the API version in the data ({version}) does not match the expected API version ({})",
                    resource.api_version()
                )));
            }
            let kind = if kind.is_empty() { &resource.kind } else { kind };
            let version =
                if version.is_empty() { &resource.version } else { version.rsplit('/').next().unwrap_or_default() };
            Err(ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {}: {why}",
                resource.kind
            )))
        }
    }
}

/// Why an object of this version and kind is none of a built-in resource's; `None`: it is.
pub(super) fn other_kind(resource: &Resource, version: &str, kind: &str) -> Option<String> {
    let own = resource.api_version();
    let version = if version.is_empty() { own.as_str() } else { version };
    let kind = if kind.is_empty() { resource.kind.as_str() } else { kind };
    if version == own && kind == resource.kind {
        return None;
    }
    if builtin::is_known(version, kind) {
        let group = match resource.group.split('.').next().unwrap_or_default() {
            "" | "events" => "core",
            group => group,
        };
        let package = version.rsplit('/').next().unwrap_or_default();
        return Some(format!("converting ({package}.{kind}) to ({group}.{}): unknown conversion", resource.kind));
    }
    Some(format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""))
}

/// What Go's JSON decoder calls a value.
pub(super) fn go(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Refuses an object that does not name itself.
pub(super) fn check_named(object: &Value, name: &str) -> ApiResult<()> {
    if text(object, "/metadata/name").is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    Ok(())
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
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// As a whole object.
    Body,
    /// As the result of a patch; how a refusal shows it.
    Patch(&'a dyn Fn(&Value) -> String),
}

/// Drops what no schema knows, fills in defaults, and leaves the warnings with the call.
///
/// # Errors
/// 400 (of a patch 422) for unknown or duplicate fields under strict validation, and for a value of a type that the
/// metadata or a built-in kind cannot hold.
pub(super) fn decode(call: &Call, object: &mut Value, twice: &Twice, origin: Origin<'_>) -> ApiResult<()> {
    let resource = &call.target.resource;
    let shown = match origin {
        Origin::Patch(show) => show(object),
        Origin::Body => String::new(),
    };
    let kind = match text(object, "/kind") {
        "" => resource.kind.clone(),
        kind => kind.to_owned(),
    };
    let refused = |why: &str| match origin {
        Origin::Body => ApiError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: {why}",
            resource.version, resource.kind
        )),
        Origin::Patch(_) => ApiError::invalid("", "", "", &vec![FieldError::invalid("patch", shown.clone(), why)]),
    };
    resource.schema.drop_nulls(object);
    drop_empty_metadata(object);
    if let Some(why) = validate::undecodable(resource, object) {
        return Err(refused(&why));
    }
    let mut strange: Vec<(String, &str)> =
        twice.fields.iter().take(MOST_STRANGE).map(|path| (path.clone(), "duplicate")).collect();
    let mut unknown = resource.schema.prune(object);
    unknown.extend(prune_schemas(resource, object));
    unknown.sort();
    let mut of_metadata = Vec::new();
    if let Some(metadata) = object.get_mut("metadata").filter(|metadata| metadata.is_object()) {
        of_metadata.extend(METADATA.prune(metadata).into_iter().map(|path| format!("metadata.{path}")));
    }
    of_metadata.sort();
    strange.extend(of_metadata.into_iter().chain(unknown).map(|path| (path, "unknown")));
    if !resource.custom && strange.len() > 1 && matches!(origin, Origin::Body) {
        // A built-in kind is decoded field by field, and each is told where it comes.
        let paths: Vec<String> = strange.iter().map(|(path, _)| path.clone()).collect();
        let met = body::order(&call.body, &paths);
        let places: HashMap<&String, usize> = met.iter().zip(0..).collect();
        strange.sort_by_key(|(path, _)| places.get(path).copied());
    } else if !resource.custom {
        // What comes out of a patch has its fields in order.
        strange.sort();
    }
    if !resource.custom {
        strange.truncate(MOST_STRANGE);
    }
    let strange: Vec<String> = strange.into_iter().map(|(path, what)| format!("{what} field {path:?}")).collect();
    resource.schema.default(object);
    match call.params.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => twice.keys.iter().cloned().chain(strange).for_each(|warning| call.warn(warning)),
        FieldValidation::Strict => {
            let keys = (!twice.keys.is_empty()).then(|| unmarshal_errors(&twice.keys));
            let all: Vec<String> = keys.into_iter().chain(strange).collect();
            if !all.is_empty() {
                return Err(refused(&format!("strict decoding error: {}", all.join(", "))));
            }
        }
    }
    Ok(())
}

/// Drops what a definition's inner schemas have and no schema knows.
pub(super) fn prune_schemas(resource: &Resource, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    let Some(schema) = within::schema_of_schemas(resource) else { return dropped };
    for inner in within::all(object) {
        if let Some(value) = object.pointer_mut(&inner.pointer) {
            let unknown = schema.prune_part(value);
            within::drop_empty(value);
            if !inner.is_lenient {
                dropped.extend(unknown.into_iter().map(|field| format!("{}.{field}", inner.path)));
            }
        }
    }
    dropped
}

/// Keys that are set twice in YAML, in one sentence.
pub(super) fn unmarshal_errors(keys: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", keys.join("\n  "))
}

/// A finalizer without a domain may be somebody else's, too.
fn doubtful_finalizers(call: &Call, object: &Value) {
    if !call.target.resource.custom {
        return;
    }
    for finalizer in list(object, "/metadata/finalizers").iter().filter_map(Value::as_str) {
        if !finalizer.contains('/') && !matches!(finalizer, "foregroundDeletion" | "orphan" | "kubernetes") {
            call.warn(format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental \
                 conflicts with other finalizer writers"
            ));
        }
    }
}

/// `null` and empty maps in the metadata say the same as nothing.
pub(super) fn drop_empty_metadata(object: &mut Value) {
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
        // Of these a client's word counts for nothing.
        for name in ["generation", "creationTimestamp", "selfLink"] {
            match before.and_then(|before| before.get(name)) {
                Some(value) => metadata.insert(name.into(), value.clone()),
                None => metadata.remove(name),
            };
        }
        for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "uid"] {
            if !metadata.contains_key(name)
                && let Some(value) = before.and_then(|before| before.get(name))
            {
                metadata.insert(name.into(), value.clone());
            }
        }
    }
}

/// Refuses what is not legal.
pub(super) fn check(call: &Call, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    let resource = &call.target.resource;
    let errors = validate::check(resource, object, old, call.target.subresource.as_deref());
    if errors.is_empty() {
        doubtful_finalizers(call, object);
        if within::schema_of_schemas(resource).is_some() {
            for warning in formats::warnings(object, old) {
                call.warn(warning);
            }
        }
        return Ok(());
    }
    let name = text(object, "/metadata/name");
    // A custom resource is called what it calls itself; that it is wrong about that is one of the errors.
    let kind = if resource.custom { text(object, "/kind") } else { &resource.kind };
    // The newer events are checked as the core ones that they are stored as.
    let group = if resource.kind == "Event" && !resource.custom { "" } else { resource.group.as_str() };
    let group = if resource.custom { text(object, "/apiVersion").split_once('/').unwrap_or_default().0 } else { group };
    Err(ApiError::invalid(group, kind, name, &errors))
}

/// Turns a legal object into what is stored of it: whole numbers are written as such.
pub(super) fn settle(resource: &Resource, object: &mut Value) {
    if resource.custom {
        Schema::whole_numbers(object);
    }
}
