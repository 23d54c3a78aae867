//! What a server chooses by itself, replaced by its order of appearance: uids, versions, times, random names.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::client::Answer;

/// Headers that say something about the answer. The others are about the connection or the request's trace.
const HEADERS: &[&str] =
    &["allow", "cache-control", "content-encoding", "content-type", "location", "retry-after", "vary", "warning"];

static UID: LazyLock<Regex> = LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
/// Times of this decade's second half; times that a request writes are older.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"202[6-9]-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)|202[6-9]-\d\d-\d\d \d\d:\d\d:\d\d( \+0000 UTC)?",
    )
});
/// A generated name; the requests generate only names that begin so.
static GENERATED: LazyLock<Regex> = LazyLock::new(|| pattern("[gG]en[-_][bcdfghjklmnpqrstvwxz2456789]{5}"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+[smhd])+$"));
static VERSION_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+\b"));

fn pattern(text: &str) -> Regex {
    // The patterns are constants, and a test uses each.
    #[allow(clippy::expect_used)]
    Regex::new(text).expect("a constant pattern")
}

/// What one server has chosen so far in one case.
#[derive(Debug)]
pub(crate) struct Normal {
    id: String,
    uids: HashMap<String, usize>,
    versions: HashMap<String, usize>,
    names: HashMap<String, usize>,
}

impl Normal {
    /// For the case of this name, which is another one in every run.
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), uids: HashMap::new(), versions: HashMap::new(), names: HashMap::new() }
    }

    /// An answer as it is compared.
    pub(crate) fn answer(&mut self, answer: &Answer) -> Value {
        let mut headers = Map::new();
        for name in HEADERS {
            let values: Vec<Value> = answer
                .headers
                .iter()
                .filter(|(one, _)| one == name)
                .map(|(_, value)| self.text(value).into())
                .collect();
            if !values.is_empty() {
                headers.insert((*name).to_owned(), values.into());
            }
        }
        json!({"code": answer.code, "headers": headers, "body": self.body(&answer.body)})
    }

    /// JSON, lines of JSON (a watch), or text.
    fn body(&mut self, body: &[u8]) -> Value {
        let mut values: Vec<Value> = Vec::new();
        for value in serde_json::Deserializer::from_slice(body).into_iter() {
            if let Ok(value) = value {
                values.push(value);
            } else {
                let text = String::from_utf8_lossy(body);
                return text.lines().map(|line| Value::from(self.text(&as_version(line)))).collect();
            }
        }
        for value in &mut values {
            self.value("", value);
        }
        // How many bookmarks follow one another depends on when the server's clock ticks.
        values.dedup_by(|next, value| is_bookmark(next) && value.get("type").is_some_and(|kind| kind == "BOOKMARK"));
        if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
    }

    fn value(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                order_causes(fields);
                order_misfits(fields);
                let list = fields.contains_key("items")
                    || fields.contains_key("rows")
                    || fields.get("type").is_some_and(|kind| kind == "BOOKMARK");
                if list && let Some(version) = fields.values_mut().find_map(|below| version_of(below)) {
                    *version = "of the list".into();
                }
                for (name, field) in fields.iter_mut() {
                    self.value(name, field);
                }
                // Owners are keys of owned fields.
                if fields.keys().any(|name| UID.is_match(name)) {
                    *fields =
                        std::mem::take(fields).into_iter().map(|(name, field)| (self.text(&name), field)).collect();
                }
            }
            Value::Array(items) => {
                if name == "managedFields" {
                    // Their order depends on whether a second began between two writes.
                    items.sort_by_key(|entry| {
                        ["operation", "manager", "apiVersion", "subresource"]
                            .map(|name| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
                    });
                }
                if name == "resources" || name == "groups" {
                    // A real server lists what definitions add in the order of a hash map.
                    items.sort_by_key(|item| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned());
                }
                for item in items {
                    if name == "cells"
                        && let Value::String(text) = item
                        && AGE.is_match(text)
                    {
                        "<age>".clone_into(text);
                    }
                    self.value("", item);
                }
            }
            Value::String(text) => *text = self.named(name, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn named(&mut self, name: &str, text: &str) -> String {
        match name {
            "resourceVersion"
                if text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 19 && !text.is_empty() =>
            {
                let next = self.versions.len() + 1;
                format!("<version {}>", self.versions.entry(text.to_owned()).or_insert(next))
            }
            "continue" if !text.is_empty() => "<continue>".to_owned(),
            "serverAddress" => "<address>".to_owned(),
            // A version in a sentence is one of many; its place in the order says nothing.
            "message" if text.to_lowercase().replace(' ', "").contains("resourceversion") => {
                let text = self.text(text);
                VERSION_IN_TEXT.replace_all(&text, "<version>").into_owned()
            }
            _ => self.text(text),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = text.replace(&self.id, "<id>");
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            let next = self.uids.len() + 1;
            format!("<uid {}>", self.uids.entry(found[0].to_owned()).or_insert(next))
        });
        let text = TIME.replace_all(&text, "<time>");
        let text = GENERATED.replace_all(&text, |found: &Captures<'_>| {
            let next = self.names.len() + 1;
            format!("<name {}>", self.names.entry(found[0].to_owned()).or_insert(next))
        });
        text.into_owned()
    }
}

