//! `OpenAPI` v3: one document per group and version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use konfidence_sdk::store::engine::nesting;
use serde_json::{Map, Value, json};

use crate::builtin::schemas::definitions;
use crate::registry::Served;
use crate::resource::Resource;
use crate::stack::fitting;

/// Documents that have been made, by group and version, each with the resources that it was made from.
#[derive(Default)]
pub(crate) struct Cache(Mutex<BTreeMap<(String, String), Made>>);

struct Made {
    from: Vec<Arc<Resource>>,
    document: Value,
}

/// The document holds the schemas, which may be nested deep.
impl Drop for Made {
    fn drop(&mut self) {
        fitting(nesting(&self.document), || drop(self.document.take()));
    }
}

/// Schemas that every document refers to.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

/// `/openapi/v3`: where the documents are. The hash changes with what is served, so that clients may cache.
pub(crate) fn index(served: &Served) -> Value {
    let mut paths = Map::new();
    for (group, entry) in served.groups() {
        for version in &entry.versions {
            let path = path(group, &version.name);
            let hash = hash(version.resources.values());
            paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash:016X}")}));
        }
    }
    json!({"paths": paths})
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn hash<'a>(resources: impl Iterator<Item = &'a Arc<Resource>>) -> u64 {
    resources.fold(0xcbf2_9ce4_8422_2325, |hash, resource| {
        let text = resource.schema.source.to_string();
        resource
            .kind
            .bytes()
            .chain(text.bytes())
            .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

/// One document. `None`: the version is not served.
pub(crate) fn document(served: &Served, group: &str, version: &str, cache: &Cache) -> Option<Value> {
    let resources: Vec<Arc<Resource>> = served.version(group, version)?.resources.values().cloned().collect();
    let mut made = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (group.to_owned(), version.to_owned());
    let same = |known: &Made| {
        known.from.len() == resources.len() && known.from.iter().zip(&resources).all(|(a, b)| Arc::ptr_eq(a, b))
    };
    if let Some(known) = made.get(&key).filter(|known| same(known)) {
        return Some(known.document.clone());
    }
    let document = build(served, group, version)?;
    made.insert(key, Made { from: resources, document: document.clone() });
    Some(document)
}

/// Makes one document.
pub(crate) fn build(served: &Served, group: &str, version: &str) -> Option<Value> {
    let found = served.version(group, version)?;
    let mut schemas = Map::new();
    let mut paths = Map::new();
    for resource in found.resources.values() {
        let name = component(resource);
        schemas.insert(name.clone(), kind_schema(resource, &name));
        if resource.collection.is_some() {
            let list_name = format!("{name}List");
            schemas.insert(list_name.clone(), list_schema(resource, &name));
            for (path, item) in operations(resource, &name, &list_name) {
                paths.insert(path, item);
            }
        }
    }
    for name in [OBJECT_META, LIST_META, DELETE_OPTIONS, STATUS] {
        refer(&json!({"$ref": reference(name)}), &mut schemas);
    }
    let own: Vec<Value> = schemas.values().cloned().collect();
    for schema in &own {
        refer(schema, &mut schemas);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

/// Adds every built-in type that `schema` refers to, and what those refer to.
fn refer(schema: &Value, schemas: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(REFERENCE));
            if let Some(name) = name
                && !schemas.contains_key(name)
                && let Some(definition) = definitions().get(name)
            {
                schemas.insert(name.to_owned(), definition.clone());
                refer(definition, schemas);
            }
            fields.values().for_each(|below| refer(below, schemas));
        }
        Value::Array(items) => items.iter().for_each(|below| refer(below, schemas)),
        _ => {}
    }
}

/// `cloud.konfidence.v1alpha1.Stage`; built-in kinds have the names that the real server gives them.
fn component(resource: &Resource) -> String {
    let reversed = |group: &str| group.split('.').rev().collect::<Vec<_>>().join(".");
    let (version, kind) = (&resource.version, &resource.kind);
    match resource.group.as_str() {
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        "apiextensions.k8s.io" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}"),
        group if !resource.custom => {
            format!("io.k8s.api.{}.{version}.{kind}", group.split('.').next().unwrap_or_default())
        }
        group => format!("{}.{version}.{kind}", reversed(group)),
    }
}

const REFERENCE: &str = "#/components/schemas/";

fn reference(name: &str) -> String {
    format!("{REFERENCE}{name}")
}

fn gvk(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const META: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

fn kind_schema(resource: &Resource, name: &str) -> Value {
    if let Some(definition) = definitions().get(name).filter(|_| !resource.custom) {
        let mut schema = definition.clone();
        schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
        return schema;
    }
    let mut schema = resource.schema.source.clone();
    if !schema.is_object() {
        schema = json!({"type": "object"});
    }
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["apiVersion"] = json!({"type": "string", "description": API_VERSION});
    schema["properties"]["kind"] = json!({"type": "string", "description": KIND});
    schema["properties"]["metadata"] =
        json!({"description": META, "allOf": [{"$ref": reference(OBJECT_META)}], "default": {}});
    schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
    schema
}

fn list_schema(resource: &Resource, name: &str) -> Value {
    let list_kind = json!({"group": resource.group, "version": resource.version, "kind": resource.list_kind});
    json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": API_VERSION},
            "kind": {"type": "string", "description": KIND},
            "metadata": {"allOf": [{"$ref": reference(LIST_META)}]},
            "items": {"type": "array", "items": {"allOf": [{"$ref": reference(name)}]}},
        },
        "x-kubernetes-group-version-kind": [list_kind],
    })
}

