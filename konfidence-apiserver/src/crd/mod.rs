//! Custom resource definitions: a kind of one's own, served from the moment that it is written.

pub(crate) mod formats;
mod install;
pub(crate) mod pattern;
mod rules;
mod structure;
pub(crate) mod validate;
pub(crate) mod within;

pub(crate) use install::{install, installed, uninstall};

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Collection, EngineError, Scope};
use serde_json::{Map, Value, json};

use crate::apply::{self, Manager};
use crate::json::{list, seconds, text};
use crate::resource::Resource;
use crate::server::Api;
use crate::stack::fitting;
use crate::status::{ApiError, ApiResult};

/// Holds a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Fills in the names and the conversion that a definition may leave out.
pub(crate) fn complete(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let empty = |names: &Map<String, Value>, name: &str| {
            names.get(name).and_then(Value::as_str).unwrap_or_default().is_empty()
        };
        if !kind.is_empty() && empty(names, "singular") {
            names.insert("singular".into(), kind.to_lowercase().into());
        }
        if !kind.is_empty() && empty(names, "listKind") {
            names.insert("listKind".into(), format!("{kind}List").into());
        }
    }
}

/// The status of a new definition, before anybody has looked at its names.
pub(crate) fn first_status(crd: &Value) -> Value {
    json!({
        "conditions": null,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": storage_versions(crd),
    })
}

/// The status of a definition whose names have been looked at: those that nobody else has are accepted, and if all are,
/// it is served.
fn settled_status(api: &Api, crd: &Value) -> Value {
    let now = seconds(api.clock.now());
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": if status { "True" } else { "False" },
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
        })
    };
    let (names, conflict) = accepted_names(api, crd);
    let conditions = match conflict {
        None => [
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        Some((reason, message)) => [
            condition("NamesAccepted", false, reason, &message),
            condition("Established", false, "NotAccepted", "not all names are accepted"),
        ],
    };
    json!({"conditions": conditions, "acceptedNames": names, "storedVersions": storage_versions(crd)})
}

fn storage_versions(crd: &Value) -> Vec<&str> {
    versions(crd)
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
        .filter_map(|version| version.get("name").and_then(Value::as_str))
        .collect()
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten()
}

