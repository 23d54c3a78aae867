//! Requests in, answers out: one handler for every path, because which paths there are changes while it runs.

pub(crate) mod accept;
pub(crate) mod body;
mod health;
mod order;
pub(crate) mod params;
pub(crate) mod path;
pub(crate) mod protobuf;
pub(crate) mod respond;
pub(crate) mod serve;
pub(crate) mod syntax;
mod timed;
pub(crate) mod user;
mod yaml;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use futures::FutureExt;
use http::{HeaderMap, Method, Response, StatusCode};
use konfidence_sdk::store::engine::SHALLOW;

use self::accept::{Accept, Encoding};
use self::params::Params;
use self::path::Target;
use self::respond::Reply;
use self::user::User;
use crate::registry::Served;
use crate::server::Api;
use crate::stack::fitting;
use crate::status::{ApiError, ApiResult};
use crate::{discovery, openapi, verbs};

/// How long the warnings of an answer may be together before no more are added, in bytes; about as on a real server.
const MOST_WARNED: usize = 4096;

/// Bodies of so many bytes may take long, whatever is done with them.
const LONG: usize = 128 << 10;

/// One request for a resource, parsed.
pub(crate) struct Call {
    /// What the path names.
    pub target: Target,
    /// What the query says.
    pub params: Params,
    /// What the client takes.
    pub accept: Accept,
    /// Who asks.
    pub user: User,
    /// The headers, for the body's encoding and the client's name.
    pub headers: HeaderMap,
    /// The body; empty for reads.
    pub body: Vec<u8>,
    /// Sentences that the client shows to its user, whatever becomes of the request.
    warnings: Mutex<Vec<String>>,
}

impl Call {
    /// Adds a warning to the answer; the same one only once.
    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let told: usize = warnings.iter().map(|warning| warning.len() + 1).sum();
        if told <= MOST_WARNED && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Who writes, for field ownership: what the client says of itself, or the product in its user agent.
    pub(crate) fn manager(&self) -> String {
        if !self.params.field_manager.is_empty() {
            return self.params.field_manager.clone();
        }
        let agent =
            self.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let product = agent.split('/').next().unwrap_or_default();
        let printable: String = product.chars().filter(|letter| !letter.is_control()).take(128).collect();
        if printable.is_empty() { "unknown".to_owned() } else { printable }
    }
}

/// The whole API as a router.
pub(crate) fn router(api: Arc<Api>) -> Router {
    Router::new().fallback(handle).with_state(api)
}

async fn handle(State(api): State<Arc<Api>>, request: Request) -> Response<Body> {
    let accept = Accept::of(request.headers(), true, false);
    let refusals = Accept::whole(request.headers());
    let mut encoding = accept.as_ref().map(|accept| accept.encoding).unwrap_or_default();
    if encoding == Encoding::Json && wants_pretty(&request) {
        encoding = Encoding::Pretty;
    }
    tracing::debug!(method = %request.method(), uri = %request.uri(), "a request");
    // A refusal is neither a table nor metadata alone.
    let regardless = refusals.is_none();
    let write = move |reply: Reply| {
        let reply = if regardless && reply.is_refusal() { reply.regardless() } else { reply };
        reply.into_response(encoding)
    };
    // A panic costs its own request, not the server: nothing is half written, because writes are one step in the engine.
    let answered = AssertUnwindSafe(answer(&api, request, accept, write)).catch_unwind().await;
    match answered {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => write(Reply::error(&error)),
        Err(_) => {
            tracing::error!("a request handler panicked");
            let why = "the server panicked while it handled the request; this is a bug";
            write(Reply::error(&ApiError::internal(why)))
        }
    }
}

/// Whether a person reads the answer: they say so, or ask with a browser or a tool for the command line.
fn wants_pretty(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("pretty=")).filter(|value| !value.is_empty());
    if let Some(asked) = asked {
        return matches!(asked, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = request.headers().get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    agent.is_some_and(|agent| ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known)))
}

