//! Rules of the kinds that are built in. Their types are checked when an object is decoded.

use serde_json::Value;

use super::names;
use crate::crd;
use crate::field::{FieldError, FieldErrors};
use crate::json::text;
use crate::resource::Resource;

pub(super) fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> FieldErrors {
    match resource.kind.as_str() {
        "ConfigMap" => config_map(object, old),
        "Secret" => secret(object, old),
        "Lease" => lease(object),
        "Event" => event(resource, object),
        "Namespace" => namespace(object),
        "CustomResourceDefinition" => crd::validate::check(object, old),
        _ => Vec::new(),
    }
}

/// The values of a `ConfigMap` or a Secret together may have this many bytes.
const MOST_DATA: usize = 1 << 20;

fn config_map(object: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = keyed(object, old, &["data", "binaryData"]);
    let texts = values(object, "data").map(str::len).sum::<usize>();
    if texts + values(object, "binaryData").map(decoded_length).sum::<usize>() > MOST_DATA {
        // Of the whole object.
        errors.push(FieldError::too_long("[]", MOST_DATA as u64));
    }
    errors
}

fn values<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let fields = object.get(field).and_then(Value::as_object);
    fields.into_iter().flat_map(|fields| fields.values()).filter_map(Value::as_str)
}

/// How many bytes a text in base 64 stands for.
fn decoded_length(text: &str) -> usize {
    (text.len() / 4 * 3).saturating_sub(text.bytes().rev().take_while(|byte| *byte == b'=').count().min(2))
}

/// What the labels that say how pods are held may say. Here are no pods, but what is applied here is to be applied there.
fn pod_security(namespace: &Value) -> FieldErrors {
    const LEVELS: &[&str] = &["privileged", "baseline", "restricted"];
    let mut errors = Vec::new();
    for mode in ["enforce", "audit", "warn"] {
        for (suffix, legal, why) in [
            (
                "",
                (|level| LEVELS.contains(&level)) as fn(&str) -> bool,
                "must be one of privileged, baseline, restricted",
            ),
            ("-version", is_pod_security_version, "must be \"latest\" or \"v1.x\""),
        ] {
            let name = format!("pod-security.kubernetes.io/{mode}{suffix}");
            let label = namespace.pointer("/metadata/labels").and_then(|labels| labels.get(&name)?.as_str());
            if let Some(label) = label.filter(|label| !legal(label)) {
                errors.push(FieldError::invalid(format!("metadata.labels[{name}]"), label, why));
            }
        }
    }
    errors
}

fn is_pod_security_version(version: &str) -> bool {
    let minor = version.strip_prefix("v1.").unwrap_or_default();
    let is_number = !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit());
    version == "latest" || is_number && (minor == "0" || !minor.starts_with('0'))
}

/// A namespace is on its way out exactly when it says so.
fn namespace(object: &Value) -> FieldErrors {
    let errors = pod_security(object);
    if !errors.is_empty() {
        return errors;
    }
    let phase = text(object, "/status/phase");
    let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
    let why = match (deleting, phase) {
        (false, "" | "Active") | (true, "" | "Terminating") => return Vec::new(),
        (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
        (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
    };
    vec![FieldError::invalid("status.Phase", phase, why)]
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
    if let [first, second, ..] = fields {
        let has = |field: &str, key: &String| object.get(field).and_then(|data| data.get(key)).is_some();
        let keys = object.get(*first).and_then(Value::as_object).into_iter().flat_map(|data| data.keys());
        for key in keys.filter(|key| has(second, key)) {
            let why = format!("duplicate of key present in {second}");
            errors.push(FieldError::invalid(format!("{first}[{key}]"), key.as_str(), why));
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
    let mut errors = Vec::new();
    if old.is_some_and(|old| old.get("type") != object.get("type")) {
        errors.push(FieldError::invalid("type", object.get("type").cloned().unwrap_or_default(), "field is immutable"));
    }
    errors.extend(keyed(object, old, &["data"]));
    if values(object, "data").map(decoded_length).sum::<usize>() > MOST_DATA {
        errors.push(FieldError::too_long("data", MOST_DATA as u64));
    }
    let has = |key: &str| object.get("data").and_then(|data| data.get(key)).is_some();
    let account = "/metadata/annotations/kubernetes.io~1service-account.name";
    let required = |key: &str| FieldError::required(format!("data[{key}]"), "");
    match text(object, "/type") {
        "kubernetes.io/service-account-token" if text(object, account).is_empty() => {
            errors.push(FieldError::required("metadata.annotations[kubernetes.io/service-account.name]", ""));
        }
        "kubernetes.io/tls" => {
            errors.extend(["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).map(required));
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.extend(["username", "password"].map(required));
        }
        "kubernetes.io/ssh-auth" if !has("ssh-privatekey") => errors.push(required("ssh-privatekey")),
        "kubernetes.io/dockerconfigjson" => errors.extend(json_at(object, ".dockerconfigjson")),
        "kubernetes.io/dockercfg" => errors.extend(json_at(object, ".dockercfg")),
        _ => {}
    }
    errors
}

/// What is wrong with a secret's value that has to be JSON. The value itself is nobody's business.
fn json_at(secret: &Value, key: &str) -> Option<FieldError> {
    let field = format!("data[{key}]");
    let Some(value) = secret.get("data").and_then(|data| data.get(key)) else {
        return Some(FieldError::required(field, ""));
    };
    let bytes: k8s_openapi::ByteString = serde_json::from_value(value.clone()).ok()?;
    let why = crate::http::syntax::error(&bytes.0)?;
    Some(FieldError::invalid(field, "<secret contents redacted>", why))
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
    // In this order, and each only once the ones before are right.
    if object.get("eventTime").is_none_or(Value::is_null) {
        errors.push(FieldError::required("eventTime", ""));
    } else {
        for (field, limit) in [("reportingController", 0), ("reportingInstance", 128), ("action", 128), ("reason", 128)]
        {
            let value = text(&format!("/{field}"));
            if value.is_empty() {
                errors.push(FieldError::required(field, ""));
            } else if limit > 0 && value.len() > limit {
                errors.push(FieldError::invalid(field, "", format!("can have at most {limit} characters")));
            }
        }
    }
    if !matches!(text("/type"), "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {}", text("/type"))));
    }
    if text("/note").len() > 1024 {
        errors.push(FieldError::invalid("note", "", "can have at most 1024 characters"));
    }
    errors
}
