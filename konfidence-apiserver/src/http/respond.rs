//! Answers, and how they are written.

use axum::body::{Body, Bytes};
use futures::stream::BoxStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use serde_json::Value;

use super::accept::Encoding;
use super::order::Ordered;
use crate::status::ApiError;

/// Lines of a watch.
pub(crate) type Lines = BoxStream<'static, Result<Bytes, std::convert::Infallible>>;

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
            Content::Object(value) => {
                let (content_type, bytes) = encode(&value, encoding);
                (content_type, Body::from(bytes))
            }
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

/// A value as one line of JSON.
pub(crate) fn line(value: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Ordered(value)).unwrap_or_default();
    line.push(b'\n');
    line
}

fn encode(value: &Value, encoding: Encoding) -> (&'static str, Vec<u8>) {
    if encoding == Encoding::Yaml
        && let Ok(yaml) = serde_saphyr::to_string(value)
    {
        return ("application/yaml", yaml.into_bytes());
    }
    let json = match encoding {
        Encoding::Pretty => serde_json::to_vec_pretty(&Ordered(value)),
        Encoding::Json | Encoding::Yaml => return ("application/json", line(value)),
    };
    // A `Value` has no map with keys that are no text, so it always has a JSON form.
    let json = json.unwrap_or_default();
    ("application/json", json)
}
