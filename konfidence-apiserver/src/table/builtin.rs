//! Cells of the kinds that are built in: what the real server computes for them.

use jiff::Timestamp;
use serde_json::Value;

use super::{age, path};
use crate::json::text;
use crate::resource::Column;

pub(super) fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let entries = |field: &str| match object.get(field) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    let since = |pointer: &str| {
        let text = object.pointer(pointer).and_then(Value::as_str)?;
        Some(age::human(now.duration_since(text.parse().ok()?)))
    };
    let unknown = || "<unknown>".to_owned();
    match column.json_path.as_str() {
        "age" => since("/metadata/creationTimestamp").unwrap_or_else(unknown).into(),
        // Of a secret the real server sends a number, of a config map as well.
        "data" => (entries("data") + entries("binaryData")).into(),
        "lastSeen" => ["/series/lastObservedTime", "/lastTimestamp", "/eventTime"]
            .into_iter()
            .find_map(since)
            .unwrap_or_else(unknown)
            .into(),
        "firstSeen" => ["/firstTimestamp", "/eventTime"].into_iter().find_map(since).unwrap_or_else(unknown).into(),
        "count" => ["/series/count", "/count"]
            .into_iter()
            .find_map(|pointer| object.pointer(pointer).and_then(Value::as_i64))
            .unwrap_or(1)
            .into(),
        "object" => {
            let text = |field: &str| object.pointer(&format!("/involvedObject/{field}")).and_then(Value::as_str);
            let kind = text("kind").unwrap_or_default().to_lowercase();
            match text("name").unwrap_or_default() {
                "" => kind.into(),
                name => format!("{kind}/{name}").into(),
            }
        }
        "source" => {
            let text = |pointer: &str| text(object, pointer);
            let (component, instance) = match text("/source/component") {
                "" => (text("/reportingComponent"), text("/reportingInstance")),
                component => (component, text("/source/host")),
            };
            match instance {
                "" => component.into(),
                instance => format!("{component}, {instance}").into(),
            }
        }
        "message" => object.get("message").and_then(Value::as_str).unwrap_or_default().trim().into(),
        path => match path::first(object, path) {
            Some(Value::String(text)) => text.clone().into(),
            Some(value) if !value.is_null() => value.to_string().into(),
            _ => "".into(),
        },
    }
}