/// One that says how far a watch is, and nothing else.
fn is_bookmark(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind == "BOOKMARK") && value.pointer("/object/metadata/annotations").is_none()
}

/// A real server checks the fields of an object in the order of a hash map.
fn order_causes(fields: &mut Map<String, Value>) {
    let Some(Value::Array(causes)) = fields.get_mut("details").and_then(|details| details.get_mut("causes")) else {
        return;
    };
    let text = |cause: &Value, name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let sentence = |cause: &Value| format!("{}: {}", text(cause, "field"), text(cause, "message"));
    let mut sentences: Vec<String> = Vec::new();
    for cause in causes.iter() {
        // What is said twice in the causes is said once in the sentence.
        if !sentences.contains(&sentence(cause)) {
            sentences.push(sentence(cause));
        }
    }
    causes.sort_by_key(|cause| sentence(cause));
    let all = format!("[{}]", sentences.join(", "));
    sentences.sort();
    let ordered = format!("[{}]", sentences.join(", "));
    if let Some(Value::String(message)) = fields.get_mut("message") {
        *message = message.replace(&all, &ordered);
    }
}

/// It walks through what is applied in such an order, too.
fn order_misfits(fields: &mut Map<String, Value>) {
    if let Some(Value::String(message)) = fields.get_mut("message")
        && let Some((before, misfits)) = message.split_once("errors:\n")
    {
        let mut misfits: Vec<&str> = misfits.lines().collect();
        misfits.sort_unstable();
        *message = format!("{before}errors:\n{}", misfits.join("\n"));
    }
}

/// The version of a list, or of the object of a bookmark.
fn version_of(below: &mut Value) -> Option<&mut Value> {
    if below.get("resourceVersion").is_some() {
        return below
            .get_mut("resourceVersion")
            .filter(|version| version.as_str().is_some_and(|text| !text.is_empty()));
    }
    below.get_mut("metadata")?.get_mut("resourceVersion")
}

/// YAML: the version is in a line of its own.
fn as_version(line: &str) -> String {
    match line.split_once("resourceVersion: ") {
        Some((before, _)) => format!("{before}resourceVersion: <version>"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_chooses_is_named_by_its_order() {
        let mut normal = Normal::new("case-1");
        let body = r#"{"metadata": {"uid": "7d444840-9dc0-11d1-b245-5ffdce74fad2", "resourceVersion": "77",
            "creationTimestamp": "2026-11-30T10:00:00Z", "name": "gen-x2z4c"}, "message": "resource version 5 (7)"}"#;
        let answer = Answer { code: 200, headers: vec![("date".into(), "x".into())], body: body.into() };
        let expected = json!({"code": 200, "headers": {}, "body": {"metadata": {"uid": "<uid 1>",
            "resourceVersion": "<version 1>", "creationTimestamp": "<time>", "name": "<name 1>"},
            "message": "resource version <version> (<version>)"}});
        assert_eq!(normal.answer(&answer), expected);
        let list = Answer {
            body: r#"{"items": [], "metadata": {"resourceVersion": "99", "continue": "abc"}}"#.into(),
            ..answer
        };
        assert_eq!(
            normal.answer(&list)["body"]["metadata"],
            json!({"resourceVersion": "of the list", "continue": "<continue>"})
        );
    }
}