/// Answers a request. `write` turns what is answered into HTTP; that is done where there is the stack for it.
async fn answer(
    api: &Arc<Api>,
    request: Request,
    accept: ApiResult<Accept>,
    write: impl Fn(Reply) -> Response<Body> + Copy + Send + 'static,
) -> ApiResult<Response<Body>> {
    let served = api.registry.served();
    let parts = path::parts(request.uri().path()).ok_or_else(ApiError::no_such_path)?;
    let stored = api.engine.nesting();
    if let Some(response) = fitting(stored, || root(api, &served, &parts, &request, &accept).map(|it| it.map(write))) {
        return response;
    }
    let mut target = path::target(&served, &parts, request.method())?;
    let (head, body) = request.into_parts();
    let mut params = Params::of(&head.method, &head.uri)?;
    if target.watched {
        params.watch = true;
        if let Some(name) = target.name.take() {
            params.field_selector = format!("metadata.name={name}");
        }
    }
    let streams = head.method == Method::GET && target.name.is_none();
    let accept = Accept::of_resource(&head.headers, target.resource.custom, params.watch, streams)?;
    let user = User::of(&head.headers);
    let body = if head.method == Method::GET { Vec::new() } else { body::read(body).await? };
    let levels = body::levels(&head.headers, &body);
    let call = Call { target, params, accept, user, headers: head.headers, body, warnings: Mutex::default() };
    let levels = levels.max(api.engine.nesting());
    let writes = head.method != Method::GET && head.method != Method::HEAD;
    let takes_long = writes && (levels > SHALLOW || call.body.len() > LONG || verbs::takes_long(&call));
    let work = {
        let (api, method) = (Arc::clone(api), head.method.clone());
        // Written before it is waited for: whoever gives up waiting drops bytes, and no value that needs a stack.
        move || {
            fitting(levels, || {
                let reply = verbs::run(&api, &method, &call).unwrap_or_else(|error| Reply::error(&error));
                write(reply.warn(call.warnings.into_inner().unwrap_or_else(PoisonError::into_inner)))
            })
        }
    };
    let response = if takes_long { aside(api, work).await? } else { work() };
    if writes {
        // Neither an acknowledgement nor a refusal may rest on a write that a crash could undo.
        let kept = api.engine.committed().await.map_err(ApiError::unkept);
        // What was refused because nothing can be written was certainly not.
        if response.status() != StatusCode::SERVICE_UNAVAILABLE {
            kept?;
        }
    }
    Ok(response)
}

/// Does what may take seconds where nobody else waits for it: on a thread of its own, and no more at a time than there are
/// processors.
async fn aside<T: Send + 'static>(api: &Api, work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
    let _turn = api.long_work.acquire().await.map_err(ApiError::internal)?;
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => ApiError::internal("the server ends"),
    })
}

/// Everything that is no resource: discovery, `OpenAPI`, health, version.
fn root(
    api: &Api,
    served: &Served,
    parts: &[String],
    request: &Request,
    accept: &ApiResult<Accept>,
) -> Option<ApiResult<Reply>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    // Without a slash behind it.
    if !request.uri().path().ends_with('/')
        && let Some(health) = health::answer(&parts, request.uri().query().unwrap_or_default())
    {
        return Some(Ok(if parts.len() == 1 { Reply::text(&health) } else { Reply::bare(&health) }));
    }
    if let (["api" | "apis"] | ["api", "v1"], Err(_)) = (parts.as_slice(), accept) {
        return Some(Err(Accept::of(request.headers(), false, false).err()?));
    }
    let aggregated = accept.as_ref().is_ok_and(|accept| accept.aggregated.is_some());
    let reply = match parts.as_slice() {
        ["version"] if request.method() == Method::GET => Reply::shown(discovery::version()),
        ["version"] => return Some(Err(ApiError::method_not_allowed(None, ""))),
        [] => Reply::shown(discovery::paths(served)),
        ["api"] if aggregated => discovery::aggregated(served, true),
        ["apis"] if aggregated => discovery::aggregated(served, false),
        ["api"] => Reply::object(discovery::core_versions(request.headers())),
        ["apis"] => Reply::object(discovery::groups(served)),
        ["api", "v1"] => Reply::object(discovery::resources(served, "", "v1")?),
        ["apis", group] => Reply::object(discovery::group(served, group)?),
        ["apis", group, version] => Reply::object(discovery::resources(served, group, version)?),
        ["openapi", "v2"] => return Some(openapi::v2::reply(served, request.headers())),
        // It says so of nothing else.
        ["openapi", "v3"] => Reply::object(openapi::v3::index(served)).content_type("text/plain; charset=utf-8"),
        ["openapi", "v3", "api", version] => Reply::object(openapi::v3::document(served, "", version, &api.openapi)?),
        ["openapi", "v3", "apis", group, version] => {
            Reply::object(openapi::v3::document(served, group, version, &api.openapi)?)
        }
        _ => return None,
    };
    // What the built-in groups offer is only told to who asks for it; everything else is told to everybody.
    let is_builtin = |group: &str, version: &str| {
        served.version(group, version).is_some_and(|version| !version.resources.values().any(|one| one.custom))
    };
    let asks_only = match parts.as_slice() {
        ["api", ..] => true,
        ["apis", group, version] => is_builtin(group, version),
        _ => false,
    };
    if asks_only && request.method() != Method::GET {
        return Some(Err(ApiError::method_not_allowed(None, "")));
    }
    Some(Ok(reply))
}
