//! Running a case on one server.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use http::Request;
use serde_json::Value;

use crate::Error;
use crate::case::{Case, Step, Until};
use crate::client::{Answer, Server};
use crate::normal::Normal;

/// How long a step waits for what it waits for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it asks.
const PAUSE: Duration = Duration::from_millis(50);

/// The comparable answer of every step.
///
/// # Errors
/// When the server does not answer, or never answers what a step waits for.
pub async fn run(server: &Server, case: &Case, id: &str) -> Result<Vec<Value>, Error> {
    let mut world = World { names: known(id), normal: Normal::new(id) };
    let namespace = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{id}"}}}}"#);
    let made = Step {
        method: "POST".into(),
        path: "/api/v1/namespaces".into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: namespace,
        ..Step::default()
    };
    server.send(world.request(&made)).await?;
    let mut answers = Vec::new();
    for step in &case.steps {
        let failed =
            |why: String| Error::Server { server: server.name.to_owned(), why: format!("{}: {why}", case.place) };
        let mut answer = None;
        for n in 1..=step.repeat {
            world.names.insert("n".into(), n.to_string());
            answer = Some(world.ask(server, step).await.map_err(|error| failed(error.to_string()))?);
        }
        let Some(answer) = answer else { continue };
        if !step.save.is_empty() {
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            for (name, pointer) in &step.save {
                let value = body.pointer(pointer).cloned().unwrap_or_default();
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                world.names.insert(name.clone(), value);
            }
        }
        answers.push(world.normal.answer(&answer));
    }
    Ok(answers)
}

/// Names that every case may use.
fn known(id: &str) -> HashMap<String, String> {
    let ours = format!("/apis/konfidence.cloud/v1alpha1/namespaces/{id}");
    let core = format!("/api/v1/namespaces/{id}");
    [
        ("id", id.to_owned()),
        ("ns", id.to_owned()),
        ("core", core),
        ("crds", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned()),
        ("leases", format!("/apis/coordination.k8s.io/v1/namespaces/{id}/leases")),
        ("loaves", format!("/apis/bakery.example/v1/namespaces/{id}/loaves")),
        ("ours", ours),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

struct World {
    names: HashMap<String, String>,
    normal: Normal,
}

impl World {
    async fn ask(&self, server: &Server, step: &Step) -> Result<Answer, Error> {
        #[allow(clippy::disallowed_methods, reason = "waits for a server outside of this process")]
        let since = Instant::now();
        loop {
            let answer = server.send(self.request(step)).await?;
            let done = match &step.until {
                None => true,
                Some(Until::Code(code)) => answer.code == *code,
                Some(Until::Value(pointer, wanted)) => {
                    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                    // What is no JSON is never answered.
                    let wanted: Option<Value> = serde_json::from_str(&self.filled(wanted)).ok();
                    wanted.is_some() && body.pointer(pointer) == wanted.as_ref()
                }
            };
            if done {
                return Ok(answer);
            }
            if since.elapsed() > PATIENCE {
                let why = format!("{} {} never answers {:?}: {}", step.method, step.path, step.until, answer.code);
                return Err(Error::Server { server: server.name.to_owned(), why });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn request(&self, step: &Step) -> Request<Vec<u8>> {
        let mut request = Request::builder().method(step.method.as_str()).uri(escaped(&self.filled(&step.path)));
        let mut named = false;
        for (name, value) in &step.headers {
            named |= name == "content-type";
            request = request.header(name, self.filled(value));
        }
        if !step.headers.iter().any(|(name, _)| name == "user-agent") {
            request = request.header("user-agent", "differential/1.0");
        }
        let body = self.filled(&step.body);
        if !named && !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let json = serde_json::from_str::<Value>(&body).is_ok();
        let body = if step.raw || json || body.is_empty() || yaml(step) {
            body
        } else {
            let value: Result<Value, _> = serde_saphyr::from_str(&body);
            value.map_or(body, |value| value.to_string())
        };
        // A method or a header that cannot be sent is a mistake in the case; the answer to an empty request shows it.
        request.body(body.into_bytes()).unwrap_or_default()
    }

    fn filled(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.names {
            let place = format!("${{{name}}}");
            if filled.contains(&place) {
                filled = filled.replace(&place, value);
            }
        }
        filled
    }
}

/// What a path is written with for people and not sent with.
fn escaped(path: &str) -> String {
    path.replace(' ', "%20").replace('>', "%3E").replace('<', "%3C")
}

fn yaml(step: &Step) -> bool {
    step.headers.iter().any(|(name, value)| name == "content-type" && value.contains("application/yaml"))
}
