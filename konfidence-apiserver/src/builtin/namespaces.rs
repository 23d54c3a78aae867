//! The life of a namespace: it is made with a finalizer of its own, and its deletion takes its contents first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::select_all;
use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Collection, EngineError, Outcome, Scope, Written};
use serde_json::{Value, json};

use crate::apply::{self, Manager};
use crate::http::Call;
use crate::json::{list, seconds, text};
use crate::resource::{Resource, View};
use crate::server::Api;
use crate::stack::fitting;
use crate::status::{ApiError, ApiResult};

/// How long the contents of a deleted namespace are left alone.
const LINGERING: Duration = Duration::from_secs(3);

/// How long after a change in a terminating namespace it is swept again.
const AGAIN: Duration = Duration::from_secs(2);

/// Whether nobody may delete it.
pub(crate) fn is_protected(name: &str) -> bool {
    matches!(name, "default" | "kube-system" | "kube-public")
}

/// The label that every namespace has; nobody can change it.
pub(crate) fn label(namespace: &mut Value) {
    let name = text(namespace, "/metadata/name").to_owned();
    if !name.is_empty()
        && let Some(metadata) = namespace.get_mut("metadata").and_then(Value::as_object_mut)
    {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }
}

/// Adds the finalizer that a namespace is held by until it is empty. It is nobody's: the server itself put it there.
pub(crate) fn hold(namespace: &mut Value) {
    let mut finalizers = list(namespace, "/spec/finalizers").to_vec();
    if !finalizers.iter().any(|one| one == "kubernetes") {
        finalizers.push("kubernetes".into());
        namespace["spec"] = json!({"finalizers": finalizers});
    }
}

fn resource(api: &Api) -> ApiResult<(Arc<Resource>, Collection)> {
    let served = api.registry.served();
    let resource = served.get("", "v1", "namespaces").cloned().ok_or_else(ApiError::no_such_path)?;
    let collection = resource.collection.clone().ok_or_else(ApiError::no_such_path)?;
    Ok((resource, collection))
}

/// Refuses a new object in a namespace that is not there, or is on its way out.
pub(crate) fn admit(api: &Api, call: &Call, name: &str) -> ApiResult<()> {
    let Some(namespace) = call.target.namespace.as_deref() else { return Ok(()) };
    let (resource, namespaces) = resource(api)?;
    match namespaces.get("", namespace) {
        None => Err(ApiError::not_found(&resource, namespace)),
        Some(found) if is_terminating(found.json()) => {
            Err(ApiError::namespace_terminating(&call.target.resource, name, namespace))
        }
        Some(_) => Ok(()),
    }
}

/// Looks again after the object is made: if the namespace went meanwhile, its sweep may have missed the object.
pub(crate) fn readmit(api: &Api, call: &Call, made: &Written) -> ApiResult<()> {
    let admitted = admit(api, call, made.object.name());
    if admitted.is_err()
        && let Some(collection) = &call.target.resource.collection
    {
        let _ = collection.delete(made.object.namespace(), made.object.name(), &Precondition::default(), None);
    }
    admitted
}

fn is_terminating(namespace: &Value) -> bool {
    namespace.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Makes the namespaces that are there from the start.
pub(crate) fn found(api: &Api) {
    let Ok((resource, namespaces)) = resource(api) else { return };
    for name in super::NAMESPACES {
        let mut namespace = json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "metadata": {"name": name},
        });
        label(&mut namespace);
        let blank = json!({"metadata": {}});
        let server = Manager {
            name: "kube-apiserver".into(),
            applies: false,
            api_version: resource.api_version(),
            subresource: String::new(),
        };
        apply::track(&blank, &mut namespace, &resource.ownership, &server, api.clock.now());
        hold(&mut namespace);
        namespace["status"] = json!({"phase": "Active"});
        // It is there already when the engine is not new.
        let _ = namespaces.create(namespace, Scope::Whole);
    }
}

/// Goes on with the namespaces that were on their way out when the engine was last served.
pub(crate) fn resume(api: &Arc<Api>) {
    let Ok((_, namespaces)) = resource(api) else { return };
    for namespace in namespaces.list(None).items.iter().filter(|namespace| is_terminating(namespace.json())) {
        terminate(api, namespace.name());
    }
}

/// Begins the end of a namespace that was just marked as deleted; what it looks like now.
///
/// Its contents go a moment later: a real namespace lingers, too, and who deletes a namespace together with what is in
/// it (`kubectl delete -f`) still finds the rest.
pub(crate) fn terminate(api: &Arc<Api>, name: &str) -> Option<Value> {
    let (resource, namespaces) = resource(api).ok()?;
    let already = namespaces.get("", name).is_some_and(|found| text(found.json(), "/status/phase") == "Terminating");
    if !already {
        set_status(&namespaces, name, |status| status["phase"] = "Terminating".into());
    }
    let shown = namespaces.get("", name).map(|namespace| resource.show(namespace.json()).into_owned());
    let (api, name) = (Arc::clone(api), name.to_owned());
    crate::server::spawn(async move {
        tokio::time::sleep(LINGERING).await;
        if let Left::Objects(left) = sweep(&api, &namespaces, &name) {
            finish(&api, &namespaces, &name, left).await;
        }
    });
    shown
}

