//! Deleting one object, or all that a request selects.

use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Outcome, Propagation};
use serde_json::{Value, json};

use super::{collection as objects, engine_error, shape};
use crate::builtin::namespaces;
use crate::field::FieldError;
use crate::http::respond::Reply;
use crate::http::{Call, body};
use crate::json::text;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::{self, ApiError, ApiResult};

/// What a delete asks for, from its body and its query.
struct Options {
    precondition: Precondition,
    propagation: Option<Propagation>,
    dry_run: bool,
}

pub(super) fn one(api: &std::sync::Arc<Api>, call: &Call, name: &str) -> ApiResult<Reply> {
    let options = options(call)?;
    let resource = &call.target.resource;
    let (gone, object) = delete(api, resource, call.target.namespace(), name, &options)?;
    if gone {
        let uid = text(&object, "/metadata/uid");
        return Ok(Reply::object(status::deleted(resource, name, uid)));
    }
    Ok(Reply::object(shape::one(call, &object, api.clock.now())))
}

pub(super) fn collection(api: &std::sync::Arc<Api>, call: &Call) -> ApiResult<Reply> {
    let options = options(call)?;
    let resource = &call.target.resource;
    let selected = super::list::select(call)?;
    let mut deleted = Vec::new();
    for object in &selected.objects {
        match delete(api, resource, object.namespace(), object.name(), &options) {
            Ok(_) => deleted.push(resource.show(object.json())),
            // Somebody else was faster.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Reply::object(shape::many(call, deleted, &Value::Object(selected.metadata), api.clock.now())))
}

/// Deletes one object. Whether it is gone, and its last or present state.
fn delete(
    api: &std::sync::Arc<Api>,
    resource: &Resource,
    namespace: &str,
    name: &str,
    options: &Options,
) -> ApiResult<(bool, Value)> {
    let current = objects(resource)?.get(namespace, name).ok_or_else(|| ApiError::not_found(resource, name))?;
    check(resource, name, &options.precondition, current.uid(), current.resource_version())?;
    if resource.group.is_empty() && resource.plural == "namespaces" && namespaces::is_protected(name) {
        return Err(ApiError::forbidden(resource, name, "this namespace may not be deleted"));
    }
    if options.dry_run {
        let waits =
            current.json().pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        return Ok((!waits, resource.show(current.json())));
    }
    let whole = super::hooks::whole(api, resource);
    super::hooks::before_delete(api, resource, name)?;
    let written = objects(resource)?
        .delete(namespace, name, &options.precondition, options.propagation)
        .map_err(|error| engine_error(resource, name, error))?;
    drop(whole);
    let shown = super::hooks::deleted(api, resource, &written);
    Ok((written.outcome == Outcome::Removed, shown))
}

fn check(resource: &Resource, name: &str, wanted: &Precondition, uid: &str, version: &str) -> ApiResult<()> {
    if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}");
        return Err(ApiError::conflict(resource, name, &why));
    }
    if let Some(wanted) = wanted.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {version}"
        );
        return Err(ApiError::conflict(resource, name, &why));
    }
    Ok(())
}

fn options(call: &Call) -> ApiResult<Options> {
    let body = if call.body.is_empty() { json!({}) } else { body::object(&call.headers, &call.body)?.value };
    let kind = body.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !body.is_object() || !(kind.is_empty() || kind == "DeleteOptions") {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type DeleteOptions): {kind:?}"
        )));
    }
    let text = |pointer: &str| {
        body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let policy = text("/propagationPolicy")
        .or_else(|| Some(call.params.propagation_policy.clone()).filter(|policy| !policy.is_empty()));
    let orphan = body.get("orphanDependents").and_then(Value::as_bool).or(call.params.orphan_dependents);
    if policy.is_some() && orphan.is_some() {
        let error = FieldError::invalid(
            "propagationPolicy",
            policy.unwrap_or_default(),
            "orphanDependents and deletionPropagation cannot be both set",
        );
        return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &vec![error]));
    }
    let propagation = match (policy.as_deref(), orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (None, None) => None,
        (Some(other), _) => {
            let known = ["Background", "Foreground", "Orphan"].map(str::to_owned);
            let error = FieldError::not_supported("propagationPolicy", other, &known);
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &vec![error]));
        }
    };
    let dry_run = match body.get("dryRun").and_then(Value::as_array).map(Vec::as_slice) {
        None | Some([]) => call.params.dry_run,
        Some([all]) if all == "All" => true,
        Some(_) => return Err(ApiError::bad_request("dryRun: Unsupported value: supported values: \"All\"")),
    };
    let precondition =
        Precondition { uid: text("/preconditions/uid"), resource_version: text("/preconditions/resourceVersion") };
    Ok(Options { precondition, propagation, dry_run })
}
