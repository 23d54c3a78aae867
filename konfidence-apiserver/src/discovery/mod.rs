//! What is served, told in the three ways that clients ask: one version at a time, the list of groups, and everything
//! at once (aggregated).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::http::respond::Reply;
use crate::registry::{Group, Served};
use crate::resource::{Resource, View};

/// `/version`. The minor version is that of the API types, so that clients judge their own age by it.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": concat!("v1.36.0+konfidence-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/`: the paths there are.
pub(crate) fn paths(served: &Served) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (name, group) in served.groups().filter(|(name, _)| !name.is_empty()) {
        paths.push(format!("/apis/{name}"));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{name}/{}", version.name)));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}

/// `/api`.
pub(crate) fn core_versions(headers: &HeaderMap) -> Value {
    let host = headers.get(http::header::HOST).and_then(|value| value.to_str().ok()).unwrap_or("127.0.0.1");
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    })
}

/// `/apis`.
pub(crate) fn groups(served: &Served) -> Value {
    let groups: Vec<Value> = named(served).into_iter().map(|(name, group)| described(name, group)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn group(served: &Served, name: &str) -> Option<Value> {
    let mut group = described(name, served.group(name).filter(|_| !name.is_empty())?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

/// The built-in groups in the order in which a real server lists them; all others follow by name.
const ORDER: &[&str] = &[
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

fn named(served: &Served) -> Vec<(&str, &Group)> {
    let mut named: Vec<(&str, &Group)> = served.groups().filter(|(name, _)| !name.is_empty()).collect();
    named.sort_by_key(|(name, _)| ORDER.iter().position(|one| one == name).unwrap_or(ORDER.len()));
    named
}

fn described(name: &str, group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{name}/{}", version.name), "version": version.name}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resources(served: &Served, group: &str, version: &str) -> Option<Value> {
    let found = served.version(group, version)?;
    let mut resources = Vec::new();
    for resource in found.resources.values() {
        let mut entry = Map::new();
        entry.insert("name".into(), resource.plural.clone().into());
        entry.insert("singularName".into(), resource.singular.clone().into());
        entry.insert("namespaced".into(), resource.namespaced.into());
        entry.insert("kind".into(), resource.kind.clone().into());
        entry.insert("verbs".into(), json!(resource.verbs));
        if !resource.short_names.is_empty() {
            entry.insert("shortNames".into(), json!(resource.short_names));
        }
        if !resource.categories.is_empty() {
            entry.insert("categories".into(), json!(resource.categories));
        }
        if resource.collection.is_some() {
            entry.insert("storageVersionHash".into(), storage_hash(resource).into());
        }
        resources.push(Value::Object(entry));
        for part in subresources(resource) {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, part.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": part.kind,
                "verbs": part.verbs,
            });
            if part.name == "scale" {
                entry["group"] = "autoscaling".into();
                entry["version"] = "v1".into();
            }
            resources.push(entry);
        }
    }
    if group.is_empty() {
        // The oldest list of all has no version of its own.
        return Some(json!({"kind": "APIResourceList", "groupVersion": version, "resources": resources}));
    }
    let group_version = format!("{group}/{version}");
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}))
}

/// `/api` and `/apis` for clients that want everything in one answer.
pub(crate) fn aggregated(served: &Served, core: bool) -> Reply {
    let groups: Vec<(&str, &Group)> = if core { served.groups().take(1).collect() } else { named(served) };
    let items: Vec<Value> = groups
        .into_iter()
        .map(|(name, group)| {
            let versions: Vec<Value> = group
                .versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = version.resources.values().map(|one| discovered(one)).collect();
                    json!({"version": version.name, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    Reply::object(list)
        .content_type("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        .negotiated()
}

fn discovered(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    // A built-in kind is what the group and version say.
    let (group, version) =
        if resource.custom { (resource.group.as_str(), resource.version.as_str()) } else { ("", "") };
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(group, version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let parts: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|part| {
            let response =
                if part.name == "scale" { kind("autoscaling", "v1", "Scale") } else { kind(group, version, part.kind) };
            json!({"subresource": part.name, "responseKind": response, "verbs": part.verbs})
        })
        .collect();
    if !parts.is_empty() {
        entry["subresources"] = Value::Array(parts);
    }
    entry
}

struct Part<'a> {
    name: &'static str,
    kind: &'a str,
    verbs: &'static [&'static str],
}

fn subresources(resource: &Resource) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    if resource.group.is_empty() && resource.plural == "namespaces" {
        parts.push(Part { name: "finalize", kind: &resource.kind, verbs: &["update"] });
    }
    // In this order, as the real server lists them.
    if resource.status {
        parts.push(Part { name: "status", kind: &resource.kind, verbs: &["get", "patch", "update"] });
    }
    if resource.scale.is_some() {
        parts.push(Part { name: "scale", kind: "Scale", verbs: &["get", "patch", "update"] });
    }
    parts
}

/// Tells clients whether two servers store a resource in the same form: the beginning of a hash over that form.
fn storage_hash(resource: &Resource) -> String {
    let version = match (&resource.storage, resource.kind.as_str()) {
        (Some(storage), _) => storage.api_version.rsplit('/').next().unwrap_or_default().to_owned(),
        // Definitions are stored as they were before they were stable.
        (None, "CustomResourceDefinition") if !resource.custom => "v1beta1".to_owned(),
        (None, _) => resource.version.clone(),
    };
    // Both views of events are stored as the core one.
    let group = if resource.view == View::Events { "" } else { resource.group.as_str() };
    let digest = Sha256::digest(format!("{group}/{version}/{}", resource.kind));
    STANDARD.encode(digest.get(..8).unwrap_or_default())
}
