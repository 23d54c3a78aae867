//! The server: an engine, what is served from it, and the ways to reach it.

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::store::engine::{Engine, Options, seeded};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::builtin::{self, events, namespaces};
use crate::crd;
use crate::http::serve::serve;
use crate::openapi::Cache;
use crate::registry::Registry;
use crate::status::ApiError;
use crate::verbs::SharedLines;

/// How long running requests may take to end when the server ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every request works with.
pub(crate) struct Api {
    /// The objects.
    pub engine: Engine,
    /// What is served.
    pub registry: Registry,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// `OpenAPI` documents that have been asked for.
    pub openapi: Cache,
    /// When events were last looked through for old ones.
    pub expiry: events::Expiry,
    /// What open watches send, written once.
    pub lines: SharedLines,
    /// How many more requests that may take long are worked on at the same time.
    pub long_work: Semaphore,
    /// Becomes true when the server ends; open watches end with it.
    pub ended: watch::Sender<bool>,
}

/// The Kubernetes API over an in-memory engine. Clones are the same server.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use k8s_openapi::api::core::v1::Namespace;
/// use konfidence_apiserver::ApiServer;
///
/// let server = ApiServer::builder().build()?;
/// let mut request = http::Request::get("/api/v1/namespaces/default").body(axum::body::Body::empty())?;
/// let answer = tower::ServiceExt::oneshot(server.service(), request).await?;
/// assert_eq!(answer.status(), 200);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ApiServer {
    api: Arc<Api>,
}

/// What a server is made with.
pub struct Builder {
    engine: Option<Engine>,
    clock: Arc<dyn Clock>,
    crds: Vec<CustomResourceDefinition>,
}

/// A custom resource definition that a server cannot be made with.
#[derive(Debug, thiserror::Error)]
#[error("the definition {name:?} is refused: {source}")]
pub struct BuildError {
    name: String,
    #[source]
    source: ApiError,
}

impl Builder {
    /// Serves from this engine, which others may use as well. Without it the server makes its own.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Where times come from. An engine that is given has a clock of its own; it should be the same one.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Installs these definitions before the first request.
    #[must_use]
    pub fn crds(mut self, crds: impl IntoIterator<Item = CustomResourceDefinition>) -> Self {
        self.crds.extend(crds);
        self
    }

    /// Installs the definitions of all our kinds before the first request.
    #[must_use]
    pub fn our_kinds(self) -> Self {
        self.crds(konfidence_types::crds::all())
    }

    /// Makes the server.
    ///
    /// # Errors
    /// When a definition would be refused.
    pub fn build(self) -> Result<ApiServer, BuildError> {
        let Self { engine, clock, crds } = self;
        let engine = engine.unwrap_or_else(|| {
            // Two runs of a server must not give the same uid to different objects.
            let seed = RandomState::new().build_hasher().finish();
            Engine::new(Options { entropy: seeded(seed), ..Options::new(Arc::clone(&clock)) })
        });
        let ended = watch::Sender::new(false);
        let api = Arc::new(Api {
            engine,
            registry: Registry::default(),
            clock,
            openapi: Cache::default(),
            expiry: events::Expiry::default(),
            lines: SharedLines::default(),
            long_work: Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get)),
            ended,
        });
        api.registry.change(|served| builtin::serve(served, &api.engine));
        namespaces::found(&api);
        crd::resume(&api);
        namespaces::resume(&api);
        for definition in crds {
            let name = definition.metadata.name.clone().unwrap_or_default();
            crd::put(&api, definition).map_err(|source| BuildError { name, source })?;
        }
        Ok(ApiServer { api })
    }
}

impl ApiServer {
    /// A server with the system's clock, the built-in kinds and no definitions.
    pub fn builder() -> Builder {
        Builder { engine: None, clock: Arc::new(SystemClock), crds: Vec::new() }
    }

    /// The API as a tower service, for `kube::Client::new(server.service(), "default")` or an HTTP server of one's own.
    /// It needs no socket.
    pub fn service(&self) -> Router {
        crate::http::router(Arc::clone(&self.api))
    }

    /// The engine that the server serves from.
    pub fn engine(&self) -> &Engine {
        &self.api.engine
    }

    /// Serves on a port until `shutdown` is done; then open watches are ended and running requests are finished, for at
    /// most five seconds: a client that does not read its answer does not keep the server. A client that reads nothing
    /// for thirty seconds is cut off, and so is one that takes longer than 32 seconds over the head of a request, or than
    /// 90 seconds to begin the next one.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let api = Arc::clone(&self.api);
        let stop = async move {
            shutdown.await;
            api.ended.send_replace(true);
        };
        let mut ended = self.api.ended.subscribe();
        let late = async move {
            // A sender that is gone cannot end anything any more, and then there is nothing to be late for.
            if ended.wait_for(|ended| *ended).await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            () = serve(listener, self.service(), stop) => {}
            () = late => {}
        }
        Ok(())
    }

    /// Ends open watches, as the end of [`serve`](Self::serve) does: for servers that are used in process.
    pub fn end(&self) {
        self.api.ended.send_replace(true);
    }
}

/// Runs work that outlives its request. Without a runtime, when a server is only built, it is left for the next start.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").field("revision", &self.api.engine.revision()).finish_non_exhaustive()
    }
}
