//! What the binaries are told: flags, each with an environment variable, and how they run until a signal.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::IsTerminal;
use std::net::SocketAddr;

use clap::{ArgAction, Args};
use kube::Config;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use tracing_subscriber::EnvFilter;

use super::{DomainName, Process};
use crate::client;
use crate::http;
use crate::runtime::Election;

/// Options that every controller binary has. The cluster is found as kubectl finds it: `$KUBECONFIG`, or the service
/// account of the pod. `$RUST_LOG` sets what is logged.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Address of /healthz, /readyz and /metrics.
    #[arg(long, env = "KONFIDENCE_LISTEN", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,

    /// Work only while holding the lease of the domain. Switch it off where there is one process.
    #[arg(long, env = "KONFIDENCE_LEADER_ELECT", default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub leader_elect: bool,

    /// Namespace that the process runs in; leases are in it. Default: that of the kubeconfig or the service account.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: Option<String>,

    /// Name of the process in leases and events; a random part is added.
    #[arg(long, env = "POD_NAME", default_value = "konfidence")]
    pub name: String,

    /// Keys of a domain that are worked on at a time.
    #[arg(long, env = "KONFIDENCE_CONCURRENCY", default_value_t = 16)]
    pub concurrency: usize,
}

/// Why a binary ends before a signal.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no cluster to be found.
    #[error("no cluster found: {0}; set KUBECONFIG, or run in a pod with a service account")]
    NoCluster(#[from] kube::config::InferConfigError),
    /// The client cannot be built.
    #[error("the client cannot be built: {0}")]
    Client(#[from] kube::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// Signals cannot be caught.
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
}

impl Arguments {
    /// Runs `domains` until SIGTERM or SIGINT.
    ///
    /// # Errors
    /// [`StartError`], before anything was started.
    pub async fn run(self, domains: Vec<DomainName>) -> Result<(), StartError> {
        let config = Config::infer().await?;
        let listener = TcpListener::bind(self.listen).await;
        let listener = listener.map_err(|source| StartError::Listen { address: self.listen, source })?;
        if let Ok(address) = listener.local_addr() {
            info!(%address, ?domains, "starting");
        }
        let stop = CancellationToken::new();
        stop_at_signal(&stop).map_err(StartError::Signals)?;

        let client = client::connect(config)?;
        let namespace = self.namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let mut process = Process::new(client, domains).in_namespace(&namespace).with_concurrency(self.concurrency);
        if self.leader_elect {
            process = process.with_election(Election { namespace, identity: identity(&self.name) });
        }
        // Asked about itself until the very end, so that a drain is seen as what it is.
        let ended = CancellationToken::new();
        let (health, metrics) = (process.health().clone(), process.metrics().clone());
        let served = tokio::spawn(http::serve(listener, health, metrics, ended.clone()));
        process.run(&stop).await;
        ended.cancel();
        if !matches!(served.await, Ok(Ok(()))) {
            error!("the HTTP endpoint ended badly");
        }
        info!("ended");
        Ok(())
    }
}

/// Text for people, JSON for machines.
pub fn log() {
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).from_env_lossy();
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        subscriber.init();
    } else {
        subscriber.json().init();
    }
}

fn stop_at_signal(stop: &CancellationToken) -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => info!("SIGTERM: letting work under way end"),
            _ = interrupt.recv() => info!("SIGINT: letting work under way end"),
        }
        stop.cancel();
    });
    Ok(())
}

/// No two processes may share an identity, and the names of two pods, or two shells, may be the same.
fn identity(name: &str) -> String {
    format!("{name}-{:08x}", RandomState::new().build_hasher().finish() & 0xffff_ffff)
}
