//! Pieces of schemas that the derives do not give.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// A transform for structs: an optional field may be absent, never `null`.
///
/// `Option` gives `nullable: true`. The API server keeps a `null` there, and `has(self.field)` is then true for a field
/// without a value, which no rule here expects. Without it a `null` that a client sends is dropped before validation,
/// as under the public CRDs.
pub(crate) fn absent_not_null(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        drop_null_alternative(property);
        drop_null_type(property);
    }
}

fn drop_null_type(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// `anyOf: [T, null]` becomes T; what the field says about itself (its description) goes before what T says.
fn drop_null_alternative(property: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = property.get("anyOf") else { return };
    let [Value::Object(inner), Value::Object(null)] = alternatives.as_slice() else { return };
    if null.get("type").is_some_and(|kind| kind == "null") {
        let inner = inner.clone();
        property.remove("anyOf");
        for (key, value) in inner {
            property.entry(key).or_insert(value);
        }
    }
}

/// Conditions as `metav1.Condition` is validated everywhere, and as a list-map by type: server-side apply by two
/// managers then merges them instead of dropping one's.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "When the condition last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": {
                    "description": "What a person wants to know about it. May be empty.",
                    "type": "string",
                    "maxLength": 32_768,
                },
                "observedGeneration": {
                    "description": "metadata.generation that the condition was computed for.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Why, as one word. Newer versions may write words that older ones do not know.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": {
                    "description": "True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "What the condition is about; unique in its list.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
        },
    })
}

/// Any JSON value: kept as it is, neither pruned nor validated.
pub(crate) fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}
