//! What a type of Go cannot hold, in the words of the converter that makes an object of a map: a strategic patch is applied
//! to the map. The types are known by their schemas.

use serde_json::Value;

use super::go;
use crate::field::child;
use crate::schema::Structural;

/// The first value that its type cannot hold. `kind`: of the object.
pub(super) fn refused(object: &Value, schema: &Structural, kind: &str) -> Option<String> {
    let below = |field: &str| walk(object.get(field)?, schema.properties.get(field)?, kind, field);
    // In the order of the type's fields.
    ["kind", "apiVersion", "metadata"]
        .into_iter()
        .find_map(below)
        .or_else(|| schema.properties.keys().find_map(|field| below(field)))
}

fn walk(value: &Value, schema: &Structural, kind: &str, at: &str) -> Option<String> {
    match (schema.kind.as_deref().unwrap_or_default(), value) {
        (_, Value::Null) | ("", _) => None,
        ("object", Value::Object(fields)) => {
            fields.iter().find_map(|(name, value)| match (schema.properties.get(name), schema.additional.as_deref()) {
                (Some(below), _) => walk(value, below, kind, &child(at, name)),
                (None, Some(below)) => walk(value, below, kind, at),
                (None, None) => None,
            })
        }
        ("object", other) if schema.properties.is_empty() => {
            Some(format!("cannot restore map from {}", go_kind(other)))
        }
        ("object", other) => Some(format!("cannot restore struct from: {}", go_kind(other))),
        ("array", Value::Array(items)) => {
            let below = schema.items.as_deref()?;
            items.iter().find_map(|item| walk(item, below, kind, at))
        }
        ("array", other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        ("string", value) => text(value, schema.format.as_deref().unwrap_or_default(), kind, at),
        ("integer", Value::Number(number)) if number.is_f64() => {
            let whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            (!whole).then(|| format!("cannot convert float64 to {}", integer(schema)))
        }
        ("integer" | "number", Value::Number(_)) | ("boolean", Value::Bool(_)) => None,
        ("integer", _) => Some(format!("unrecognized type: {}", integer(schema))),
        ("number", _) => Some("unrecognized type: float64".to_owned()),
        ("boolean", _) => Some("unrecognized type: bool".to_owned()),
        _ => None,
    }
}

fn text(value: &Value, format: &str, kind: &str, at: &str) -> Option<String> {
    match (format, value) {
        ("byte", Value::String(text)) => go::base64(text).map(|why| format!("error decoding from json: {why}")),
        ("byte", other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        ("date-time", Value::String(text)) => go::time(text, at),
        ("date-time", other) => {
            let got = crate::verbs::prepare::go(other);
            Some(format!("json: cannot unmarshal {got} into Go value of type string"))
        }
        (_, Value::String(_)) => None,
        // A whole number can become a letter.
        (_, Value::Number(number)) if !number.is_f64() => {
            Some(format!("cannot convert int64 to {}", named_type(kind, at)))
        }
        _ => Some("unrecognized type: string".to_owned()),
    }
}

fn integer(schema: &Structural) -> &'static str {
    if schema.format.as_deref() == Some("int32") { "int32" } else { "int64" }
}

/// Texts that have a type of their own.
fn named_type(kind: &str, at: &str) -> &'static str {
    match (kind, at) {
        (_, "metadata.uid" | "metadata.ownerReferences.uid" | "involvedObject.uid" | "regarding.uid") => "types.UID",
        (_, "metadata.managedFields.operation") => "v1.ManagedFieldsOperationType",
        ("Secret", "type") => "v1.SecretType",
        ("Namespace", "spec.finalizers") => "v1.FinalizerName",
        ("Namespace", "status.phase") => "v1.NamespacePhase",
        ("CustomResourceDefinition", "spec.scope") => "v1.ResourceScope",
        ("CustomResourceDefinition", "spec.conversion.strategy") => "v1.ConversionStrategyType",
        _ => "string",
    }
}

/// What Go's reflection calls a value that was JSON.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
