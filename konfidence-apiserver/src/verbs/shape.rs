//! Objects in the form that the client asked for.

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_sdk::store::engine::Document;
use serde_json::{Map, Value, json};

use crate::http::Call;
use crate::http::accept::{Form, Meta};
use crate::http::respond::{Reply, StoredList};
use crate::resource::Resource;
use crate::status::{ApiError, ApiResult};
use crate::table;

/// One object.
///
/// # Errors
/// For a form that is a list's, and for a table whose rows are to hold what no table holds.
pub(super) fn one(call: &Call, object: &Value, now: Timestamp) -> ApiResult<Value> {
    match call.accept.form {
        Form::Whole => Ok(object.clone()),
        Form::Metadata => Ok(old_version(call, partial(object))),
        Form::MetadataList => Err(ApiError::untyped("content is not a list")),
        Form::Table => {
            let metadata = json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
            table(call, [object], &metadata, now)
        }
    }
}

/// One object as it is stored. The form that most clients ask for costs no copy.
///
/// # Errors
/// As [`one`].
pub(super) fn stored(call: &Call, object: &Arc<Document>, now: Timestamp) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    if call.accept.form == Form::Whole && resource.shows_as_stored(object.json()) {
        return Ok(Reply::stored(Arc::clone(object)));
    }
    Ok(Reply::object(one(call, &resource.show(object.json()), now)?))
}

/// A list of custom resources as they are stored.
pub(super) fn stored_list(resource: &Resource, items: Vec<Arc<Document>>, mut metadata: Map<String, Value>) -> Reply {
    metadata.entry("continue").or_insert_with(|| "".into());
    Reply::stored_list(StoredList {
        api_version: resource.api_version(),
        items,
        kind: resource.list_kind.clone(),
        metadata,
    })
}

/// The scale of an object.
pub(super) fn scale(call: &Call, scale: Value, now: Timestamp) -> Value {
    match call.accept.form {
        Form::Whole => scale,
        Form::Metadata | Form::MetadataList => partial(&scale),
        Form::Table => table::of_scale(&scale, &call.params.include_object, now),
    }
}

/// A list of objects.
///
/// # Errors
/// As [`one`], for a form that is an object's.
pub(super) fn many(
    call: &Call,
    objects: Vec<Value>,
    mut metadata: Map<String, Value>,
    now: Timestamp,
) -> ApiResult<Value> {
    let resource = &call.target.resource;
    match call.accept.form {
        Form::Whole => {
            if resource.custom {
                metadata.entry("continue").or_insert_with(|| "".into());
            }
            Ok(json!({
                "apiVersion": resource.api_version(),
                "kind": resource.list_kind,
                "metadata": metadata,
                "items": objects.into_iter().map(|object| item(resource, object)).collect::<Vec<_>>(),
            }))
        }
        Form::Metadata => {
            let list = if resource.custom {
                "*unstructured.UnstructuredList".to_owned()
            } else {
                format!("*{}.{}", internal_package(resource), resource.list_kind)
            };
            Err(ApiError::no_such_form(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({list})"
            )))
        }
        Form::MetadataList => Ok(old_version(
            call,
            json!({
                "apiVersion": "meta.k8s.io/v1",
                "kind": "PartialObjectMetadataList",
                "metadata": metadata,
                // An empty list is none, here alone.
                "items": (!objects.is_empty()).then(|| objects.iter().map(partial).collect::<Vec<_>>()),
            }),
        )),
        Form::Table => table(call, &objects, &Value::Object(metadata), now),
    }
}

/// A table of objects.
pub(super) fn table<'a>(
    call: &Call,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    now: Timestamp,
) -> ApiResult<Value> {
    let include = call.params.include_object.as_str();
    if !matches!(include, "" | "Metadata" | "Object" | "None") {
        return Err(ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        )));
    }
    Ok(old_version(call, table::of(&call.target.resource, objects, metadata, include, now)))
}

/// Where the group of a built-in kind is at home.
fn internal_package(resource: &Resource) -> &str {
    match resource.group.split('.').next().unwrap_or_default() {
        "" | "events" => "core",
        group => group,
    }
}

/// Tables and metadata in the version that the client asked for.
pub(super) fn old_version(call: &Call, mut value: Value) -> Value {
    fn rename(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(version) = fields.get_mut("apiVersion").filter(|version| *version == "meta.k8s.io/v1") {
                    *version = "meta.k8s.io/v1beta1".into();
                }
                for name in ["rows", "items", "object"] {
                    fields.get_mut(name).into_iter().for_each(rename);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(rename),
            _ => {}
        }
    }
    if call.accept.meta == Meta::V1Beta1 {
        rename(&mut value);
    }
    value
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
