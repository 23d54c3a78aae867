//! Whether an applied configuration fits its schema. Ownership needs to know every field, so an apply that names one
//! which no schema declares, or a value of another type, is refused before anything else, whatever the client says
//! about field validation.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::fieldset::{Element, print};
use super::shape;
use crate::schema::{ListType, Structural};

/// What does not fit, in one sentence; `None`: all does. `inner`: more values than `config`, each with its place, that
/// have a schema of their own.
///
/// The real server reports of a map with several undeclared fields whichever it meets first; here all are reported, in
/// order.
pub(crate) fn misfit<'a>(
    config: &Value,
    schema: &Structural,
    inner: impl IntoIterator<Item = (String, &'a Value, &'a Structural)>,
) -> Option<String> {
    let mut found = Vec::new();
    walk(config, schema, &mut Vec::new(), &mut found);
    for (place, value, schema) in inner {
        let mut below = Vec::new();
        walk(value, schema, &mut Vec::new(), &mut below);
        found.extend(below.into_iter().map(|why| format!(".{place}{why}")));
    }
    match found.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(many.iter().fold("errors:".to_owned(), |all, one| all + "\n  " + one)),
    }
}

fn walk(value: &Value, schema: &Structural, path: &mut Vec<Element>, found: &mut Vec<String>) {
    let mut wrong = |why: String| found.push(format!("{}: {why}", print(path)));
    if value.is_null() {
        return;
    }
    match (schema.kind.as_deref(), value) {
        (Some("object"), Value::Object(fields)) => {
            let free = schema.preserve_unknown || (schema.properties.is_empty() && schema.additional.is_none());
            for (name, below) in fields {
                path.push(Element::Field(name.clone()));
                match schema.field(name) {
                    Some(schema) => walk(below, schema, path, found),
                    None if free => {}
                    None => found.push(format!("{}: field not declared in schema", print(path))),
                }
                path.pop();
            }
        }
        (Some("object"), other) => wrong(format!("expected map, got &{{{}}}", plain(other))),
        (Some("array"), Value::Array(all)) => {
            if let Some(below) = schema.items.as_deref() {
                items(all, schema, below, path, found);
            }
        }
        (Some("array"), other) => wrong(format!("expected list, got &{{{}}}", plain(other))),
        (Some("string"), other) if !other.is_string() => {
            wrong(format!("expected string, got &value.valueUnstructured{{Value:{}}}", literal(other)));
        }
        (Some("boolean"), other) if !other.is_boolean() => {
            wrong(format!("expected boolean, got &{{{}}}", plain(other)));
        }
        (Some("integer" | "number"), other) if !other.is_number() => {
            let kind = match other {
                Value::Bool(_) => "bool",
                Value::Array(_) => "[]interface {}",
                Value::Object(_) => "map[string]interface {}",
                _ => "string",
            };
            wrong(format!("expected numeric (int or float), got {kind}"));
        }
        _ => {}
    }
}

fn items(all: &[Value], list: &Structural, below: &Structural, path: &mut Vec<Element>, found: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in all.iter().enumerate() {
        let element = match &list.list {
            ListType::Atomic => Element::Index(index),
            kind => {
                if let Some(why) = unidentified(item, kind, below) {
                    // Without an identity nothing inside can be named.
                    found.push(format!("{}: element {index}: {why}", print(path)));
                    return;
                }
                shape::element(kind, Some(below), item)
            }
        };
        if !seen.insert(element.clone()) {
            found.push(format!("{}: duplicate entries for key {element}", print(path)));
        }
        path.push(element);
        walk(item, below, path, found);
        path.pop();
    }
}

/// Why an item of a list cannot be told apart from the others.
fn unidentified(item: &Value, list: &ListType, below: &Structural) -> Option<String> {
    match (list, item) {
        (ListType::Map(_), Value::Null) => Some("associative list with keys may not have a null element".to_owned()),
        (ListType::Map(keys), Value::Object(fields)) => {
            let known = |key: &String| {
                fields.contains_key(key) || below.properties.get(key).is_some_and(|one| one.default.is_some())
            };
            let listed: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            (!keys.iter().any(known)).then(|| {
                format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                     default values for any key fields)",
                    listed.join(" ")
                )
            })
        }
        (ListType::Map(_), _) => Some("associative list with keys may not have non-map elements".to_owned()),
        (_, Value::Object(_)) => Some("associative list without keys has an element that's a map type".to_owned()),
        (_, Value::Array(_)) => Some("not supported: associative list with lists as elements".to_owned()),
        (_, Value::Null) => Some("associative list without keys has an element that's an explicit null".to_owned()),
        _ => None,
    }
}

/// As Go prints a value with `%v`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        other => other.to_string(),
    }
}

/// As Go prints a value with `%#v`.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let mut text = "map[string]interface {}{".to_owned();
            for (at, (name, value)) in fields.iter().enumerate() {
                // Writing into a String cannot fail.
                let _ = write!(text, "{}{name:?}:{}", if at == 0 { "" } else { ", " }, literal(value));
            }
            text + "}"
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_told_in_the_real_servers_words() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {
            "text": {"type": "string"}, "flag": {"type": "boolean"}, "count": {"type": "integer"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "steps": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true}, "free": {"type": "object"},
        }}));
        let told = |config: &Value| misfit(config, &schema, []).unwrap_or_default();
        assert_eq!(told(&json!({"any": {"x": 1}, "free": {"x": 1}, "text": null})), "");
        assert_eq!(told(&json!({"x": 1})), ".x: field not declared in schema");
        assert_eq!(
            told(&json!({"steps": [{"name": "a", "x": 1}]})),
            r#".steps[name="a"].x: field not declared in schema"#
        );
        assert_eq!(told(&json!({"text": 1})), ".text: expected string, got &value.valueUnstructured{Value:1}");
        assert_eq!(told(&json!({"flag": "yes"})), ".flag: expected boolean, got &{yes}");
        assert_eq!(told(&json!({"count": "x"})), ".count: expected numeric (int or float), got string");
        assert_eq!(told(&json!({"map": ["x"]})), ".map: expected map, got &{[x]}");
        assert_eq!(told(&json!({"set": {"a": "b"}})), ".set: expected list, got &{map[a:b]}");
        assert_eq!(told(&json!({"set": ["a", "a"]})), r#".set: duplicate entries for key [="a"]"#);
        assert_eq!(
            told(&json!({"steps": [{}]})),
            ".steps: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and \
             doesn't have default values for any key fields)"
        );
        assert_eq!(
            told(&json!({"x": 1, "flag": 1})),
            "errors:\n  .flag: expected boolean, got &{1}\n  .x: field not declared in schema"
        );
    }
}
