//! What the server does besides storing: the kinds whose objects have effects.

use std::sync::Arc;

use k8s_openapi::ByteString;
use konfidence_sdk::store::engine::{Outcome, Whole, Written};
use serde_json::{Map, Value, json};

use crate::builtin::{APIEXTENSIONS, events, namespaces};
use crate::crd;
use crate::resource::Resource;
use crate::server::Api;
use crate::status::ApiResult;

fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn is_crd(resource: &Resource) -> bool {
    resource.group == APIEXTENSIONS
}

fn is_event(resource: &Resource) -> bool {
    !resource.custom && resource.kind == "Event"
}

/// Keeps the writes of one request together, for kinds of which one request makes several.
pub(super) fn whole<'a>(api: &'a Api, resource: &Resource) -> Option<Whole<'a>> {
    is_crd(resource).then(|| api.engine.whole())
}

/// Adds what objects of this kind always have.
pub(super) fn fill(resource: &Resource, object: &mut Value) {
    if let (Value::Object(fields), Value::Object(always)) = (object, crate::builtin::always(resource)) {
        if !resource.custom {
            // What a type need not write it does not write when it is empty.
            let empty = |value: &Value| {
                value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
            };
            fields.retain(|name, value| name == "metadata" || always.contains_key(name) || !empty(value));
        }
        for (name, value) in always {
            fields.entry(name).or_insert(value);
        }
    }
}

/// Fills in what the kind's own defaults say.
pub(super) fn before_create(resource: &Resource, object: &mut Value) {
    default(resource, object);
    fill(resource, object);
}

/// As [`before_create`], on an update through `subresource`.
pub(super) fn before_update(resource: &Resource, subresource: Option<&str>, wanted: &mut Value, old: &Value) {
    if is_namespace(resource) && subresource != Some("finalize") {
        // Only who has emptied a namespace lets it go, and says so to `/finalize`.
        wanted["spec"] = old["spec"].clone();
    }
    default(resource, wanted);
    fill(resource, wanted);
}

fn default(resource: &Resource, object: &mut Value) {
    if is_namespace(resource) {
        namespaces::label(object);
    } else if is_crd(resource) {
        crd::complete(object);
    } else if !resource.custom && resource.kind == "Secret" {
        encode_strings(object);
    }
}

/// Adds the first status, where the server makes one. Whether it did.
pub(super) fn after_create(resource: &Resource, object: &mut Value) -> bool {
    if is_namespace(resource) {
        namespaces::hold(object);
        object["status"] = json!({"phase": "Active"});
        true
    } else if is_crd(resource) {
        object["status"] = crd::first_status(object);
        true
    } else {
        false
    }
}

/// After a create or an update.
pub(super) fn written(api: &Api, resource: &Resource, written: &Written) {
    if is_event(resource) && written.outcome == Outcome::Created {
        events::expire(api, resource);
    }
    if is_crd(resource) && written.outcome != Outcome::Unchanged {
        if written.outcome == Outcome::Removed {
            crd::uninstall(api, written.object.json());
        } else {
            crd::settle(api, written.object.json());
        }
    }
}

/// Before a delete of an existing object.
pub(super) fn before_delete(api: &Api, resource: &Resource, name: &str) -> ApiResult<()> {
    if is_crd(resource) {
        crd::hold(api, resource, name)?;
    }
    Ok(())
}

/// After a delete: what the answer shows.
pub(super) fn deleted(api: &Arc<Api>, resource: &Resource, written: &Written) -> Value {
    let shown = resource.show(written.object.json()).into_owned();
    if written.outcome == Outcome::Removed {
        self::written(api, resource, written);
        return shown;
    }
    if is_namespace(resource) {
        return namespaces::terminate(api, written.object.name()).unwrap_or(shown);
    }
    if is_crd(resource) {
        crd::finish(api, written.object.name());
    }
    shown
}

/// `stringData` is a way of writing `data`; it is never read back. A secret without a type is opaque.
fn encode_strings(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else { return };
    if let Some(Value::Object(strings)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        for (key, value) in strings {
            let bytes = ByteString(value.as_str().unwrap_or_default().as_bytes().to_vec());
            if let (Value::Object(data), Ok(encoded)) = (&mut *data, serde_json::to_value(bytes)) {
                data.insert(key, encoded);
            }
        }
    }
    fields.entry("type").or_insert_with(|| "Opaque".into());
}
