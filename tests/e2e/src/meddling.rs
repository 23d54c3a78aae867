//! What goes over the wire between a client and its server: noted, and meddled with.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::service_fn;
use wire::Call;

/// What is done to a request.
#[derive(Clone, Copy, Debug)]
pub enum Meddling {
    /// Answered with this code and never seen by the server.
    Refused(StatusCode),
    /// Seen by the server so much later.
    Slow(Duration),
    /// Never seen by the server, and never answered.
    Lost,
    /// Done by the server, and never answered.
    AnswerLost,
}

type Fault = dyn Fn(&Call) -> Option<Meddling> + Send + Sync;

/// Between a client and its server.
#[derive(Default)]
pub struct Wire {
    calls: Mutex<Vec<Call>>,
    forbidden: Mutex<Vec<Call>>,
    fault: Mutex<Option<Box<Fault>>>,
}

impl Wire {
    /// A client whose requests go over this wire and then through `client`.
    pub fn client(self: &Arc<Self>, client: &Client) -> Client {
        let (wire, inner) = (self.clone(), client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (wire, inner) = (wire.clone(), inner.clone());
            async move { Ok::<_, Infallible>(wire.pass(request, &inner).await) }
        });
        Client::new(service, client.default_namespace())
    }

    /// Has `fault` say what becomes of each request.
    pub fn meddle(&self, fault: impl Fn(&Call) -> Option<Meddling> + Send + Sync + 'static) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(fault));
    }

    /// Lets every request through.
    pub fn leave_alone(&self) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The requests so far, as many as have been there.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the requests so far.
    pub fn clear(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What the server, not the test, answered with `Forbidden`.
    pub fn forbidden(&self) -> Vec<Call> {
        self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn pass(&self, request: Request<Body>, inner: &Client) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect_bytes().await else { return refusal(StatusCode::BAD_REQUEST) };
        let call = Call::of(&parts.method, &parts.uri, serde_json::from_slice(&body).unwrap_or_default());
        let request = Request::from_parts(parts, body.to_vec());
        let meddling = call.as_ref().and_then(|call| {
            let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.as_ref().and_then(|fault| fault(call))
        });
        if let Some(call) = &call {
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
        }
        let request = request.map(Body::from);
        match meddling {
            Some(Meddling::Refused(code)) => return refusal(code),
            Some(Meddling::Lost) => std::future::pending().await,
            Some(Meddling::Slow(by)) => tokio::time::sleep(by).await,
            Some(Meddling::AnswerLost) | None => {}
        }
        // A server that cannot be reached is one that cannot answer.
        let Ok(answer) = inner.send(request).await else { return refusal(StatusCode::BAD_GATEWAY) };
        if matches!(meddling, Some(Meddling::AnswerLost)) {
            std::future::pending::<()>().await;
        }
        if let (StatusCode::FORBIDDEN, Some(call)) = (answer.status(), call) {
            self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        }
        answer
    }
}

fn refusal(code: StatusCode) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": format!("meddled with: {code}"), "reason": reason(code), "code": code.as_u16(),
    });
    let mut answer = Response::new(Body::from(status.to_string().into_bytes()));
    *answer.status_mut() = code;
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    answer
}

fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "",
    }
}
