//! What a cluster asks a process about itself: `/healthz`, `/readyz`, `/metrics`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Named checks: what must hold for the process to be left running, and what must hold for it to count as ready.
/// Clones share them.
#[derive(Clone, Default)]
pub struct Health(Arc<Checks>);

#[derive(Default)]
struct Checks {
    progress: Mutex<Vec<(String, Check)>>,
    gates: Mutex<Vec<(String, Check)>>,
}

impl Health {
    /// Progress that a restart would repair if it stopped. Not for what is wrong outside of the process.
    pub fn progress(&self, name: impl Into<String>, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner).push((name.into(), Box::new(check)));
    }

    /// A gate of readiness.
    pub fn gate(&self, name: impl Into<String>, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.0.gates.lock().unwrap_or_else(PoisonError::into_inner).push((name.into(), Box::new(check)));
    }

    /// A gate that somebody opens and closes by hand; closed for the reason `closed` at first.
    pub fn latch(&self, name: impl Into<String>, closed: impl Into<String>) -> Latch {
        let latch = Latch(Arc::new(Mutex::new(Some(closed.into()))));
        let state = latch.0.clone();
        self.gate(name, move || match &*state.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(reason.clone()),
        });
        latch
    }

    /// Whether all checks of progress pass, and a line for each.
    pub fn is_alive(&self) -> (bool, String) {
        report(&self.0.progress)
    }

    /// Whether all gates are open, and a line for each.
    pub fn is_ready(&self) -> (bool, String) {
        report(&self.0.gates)
    }
}

fn report(checks: &Mutex<Vec<(String, Check)>>) -> (bool, String) {
    let checks = checks.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    let mut passes = true;
    for (name, check) in checks.iter() {
        let line = match check() {
            Ok(()) => format!("[+] {name}\n"),
            Err(reason) => {
                passes = false;
                format!("[-] {name}: {reason}\n")
            }
        };
        text.push_str(&line);
    }
    (passes, text)
}

/// See [`Health::latch`].
#[derive(Clone)]
pub struct Latch(Arc<Mutex<Option<String>>>);

impl Latch {
    /// Opens the gate, or closes it for a reason.
    pub fn set(&self, closed: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = closed;
    }
}

/// The three paths.
pub fn router(health: Health, metrics: Metrics) -> Router {
    Router::new()
        .route("/healthz", get(|State(health): State<Health>| async move { checked(health.is_alive()) }))
        .route("/readyz", get(|State(health): State<Health>| async move { checked(health.is_ready()) }))
        .with_state(health)
        .route("/metrics", get(move || async move { exposed(&metrics) }))
}

fn checked((passes, text): (bool, String)) -> (StatusCode, String) {
    (if passes { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

fn exposed(metrics: &Metrics) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Serves the three paths until `stop`.
///
/// # Errors
/// Those of the socket.
pub async fn serve(
    listener: TcpListener,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let served = axum::serve(listener, router(health, metrics)).with_graceful_shutdown(async move {
        stop.cancelled().await;
    });
    served.await
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn ask(router: &Router, path: &str) -> (StatusCode, String) {
        let response = router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn readiness_names_its_gates_and_is_red_while_one_is_closed() {
        let health = Health::default();
        let crds = health.latch("promotion/crds", "not looked at yet");
        health.gate("promotion/caches", || Ok(()));
        let router = router(health, Metrics::default());
        crds.set(Some("CRD stages.konfidence.cloud is not installed".into()));
        let (status, text) = ask(&router, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text, "[-] promotion/crds: CRD stages.konfidence.cloud is not installed\n[+] promotion/caches\n");
        crds.set(None);
        assert_eq!(ask(&router, "/readyz").await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn health_is_about_progress_and_not_about_readiness() {
        let health = Health::default();
        health.gate("promotion/crds", || Err("missing".into()));
        let stuck = Arc::new(Mutex::new(false));
        let state = stuck.clone();
        health.progress("promotion/queue", move || {
            if *state.lock().unwrap() { Err("a reconcile has been running for 700 s".into()) } else { Ok(()) }
        });
        let router = router(health, Metrics::default());
        assert_eq!(ask(&router, "/healthz").await, (StatusCode::OK, "[+] promotion/queue\n".into()));
        *stuck.lock().unwrap() = true;
        assert_eq!(ask(&router, "/healthz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn metrics_are_served_as_openmetrics() {
        let (status, text) = ask(&router(Health::default(), Metrics::default()), "/metrics").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.ends_with("# EOF\n"));
    }
}
