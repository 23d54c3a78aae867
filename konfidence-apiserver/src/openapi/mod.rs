//! `OpenAPI`: what `kubectl explain` reads, and where clients look up whether the server validates fields.

pub(crate) mod v3;

pub(crate) use v3::Cache;

use http::HeaderMap;
use serde_json::{Value, json};

use crate::registry::Served;
use crate::status::{ApiError, ApiResult};

/// `/openapi/v2` in JSON. Old clients ask for protobuf alone; they are told that there is none, and fall back.
pub(crate) fn v2(served: &Served, headers: &HeaderMap) -> ApiResult<Value> {
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    if !(accept.contains("json") || accept.contains("*/*")) {
        return Err(ApiError::not_acceptable(&["application/json"]));
    }
    let mut definitions = serde_json::Map::new();
    let mut paths = serde_json::Map::new();
    for (group, entry) in served.groups() {
        for version in &entry.versions {
            let mut document = v3::build(served, group, &version.name).unwrap_or_default();
            if let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
                definitions.extend(std::mem::take(schemas));
            }
            if let Some(below) = document.get_mut("paths").and_then(Value::as_object_mut) {
                paths.extend(std::mem::take(below));
            }
        }
    }
    let mut paths = Value::Object(paths);
    operations(&mut paths);
    let mut document = json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": paths,
        "definitions": definitions,
    });
    references(&mut document);
    Ok(document)
}

/// References point elsewhere in version 2.
fn references(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/definitions/");
            }
            fields.values_mut().for_each(references);
        }
        Value::Array(items) => items.iter_mut().for_each(references),
        _ => {}
    }
}

/// Parameters, bodies and answers are described otherwise in version 2.
fn operations(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("in")
                && let Some(Value::Object(schema)) = fields.remove("schema")
            {
                fields.extend(schema);
            }
            fields.remove("requestBody");
            if let Some(Value::Object(content)) = fields.remove("content")
                && let Some(schema) = content.values().next().and_then(|one| one.get("schema"))
            {
                fields.insert("schema".into(), schema.clone());
            }
            fields.values_mut().for_each(operations);
        }
        Value::Array(items) => items.iter_mut().for_each(operations),
        _ => {}
    }
}
