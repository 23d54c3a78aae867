//! `OpenAPI` v2 in protobuf: the only form in which kubectl and older client libraries ask for it.
//!
//! The messages are those of gnostic's `OpenAPIv2.proto`; a value that has no message of its own (a default, an
//! extension) travels as YAML, and JSON is YAML.

use serde_json::{Map, Value};

/// What clients ask for.
pub(crate) const ASKED: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];
/// What they are answered with: an `@` has no place in a media type.
pub(crate) const ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The whole document.
pub(crate) fn document(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, document.get("swagger"));
    if let Some(info) = document.get("info") {
        let mut below = Message::default();
        below.text(1, info.get("title"));
        below.text(2, info.get("version"));
        out.message(2, &below);
    }
    let mut paths = Message::default();
    for (path, item) in fields(document.get("paths")) {
        paths.message(2, &named(path, &path_item(item)));
    }
    out.message(8, &paths);
    out.message(9, &schemas(document.get("definitions")));
    out.0
}

fn path_item(item: &Value) -> Message {
    const VERBS: &[(u32, &str)] = &[(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")];
    let mut out = Message::default();
    for (number, verb) in VERBS {
        if let Some(found) = item.get(*verb) {
            out.message(*number, &operation(found));
        }
    }
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    out.text(5, operation.get("operationId"));
    for parameter in items(operation.get("parameters")) {
        let mut query = Message::default();
        query.text(2, parameter.get("in"));
        query.text(4, parameter.get("name"));
        query.text(6, parameter.get("type"));
        out.message(8, &query.within(3).within(2).within(1));
    }
    extensions(operation, 13, &mut out);
    out
}

/// A `Definitions` or `Properties`: both hold named schemas.
fn schemas(all: Option<&Value>) -> Message {
    let mut out = Message::default();
    for (name, below) in fields(all) {
        out.message(1, &named(name, &schema(below)));
    }
    out
}

fn schema(schema: &Value) -> Message {
    const TEXTS: &[(u32, &str)] = &[(1, "$ref"), (2, "format"), (3, "title"), (4, "description"), (13, "pattern")];
    const FLOATS: &[(u32, &str)] = &[(6, "multipleOf"), (7, "maximum"), (9, "minimum")];
    const FLAGS: &[(u32, &str)] = &[(8, "exclusiveMaximum"), (10, "exclusiveMinimum"), (16, "uniqueItems")];
    const COUNTS: &[(u32, &str)] = &[
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ];
    let mut out = Message::default();
    for (number, name) in TEXTS {
        out.text(*number, schema.get(*name));
    }
    if let Some(default) = schema.get("default") {
        out.message(5, &yaml(default));
    }
    for (number, name) in FLOATS {
        if let Some(value) = schema.get(*name).and_then(Value::as_f64) {
            out.float(*number, value);
        }
    }
    for (number, name) in FLAGS {
        if schema.get(*name) == Some(&Value::Bool(true)) {
            out.number(*number, 1);
        }
    }
    for (number, name) in COUNTS {
        if let Some(value) = schema.get(*name).and_then(Value::as_u64) {
            out.number(*number, value);
        }
    }
    for name in items(schema.get("required")) {
        out.text(19, Some(name));
    }
    for value in items(schema.get("enum")) {
        out.message(20, &yaml(value));
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(allowed)) => {
            let mut below = Message::default();
            below.number(2, u64::from(*allowed));
            out.message(21, &below);
        }
        Some(below) => out.message(21, &self::schema(below).within(1)),
        None => {}
    }
    if schema.get("type").is_some() {
        let mut below = Message::default();
        below.text(1, schema.get("type"));
        out.message(22, &below);
    }
    if let Some(below) = schema.get("items") {
        out.message(23, &self::schema(below).within(1));
    }
    for below in items(schema.get("allOf")) {
        out.message(24, &self::schema(below));
    }
    if schema.get("properties").is_some() {
        out.message(25, &schemas(schema.get("properties")));
    }
    extensions(schema, 31, &mut out);
    out
}

fn extensions(of: &Value, number: u32, out: &mut Message) {
    for (name, value) in fields(Some(of)).filter(|(name, _)| name.starts_with("x-")) {
        out.message(number, &named(name, &yaml(value)));
    }
}

fn named(name: &str, value: &Message) -> Message {
    let mut out = Message::default();
    out.bytes(1, name.as_bytes());
    out.message(2, value);
    out
}

fn yaml(value: &Value) -> Message {
    let mut out = Message::default();
    out.bytes(2, format!("{value}\n").as_bytes());
    out
}

fn fields(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(0x80 | value.to_le_bytes()[0]);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn tag(&mut self, number: u32, wire: u64) {
        self.varint(u64::from(number) << 3 | wire);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u32, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str) {
            self.bytes(number, text.as_bytes());
        }
    }

    fn number(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.varint(value);
    }

    fn float(&mut self, number: u32, value: f64) {
        self.tag(number, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn message(&mut self, number: u32, message: &Self) {
        self.bytes(number, &message.0);
    }

    /// A message that holds this one alone.
    fn within(&self, number: u32) -> Self {
        let mut out = Self::default();
        out.message(number, self);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_written_as_gnostics_message() {
        let written = document(&json!({"swagger": "2.0", "definitions": {"a": {"type": "object", "required": ["b"],
            "x-c": [1], "properties": {"b": {"$ref": "d"}}}}}));
        let schema = [
            b"\x9a\x01\x01b".as_slice(),                       // required
            b"\xb2\x01\x08\x0a\x06object",                     // type
            b"\xca\x01\x0a\x0a\x08\x0a\x01b\x12\x03\x0a\x01d", // properties
            b"\xfa\x01\x0d\x0a\x03x-c\x12\x06\x12\x04[1]\n",   // extension
        ]
        .concat();
        let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("short");
        let named = [b"\x0a\x01a\x12".as_slice(), &[length(&schema)], &schema].concat();
        let definitions = [&[0x0a, length(&named)], named.as_slice()].concat();
        let expected =
            [b"\x0a\x032.0\x42\x00\x4a".as_slice(), &[length(&definitions)], definitions.as_slice()].concat();
        assert_eq!(written, expected);
    }
}
