//! Making an object.

use konfidence_sdk::store::engine::{EngineError, Scope};
use serde_json::Value;

use super::prepare::{self, Origin};
use super::{collection, engine_error, shape};
use crate::apply::{self, Manager};
use crate::builtin::namespaces;
use crate::crd;
use crate::http::Call;
use crate::http::respond::Reply;
use crate::json::{seconds, text};
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call) -> ApiResult<Reply> {
    let decoded = prepare::read(call)?;
    let mut object = decoded.value;
    prepare::fit_to_path(call, &mut object, None)?;
    prepare::decode(call, &mut object, &decoded.twice, Origin::Body)?;
    finish(api, call, object, Some(&manager(call, false)))
}

/// The rest of the road, which an apply of a new object takes too. `track`: who made the object by a plain write; of an
/// apply the managed fields are known already.
pub(super) fn finish(api: &Api, call: &Call, mut object: Value, track: Option<&Manager>) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    name_it(call, &mut object)?;
    let name = text(&object, "/metadata/name").to_owned();
    if object.pointer("/metadata/resourceVersion").and_then(Value::as_str).is_some_and(|version| !version.is_empty()) {
        return Err(ApiError::untyped("resourceVersion should not be set on objects to be created"));
    }
    forget(&mut object);
    if resource.custom && crd::is_terminating(api, resource) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::forbidden(resource, &name, why));
    }
    if resource.namespaced {
        namespaces::admit(api, call, &name)?;
    }
    if resource.status
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    super::hooks::before_create(resource, &mut object);
    if let Some(manager) = track {
        apply::track(&resource.nothing(), &mut object, &resource.ownership, manager, api.clock.now());
    }
    prepare::check(call, &object, None)?;
    prepare::settle(resource, &mut object);
    let collection = collection(resource)?;
    // What the server adds to a new object by itself (a phase, conditions) is part of its first state.
    let scope = if super::hooks::after_create(resource, &mut object) { Scope::Whole } else { Scope::Main };
    if call.params.dry_run {
        if !name.is_empty() && collection.get(call.target.namespace(), &name).is_some() {
            return Err(taken(call, &name));
        }
        return Ok(Reply::created(shape::one(call, &pretended(api, resource, object), api.clock.now())?));
    }
    // A crash must not leave an object in a namespace that went at the same moment, or a definition half settled.
    let _whole = api.engine.whole();
    let written = collection.create(resource.store(object), scope).map_err(|error| match error {
        EngineError::AlreadyExists => taken(call, &name),
        other => engine_error(resource, &name, other),
    })?;
    if resource.namespaced {
        namespaces::readmit(api, call, &written)?;
    }
    super::hooks::written(api, resource, &written);
    Ok(shape::stored(call, &written.object, api.clock.now())?.created_now())
}

/// What only the server says of an object.
fn forget(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
}

/// The name is taken, perhaps by an object that is on its way out.
fn taken(call: &Call, name: &str) -> ApiError {
    let resource = &call.target.resource;
    let present = resource.collection.as_ref().and_then(|objects| objects.get(call.target.namespace(), name));
    match present {
        Some(object) if object.json().pointer("/metadata/deletionTimestamp").is_some() => {
            ApiError::being_deleted(resource, name)
        }
        _ => ApiError::already_exists(resource, name),
    }
}

/// Gives an object the name that its `generateName` asks for. Rules may look at the name, so it comes before them.
fn name_it(call: &Call, object: &mut Value) -> ApiResult<()> {
    const ATTEMPTS: usize = 8;
    let collection = collection(&call.target.resource)?;
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(()) };
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let base = text("generateName");
    if base.is_empty() || !text("name").is_empty() {
        return Ok(());
    }
    let mut names = (0..ATTEMPTS).map(|_| collection.engine().generate_name(&base));
    let free = names.find(|name| collection.get(call.target.namespace(), name).is_none());
    let name = free.ok_or_else(|| ApiError::already_exists(&call.target.resource, &base))?;
    metadata.insert("name".into(), name.into());
    Ok(())
}

/// A new object as a dry run shows it.
fn pretended(api: &Api, resource: &Resource, mut object: Value) -> Value {
    let now = seconds(api.clock.now());
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        if resource.counts_generations() {
            metadata.insert("generation".into(), 1.into());
        }
        metadata.insert("uid".into(), api.engine.generate_uid().into());
        metadata.insert("creationTimestamp".into(), now.into());
    }
    object
}

/// Who writes, and how.
pub(crate) fn manager(call: &Call, applies: bool) -> Manager {
    Manager {
        name: call.manager(),
        applies,
        api_version: call.target.resource.api_version(),
        subresource: call.target.subresource.clone().unwrap_or_default(),
    }
}
