//! Pruning: what no schema names is dropped, and told.

use serde_json::Value;

use super::Structural;
use super::path::Place;
use crate::resource::METADATA;

/// Drops every field that the schema does not know and gives back the path of each: what `fieldValidation` warns of or
/// refuses.
///
/// At the root of an object `apiVersion`, `kind` and `metadata` are known without being named; a schema does not
/// describe them.
pub(super) fn prune(object: &mut Value, schema: &Structural) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(object, schema, &Place::Root, true, &mut dropped);
    dropped
}

impl Structural {
    /// As [`prune`], for a value that is a part of an object.
    pub(crate) fn prune_part(&self, value: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        walk(value, self, &Place::Root, self.embedded, &mut dropped);
        dropped
    }
}

fn walk(value: &mut Value, schema: &Structural, at: &Place<'_>, resource: bool, dropped: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                let here = Place::Field(at, name);
                if resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    // The metadata of the object itself is looked at before.
                    if name == "metadata" && schema.embedded && field.is_object() {
                        walk(field, &METADATA.structure, &here, false, dropped);
                    }
                    return true;
                }
                if let Some(schema) = schema.field(name) {
                    walk(field, schema, &here, schema.embedded, dropped);
                } else if schema.preserve_unknown {
                    // Below an unknown field nothing is known, so nothing can be unknown.
                } else {
                    dropped.push(here.to_string());
                    return false;
                }
                true
            });
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for (index, item) in items.iter_mut().enumerate() {
                    walk(item, schema, &Place::Index(at, index), schema.embedded, dropped);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_go_and_are_named() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "name": {"type": "string"},
                "steps": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            }}
        }});
        let mut object = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "other": 1,
            "spec": {"name": "n", "typo": 1, "steps": [{"x": "", "y": ""}]}});
        let mut dropped = prune(&mut object, &Structural::parse(&schema));
        dropped.sort();
        assert_eq!(dropped, ["other", "spec.steps[0].y", "spec.typo"]);
        assert_eq!(
            object,
            json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"},
                "spec": {"name": "n", "steps": [{"x": ""}]}})
        );
    }

    #[test]
    fn preserved_fields_and_embedded_resources_stay() {
        let schema = json!({"type": "object", "properties": {
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"known": {"type": "object", "properties": {}}}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
        }});
        let mut object = json!({
            "open": {"a": {"b": 1}, "known": {"c": 1}},
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}},
        });
        let mut dropped = prune(&mut object, &Structural::parse(&schema));
        dropped.sort();
        assert_eq!(dropped, ["open.known.c", "template.data"]);
    }
}
