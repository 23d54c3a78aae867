//! Patches: JSON patch, merge patch, strategic merge, and apply.

use konfidence_sdk::store::engine::Document;
use serde_json::{Value, json};

use super::prepare::{self, Origin};
use super::{create, scale, update};
use crate::apply;
use crate::field::FieldError;
use crate::http::respond::Reply;
use crate::http::{Call, body};
use crate::json::text;
use crate::patch::{self, strategic};
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

const CUSTOM: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const BUILT_IN: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

pub(super) fn run(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let custom = call.target.resource.custom;
    let media_type = body::media_type(&call.headers);
    if media_type != "application/apply-patch+yaml" && call.params.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &vec![error]));
    }
    match media_type.as_str() {
        "application/json-patch+json" => {
            let patch = patch::json::parse(&call.body)?;
            plain(api, call, name, &[], |object| patch::json::apply(&patch, object))
        }
        "application/merge-patch+json" => {
            let patch = body::json(&call.body)?;
            check_map(&patch.value, "error decoding patch: ")?;
            plain(api, call, name, &patch.duplicates, |object| {
                json_patch::merge(object, &patch.value);
                Ok(())
            })
        }
        "application/strategic-merge-patch+json" if !custom => {
            let mut patch = body::json(&call.body)?;
            if patch.value.is_null() {
                patch.value = json!({});
            }
            check_map(&patch.value, "")?;
            plain(api, call, name, &patch.duplicates, |object| strategic::apply(&patch.value, object))
        }
        "application/apply-patch+yaml" => run_apply(api, call, name),
        _ => Err(ApiError::unsupported_media_type(if custom { CUSTOM } else { BUILT_IN })),
    }
}

fn check_map(patch: &Value, doing: &str) -> ApiResult<()> {
    let found = match patch {
        Value::Object(_) | Value::Null => return Ok(()),
        Value::Array(_) => "array",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    Err(ApiError::bad_request(format!(
        "{doing}json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

/// A patch that says what to change; whoever sends it owns what changes.
fn plain(
    api: &Api,
    call: &Call,
    name: &str,
    duplicates: &[String],
    patch: impl Fn(&mut Value) -> ApiResult<()>,
) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let warnings = std::cell::RefCell::new(Vec::new());
    let next = |_: &Document, old: &Value| -> ApiResult<Value> {
        if call.target.subresource.as_deref() == Some("scale") {
            let mut wanted = scale::of(resource, old)?;
            patch(&mut wanted)?;
            return scale::onto(resource, old, &wanted);
        }
        let mut wanted = old.clone();
        patch(&mut wanted)?;
        // A custom resource that is patched into another kind is told so as any other refused field.
        if !resource.custom {
            prepare::check_kind(resource, &wanted)?;
        }
        prepare::fit_to_path(call, &mut wanted, Some(name))?;
        *warnings.borrow_mut() = prepare::decode(call, &mut wanted, duplicates, Origin::Patch)?;
        Ok(wanted)
    };
    let reply = update::replace(api, call, name, next)?;
    Ok(reply.warn(warnings.take()))
}

/// A patch that says what should be there.
fn run_apply(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    if call.params.field_manager.is_empty() {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &vec![error]));
    }
    let decoded = body::yaml(&call.body)?;
    let mut config = decoded.value;
    let version = text(&config, "/apiVersion");
    if !version.is_empty() && version != resource.api_version() {
        return Err(ApiError::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            resource.api_version()
        )));
    }
    prepare::check_kind(resource, &config)?;
    prepare::fit_to_path(call, &mut config, Some(name))?;
    if config.pointer("/metadata/managedFields").is_some_and(|managed| !managed.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    resource.schema.drop_nulls(&mut config);
    if let Some(why) = apply::misfit(&config, &resource.ownership) {
        return Err(ApiError::untyped(format!(
            "failed to create typed patch object ({}/{name}; {}/{}, Kind={}): {why}",
            call.target.namespace(),
            resource.group,
            resource.version,
            resource.kind
        )));
    }
    let manager = create::manager(call, true);
    let force = call.params.force.unwrap_or_default();
    cut(call, &mut config);

    if super::collection(resource)?.get(call.target.namespace(), name).is_none() {
        if call.target.subresource.is_some() {
            return Err(ApiError::not_found(resource, name));
        }
        return create_by_apply(api, call, name, &config, &manager);
    }
    let reply = update::change(api, call, name, |_, old| {
        let mut wanted = apply::apply(old, &config, &resource.ownership, &manager, force, api.clock.now())?;
        // What was applied may leave places that have defaults.
        resource.schema.drop_nulls(&mut wanted);
        resource.schema.default(&mut wanted);
        prepare::keep(call, &mut wanted, old);
        super::hooks::before_update(resource, call.target.subresource.as_deref(), &mut wanted, old);
        Ok(wanted)
    });
    match reply {
        // It was deleted since it was looked at: then it is to be made.
        Err(error) if error.code == 404 && call.target.subresource.is_none() => {
            create_by_apply(api, call, name, &config, &manager)
        }
        reply => reply,
    }
}

fn create_by_apply(api: &Api, call: &Call, name: &str, config: &Value, manager: &apply::Manager) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let text = |field: &str| config.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
    if !text("uid").is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {}, and no existing object was found",
            text("uid")
        );
        return Err(ApiError::conflict(resource, name, &why));
    }
    let mut object = apply::apply(&resource.nothing(), config, &resource.ownership, manager, true, api.clock.now())?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // There is nothing yet that could have another version.
        metadata.remove("resourceVersion");
    }
    resource.schema.default(&mut object);
    create::finish(api, call, object, None)
}

/// What this endpoint does not write is not applied: the status by the main one, everything else by `/status`.
fn cut(call: &Call, config: &mut Value) {
    let resource = &call.target.resource;
    let Value::Object(fields) = config else { return };
    if call.target.subresource.as_deref() == Some("status") {
        fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "uid" | "resourceVersion"));
        }
    } else if resource.status {
        fields.remove("status");
    }
}
