//! Defaulting: missing fields get their schema's default, and a `null` that the schema does not allow is taken as
//! missing.

use serde_json::Value;

use super::Structural;

/// Fills in defaults below `value`, from the outside in: a default may itself hold fields that have defaults.
pub(super) fn apply(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let missing = fields.get(name).is_none_or(|present| present.is_null() && !property.nullable);
                if missing {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = schema.field(name) {
                    apply(field, schema);
                }
            }
            // `null` for a map's entry that has a default means the default too.
            if let Some(default) =
                schema.additional.as_ref().filter(|one| !one.nullable).and_then(|one| one.default.as_ref())
            {
                for (name, field) in fields.iter_mut() {
                    if field.is_null() && !schema.properties.contains_key(name) {
                        *field = default.clone();
                    }
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                if item.is_null()
                    && !schema.nullable
                    && let Some(default) = &schema.default
                {
                    *item = default.clone();
                }
                apply(item, schema);
            }
        }
        _ => {}
    }
}

/// Drops fields that are `null` where the schema does not allow `null`: "not set" in another spelling.
pub(super) fn drop_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                let droppable =
                    |one: &Structural| !one.nullable && (one.default.is_none() || schema.properties.contains_key(name));
                !(field.is_null() && schema.field(name).is_some_and(droppable))
            });
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = schema.field(name) {
                    drop_nulls(field, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for item in items {
                    drop_nulls(item, schema);
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

    fn defaulted(schema: &Value, mut value: Value) -> Value {
        apply(&mut value, &Structural::parse(schema));
        value
    }

    #[test]
    fn a_missing_field_gets_its_default_and_the_defaults_inside_it() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "default": {}, "properties": {"keep": {"type": "integer", "default": 10}}}
        }});
        assert_eq!(defaulted(&schema, json!({})), json!({"spec": {"keep": 10}}));
        assert_eq!(defaulted(&schema, json!({"spec": {"keep": 3}})), json!({"spec": {"keep": 3}}));
    }

    #[test]
    fn null_is_missing_unless_it_is_a_value() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "integer", "default": 1},
            "b": {"type": "integer", "default": 1, "nullable": true},
        }});
        assert_eq!(defaulted(&schema, json!({"a": null, "b": null})), json!({"a": 1, "b": null}));
    }

    #[test]
    fn items_of_lists_and_maps_are_defaulted() {
        let item = json!({"type": "object", "properties": {"on": {"type": "boolean", "default": true}}});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item},
        }});
        assert_eq!(
            defaulted(&schema, json!({"list": [{}], "map": {"x": {}}})),
            json!({"list": [{"on": true}], "map": {"x": {"on": true}}})
        );
    }
}
