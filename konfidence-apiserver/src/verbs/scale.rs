//! `/scale`: two numbers and a selector of an object, as `autoscaling/v1`.

use serde_json::{Map, Value, json};

use crate::http::Call;
use crate::http::body::{self, Unreadable};
use crate::json::text;
use crate::resource::Resource;
use crate::status::{ApiError, ApiResult};

/// The scale that an object shows.
pub(super) fn of(resource: &Resource, object: &Value) -> ApiResult<Value> {
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    let metadata: Map<String, Value> = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), object.get("metadata")?.get(*name)?.clone())))
        .collect();
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {},
        "status": {"replicas": number(&paths.status).unwrap_or_default()},
    });
    if let Some(replicas) = number(&paths.spec) {
        // None is what a scale says of 0.
        if replicas != 0 {
            scale["spec"]["replicas"] = replicas.into();
        }
    } else {
        let why = format!("the spec replicas field {:?} does not exist", paths.spec);
        return Err(ApiError::internal(why));
    }
    if let Some(selector) = paths.selector.as_deref().and_then(|path| at(object, path)) {
        scale["status"]["selector"] = selector.clone();
    }
    Ok(scale)
}

/// The scale in the body of a request.
///
/// # Errors
/// 415 and 400 for a body that cannot be read, and for one that is no scale of this object.
pub(super) fn read(call: &Call, name: &str) -> ApiResult<Value> {
    let decoded = body::object(&call.headers, &call.body).map_err(|error| match error {
        Unreadable::MediaType => ApiError::unsupported_media_type(body::READ),
        Unreadable::Syntax(why) => ApiError::bad_request(why),
    })?;
    let scale = decoded.value;
    if text(&scale, "/kind") != "Scale" {
        return Err(ApiError::bad_request(
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"",
        ));
    }
    let own = text(&scale, "/metadata/name");
    if !own.is_empty() && own != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }
    Ok(scale)
}

/// The object with the replicas that a scale asks for.
pub(super) fn onto(resource: &Resource, object: &Value, scale: &Value) -> ApiResult<Value> {
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
    let mut next = object.clone();
    let mut place = &mut next;
    for name in paths.spec.split('.').filter(|name| !name.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name];
    }
    *place = replicas.into();
    if let Some(Value::Object(metadata)) = next.get_mut("metadata") {
        let asked = text(scale, "/metadata/resourceVersion");
        if !asked.is_empty() {
            metadata.insert("resourceVersion".into(), asked.into());
        }
    }
    Ok(next)
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|name| !name.is_empty()).try_fold(object, |value, name| value.get(name))
}
