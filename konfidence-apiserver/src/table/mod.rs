//! Tables: what `kubectl get` prints, made by the server because only it knows the columns.

mod age;
mod builtin;
mod path;

pub(crate) use path::is_valid as is_valid_path;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::{Column, Resource, View};

/// What the API's documentation says of `metadata.name`.
pub(crate) const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What the API's documentation says of `metadata.creationTimestamp`.
pub(crate) const CREATION_TIMESTAMP: &str = "CreationTimestamp is a timestamp representing the server time when this object \
    was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not \
    set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for \
    lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// A `meta.k8s.io/v1` Table of the objects. `include`: how much of each object the rows carry (`None`, `Metadata`,
/// `Object`).
pub(crate) fn of<'a>(
    resource: &Resource,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    include: &str,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let mut row = json!({"cells": cells(resource, object, now)});
            match include {
                "None" => row["object"] = Value::Null,
                "Object" => row["object"] = object.clone(),
                _ => {
                    row["object"] = json!({
                        "kind": "PartialObjectMetadata",
                        "apiVersion": "meta.k8s.io/v1",
                        "metadata": object.get("metadata"),
                    });
                }
            }
            row
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions(resource),
        "rows": rows,
    })
}

/// The table of a scale, which is a kind of its own.
pub(crate) fn of_scale(scale: &Value, include: &str, now: Timestamp) -> Value {
    let column = |name: &str, kind: &str, format: &str, description: &str| json!({"name": name, "type": kind, "format": format, "description": description, "priority": 0});
    let since = scale.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let since = since.and_then(|time| time.parse::<Timestamp>().ok());
    let object = match include {
        "None" => Value::Null,
        "Object" => scale.clone(),
        _ => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": scale.get("metadata"),
        }),
    };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": scale.pointer("/metadata/resourceVersion")},
        "columnDefinitions": [
            column("Name", "string", "", NAME),
            column("Desired", "integer", "", "Desired number of instances for the scaled object."),
            column("Available", "integer", "", "Actual number of observed instances of the scaled object."),
            column("Age", "string", "", CREATION_TIMESTAMP),
        ],
        "rows": [{
            "cells": [
                scale.pointer("/metadata/name"),
                scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into()),
                scale.pointer("/status/replicas").cloned().unwrap_or_else(|| 0.into()),
                since.map_or_else(|| "<unknown>".to_owned(), |since| age::human(now.duration_since(since))),
            ],
            "object": object,
        }],
    })
}

fn definitions(resource: &Resource) -> Vec<Value> {
    let name = Column {
        name: "Name".into(),
        kind: "string".into(),
        format: "name".into(),
        description: NAME.into(),
        ..Column::default()
    };
    // Events are found by when and why, not by name.
    let first = (!leaves_out_name(resource)).then_some(&name);
    first
        .into_iter()
        .chain(&resource.columns)
        .map(|column| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        })
        .collect()
}

fn leaves_out_name(resource: &Resource) -> bool {
    !resource.custom && resource.kind == "Event"
}

fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = object.pointer("/metadata/name").cloned().unwrap_or_else(|| "".into());
    let first = (!leaves_out_name(resource)).then_some(name);
    // Columns of both views of an event are the core view's.
    let stored;
    let object = if resource.view == View::Events {
        stored = resource.store(object.clone());
        &stored
    } else {
        object
    };
    let rest = resource
        .columns
        .iter()
        .map(|column| if resource.custom { custom(column, object, now) } else { builtin::cell(column, object, now) });
    first.into_iter().chain(rest).collect()
}

/// A cell of a custom resource: the first value that the path finds, if it is of the column's type.
fn custom(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(value) = path::first(object, &column.json_path) else { return Value::Null };
    match (column.kind.as_str(), value) {
        ("string", Value::String(_)) | ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("string", Value::Null) => Value::Null,
        ("string", other) => other.to_string().into(),
        ("integer", Value::Number(number)) => number.as_i64().map_or_else(
            || {
                number
                    .as_f64()
                    .map_or(Value::Null, |float| Value::from(format!("{float:.0}").parse::<i64>().unwrap_or_default()))
            },
            Value::from,
        ),
        ("date", Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(then) => age::human(now.duration_since(then)).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}
