//! Deleting one object, or all that a request selects.

use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Outcome, Propagation};
use serde_json::{Value, json};

use super::{collection as objects, engine_error, shape};
use crate::builtin::namespaces;
use crate::field::FieldError;
use crate::http::Call;
use crate::http::body::{self, Unreadable};
use crate::http::params::unsupported_dry_run;
use crate::http::respond::Reply;
use crate::json::{list, seconds, text};
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
    // Of a service account the real server shows the last state.
    if gone && (resource.custom || resource.kind != "ServiceAccount") {
        let uid = text(&object, "/metadata/uid");
        return Ok(Reply::object(status::deleted(resource, name, uid)));
    }
    Ok(Reply::object(shape::one(call, &object, api.clock.now())?))
}

pub(super) fn collection(api: &std::sync::Arc<Api>, call: &Call) -> ApiResult<Reply> {
    let options = options(call)?;
    let resource = &call.target.resource;
    let selected = super::list::select(call)?;
    let mut deleted = Vec::new();
    for object in &selected.objects {
        match delete(api, resource, object.namespace(), object.name(), &options) {
            Ok(_) => deleted.push(resource.show(object.json()).into_owned()),
            // Somebody else was faster.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Reply::object(shape::many(call, deleted, selected.metadata, api.clock.now())?))
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
        let waits = !list(current.json(), "/metadata/finalizers").is_empty();
        let mut shown = resource.show(current.json()).into_owned();
        if waits
            && let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut)
            && !metadata.contains_key("deletionTimestamp")
        {
            metadata.insert("deletionTimestamp".into(), seconds(api.clock.now()).into());
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                metadata.insert("generation".into(), (generation + 1).into());
            }
        }
        return Ok((!waits, shown));
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
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have \
             been deleted and then recreated"
        );
        return Err(ApiError::precondition(resource, name, &why));
    }
    if let Some(wanted) = wanted.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        );
        return Err(ApiError::precondition(resource, name, &why));
    }
    Ok(())
}

/// The options of a delete: its body, or, if it has none, its query.
fn options(call: &Call) -> ApiResult<Options> {
    let body = if call.body.is_empty() { in_query(call) } else { in_body(call)? };
    let text = |pointer: &str| Some(text(&body, pointer)).filter(|text| !text.is_empty()).map(str::to_owned);
    let orphan = body.get("orphanDependents").and_then(Value::as_bool);
    let policy = text("/propagationPolicy");
    let refused = |error| Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &vec![error]));
    if policy.is_some() && orphan.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        return refused(FieldError::invalid("propagationPolicy", policy.unwrap_or_default(), why));
    }
    let propagation = match (policy.as_deref(), orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (None, None) => None,
        (Some(other), _) => {
            let known = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
            return refused(FieldError::not_supported("propagationPolicy", other, &known));
        }
    };
    let dry_run = match list(&body, "/dryRun") {
        [] => false,
        [all] if all == "All" => true,
        other => return refused(unsupported_dry_run(other)),
    };
    let precondition =
        Precondition { uid: text("/preconditions/uid"), resource_version: text("/preconditions/resourceVersion") };
    Ok(Options { precondition, propagation, dry_run })
}

fn in_query(call: &Call) -> Value {
    let params = &call.params;
    json!({
        "propagationPolicy": params.propagation_policy,
        "orphanDependents": params.orphan_dependents,
        "dryRun": if params.dry_run { json!(["All"]) } else { json!([]) },
    })
}

fn in_body(call: &Call) -> ApiResult<Value> {
    let body = body::object(&call.headers, &call.body).map_err(|error| match error {
        Unreadable::MediaType => ApiError::unsupported_media_type(body::READ),
        Unreadable::Syntax(why) => ApiError::bad_request(why),
    })?;
    let (version, kind) = (text(&body.value, "/apiVersion"), text(&body.value, "/kind"));
    if !body.value.is_object() || !(kind.is_empty() || kind == "DeleteOptions") {
        return Err(ApiError::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    Ok(body.value)
}
