//! Raw requests in process, for what a typed client never sends.

// Each test binary uses a part of it.
#![allow(dead_code, unreachable_pub, missing_docs)]
#![allow(clippy::expect_used)]

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use konfidence_apiserver::ApiServer;
use serde_json::{Value, json};
use tower::ServiceExt;

/// Stages of the default namespace.
pub const STAGES: &str = "/apis/konfidence.cloud/v1alpha1/namespaces/default/stages";

/// An answer, read.
pub struct Answer {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// A server with our kinds.
pub fn server() -> ApiServer {
    ApiServer::builder().our_kinds().build().expect("our definitions are legal")
}

/// Sends a body of any type.
pub async fn send(
    server: &ApiServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body.into()).expect("a request");
    let response = server.service().oneshot(request).await.expect("the service never fails");
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    Answer { code: head.status.as_u16(), headers: head.headers, body }
}

/// Sends JSON.
pub async fn json_request(server: &ApiServer, method: &str, path: &str, body: &Value) -> Answer {
    send(server, method, path, &[("content-type", "application/json")], body.to_string()).await
}

/// Reads.
pub async fn get(server: &ApiServer, path: &str) -> Answer {
    send(server, "GET", path, &[], Body::empty()).await
}

/// A stage as JSON.
pub fn stage(name: &str) -> Value {
    json!({"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": {"vector": "v1"}})
}
