//! Objects within an object: each says what it is, and its metadata is held to the rules of metadata.

use serde_json::Value;

use super::Structural;
use super::path::Place;
use super::walk::walk;
use crate::field::{FieldError, FieldErrors, child};
use crate::json::text;
use crate::verbs::validate::names;

/// Adds everything that is wrong with the embedded objects of `value`.
pub(super) fn check(value: &Value, schema: &Structural, errors: &mut FieldErrors) {
    walk(value, schema, &Place::Root, &mut |value, schema, at| {
        if schema.embedded && value.is_object() {
            object(value, &at.to_string(), errors);
        }
    });
}

fn object(value: &Value, at: &str, errors: &mut FieldErrors) {
    for name in ["apiVersion", "kind"] {
        if text(value, &format!("/{name}")).is_empty() {
            errors.push(FieldError::required(child(at, name), ""));
        }
    }
    let kind = text(value, "/kind");
    if !kind.is_empty() {
        for why in names::dns1035_label(&kind.to_lowercase()) {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(FieldError::invalid(child(at, "kind"), kind, why));
        }
    }
    for (field, values) in [("labels", true), ("annotations", false)] {
        let place = child(at, &format!("metadata.{field}"));
        let entries = value.pointer(&format!("/metadata/{field}")).and_then(Value::as_object);
        for (key, label) in entries.into_iter().flatten() {
            let checked = if values { key.clone() } else { key.to_lowercase() };
            let refused = names::label_key(&checked).into_iter();
            errors.extend(refused.map(|why| FieldError::invalid(&place, key.as_str(), why)));
            if values {
                let label = label.as_str().unwrap_or_default();
                let refused = names::label_value(label).into_iter();
                errors.extend(refused.map(|why| FieldError::invalid(&place, label, why)));
            }
        }
    }
}
