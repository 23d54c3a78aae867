//! Answers, and how they are written.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures::stream::BoxStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use konfidence_sdk::store::engine::Document;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::accept::Encoding;
use super::order::Ordered;
use crate::status::ApiError;

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
}

enum Content {
    Object(Value),
    Stored(Arc<Document>),
    StoredList(StoredList),
    Text(String),
    Bytes(Vec<u8>),
    Lines(Lines),
}

impl Reply {
    fn new(code: u16, content: Content) -> Self {
        Self { code, content, content_type: None, warnings: Vec::new(), retry_after: None }
    }

    /// 200 with an object.
    pub(crate) fn object(value: Value) -> Self {
        Self::new(200, Content::Object(value))
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
        let (content_type, body) = match self.content {
            Content::Text(text) => ("text/plain; charset=utf-8", Body::from(text)),
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
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
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
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// `value` is in the order of its type, `by_name` in that of the names, as YAML is.
fn encode(value: &impl Serialize, by_name: &impl Serialize, encoding: Encoding) -> (&'static str, Body) {
    match encoding {
        Encoding::Yaml => {
            if let Ok(yaml) = serde_saphyr::to_string(by_name) {
                return ("application/yaml", Body::from(yaml));
            }
            ("application/json", Body::from(line(value)))
        }
        Encoding::Pretty => ("application/json", Body::from(serde_json::to_vec_pretty(value).unwrap_or_default())),
        Encoding::Json => ("application/json", Body::from(line(value))),
    }
}
