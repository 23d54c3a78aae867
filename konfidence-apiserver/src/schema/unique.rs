//! Lists that are sets or maps hold no entry twice.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::path::Place;
use super::{ListType, Structural};
use crate::field::{FieldError, FieldErrors};

/// Every entry that a set or map list holds a second time.
pub(super) fn check(value: &Value, schema: &Structural) -> FieldErrors {
    let mut errors = Vec::new();
    walk(value, schema, &Place::Root, &mut errors);
    errors
}

fn walk(value: &Value, schema: &Structural, at: &Place<'_>, errors: &mut FieldErrors) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = schema.field(name) {
                    walk(field, schema, &Place::Field(at, name), errors);
                }
            }
        }
        Value::Array(items) => {
            // Told apart as text, in which the fields of an object have one order.
            let mut seen = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                let at = Place::Index(at, index);
                let identity = match &schema.list {
                    ListType::Atomic => None,
                    ListType::Set => Some(item.clone()),
                    ListType::Map(keys) => Some(Value::Object(identity(item, keys))),
                };
                if let Some(identity) = identity
                    && !seen.insert(identity.to_string())
                {
                    errors.push(FieldError::duplicate(at.to_string(), identity));
                }
                if let Some(schema) = schema.items.as_deref() {
                    walk(item, schema, &at, errors);
                }
            }
        }
        _ => {}
    }
}

/// The fields by which an item of a map list is known.
fn identity(item: &Value, keys: &[String]) -> Map<String, Value> {
    keys.iter().filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_second_entry_of_a_key_is_refused() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {
            "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {"type": "object"}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "free": {"type": "array", "items": {"type": "string"}},
        }}));
        let errors = check(
            &json!({"conditions": [{"type": "A"}, {"type": "B"}, {"type": "A"}], "tags": ["x", "x"], "free": [1, 1]}),
            &schema,
        );
        let fields: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(fields, [r#"conditions[2]: Duplicate value: {"type":"A"}"#, r#"tags[1]: Duplicate value: "x""#]);
    }
}
