//! From a definition to what is served.

use std::sync::Arc;

use konfidence_sdk::store::engine::{Collection, ResourceType};
use serde_json::{Value, json};

use crate::json;
use crate::registry::{Served, priority};
use crate::resource::{CUSTOM, Column, Resource, Scale, Storage, View, ownership};
use crate::schema::Schema;
use crate::server::Api;

/// Serves what a definition says, in place of what it said before. One that is not established serves nothing. `begin`: the
/// revision at which it is served for the first time.
pub(crate) fn install(api: &Api, crd: &Value, begin: u64) {
    let established = crd.pointer("/status/conditions").and_then(Value::as_array).is_some_and(|conditions| {
        conditions.iter().any(|one| {
            one.get("type").and_then(Value::as_str) == Some("Established")
                && one.get("status").and_then(Value::as_str) == Some("True")
        })
    });
    if !established {
        return;
    }
    let (group, plural) = (text(crd, "/spec/group"), text(crd, "/spec/names/plural"));
    let served = api.registry.served();
    let present = served.resources().find(|resource| resource.group == group && resource.plural == plural);
    let begin = present.map_or(begin, |present| present.begin);
    let resources = resources(api, crd, begin);
    api.registry.change(|served: &mut Served| {
        served.remove(&group, &plural);
        for resource in resources {
            served.add(Arc::new(resource));
        }
    });
}

/// Serves it no longer.
pub(crate) fn uninstall(api: &Api, crd: &Value) {
    let (group, plural) = (text(crd, "/spec/group"), text(crd, "/spec/names/plural"));
    api.registry.change(|served| served.remove(&group, &plural));
}

/// The objects of a definition, if it is served.
pub(crate) fn installed(api: &Api, crd: &Value) -> Option<Collection> {
    let (group, plural) = (text(crd, "/spec/group"), text(crd, "/spec/names/plural"));
    let served = api.registry.served();
    let found = served.resources().find(|resource| resource.group == group && resource.plural == plural);
    found.and_then(|resource| resource.collection.clone())
}

fn text(object: &Value, pointer: &str) -> String {
    json::text(object, pointer).to_owned()
}

fn texts(object: &Value, pointer: &str) -> Vec<String> {
    json::list(object, pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn resources(api: &Api, crd: &Value, begin: u64) -> Vec<Resource> {
    let flag = |version: &Value, name: &str| version.get(name) == Some(&Value::Bool(true));
    let storage = super::versions(crd).find(|version| flag(version, "storage"));
    let namespaced = text(crd, "/spec/scope") == "Namespaced";
    let has_status = |version: &Value| version.pointer("/subresources/status").is_some();
    let collection = api.engine.collection(ResourceType {
        group: text(crd, "/spec/group").into(),
        version: storage.map(|version| text(version, "/name")).unwrap_or_default().into(),
        kind: text(crd, "/spec/names/kind").into(),
        plural: text(crd, "/spec/names/plural").into(),
        namespaced,
        status_subresource: storage.is_some_and(has_status),
        counts_generations: true,
    });
    let group_version = |version: &Value| format!("{}/{}", text(crd, "/spec/group"), text(version, "/name"));
    let since = api.engine.revision();
    let stored = || {
        let source = storage.and_then(|version| version.pointer("/schema/openAPIV3Schema"))?;
        let schema = Schema::shared(source).ok()?;
        Some(Storage { schema, api_version: storage.map(group_version)?, since })
    };
    super::versions(crd)
        .filter(|version| flag(version, "served"))
        .filter_map(|version| {
            let source = schema_of(version);
            let schema = match Schema::shared(&source) {
                Ok(schema) => schema,
                // The definition was validated; a schema that does not compile all the same is not served rather than
                // served without its rules.
                Err(error) => {
                    tracing::error!(crd = text(crd, "/metadata/name"), %error, "a schema does not compile");
                    return None;
                }
            };
            Some(Resource {
                group: text(crd, "/spec/group"),
                version: text(version, "/name"),
                kind: text(crd, "/spec/names/kind"),
                list_kind: text(crd, "/spec/names/listKind"),
                plural: text(crd, "/spec/names/plural"),
                singular: text(crd, "/spec/names/singular"),
                short_names: texts(crd, "/spec/names/shortNames"),
                categories: texts(crd, "/spec/names/categories"),
                namespaced,
                custom: true,
                ownership: ownership(&schema.structure),
                schema,
                columns: columns(version),
                status: has_status(version),
                scale: version.pointer("/subresources/scale").map(|scale| Scale {
                    spec: text(scale, "/specReplicasPath"),
                    status: text(scale, "/statusReplicasPath"),
                    selector: Some(text(scale, "/labelSelectorPath")).filter(|path| !path.is_empty()),
                }),
                selectable: version
                    .get("selectableFields")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned())
                    .collect(),
                verbs: CUSTOM,
                deprecation: flag(version, "deprecated").then(|| deprecation(crd, version)),
                collection: Some(collection.clone()),
                view: View::Same,
                begin,
                storage: stored(),
            })
        })
        .collect()
}

/// The warning of a deprecated version: its own, or one that names the newest version that is not deprecated.
fn deprecation(crd: &Value, version: &Value) -> String {
    let own = text(version, "/deprecationWarning");
    if !own.is_empty() {
        return own;
    }
    let flag = |version: &Value, name: &str| version.get(name) == Some(&Value::Bool(true));
    let (group, kind) = (text(crd, "/spec/group"), text(crd, "/spec/names/kind"));
    let name = text(version, "/name");
    let newer = super::versions(crd)
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "/name"))
        .filter(|other| priority(other) > priority(&name))
        .max_by_key(|other| priority(other));
    let remedy = newer.map(|newer| format!("; use {group}/{newer} {kind}")).unwrap_or_default();
    format!("{group}/{name} {kind} is deprecated{remedy}")
}

fn schema_of(version: &Value) -> Value {
    version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_else(|| json!({"type": "object"}))
}

/// The definition's columns; without any, the age.
fn columns(version: &Value) -> Vec<Column> {
    let declared =
        version.get("additionalPrinterColumns").and_then(Value::as_array).filter(|columns| !columns.is_empty());
    match declared {
        Some(columns) => columns
            .iter()
            .map(|column| Column {
                name: text(column, "/name"),
                kind: text(column, "/type"),
                format: text(column, "/format"),
                description: match text(column, "/description") {
                    own if own.is_empty() => {
                        format!("Custom resource definition column (in JSONPath format): {}", text(column, "/jsonPath"))
                    }
                    own => own,
                },
                priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
                json_path: text(column, "/jsonPath"),
            })
            .collect(),
        None => vec![Column {
            name: "Age".into(),
            kind: "date".into(),
            description: crate::table::CREATION_TIMESTAMP.into(),
            json_path: ".metadata.creationTimestamp".into(),
            ..Column::default()
        }],
    }
}
