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