/// The names that a definition may have, and which one it may not: the last one that another definition of its group
/// has already.
fn accepted_names(api: &Api, crd: &Value) -> (Value, Option<(&'static str, String)>) {
    let own = text(crd, "/metadata/name");
    let others = collection(api).map(|crds| crds.list(None).items).unwrap_or_default();
    let others: Vec<&Value> = others
        .iter()
        .map(|other| other.json())
        .filter(|other| text(other, "/spec/group") == text(crd, "/spec/group") && text(other, "/metadata/name") != own)
        .filter_map(|other| other.pointer("/status/acceptedNames"))
        .collect();
    let is = |names: &Value, field: &str, name: &str| names.get(field).and_then(Value::as_str) == Some(name);
    let is_resource = |name: &str| {
        others.iter().any(|names| {
            is(names, "plural", name)
                || is(names, "singular", name)
                || list(names, "/shortNames").iter().any(|short| short == name)
        })
    };
    let is_kind = |name: &str| others.iter().any(|names| is(names, "kind", name) || is(names, "listKind", name));
    let mut accepted = json!({"plural": "", "kind": ""});
    let mut conflict = None;
    let taken = |name: &str| format!("{name:?} is already in use");
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("shortNames", "ShortNamesConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ] {
        let Some(wanted) = crd.pointer(&format!("/spec/names/{field}")) else { continue };
        let names: Vec<&str> = match wanted {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let refused: Vec<&str> = names
            .into_iter()
            .filter(|name| if matches!(field, "kind" | "listKind") { is_kind(name) } else { is_resource(name) })
            .collect();
        match refused.as_slice() {
            [] => accepted[field] = wanted.clone(),
            [one] => conflict = Some((reason, taken(one))),
            many => {
                let all: Vec<String> = many.iter().map(|name| taken(name)).collect();
                conflict = Some((reason, format!("[{}]", all.join(", "))));
            }
        }
    }
    if let Some(categories) = crd.pointer("/spec/names/categories") {
        accepted["categories"] = categories.clone();
    }
    (accepted, conflict)
}

/// Whether the definition of a resource is on its way out, and nothing new of it is made.
pub(crate) fn is_terminating(api: &Api, resource: &Resource) -> bool {
    let definition = collection(api).and_then(|crds| crds.get("", &resource.qualified()));
    definition.is_some_and(|crd| crd.json().pointer("/metadata/deletionTimestamp").is_some())
}

fn collection(api: &Api) -> Option<Collection> {
    let served = api.registry.served();
    served.get(crate::builtin::APIEXTENSIONS, "v1", "customresourcedefinitions")?.collection.clone()
}

/// Marks a definition, before it is deleted, as one whose objects have to go first.
pub(crate) fn hold(api: &Api, resource: &Resource, name: &str) -> ApiResult<()> {
    let collection = collection(api).ok_or_else(ApiError::no_such_path)?;
    let now = seconds(api.clock.now());
    let held = collection.update("", name, &Precondition::default(), Scope::Whole, |crd| {
        let mut crd = crd.json().clone();
        if crd.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(crd);
        }
        if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
            let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(finalizers) = finalizers.as_array_mut().filter(|all| !all.iter().any(|one| one == CLEANUP)) {
                finalizers.push(CLEANUP.into());
            }
        }
        if let Some(conditions) = crd.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            conditions.retain(|condition| condition.get("type").and_then(Value::as_str) != Some("Terminating"));
            conditions.push(json!({
                "type": "Terminating",
                "status": "True",
                "reason": "InstanceDeletionPending",
                "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                "lastTransitionTime": now,
            }));
        }
        Ok::<_, EngineError>(crd)
    });
    held.map(|_| ()).map_err(|error| match error {
        EngineError::NotFound => ApiError::not_found(resource, name),
        other => ApiError::internal(other),
    })
}

/// Deletes the objects of a definition that is being deleted; when none is left, lets the definition go.
pub(crate) fn finish(api: &Arc<Api>, name: &str) {
    let Some(crds) = collection(api) else { return };
    if sweep(api, &crds, name).is_none() {
        return;
    }
    note_progress(&crds, name);
    let (api, name) = (Arc::clone(api), name.to_owned());
    crate::server::spawn(async move {
        let mut ended = api.ended.subscribe();
        while let Some((objects, from)) = sweep(&api, &crds, &name) {
            let Ok(mut changes) = objects.watch(None, from) else { continue };
            tokio::select! {
                _ = changes.next() => {}
                _ = ended.wait_for(|ended| *ended) => return,
            }
        }
    });
}

/// Says of a definition whose objects have not gone at once that they are going.
fn note_progress(crds: &Collection, name: &str) {
    let _ = crds.update("", name, &Precondition::default(), Scope::Whole, |crd| {
        let mut crd = crd.json().clone();
        let conditions = crd.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter(|one| text(one, "/type") == "Terminating") {
            condition["reason"] = "InstanceDeletionInProgress".into();
            condition["message"] = "CustomResource deletion is in progress".into();
        }
        Ok::<_, EngineError>(crd)
    });
}

/// The objects that are left and wait for their finalizers; `None`: none are, and the definition is gone.
fn sweep(api: &Api, crds: &Collection, name: &str) -> Option<(Collection, u64)> {
    // After the first time this is nobody's request, and the objects may be nested deep.
    fitting(api.engine.nesting(), || delete_all(api, crds, name))
}

fn delete_all(api: &Api, crds: &Collection, name: &str) -> Option<(Collection, u64)> {
    let crd = crds.get("", name)?;
    if let Some(objects) = installed(api, crd.json()) {
        for object in objects.list(None).items {
            let _ = objects.delete(object.namespace(), object.name(), &Precondition::default(), None);
        }
        let listing = objects.list(None);
        if !listing.items.is_empty() {
            return Some((objects, listing.revision));
        }
    }
    uninstall(api, crd.json());
    let _ = crds.update("", name, &Precondition::default(), Scope::Whole, |crd| {
        let mut crd = crd.json().clone();
        if let Some(Value::Array(finalizers)) = crd.pointer_mut("/metadata/finalizers") {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
        }
        Ok::<_, EngineError>(crd)
    });
    None
}

