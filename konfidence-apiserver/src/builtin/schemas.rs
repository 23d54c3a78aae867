//! Schemas of the kinds that are built in, from the types of `k8s-openapi`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, Event, LimitRange, Namespace, ResourceQuota, Secret, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as EventsV1Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ListMeta, ObjectMeta, Status};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::schema::Schema;

/// Lists of built-in kinds that are not atomic, which the types do not tell: the field, and the key (none: a set).
const LISTS: &[(&str, Option<&str>)] = &[
    ("/properties/ownerReferences", Some("uid")),
    ("/properties/finalizers", None),
    ("/properties/secrets", Some("name")),
    ("/properties/status/properties/conditions", Some("type")),
];

/// Parts of built-in kinds that have one owner as a whole.
const ATOMIC: &[&str] = &[
    "/properties/ownerReferences/items",
    "/properties/secrets/items",
    "/properties/imagePullSecrets/items",
    "/properties/involvedObject",
    "/properties/regarding",
    "/properties/related",
];

/// Where a definition has a schema.
const SCHEMA: &str = "/properties/spec/properties/versions/items/properties/schema/properties/openAPIV3Schema";

/// What a schema says with a value of any type, or with one of several types.
const ANYTHING: &[&str] =
    &["default", "example", "enum/items", "items", "additionalItems", "additionalProperties", "dependencies"];

/// The schema of a type, with everything it refers to written out. It is made once in a process.
pub(crate) fn of<K: JsonSchema>() -> Arc<Schema> {
    static MADE: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(made.entry(K::schema_id().into_owned()).or_insert_with(|| Arc::new(make::<K>())))
}

fn make<K: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<K>().to_value();
    open_references(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        // The types require the metadata because it is no `Option` there; a client need not send it.
        fields.remove("required");
        fields.remove("components");
        fields.remove("title");
    }
    for place in ANYTHING {
        if let Some(part) = schema.pointer_mut(&format!("{SCHEMA}/properties/{place}")) {
            *part = json!({"x-kubernetes-preserve-unknown-fields": true});
        }
    }
    for (pointer, key) in LISTS {
        let Some(list) = schema.pointer_mut(pointer).and_then(Value::as_object_mut) else { continue };
        if list.get("type").and_then(Value::as_str) != Some("array") {
            continue;
        }
        match key {
            Some(key) => {
                list.insert("x-kubernetes-list-type".into(), "map".into());
                list.insert("x-kubernetes-list-map-keys".into(), json!([key]));
            }
            None => {
                list.insert("x-kubernetes-list-type".into(), "set".into());
            }
        }
    }
    for pointer in ATOMIC {
        if let Some(part) = schema.pointer_mut(pointer) {
            part["x-kubernetes-map-type"] = "atomic".into();
        }
    }
    compile(schema)
}

/// Every type that the built-in kinds are made of, by its name and with references to the others: what `OpenAPI` shows.
/// (What checks an object has the types written out, since ownership and defaults follow one tree.)
pub(crate) fn definitions() -> &'static Map<String, Value> {
    static MADE: LazyLock<Map<String, Value>> = LazyLock::new(|| {
        let mut settings = SchemaSettings::openapi3();
        settings.meta_schema = None;
        let mut generator = settings.into_generator();
        generator.subschema_for::<Namespace>();
        generator.subschema_for::<ConfigMap>();
        generator.subschema_for::<Secret>();
        generator.subschema_for::<ServiceAccount>();
        generator.subschema_for::<Event>();
        generator.subschema_for::<EventsV1Event>();
        generator.subschema_for::<Lease>();
        generator.subschema_for::<LimitRange>();
        generator.subschema_for::<ResourceQuota>();
        generator.subschema_for::<CustomResourceDefinition>();
        generator.subschema_for::<Binding>();
        generator.subschema_for::<SelfSubjectReview>();
        generator.subschema_for::<TokenReview>();
        generator.subschema_for::<LocalSubjectAccessReview>();
        generator.subschema_for::<SubjectAccessReview>();
        generator.subschema_for::<SelfSubjectAccessReview>();
        generator.subschema_for::<SelfSubjectRulesReview>();
        generator.subschema_for::<ListMeta>();
        generator.subschema_for::<DeleteOptions>();
        generator.subschema_for::<Status>();
        let mut all = generator.take_definitions(true);
        for (name, definition) in &mut all {
            // As in `make`; events alone say so themselves.
            let required = definition.get_mut("required").and_then(Value::as_array_mut);
            if let Some(required) = required.filter(|_| !name.ends_with(".core.v1.Event")) {
                required.retain(|field| field != "metadata");
            }
        }
        if let Some(event) = all.get_mut("io.k8s.api.events.v1.Event") {
            event["required"] = json!(["eventTime"]);
        }
        let phase =
            all.get_mut("io.k8s.api.core.v1.NamespaceStatus").and_then(|one| one.pointer_mut("/properties/phase"));
        if let Some(phase) = phase {
            phase["enum"] = json!(["Active", "Terminating"]);
        }
        all
    });
    &MADE
}

/// The schema of `metadata`.
pub(crate) fn metadata() -> Arc<Schema> {
    of::<ObjectMeta>()
}

fn compile(schema: Value) -> Schema {
    match Schema::compile(schema) {
        Ok(schema) => schema,
        // The types are fixed at build time and a test compiles each of them.
        Err(error) => {
            tracing::error!(%error, "a built-in schema does not compile");
            Schema::open()
        }
    }
}

/// A type that contains itself (the schema of schemas) cannot be written out: where it returns, anything goes.
fn open_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // The schema of schemas has a property of that name, which is no reference.
            if fields.get("$ref").is_some_and(Value::is_string) {
                *schema = json!({"x-kubernetes-preserve-unknown-fields": true});
                return;
            }
            // An object of which nothing is said (owned fields, raw extensions) holds anything.
            let silent = ["properties", "additionalProperties"].iter().all(|name| !fields.contains_key(*name));
            if silent && fields.get("type").and_then(Value::as_str) == Some("object") {
                fields.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
            }
            fields.values_mut().for_each(open_references);
        }
        Value::Array(items) => items.iter_mut().for_each(open_references),
        _ => {}
    }
}
