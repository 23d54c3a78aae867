//! The cluster that a command talks to, and who is talking.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::{HeaderName, HeaderValue, Uri};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use konfidence_controllers::client;
use konfidence_controllers::events::PostedEvents;
use konfidence_controllers::store::KubeStore;
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::event::EventSink;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use kube::{Api, Client, Config};

use crate::failure::{Failure, told};
use crate::name;

/// How long a command waits for its events to be posted.
const LAST_EVENTS: Duration = Duration::from_secs(3);

/// Which cluster, which namespace, and in whose name.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClusterArgs {
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the service account of the pod]
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "server")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// URL of an API server that asks for no credentials, as `konfidence dev` prints it
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,

    /// Namespace [default: that of the kubeconfig's context, or `default`]
    #[arg(short, long, value_name = "NAME", global = true, value_parser = name::namespace)]
    pub(crate) namespace: Option<String>,

    /// Act as this user, where the server lets you (impersonation)
    #[arg(long = "as", value_name = "NAME", global = true)]
    pub(crate) impersonated: Option<String>,
}

/// A connection to a cluster.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) store: KubeStore,
    url: String,
}

impl ClusterArgs {
    /// Reads the configuration. Nothing is sent yet.
    pub(crate) async fn connect(&self) -> Result<Cluster, Failure> {
        let mut config = self.config().await?;
        if let Some(user) = &self.impersonated {
            let value = HeaderValue::from_str(user).map_err(|_| {
                Failure::Usage(format!("--as {user:?} cannot be sent as a header: use printable characters"))
            })?;
            config.headers.push((HeaderName::from_static("impersonate-user"), value));
        }
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let url = config.cluster_url.to_string();
        let client = client::connect(config).map_err(|error| Failure::Other(told(&error)))?;
        Ok(Cluster { store: KubeStore::direct(client.clone()), client, namespace, url })
    }

    async fn config(&self) -> Result<Config, Failure> {
        if let Some(server) = &self.server {
            let wrong = |why: &str| Failure::Usage(format!("--server {server}: {why}; name it as http://HOST:PORT"));
            let url: Uri = server.parse().map_err(|_| wrong("it is no URL"))?;
            if url.scheme().is_none() || url.authority().is_none() {
                return Err(wrong("scheme and host are missing"));
            }
            return Ok(Config::new(url));
        }
        let options = KubeConfigOptions::default();
        if let Some(path) = &self.kubeconfig {
            let wrong = |error: &dyn std::error::Error| unusable(path, error);
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| wrong(&error))?;
            return Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| wrong(&error));
        }
        Config::infer().await.map_err(|error| {
            let told = told(&error);
            Failure::Other(format!("no cluster found: {told}; name one with --server, --kubeconfig or KUBECONFIG"))
        })
    }
}

impl Cluster {
    /// The objects of a kind in this command's namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// What an error of the client means here.
    pub(crate) fn failure(&self, error: kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) if status.code == 404 && names_no_object(&status) => Failure::NotFound(format!(
                "{} does not serve what is asked for: check its URL; `konfidence crds | kubectl apply -f -` installs \
                     the definitions",
                self.url
            )),
            kube::Error::Api(_) => error.into(),
            other => Failure::Other(format!("{} does not answer as an API server: {}", self.url, told(&other))),
        }
    }

    /// Who the server says is calling: whose word a decision is recorded as.
    pub(crate) async fn caller(&self) -> Result<String, Failure> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await;
        let review = review.map_err(|error| self.failure(error))?;
        let name = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
        name.filter(|name| !name.is_empty()).ok_or_else(|| {
            Failure::Refused("the server does not know who you are: log in, or name a user with --as".into())
        })
    }

    /// Does `work` with a sink for its events, and does not return before these are posted: the process ends then.
    pub(crate) async fn with_events<T>(
        &self,
        work: impl AsyncFnOnce(&dyn EventSink) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let controller = "konfidence.cloud/cli";
        let (events, posting) =
            PostedEvents::start(self.client.clone(), Arc::new(SystemClock), controller, "konfidence");
        let done = work(&events).await;
        drop(events);
        // Best effort: what was asked for is done by now.
        let _ = tokio::time::timeout(LAST_EVENTS, posting).await;
        done
    }
}

/// Why a kubeconfig leads to no cluster.
fn unusable(path: &Path, error: &dyn std::error::Error) -> Failure {
    let (path, mut told) = (path.display().to_string(), told(error));
    if !told.contains(&path) {
        told = format!("{path}: {told}");
    }
    Failure::Other(format!(
        "{told}; name a kubeconfig whose current-context leads to a cluster, or a server with --server URL"
    ))
}

/// A 404 that is about an object says which; any other is about the path.
fn names_no_object(status: &Status) -> bool {
    status.details.as_ref().is_none_or(|details| details.name.is_empty())
}
