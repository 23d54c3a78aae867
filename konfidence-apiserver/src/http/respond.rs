//! Answers, and how they are written.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures::stream::BoxStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY, WARNING, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use konfidence_sdk::store::engine::Document;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::accept::Encoding;
use super::order::Ordered;
use super::yaml;
use crate::status::ApiError;

/// What is no object is text.
const TEXT: &str = "text/plain; charset=utf-8";

/// Lines of a watch.
pub(crate) type Lines = BoxStream<'static, Result<Bytes, std::convert::Infallible>>;

/// A list of custom resources, its fields in the order of their names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredList {
    pub(crate) api_version: String,
    #[serde(serialize_with = "documents")]
    pub(crate) items: Vec<Arc<Document>>,
    pub(crate) kind: String,
    pub(crate) metadata: Map<String, Value>,
}

fn documents<S: Serializer>(items: &[Arc<Document>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(items.iter().map(|item| item.json()))
}

/// What is answered.
pub(crate) struct Reply {
    code: u16,
    content: Content,
    content_type: Option<&'static str>,
    warnings: Vec<String>,
    retry_after: Option<u32>,
    negotiated: bool,
}

enum Content {
    Object(Value),
    /// Written for people, whatever the client takes.
    Shown(Value),
    Stored(Arc<Document>),
    StoredList(StoredList),
    Text(String),
    /// Text, without a word about what it is not.
    Bare(String),
    Bytes(Vec<u8>),
    Lines(Lines),
}

impl Reply {
    fn new(code: u16, content: Content) -> Self {
        Self { code, content, content_type: None, warnings: Vec::new(), retry_after: None, negotiated: false }
    }

    /// 200 with an object.
    pub(crate) fn object(value: Value) -> Self {
        Self::new(200, Content::Object(value))
    }

    /// 200 with an object that people look at: JSON with line breaks.
    pub(crate) fn shown(value: Value) -> Self {
        Self::new(200, Content::Shown(value))
    }

    /// 200 with an object as it is stored.
    pub(crate) fn stored(object: Arc<Document>) -> Self {
        Self::new(200, Content::Stored(object))
    }

    /// 200 with objects as they are stored.
    pub(crate) fn stored_list(list: StoredList) -> Self {
        Self::new(200, Content::StoredList(list))
    }

    /// The same as 201.
    #[must_use]
    pub(crate) fn created_now(self) -> Self {
        Self { code: 201, ..self }
    }

    /// 201 with an object.
    pub(crate) fn created(value: Value) -> Self {
        Self::new(201, Content::Object(value))
    }

    /// 200 with plain text.
    pub(crate) fn text(text: &str) -> Self {
        Self::new(200, Content::Text(text.to_owned()))
    }

    /// 200 with plain text from a part of the server that says nothing of it.
    pub(crate) fn bare(text: &str) -> Self {
        Self::new(200, Content::Bare(text.to_owned()))
    }

    /// 200 with bytes that are no JSON; their content type has to be named.
    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self::new(200, Content::Bytes(bytes))
    }

    /// 200 with a stream that goes on.
    pub(crate) fn lines(lines: Lines) -> Self {
        Self::new(200, Content::Lines(lines))
    }

    /// A refusal.
    pub(crate) fn error(error: &ApiError) -> Self {
        if let Some(text) = error.text() {
            return Self::new(error.code, Content::Text(text.to_owned()));
        }
        Self { retry_after: error.retry_after, ..Self::new(error.code, Content::Object(error.to_status())) }
    }

    /// The same refusal for a client that takes no form in which refusals come.
    #[must_use]
    pub(crate) fn regardless(mut self) -> Self {
        if let Content::Object(value) = self.content {
            self.content = Content::Shown(value);
        }
        self
    }

    /// Whether it is a refusal.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code >= 400
    }

    /// Says that who asks otherwise gets another answer, and that this one may be kept.
    #[must_use]
    pub(crate) fn negotiated(self) -> Self {
        Self { negotiated: true, ..self }
    }

    /// Names the content more exactly than "JSON".
    #[must_use]
    pub(crate) fn content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Adds sentences that clients show to their users.
    #[must_use]
    pub(crate) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// The answer as HTTP.
    pub(crate) fn into_response(self, encoding: Encoding) -> Response<Body> {
        let is_text = matches!(self.content, Content::Text(_));
        let (content_type, body) = match self.content {
            Content::Text(text) | Content::Bare(text) => (TEXT, Body::from(text)),
            Content::Shown(value) => ("application/json", Body::from(for_people(&Ordered(&value)))),
            Content::Bytes(bytes) => ("application/octet-stream", Body::from(bytes)),
            Content::Lines(lines) => ("application/json", Body::from_stream(lines)),
            Content::Object(value) => encode(&Ordered(&value), &value, encoding),
            Content::Stored(object) => encode(&Ordered(object.json()), object.json(), encoding),
            Content::StoredList(list) => encode(&list, &list, encoding),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type.unwrap_or(content_type)));
        if is_text {
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        if self.negotiated {
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        let cache = if self.negotiated { "public" } else { "no-cache, private" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        for warning in &self.warnings {
            let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{escaped}\"")) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}

/// An event of a watch as it is sent.
pub(crate) fn event(event: &Value) -> Bytes {
    line(&Ordered(event)).into()
}

/// A value as one line of JSON.
fn line(value: &impl Serialize) -> Vec<u8> {
    // Nothing that is answered has a map with keys that are no text, so it always has a JSON form.
    let mut line = escaped(serde_json::to_vec(value).unwrap_or_default());
    line.push(b'\n');
    line
}

/// A value as JSON with line breaks.
fn for_people(value: &impl Serialize) -> Vec<u8> {
    escaped(serde_json::to_vec_pretty(value).unwrap_or_default())
}

/// JSON in which no text can be taken for HTML, as Go writes it. All that is escaped occurs in texts only.
fn escaped(json: Vec<u8>) -> Vec<u8> {
    let begins = |byte: &u8| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    if !json.iter().any(begins) {
        return json;
    }
    let mut written = Vec::with_capacity(json.len() + 64);
    let mut rest = json.as_slice();
    while let Some(at) = rest.iter().position(begins) {
        let (before, found) = rest.split_at(at);
        written.extend_from_slice(before);
        let (by, length): (&[u8], usize) = match found {
            [b'<', ..] => (br"\u003c", 1),
            [b'>', ..] => (br"\u003e", 1),
            [b'&', ..] => (br"\u0026", 1),
            [0xe2, 0x80, 0xa8, ..] => (br"\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => (br"\u2029", 3),
            _ => (&[0xe2], 1),
        };
        written.extend_from_slice(by);
        rest = found.get(length..).unwrap_or_default();
    }
    written.extend_from_slice(rest);
    written
}

/// `value` is in the order of its type, `by_name` in that of the names, as YAML is.
fn encode(value: &impl Serialize, by_name: &impl Serialize, encoding: Encoding) -> (&'static str, Body) {
    match encoding {
        Encoding::Yaml => {
            let value = serde_json::to_value(by_name).unwrap_or_default();
            ("application/yaml", Body::from(yaml::to_string(&value)))
        }
        Encoding::Pretty => ("application/json", Body::from(for_people(value))),
        Encoding::Json => ("application/json", Body::from(line(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_text_in_an_answer_can_be_taken_for_html() {
        let value = json!({"a<b>": "c & d", "line": "\u{2028}\u{2029}", "euro": "\u{20ac}"});
        let written = String::from_utf8(line(&value)).expect("UTF-8");
        assert_eq!(
            written,
            "{\"a\\u003cb\\u003e\":\"c \\u0026 d\",\"euro\":\"\u{20ac}\",\"line\":\"\\u2028\\u2029\"}\n"
        );
        assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), value);
    }
}
