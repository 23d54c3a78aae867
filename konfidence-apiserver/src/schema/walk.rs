//! A value beside its schema, from the outside in.

use serde_json::Value;

use super::Structural;
use super::path::Place;

/// Shows every value that has a schema, with its schema and its path, each before what is in it.
pub(super) fn walk(
    value: &Value,
    schema: &Structural,
    at: &Place<'_>,
    visit: &mut impl FnMut(&Value, &Structural, &Place<'_>),
) {
    visit(value, schema, at);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(below) = schema.field(name) {
                    walk(field, below, &Place::Field(at, name), visit);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    walk(item, below, &Place::Index(at, index), visit);
                }
            }
        }
        _ => {}
    }
}
