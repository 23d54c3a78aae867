//! Replacing an object, its status, or what another subresource shows of it.

use std::cell::RefCell;

use konfidence_sdk::store::engine::{Document, Outcome, Scope};
use serde_json::Value;

use super::prepare::{self, Origin};
use super::{create, read_modify_write, scale, shape};
use crate::apply;
use crate::field::{FieldError, quoted};
use crate::http::Call;
use crate::http::respond::Reply;
use crate::json::text;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    if call.target.subresource.as_deref() == Some("scale") {
        let scale = scale::read(call, name)?;
        return replace(api, call, name, |_, old| {
            let wanted = scale::onto(resource, old, &scale)?;
            check_version(resource, name, &scale, false)?;
            Ok(wanted)
        });
    }
    let decoded = prepare::read(call)?;
    let mut object = decoded.value;
    prepare::check_named(&object, name)?;
    prepare::fit_to_path(call, &mut object, Some(name))?;
    prepare::decode(call, &mut object, &decoded.twice, Origin::Body)?;
    let present = super::collection(resource)?.get(call.target.namespace(), name);
    if present.is_none() && creates_on_update(resource) {
        check_version(resource, name, &object, false)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            // There is no state that this could be the version of.
            metadata.remove("resourceVersion");
        }
        return create::finish(api, call, object, Some(&create::manager(call, false)));
    }
    let conditional = resource.custom || matches!(resource.kind.as_str(), "Lease" | "CustomResourceDefinition");
    if let Some(present) = present {
        check_uid(resource, name, &object, &present)?;
        check_version(resource, name, &object, conditional)?;
    }
    replace(api, call, name, |_, _| Ok(object.clone()))
}

/// Custom resources may only be replaced by somebody who has read them; a version has to be one.
fn check_version(resource: &Resource, name: &str, object: &Value, conditional: bool) -> ApiResult<()> {
    let version = text(object, "/metadata/resourceVersion");
    if matches!(version, "" | "0") {
        return if conditional { Err(ApiError::unconditional(resource, name)) } else { Ok(()) };
    }
    match version.parse::<u64>() {
        Ok(_) => Ok(()),
        Err(_) => Err(ApiError::untyped(format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(version)))),
    }
}

/// Whoever means another object of the same name has to be told; the real server tells it in the words of its store.
fn check_uid(resource: &Resource, name: &str, object: &Value, present: &Document) -> ApiResult<()> {
    let uid = text(object, "/metadata/uid");
    if uid.is_empty() || uid == present.uid() {
        return Ok(());
    }
    let group = if resource.custom { format!("{}/", resource.group) } else { String::new() };
    let namespace = if resource.namespaced { format!("{}/", present.namespace()) } else { String::new() };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{namespace}{name}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
        resource.plural,
        present.uid()
    );
    Err(ApiError::conflict(resource, name, &why))
}

/// Kinds that clients write without knowing whether they exist.
fn creates_on_update(resource: &Resource) -> bool {
    matches!(resource.kind.as_str(), "Lease" | "Event") && !resource.custom
}

/// Replaces the object by what `next` makes of its present (stored and shown) state, as a plain write.
pub(super) fn replace(
    api: &Api,
    call: &Call,
    name: &str,
    next: impl Fn(&Document, &Value) -> ApiResult<Value>,
) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let manager = create::manager(call, false);
    change(api, call, name, |current, old| {
        let mut wanted = next(current, old)?;
        prepare::keep(call, &mut wanted, old);
        super::hooks::before_update(resource, call.target.subresource.as_deref(), &mut wanted, old);
        apply::track(old, &mut wanted, &resource.ownership, &manager, api.clock.now());
        if manager.subresource == "scale" {
            forget_time(&mut wanted);
        }
        Ok(wanted)
    })
}

/// Writes the state that `next` gives, after all checks.
pub(super) fn change(
    api: &Api,
    call: &Call,
    name: &str,
    next: impl Fn(&Document, &Value) -> ApiResult<Value>,
) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let status = call.target.subresource.as_deref() == Some("status");
    let scope = if status { Scope::Status } else { Scope::Main };
    let checked = |current: &Document| -> ApiResult<Value> {
        let old = resource.show(current.json());
        let mut wanted = next(current, &old)?;
        check_preconditions(resource, name, &wanted, current)?;
        prepare::check(call, &wanted, Some(&old))?;
        prepare::settle(resource, &mut wanted);
        if let Some(Value::Object(metadata)) = wanted.get_mut("metadata") {
            // No version, and version 0, stand for the present one.
            metadata.insert("resourceVersion".into(), current.resource_version().into());
        }
        Ok(wanted)
    };
    if call.params.dry_run {
        let current = super::read(&call.target, name)?;
        let mut wanted = checked(&current)?;
        count_generation(resource, &mut wanted, &resource.show(current.json()), status);
        return answer(api, call, &wanted);
    }
    let _whole = super::hooks::whole(api, resource);
    let last = RefCell::new(Value::Null);
    let written = read_modify_write(&call.target, name, scope, |current| {
        let wanted = checked(current)?;
        last.replace(wanted.clone());
        Ok(resource.store(wanted))
    })?;
    super::hooks::written(api, resource, &written);
    if written.outcome == Outcome::Removed {
        // The write took the last finalizer: it is answered as if it had been stored, and is gone.
        return answer(api, call, &last.take());
    }
    answer(api, call, &resource.show(written.object.json()))
}

/// A scale does not carry the times of its owners, so the real server loses the time of this one.
fn forget_time(object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        if entry.get("subresource").and_then(Value::as_str) == Some("scale") {
            entry.remove("time");
        }
    }
}

/// What the engine would do to the generation.
fn count_generation(resource: &Resource, wanted: &mut Value, old: &Value, status: bool) {
    let counts = resource.counts_generations();
    let content = |object: &Value| {
        let mut object = object.clone();
        if let Value::Object(fields) = &mut object {
            fields.retain(|name, _| name != "metadata" && !(resource.status && name == "status"));
        }
        object
    };
    if counts && !status && content(wanted) != content(old) {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        wanted["metadata"]["generation"] = (generation + 1).into();
    }
}

fn answer(api: &Api, call: &Call, shown: &Value) -> ApiResult<Reply> {
    if call.target.subresource.as_deref() == Some("scale")
        && let Ok(scale) = scale::of(&call.target.resource, shown)
    {
        return Ok(Reply::object(scale));
    }
    Ok(Reply::object(shape::one(call, shown, api.clock.now())?))
}

fn check_preconditions(resource: &Resource, name: &str, wanted: &Value, current: &Document) -> ApiResult<()> {
    let uid = text(wanted, "/metadata/uid");
    if !uid.is_empty() && uid != current.uid() {
        // Looked at twice, as all metadata that an update may not change.
        let error = FieldError::invalid("metadata.uid", uid, "field is immutable");
        return Err(ApiError::invalid(&resource.group, &resource.kind, name, &vec![error.clone(), error]));
    }
    let version = text(wanted, "/metadata/resourceVersion");
    if !matches!(version, "" | "0") && version != current.resource_version() {
        return Err(ApiError::stale(resource, name));
    }
    Ok(())
}
