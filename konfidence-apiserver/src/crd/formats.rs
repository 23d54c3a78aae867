//! Formats that no server checks: a definition may name them, and its author is warned.

use std::collections::BTreeSet;

use serde_json::Value;

use super::within;

/// What a real server checks, or knows as a password.
const CHECKED: &[&str] = &[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Warnings of every format that a definition names, and the one before did not.
pub(crate) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown).unwrap_or_default();
    unknown(definition)
        .into_iter()
        .filter(|format| !before.contains(format))
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

fn unknown(definition: &Value) -> BTreeSet<&str> {
    let named = within::all(definition).into_iter().filter_map(|inner| {
        let schema = definition.pointer(&inner.pointer)?;
        let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_size =
            matches!((text("type"), text("format")), ("integer", "int32" | "int64") | ("number", "float" | "double"));
        Some(text("format")).filter(|format| !format.is_empty() && !is_size && !CHECKED.contains(format))
    });
    named.collect()
}
