//! Replacing an object, its status, or what another subresource shows of it.

use konfidence_sdk::store::engine::{Document, Scope, Written};
use serde_json::Value;

use super::prepare::{self, Origin};
use super::{create, read_modify_write, scale, shape};
use crate::apply;
use crate::field::FieldError;
use crate::http::respond::Reply;
use crate::http::{Call, body};
use crate::json::text;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let decoded = body::object(&call.headers, &call.body)?;
    if call.target.subresource.as_deref() == Some("scale") {
        return replace(api, call, name, |_, old| scale::onto(resource, old, &decoded.value));
    }
    let mut object = decoded.value;
    prepare::check_kind(resource, &object)?;
    prepare::fit_to_path(call, &mut object, Some(name))?;
    let warnings = prepare::decode(call, &mut object, &decoded.duplicates, Origin::Body)?;
    if super::collection(resource)?.get(call.target.namespace(), name).is_none() {
        if creates_on_update(resource) {
            return Ok(create::finish(api, call, object, Some(&create::manager(call, false)))?.warn(warnings));
        }
        return Err(ApiError::not_found(resource, name));
    }
    check_version(resource, name, &object)?;
    check_uid(call, name, &object)?;
    Ok(replace(api, call, name, |_, _| Ok(object.clone()))?.warn(warnings))
}

/// Custom resources may only be replaced by somebody who has read them.
fn check_version(resource: &Resource, name: &str, object: &Value) -> ApiResult<()> {
    let version = text(object, "/metadata/resourceVersion");
    let conditional = resource.custom || matches!(resource.kind.as_str(), "Lease" | "CustomResourceDefinition");
    if version.is_empty() && conditional {
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        return Err(ApiError::invalid(&resource.group, &resource.kind, name, &vec![error]));
    }
    Ok(())
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
        let wanted = next(current, &old)?;
        check_preconditions(resource, name, &wanted, current)?;
        prepare::check(call, &wanted, Some(&old))?;
        Ok(wanted)
    };
    if call.params.dry_run {
        let current = super::read(&call.target, name)?;
        let mut pretended = checked(&current)?;
        prepare::count_generation(resource, &mut pretended, current.json());
        return Ok(answer(api, call, &pretended));
    }
    let _whole = super::hooks::whole(api, resource);
    let written = read_modify_write(&call.target, name, scope, |current| Ok(resource.store(checked(current)?)))?;
    super::hooks::written(api, resource, &written);
    Ok(written_answer(api, call, &written))
}

fn written_answer(api: &Api, call: &Call, written: &Written) -> Reply {
    answer(api, call, &call.target.resource.show(written.object.json()))
}

fn answer(api: &Api, call: &Call, shown: &Value) -> Reply {
    if call.target.subresource.as_deref() == Some("scale")
        && let Ok(scale) = scale::of(&call.target.resource, shown)
    {
        return Reply::object(scale);
    }
    Reply::object(shape::one(call, shown, api.clock.now()))
}

/// Who replaces an object by its uid means that object; a patch that says another uid wants to change it.
fn check_uid(call: &Call, name: &str, wanted: &Value) -> ApiResult<()> {
    let resource = &call.target.resource;
    let current = super::read(&call.target, name)?;
    let uid = text(wanted, "/metadata/uid");
    if uid.is_empty() || uid == current.uid() {
        return Ok(());
    }
    let place = [&resource.group, &resource.plural, call.target.namespace(), name];
    let key: Vec<&str> = place.into_iter().filter(|part| !part.is_empty()).collect();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
        key.join("/"),
        current.uid()
    );
    Err(ApiError::conflict(resource, name, &why))
}

fn check_preconditions(resource: &Resource, name: &str, wanted: &Value, current: &Document) -> ApiResult<()> {
    let version = text(wanted, "/metadata/resourceVersion");
    if !version.is_empty() && version != current.resource_version() {
        return Err(ApiError::stale(resource, name));
    }
    Ok(())
}
