//! Reading JSON that may be of any shape: what is not there, or is something else, is empty.

use jiff::Timestamp;
use serde_json::Value;

/// The text at a JSON pointer.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// An instant as the API writes most of them: RFC 3339 in UTC, whole seconds.
pub(crate) fn seconds(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Fields of the API's metadata in the order in which a real server writes them.
const METADATA: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
/// As [`METADATA`], of one of its entries.
const ENTRIES: &[&str] = &[
    "manager",
    "operation",
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];

/// An object as JSON, with the fields of `ordered` (`metadata`, or nothing: the value itself) in the order in which a
/// real server writes them, and everything else by name. `touched`: these fields were written anew, and only what is below
/// them has kept its order.
pub(crate) fn in_go_order(object: &Value, ordered: &[&str], touched: bool) -> String {
    let Value::Object(fields) = object else { return object.to_string() };
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            let value = if ordered.contains(&name.as_str()) { metadata(value, touched) } else { value.to_string() };
            format!("{}:{value}", Value::from(name.as_str()))
        })
        .collect();
    format!("{{{}}}", parts.join(","))
}

fn metadata(value: &Value, touched: bool) -> String {
    in_order(value, if touched { &[] } else { METADATA }, &|value| match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| in_order(item, ENTRIES, &Value::to_string)).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    })
}

/// Owner references as a real server writes them.
pub(crate) fn owner_reference(value: &Value) -> String {
    in_order(value, ENTRIES, &Value::to_string)
}

fn in_order(value: &Value, order: &[&str], below: &dyn Fn(&Value) -> String) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_by_key(|name| order.iter().position(|known| known == name).unwrap_or(usize::MAX));
    let parts: Vec<String> = names
        .into_iter()
        .filter_map(|name| Some(format!("{}:{}", Value::from(name.as_str()), below(fields.get(name)?))))
        .collect();
    format!("{{{}}}", parts.join(","))
}
