//! `OpenAPI` v2: one document for everything, made from the newer ones. Clients look here for what the newer form has
//! no place for, and kubectl whenever it meets a kind that it does not find.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{protobuf, v3};
use crate::http::respond::Reply;
use crate::registry::Served;
use crate::status::{ApiError, ApiResult};

/// `/openapi/v2`, in protobuf for those who ask for it.
///
/// # Errors
/// 406 for a form that is not served.
pub(crate) fn reply(served: &Served, headers: &HeaderMap) -> ApiResult<Reply> {
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let first = accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim()).find(|range| {
        protobuf::ASKED.contains(range) || matches!(*range, "" | "application/json" | "application/*" | "*/*")
    });
    match first {
        None => Err(ApiError::not_acceptable(&format!("application/json, {}", protobuf::ASKED[0]))),
        Some(range) if protobuf::ASKED.contains(&range) => {
            Ok(Reply::bytes(protobuf::document(&document(served))).content_type(protobuf::ANSWERED))
        }
        Some(_) => Ok(Reply::object(document(served))),
    }
}

fn document(served: &Served) -> Value {
    let mut definitions = Map::new();
    let mut paths = Map::new();
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
    let mut definitions = Value::Object(definitions);
    definitions.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(simplify);
    let mut paths = Value::Object(paths);
    operations(&mut paths);
    let mut document = json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": paths,
        "definitions": definitions,
    });
    references(&mut document);
    document
}

/// Leaves out of a schema what version 2 cannot say, in the way in which kubectl understands the rest.
fn simplify(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::Array(all)) = fields.remove("allOf")
        && let [one] = all.as_slice()
        && let Some(reference) = one.get("$ref")
    {
        fields.insert("$ref".into(), reference.clone());
    }
    for name in ["anyOf", "oneOf", "not", "default"] {
        fields.remove(name);
    }
    let flag = |fields: &Map<String, Value>, name: &str| fields.get(name) == Some(&Value::Bool(true));
    let nullable: Vec<String> = match fields.get("properties") {
        Some(Value::Object(properties)) => properties
            .iter()
            .filter(|(_, property)| property.get("nullable") == Some(&Value::Bool(true)))
            .map(|(name, _)| name.clone())
            .collect(),
        _ => Vec::new(),
    };
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|name| !nullable.iter().any(|one| name == one));
        if required.is_empty() {
            fields.remove("required");
        }
    }
    let open = flag(fields, "x-kubernetes-preserve-unknown-fields");
    if flag(fields, "nullable") {
        fields.remove("nullable");
        fields.remove("type");
    }
    if open || !fields.contains_key("type") {
        fields.remove("items");
        // The kind itself stays an object with its metadata, whatever else it holds.
        if !fields.contains_key("x-kubernetes-group-version-kind") {
            fields.remove("properties");
        }
    }
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    if (kind == "array" && !fields.contains_key("items"))
        || (open && kind == "object" && !fields.contains_key("properties"))
    {
        fields.remove("type");
    }
    for name in ["items", "additionalProperties"] {
        fields.get_mut(name).into_iter().for_each(simplify);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
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
