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

pub(crate) use create::manager;
pub(crate) use shared_lines::SharedLines;

use std::sync::Arc;

use http::Method;
use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Collection, Document, EngineError, Scope, Written};
use serde_json::Value;

use crate::builtin::reviews;
use crate::field::FieldError;
use crate::http::Call;
use crate::http::path::Target;
use crate::http::respond::Reply;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

/// So many turns of all rules of an object take less than a second, whatever they do.
const FEW_TURNS: usize = 100_000;

/// Runs a request.
pub(crate) fn run(api: &Arc<Api>, method: &Method, call: &Call) -> ApiResult<Reply> {
    let target = &call.target;
    let resource = &target.resource;
    if let Some(deprecation) = &resource.deprecation {
        call.warn(deprecation.clone());
    }
    if resource.collection.is_none() {
        return if *method == Method::POST && target.name.is_none() {
            let review = prepare::read(call)?.value;
            let pods = api.registry.served().get("", "v1", "pods").cloned();
            if let Some(pods) = pods.filter(|_| resource.kind == "Binding") {
                return Err(ApiError::not_found(&pods, crate::json::text(&review, "/metadata/name")));
            }
            Ok(Reply::created(reviews::answer(api, call, review)))
        } else {
            Err(ApiError::method_not_allowed(None, ""))
        };
    }
    let part = target.subresource.as_deref();
    // The path that shows all namespaces only shows.
    let everywhere = resource.namespaced && target.namespace.is_none();
    let is_namespaces = !resource.custom && resource.plural == "namespaces";
    // What discovery does not offer is not done.
    let offered = |verb: &str| resource.verbs.contains(&verb);
    match (method.as_str(), target.name.as_deref()) {
        ("GET" | "HEAD", None) if call.params.watch => watch::run(api, call),
        ("GET" | "HEAD", None) => list::run(api, call),
        ("GET" | "HEAD", Some(name)) if part != Some("finalize") => get::run(api, call, name),
        ("POST", None) if !everywhere && offered("create") => create::run(api, call),
        // Whoever serves custom resources looks at the method first, and at the name when it needs one.
        ("POST", Some(_)) if resource.custom && part.is_none() => create::run(api, call),
        ("PUT" | "PATCH", None) if resource.custom => Err(ApiError::bad_request("name must be provided")),
        ("DELETE", None) if !everywhere && !is_namespaces && offered("deletecollection") => {
            delete::collection(api, call)
        }
        ("DELETE", Some(name)) if part.is_none() && offered("delete") => delete::one(api, call, name),
        ("PUT", Some(name)) if offered("update") => update::run(api, call, name),
        ("PATCH", Some(name)) if part != Some("finalize") && offered("patch") => patch::run(api, call, name),
        (method, _) => Err(ApiError::method_not_allowed(resource.custom.then_some(resource.as_ref()), verb(method))),
    }
}

/// Whether to ask the rules of the resource may take seconds: what is written, and what is there, has long lists.
pub(crate) fn takes_long(call: &Call) -> bool {
    let target = &call.target;
    target.resource.schema.turns_of(|| {
        let stored = target.name.as_deref().zip(target.resource.collection.as_ref());
        let stored = stored.and_then(|(name, stored)| stored.get(target.namespace(), name));
        let entries = call.body.iter().filter(|byte| matches!(byte, b',' | b'\n')).count() + 1;
        entries + stored.map_or(0, |stored| crate::schema::longest(stored.json()))
    }) > FEW_TURNS
}

fn verb(method: &str) -> &str {
    match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
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