/// The paths of a resource. Clients look here for one thing above all: whether writes take `fieldValidation`.
fn operations(resource: &Resource, name: &str, list_name: &str) -> Vec<(String, Value)> {
    let root = if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    };
    let within = if resource.namespaced { format!("{root}/namespaces/{{namespace}}") } else { root.clone() };
    let query =
        |name: &str, kind: &str| json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}});
    let in_path = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}});
    let writes =
        || vec![query("dryRun", "string"), query("fieldManager", "string"), query("fieldValidation", "string")];
    let reads = || {
        ["allowWatchBookmarks", "sendInitialEvents", "watch"]
            .iter()
            .map(|name| query(name, "boolean"))
            .chain(
                ["continue", "fieldSelector", "labelSelector", "resourceVersion", "resourceVersionMatch"]
                    .iter()
                    .map(|name| query(name, "string")),
            )
            .chain(["limit", "timeoutSeconds"].iter().map(|name| query(name, "integer")))
            .collect::<Vec<_>>()
    };
    let answer = |schema: &str| json!({"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": reference(schema)}}}}});
    let operation = |verb: &str, action: &str, parameters: Vec<Value>, body: Option<&str>, answered: &str| {
        let mut operation = json!({
            "operationId": format!("{verb}{}{}", title(&resource.version), resource.kind),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(resource),
            "parameters": parameters,
            "responses": answer(answered),
        });
        if let Some(body) = body {
            operation["requestBody"] = json!({"content": {"application/json": {"schema": {"$ref": reference(body)}}}});
        }
        operation
    };
    let mut patch_parameters = writes();
    patch_parameters.push(query("force", "boolean"));
    let namespace: Vec<Value> = resource.namespaced.then(|| in_path("namespace")).into_iter().collect();
    let mut of_object = namespace.clone();
    of_object.push(in_path("name"));
    let object = json!({
        "parameters": of_object,
        "get": operation("read", "get", Vec::new(), None, name),
        "put": operation("replace", "put", writes(), Some(name), name),
        "patch": operation("patch", "patch", patch_parameters.clone(), Some(name), name),
        "delete": operation("delete", "delete", vec![query("dryRun", "string"), query("propagationPolicy", "string")], Some(DELETE_OPTIONS), STATUS),
    });
    let collection = json!({
        "parameters": namespace,
        "get": operation("list", "list", reads(), None, list_name),
        "post": operation("create", "post", writes(), Some(name), name),
        "delete": operation("deleteCollection", "deletecollection", reads(), Some(DELETE_OPTIONS), STATUS),
    });
    let mut paths = vec![
        (format!("{within}/{}", resource.plural), collection),
        (format!("{within}/{}/{{name}}", resource.plural), object),
    ];
    if resource.namespaced {
        let all = json!({"parameters": [], "get": operation("listAll", "list", reads(), None, list_name)});
        paths.push((format!("{root}/{}", resource.plural), all));
    }
    if resource.status {
        let status = json!({
            "parameters": of_object,
            "get": operation("readStatus", "get", Vec::new(), None, name),
            "put": operation("replaceStatus", "put", writes(), Some(name), name),
            "patch": operation("patchStatus", "patch", patch_parameters, Some(name), name),
        });
        paths.push((format!("{within}/{}/{{name}}/status", resource.plural), status));
    }
    paths
}

fn title(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