/// After a change of a definition: its names and storage version are noted in its status, and what it says now is
/// served.
pub(crate) fn settle(api: &Api, crd: &Value) {
    let name = text(crd, "/metadata/name");
    let fresh = settled_status(api, crd);
    let ownership =
        api.registry.served().get(crate::builtin::APIEXTENSIONS, "v1", "customresourcedefinitions").cloned();
    let settled = collection(api).zip(ownership).and_then(|(crds, resource)| {
        let written = crds.update("", name, &Precondition::default(), Scope::Whole, |present| {
            let mut next = present.json().clone();
            next["status"]["acceptedNames"] = fresh["acceptedNames"].clone();
            merge_conditions(&mut next["status"], &fresh["conditions"]);
            let mut stored = next["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
            for version in fresh["storedVersions"].as_array().into_iter().flatten() {
                if !stored.contains(version) {
                    stored.push(version.clone());
                }
            }
            next["status"]["storedVersions"] = stored.into();
            let server = Manager {
                name: "kube-apiserver".into(),
                applies: false,
                api_version: resource.api_version(),
                subresource: "status".into(),
            };
            let mut before = present.json().clone();
            if before["status"]["conditions"].is_null() {
                before["status"]["conditions"] = json!([]);
            }
            apply::track(&before, &mut next, &resource.ownership, &server, api.clock.now());
            Ok::<_, EngineError>(next)
        });
        written.ok()
    });
    match settled {
        Some(written) => install(api, written.object.json(), api.engine.revision()),
        None => install(api, crd, api.engine.revision()),
    }
}

/// A condition keeps its time unless its status changes.
fn merge_conditions(status: &mut Value, fresh: &Value) {
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    for condition in fresh.as_array().into_iter().flatten() {
        match conditions.iter_mut().find(|one| one["type"] == condition["type"]) {
            Some(known) if known["status"] == condition["status"] => {}
            Some(known) => *known = condition.clone(),
            None => conditions.push(condition.clone()),
        }
    }
    status["conditions"] = conditions.into();
}

/// Serves the definitions that the engine holds already. Objects from before this process may be watched from any version
/// that is kept.
pub(crate) fn resume(api: &Arc<Api>) {
    for crd in collection(api).into_iter().flat_map(|crds| crds.list(None).items) {
        fitting(crd.nesting(), || install(api, crd.json(), 0));
        if crd.json().pointer("/metadata/deletionTimestamp").is_some() {
            finish(api, crd.name());
        }
    }
}

/// Makes or replaces a definition, as its first user would.
///
/// # Errors
/// 422 with every field that is wrong with it.
pub(crate) fn put(api: &Api, definition: CustomResourceDefinition) -> ApiResult<()> {
    let mut crd = serde_json::to_value(definition).map_err(ApiError::internal)?;
    complete(&mut crd);
    let name = text(&crd, "/metadata/name").to_owned();
    let errors = validate::check(&crd, None);
    if !errors.is_empty() {
        return Err(ApiError::invalid(crate::builtin::APIEXTENSIONS, "CustomResourceDefinition", &name, &errors));
    }
    let crds = collection(api).ok_or_else(ApiError::no_such_path)?;
    crd["status"] = first_status(&crd);
    let written = match crds.get("", &name) {
        None => crds.create(crd, Scope::Whole),
        Some(_) => crds.update("", &name, &Precondition::default(), Scope::Whole, |present| {
            let mut next = present.json().clone();
            next["spec"] = crd["spec"].clone();
            Ok::<_, EngineError>(next)
        }),
    };
    settle(api, written.map_err(ApiError::internal)?.object.json());
    Ok(())
}
