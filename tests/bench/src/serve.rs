//! The servers that are measured and are ours: each in a process of its own, which ends with its standard input.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use konfidence_apiserver::{ApiServer, persist};
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::store::engine::Options;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::{BenchResult, failed};

/// Answers as long as an object is, to whatever is asked.
const ANSWER: usize = 900;

/// The embedded server, in memory or over a directory.
pub(crate) async fn embedded(directory: Option<&Path>) -> BenchResult {
    let broken = failed("the embedded server");
    let mut server = ApiServer::builder().our_kinds();
    if let Some(directory) = directory {
        let options = Options::new(Arc::new(SystemClock));
        server = server.engine(persist::open(directory, options).map_err(|error| broken(&error))?);
    }
    let server = server.build().map_err(|error| broken(&error))?;
    let listener = listen().await?;
    server.serve(listener, parent_ends()).await.map_err(|error| broken(&error))
}

/// A server that reads the request, answers, and does nothing else.
pub(crate) async fn floor() -> BenchResult {
    async fn answer(body: Bytes) -> Response<Body> {
        let answer = format!(r#"{{"metadata":{{"resourceVersion":"{}"}},"x":"{}"}}"#, body.len(), "x".repeat(ANSWER));
        let mut response = Response::new(Body::from(answer));
        *response.status_mut() = StatusCode::OK;
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        response
    }
    let listener = listen().await?;
    let served = axum::serve(listener, Router::new().fallback(answer)).with_graceful_shutdown(parent_ends());
    served.await.map_err(|error| failed("the floor")(&error))
}

/// Listens and says where.
async fn listen() -> BenchResult<TcpListener> {
    let broken = failed("a listener");
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.map_err(|error| broken(&error))?;
    println!("http://{}", listener.local_addr().map_err(|error| broken(&error))?);
    Ok(listener)
}

async fn parent_ends() {
    // Nothing is ever sent: the pipe ends with the process that measures.
    let _ = tokio::io::stdin().read(&mut [0]).await;
}
