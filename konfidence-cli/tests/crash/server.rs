//! The real binary, and requests to it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures::AsyncBufRead;
use http::Request;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::{Client, Error};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{DEADLINE, konfidence};

/// `konfidence dev` over a data directory.
pub(crate) struct Server {
    child: Child,
    api: Api,
}

/// Requests to one run of the server.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    /// `http://127.0.0.1:4711`.
    url: String,
}

/// What became of a request.
pub(crate) enum Answer {
    Ok(Value),
    /// The server says no.
    Refused(u16, String),
    /// The connection broke: nobody knows.
    Unknown,
}

impl Server {
    /// Starts the process and waits for nothing.
    pub(crate) fn spawn(folder: &Path) -> Self {
        let mut command = Command::from(konfidence());
        command.args(["dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
        command.stdout(Stdio::piped()).kill_on_drop(true);
        // One that loads no certificates: it is made two hundred times.
        let client = Client::new(legacy::Client::builder(TokioExecutor::new()).build_http(), "default");
        Self { child: command.spawn().expect("it starts"), api: Api { client, url: String::new() } }
    }

    /// Starts it and waits until it is ready.
    pub(crate) async fn start(folder: &Path) -> Self {
        let mut server = Self::spawn(folder);
        let mut lines = BufReader::new(server.child.stdout.take().expect("piped")).lines();
        let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.expect("it is ready in time");
        let line = line.expect("text").expect("it comes up again");
        line.strip_prefix("ready: ").expect("the ready line").clone_into(&mut server.api.url);
        server
    }

    pub(crate) fn api(&self) -> Api {
        self.api.clone()
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("SIGKILL");
    }

    pub(crate) async fn kill_after(self, delay: Duration) {
        tokio::time::sleep(delay).await;
        self.kill().await;
    }
}

impl Api {
    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder().method(method).uri(self.url.clone() + path).header("content-type", content);
        match self.client.request::<Value>(request.body(bytes).expect("a request")).await {
            Ok(value) => Answer::Ok(value),
            Err(Error::Api(status)) => Answer::Refused(status.code, status.message.clone()),
            Err(_) => Answer::Unknown,
        }
    }

    /// The lines of a watch.
    pub(crate) async fn watch(&self, path: &str) -> Option<impl AsyncBufRead + use<>> {
        let request = Request::get(self.url.clone() + path).body(Vec::new()).expect("a request");
        self.client.request_stream(request).await.ok()
    }

    /// Reads what must be readable.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        match self.send("GET", path, None).await {
            Answer::Ok(value) => Some(value),
            Answer::Refused(404, _) => None,
            Answer::Refused(code, message) => panic!("GET {path}: {code} {message}"),
            Answer::Unknown => panic!("GET {path}: the server is gone"),
        }
    }
}
