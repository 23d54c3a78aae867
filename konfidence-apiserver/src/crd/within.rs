//! The schema of a schema contains itself. What is compiled of it ends where it returns, so the schemas within a
//! definition's schemas are found here, and each is held to the same type.

use serde_json::Value;

use super::validate::MOST_SPRAWL;
use crate::builtin::APIEXTENSIONS;
use crate::json::list;
use crate::resource::Resource;
use crate::schema::{Schema, Structural};

/// One schema within a definition.
pub(crate) struct Within {
    /// Where it is, as a JSON pointer.
    pub pointer: String,
    /// Where it is, as strict decoding names it: `spec.versions[0].schema.openAPIV3Schema.properties.spec`.
    pub path: String,
    /// The fields on the way to it, as Go's decoder names them: without keys and indexes.
    pub fields: String,
    /// Whether it is in no other schema.
    pub is_outermost: bool,
    /// Whether unknown fields are dropped without a word: a schema that stands where something else could, too, is
    /// decoded by itself.
    pub is_lenient: bool,
}

impl Within {
    fn below(&self, name: &str, key: Option<&str>) -> Self {
        let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
        Self {
            pointer: key.map_or_else(
                || format!("{}/{name}", self.pointer),
                |key| format!("{}/{name}/{}", self.pointer, escaped(key)),
            ),
            path: match key {
                None => format!("{}.{name}", self.path),
                Some(key) if matches!(name, "allOf" | "anyOf" | "items" | "oneOf") => {
                    format!("{}.{name}[{key}]", self.path)
                }
                Some(key) => format!("{}.{name}.{key}", self.path),
            },
            fields: format!("{}.{name}", self.fields),
            is_outermost: false,
            is_lenient: self.is_lenient || matches!(name, "items" | "additionalProperties"),
        }
    }
}

/// The type of a schema, if it is definitions that `resource` is about.
pub(crate) fn schema_of_schemas(resource: &Resource) -> Option<&Structural> {
    if resource.group != APIEXTENSIONS {
        return None;
    }
    let version = resource.schema.structure.properties.get("spec")?.properties.get("versions")?.items.as_deref()?;
    version.properties.get("schema")?.properties.get("openAPIV3Schema")
}

/// Every schema, outer ones first.
pub(crate) fn all(definition: &Value) -> Vec<Within> {
    let mut found = Vec::new();
    for index in 0..list(definition, "/spec/versions").len() {
        let outermost = Within {
            pointer: format!("/spec/versions/{index}/schema/openAPIV3Schema"),
            path: format!("spec.versions[{index}].schema.openAPIV3Schema"),
            fields: "spec.versions.schema.openAPIV3Schema".to_owned(),
            is_outermost: true,
            is_lenient: false,
        };
        let schema = definition.pointer(&outermost.pointer);
        // One that is nested too deep is refused before anybody asks for more.
        if let Some(schema) = schema.filter(|schema| Schema::sprawl(schema) <= MOST_SPRAWL) {
            let mut below = Vec::new();
            collect(schema, &outermost, &mut below);
            found.push(outermost);
            found.append(&mut below);
        }
    }
    found
}

/// Drops what says nothing: a field of a schema that is empty is as one that is not there.
pub(crate) fn drop_empty(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|name, value| match value {
        Value::Null => false,
        // Values, and schemas that take everything.
        _ if matches!(name.as_str(), "default" | "example" | "items" | "additionalProperties" | "not") => true,
        Value::Bool(is_set) => *is_set || name == "x-kubernetes-preserve-unknown-fields",
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Number(_) => true,
    });
}

fn collect(schema: &Value, at: &Within, found: &mut Vec<Within>) {
    let mut add = |within: Within, schema: &Value| {
        let mut below = Vec::new();
        collect(schema, &within, &mut below);
        found.push(within);
        found.append(&mut below);
    };
    for (name, value) in schema.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("properties" | "patternProperties" | "definitions", Value::Object(fields)) => {
                fields.iter().for_each(|(key, schema)| add(at.below(name, Some(key)), schema));
            }
            ("allOf" | "anyOf" | "items" | "oneOf", Value::Array(items)) => {
                items.iter().enumerate().for_each(|(index, schema)| {
                    add(at.below(name, Some(&index.to_string())), schema);
                });
            }
            ("not" | "items" | "additionalProperties", Value::Object(_)) => add(at.below(name, None), value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_schema_within_a_schema_is_found_and_named() {
        let definition = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {
            "properties": {"a/b": {"items": {"not": {"pattern": "x"}}}}, "oneOf": [{"required": ["a"]}],
            "additionalProperties": true,
        }}}]}});
        let found = all(&definition);
        let paths: Vec<&str> = found
            .iter()
            .filter(|one| !one.is_outermost)
            .map(|one| {
                assert!(definition.pointer(&one.pointer).is_some(), "{}", one.pointer);
                one.path.strip_prefix("spec.versions[0].schema.openAPIV3Schema.").unwrap_or_default()
            })
            .collect();
        assert_eq!(paths, ["oneOf[0]", "properties.a/b", "properties.a/b.items", "properties.a/b.items.not"]);
        assert_eq!(found[4].fields, "spec.versions.schema.openAPIV3Schema.properties.items.not");
    }
}