/// What a sweep leaves.
enum Left {
    /// The namespace is gone, or another finalizer holds it.
    Nothing,
    /// These have objects that wait for their finalizers.
    Objects(Vec<(Collection, u64)>),
}

/// Waits for what is left to go, and sweeps again.
async fn finish(api: &Arc<Api>, namespaces: &Collection, name: &str, mut left: Vec<(Collection, u64)>) {
    let mut ended = api.ended.subscribe();
    loop {
        let watches = left.iter().filter_map(|(collection, from)| collection.watch(Some(name), *from).ok());
        let mut changes = select_all(watches);
        tokio::select! {
            _ = changes.next() => {}
            _ = ended.wait_for(|ended| *ended) => return,
        }
        // A real namespace is looked at again after a moment, so that who waits for its end sees it.
        tokio::time::sleep(AGAIN).await;
        match sweep(api, namespaces, name) {
            Left::Nothing => return,
            Left::Objects(still) => left = still,
        }
    }
}

/// Deletes everything in the namespace; if nothing is left, the namespace too.
fn sweep(api: &Api, namespaces: &Collection, name: &str) -> Left {
    // This is nobody's request, and what is in the namespace may be nested deep.
    fitting(api.engine.nesting(), || delete_all(api, namespaces, name))
}

fn delete_all(api: &Api, namespaces: &Collection, name: &str) -> Left {
    let mut left = Vec::new();
    let (mut resources, mut finalizers) = (Vec::new(), BTreeMap::<String, usize>::new());
    let mut seen: Vec<(String, String)> = Vec::new();
    for resource in
        api.registry.served().resources().filter(|resource| resource.namespaced && resource.view == View::Same)
    {
        let Some(collection) = &resource.collection else { continue };
        let key = (resource.group.clone(), resource.plural.clone());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        for object in collection.list(Some(name)).items {
            let _ = collection.delete(name, object.name(), &Precondition::default(), None);
        }
        let listing = collection.list(Some(name));
        if !listing.items.is_empty() {
            left.push((collection.clone(), listing.revision));
            let count = listing.items.len();
            resources.push(format!("{}.{} has {count} resource instances", resource.plural, resource.group));
            for finalizer in listing.items.iter().flat_map(|object| list(object.json(), "/metadata/finalizers")) {
                *finalizers.entry(finalizer.as_str().unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
    }
    if !left.is_empty() {
        resources.sort();
        let held: Vec<String> =
            finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
        let now = seconds(api.clock.now());
        set_status(namespaces, name, |status| remain(status, &resources.join(", "), &held.join(", "), &now));
        return Left::Objects(left);
    }
    let finalized = namespaces.update("", name, &Precondition::default(), Scope::Whole, |namespace| {
        let mut namespace = namespace.json().clone();
        if let Some(Value::Array(finalizers)) = namespace.pointer_mut("/spec/finalizers") {
            finalizers.retain(|finalizer| finalizer != "kubernetes");
        }
        Ok::<_, EngineError>(namespace)
    });
    if let Ok(written) = finalized
        && written.outcome != Outcome::Removed
    {
        tracing::debug!(namespace = name, "the namespace is empty and waits for other finalizers");
    }
    Left::Nothing
}

fn set_status(namespaces: &Collection, name: &str, change: impl Fn(&mut Value)) {
    let _ = namespaces.update("", name, &Precondition::default(), Scope::Whole, |namespace| {
        let mut namespace = namespace.json().clone();
        if !namespace["status"].is_object() {
            namespace["status"] = json!({});
        }
        change(&mut namespace["status"]);
        Ok::<_, EngineError>(namespace)
    });
}

/// Says what keeps a namespace from going. A condition keeps its time unless its status changes.
fn remain(status: &mut Value, resources: &str, finalizers: &str, now: &str) {
    let known = status["conditions"].as_array().cloned().unwrap_or_default();
    let condition = |kind: &str, is: &str, reason: &str, message: &str| {
        let before = known.iter().find(|one| one["type"] == kind && one["status"] == is);
        let since = before.map_or_else(|| Value::from(now), |before| before["lastTransitionTime"].clone());
        json!({"type": kind, "status": is, "lastTransitionTime": since, "reason": reason, "message": message})
    };
    let held = if finalizers.is_empty() {
        condition(FINALIZERS, "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
    } else {
        let message = format!("Some content in the namespace has finalizers remaining: {finalizers}");
        condition(FINALIZERS, "True", "SomeFinalizersRemain", &message)
    };
    status["conditions"] = json!([
        condition(
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed"
        ),
        condition(
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization"
        ),
        condition(
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            &format!("Some resources are remaining: {resources}")
        ),
        held,
    ]);
}

const FINALIZERS: &str = "NamespaceFinalizersRemaining";
