//! What a request does: one file per verb.
//!
//! Every write is computed from the state that was read and handed to the engine together with that state's revision;
//! if the object has moved on meanwhile, it is computed again. So nothing is ever half applied, and no slow check is
//! made under the engine's lock.

mod create;
mod delete;
mod get;
mod hooks;
mod list;
mod patch;
mod prepare;
mod scale;
mod shape;
mod shared_lines;
mod update;
pub(crate) mod validate;
mod watch;

pub(crate) use shared_lines::SharedLines;

use std::sync::Arc;

use http::Method;
use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Collection, Document, EngineError, Scope, Written};
use serde_json::Value;

use crate::builtin::reviews;
use crate::field::FieldError;
use crate::http::Call;
use crate::http::body;
use crate::http::path::Target;
use crate::http::respond::Reply;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

/// Runs a request.
pub(crate) fn run(api: &Arc<Api>, method: &Method, call: &Call) -> ApiResult<Reply> {
    let target = &call.target;
    let resource = &target.resource;
    if resource.collection.is_none() {
        return if *method == Method::POST && target.name.is_none() {
            let review = body::object(&call.headers, &call.body)?.value;
            prepare::check_kind(resource, &review)?;
            Ok(Reply::created(reviews::answer(resource, review, &call.user, api.clock.now())))
        } else {
            Err(ApiError::method_not_allowed(Some(resource), &method.as_str().to_lowercase()))
        };
    }
    let subresource = target.subresource.is_some();
    // What discovery does not offer is not done.
    let offered = |verb: &str| resource.verbs.contains(&verb);
    // The path that shows all namespaces only shows.
    let everywhere = resource.namespaced && target.namespace.is_none();
    let reply = match (method.as_str(), target.name.as_deref()) {
        ("GET" | "HEAD", None) if call.params.watch => watch::run(api, call),
        ("GET" | "HEAD", None) => list::run(api, call),
        ("GET" | "HEAD", Some(name)) => get::run(api, call, name),
        ("POST", None) if offered("create") && (resource.custom || !everywhere) => create::run(api, call),
        ("DELETE", None) if !everywhere && offered("deletecollection") => delete::collection(api, call),
        ("DELETE", Some(name)) if !subresource && offered("delete") => delete::one(api, call, name),
        ("PUT", Some(name)) if offered("update") => update::run(api, call, name),
        ("PATCH", Some(name)) if offered("patch") => patch::run(api, call, name),
        (method, _) => Err(ApiError::method_not_allowed(Some(resource), verb(method))),
    };
    reply.map(|reply| reply.warn(resource.deprecation.clone()))
}

fn verb(method: &str) -> &str {
    match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        other => other,
    }
}

/// The stored objects of a resource.
fn collection(resource: &Resource) -> ApiResult<&Collection> {
    resource.collection.as_ref().ok_or_else(|| ApiError::method_not_allowed(Some(resource), "get"))
}

/// One stored object as the next write finds it.
fn read(target: &Target, name: &str) -> ApiResult<Arc<Document>> {
    collection(&target.resource)?
        .get(target.namespace(), name)
        .ok_or_else(|| ApiError::not_found(&target.resource, name))
}

/// Why a conditional replacement did not happen.
enum Refused {
    /// The object moved on since it was read.
    Moved,
    Engine(EngineError),
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Reads an object, computes its next state, writes it if the object is still what was read, and otherwise starts over.
fn read_modify_write(
    target: &Target,
    name: &str,
    scope: Scope,
    mut next: impl FnMut(&Document) -> ApiResult<Value>,
) -> ApiResult<Written> {
    let collection = collection(&target.resource)?;
    loop {
        let current = read(target, name)?;
        let wanted = next(&current)?;
        let written = collection.update(target.namespace(), name, &Precondition::default(), scope, |present| {
            if present.revision() == current.revision() { Ok(wanted) } else { Err(Refused::Moved) }
        });
        match written {
            Ok(written) => return Ok(written),
            Err(Refused::Moved) => {}
            Err(Refused::Engine(error)) => return Err(engine_error(&target.resource, name, error)),
        }
    }
}

/// The engine's refusals in the API's words.
fn engine_error(resource: &Resource, name: &str, error: EngineError) -> ApiError {
    match error {
        EngineError::NotFound => ApiError::not_found(resource, name),
        EngineError::AlreadyExists => ApiError::already_exists(resource, name),
        EngineError::Conflict { .. } => ApiError::stale(resource, name),
        EngineError::Refused { fields } => {
            let errors = fields.into_iter().map(|error| FieldError::forbidden(error.field, error.message)).collect();
            ApiError::invalid(&resource.group, &resource.kind, name, &errors)
        }
        EngineError::Expired { asked, oldest } => {
            ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
        }
        EngineError::Ahead { asked, present } => ApiError::too_large_version(asked, present),
        error @ EngineError::Unavailable { .. } => ApiError::unavailable(error),
        other => ApiError::internal(other),
    }
}
