//! Rules of the kinds that are built in. Their types are checked when an object is decoded.

use serde_json::Value;

use super::names;
use crate::crd;
use crate::field::{FieldError, FieldErrors};
use crate::json::text;
use crate::resource::Resource;

pub(super) fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> FieldErrors {
    match resource.kind.as_str() {
        "ConfigMap" => keyed(object, old, &["data", "binaryData"]),
        "Secret" => secret(object, old),
        "Lease" => lease(object),
        "Event" => event(resource, object),
        "CustomResourceDefinition" => crd::validate::check(object, old),
        _ => Vec::new(),
    }
}

/// Data under keys that can be names of files, and that `immutable` protects.
fn keyed(object: &Value, old: Option<&Value>, fields: &[&str]) -> FieldErrors {
    let mut errors = Vec::new();
    for field in fields {
        for key in object.get(*field).and_then(Value::as_object).into_iter().flat_map(|data| data.keys()) {
            let at = format!("{field}[{key}]");
            errors
                .extend(names::config_map_key(key).into_iter().map(|why| FieldError::invalid(&at, key.as_str(), why)));
        }
    }
    if let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) {
        if object.get("immutable") != Some(&Value::Bool(true)) {
            errors.push(FieldError::forbidden("immutable", "field is immutable when `immutable` is set"));
        }
        for field in fields.iter().filter(|field| old.get(**field) != object.get(**field)) {
            errors.push(FieldError::forbidden(*field, "field is immutable when `immutable` is set"));
        }
    }
    errors
}

fn secret(object: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = keyed(object, old, &["data"]);
    let needed: &[&str] = match text(object, "/type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        _ => &[],
    };
    for key in needed.iter().filter(|key| object.get("data").and_then(|data| data.get(**key)).is_none()) {
        errors.push(FieldError::required(format!("data[{key}]"), ""));
    }
    if old.is_some_and(|old| old.get("type") != object.get("type")) {
        errors.push(FieldError::invalid("type", object.get("type").cloned().unwrap_or_default(), "field is immutable"));
    }
    errors
}

fn lease(object: &Value) -> FieldErrors {
    let number = |field: &str| object.pointer(&format!("/spec/{field}")).and_then(Value::as_i64);
    let mut errors = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        errors.push(FieldError::invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"));
    }
    errors
}

/// Events of the newer group are held to its stricter rules; core ones are not, as on a real server.
fn event(resource: &Resource, object: &Value) -> FieldErrors {
    let mut errors = Vec::new();
    let text = |pointer: &str| text(object, pointer);
    let namespace = text("/metadata/namespace");
    let (about, field) = match resource.group.as_str() {
        "" => (text("/involvedObject/namespace"), "involvedObject.namespace"),
        _ => (text("/regarding/namespace"), "regarding.namespace"),
    };
    let fits = if about.is_empty() { matches!(namespace, "default" | "kube-system") } else { about == namespace };
    if !fits {
        errors.push(FieldError::invalid(field, about, "does not match event.namespace"));
    }
    if resource.group.is_empty() {
        return errors;
    }
    for (pointer, field, limit) in [
        ("/reportingController", "reportingController", 128),
        ("/reportingInstance", "reportingInstance", 128),
        ("/action", "action", 128),
        ("/reason", "reason", 128),
    ] {
        let value = text(pointer);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if value.len() > limit {
            errors.push(FieldError::invalid(field, value, format!("can have at most {limit} characters")));
        }
    }
    if object.get("eventTime").is_none_or(Value::is_null) {
        errors.push(FieldError::required("eventTime", ""));
    }
    if !matches!(text("/type"), "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", text("/type"), "has invalid value: "));
    }
    if text("/note").len() > 1024 {
        errors.push(FieldError::invalid("note", "", "can have at most 1024 characters"));
    }
    errors
}
