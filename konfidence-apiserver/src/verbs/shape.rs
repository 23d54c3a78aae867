//! Objects in the form that the client asked for.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::Call;
use crate::http::accept::Form;
use crate::resource::Resource;
use crate::table;

/// One object.
pub(super) fn one(call: &Call, object: &Value, now: Timestamp) -> Value {
    match call.accept.form {
        Form::Whole => object.clone(),
        Form::Metadata => partial(object),
        Form::Table => {
            let metadata = json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
            let rows = [object];
            table::of(&call.target.resource, rows, &metadata, &call.params.include_object, now)
        }
    }
}

/// The scale of an object.
pub(super) fn scale(call: &Call, scale: Value, now: Timestamp) -> Value {
    match call.accept.form {
        Form::Whole => scale,
        Form::Metadata => partial(&scale),
        Form::Table => table::of_scale(&scale, &call.params.include_object, now),
    }
}

/// A list of objects.
pub(super) fn many(call: &Call, objects: Vec<Value>, metadata: &Value, now: Timestamp) -> Value {
    let resource = &call.target.resource;
    match call.accept.form {
        Form::Whole => json!({
            "apiVersion": resource.api_version(),
            "kind": resource.list_kind,
            "metadata": metadata,
            "items": objects.into_iter().map(|object| item(resource, object)).collect::<Vec<_>>(),
        }),
        Form::Metadata => json!({
            "apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadataList",
            "metadata": metadata,
            "items": objects.iter().map(partial).collect::<Vec<_>>(),
        }),
        Form::Table => table::of(resource, &objects, metadata, &call.params.include_object, now),
    }
}

/// Items of built-in kinds do not repeat the kind of their list; custom ones do.
fn item(resource: &Resource, mut object: Value) -> Value {
    if !resource.custom
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// The object's metadata alone.
pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
