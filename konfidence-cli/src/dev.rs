//! `konfidence dev`: a control plane in one process, for development and tests.

use std::path::PathBuf;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::embedded::Embedded;
use crate::failure::Failure;
use crate::format::{complain, say};
use crate::{kubeconfig, manifest};

/// Serve the Kubernetes API with all controllers, until SIGINT or SIGTERM
///
/// Prints `ready: http://ADDR` once requests are accepted, the definitions are served, the manifests are applied and
/// the controllers run. There is no authentication: everybody who reaches the address may do everything. What is stored
/// is gone at the end, unless a data directory keeps it.
#[derive(Args)]
pub(crate) struct Dev {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8420", value_parser = host_and_port)]
    listen: String,

    /// Manifest, or folder of manifests, to apply at the start; may be repeated
    #[arg(long, value_name = "PATH")]
    apply: Vec<PathBuf>,

    /// Keep everything in this directory: the next run goes on from it, also after a crash
    ///
    /// Every write is on disk before it is answered. One process uses the directory at a time.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Write a kubeconfig for the server to this file
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
}

impl Dev {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let mut stop = Stop::listen()?;
        // Nothing is served before every manifest is known to be good.
        let manifests = tokio::select! {
            biased;
            () = stop.asked() => return Ok(()),
            checked = manifest::read_and_check(&self.apply) => checked?,
        };
        if let Some(path) = &self.kubeconfig {
            kubeconfig::check(path)?;
        }
        let (embedded, mut parts) = Embedded::start(&self.listen, self.data_dir.as_deref()).await?;
        let ended = tokio::select! {
            biased;
            () = stop.asked() => Ok(()),
            failure = parts.failure() => Err(failure),
            failed = async {
                match self.begin(&embedded, &manifests).await {
                    Ok(()) => std::future::pending().await,
                    failed => failed,
                }
            } => failed,
        };
        ended.and(embedded.stop().await)
    }

    /// Everything between "serves" and "ready".
    async fn begin(&self, embedded: &Embedded, manifests: &[manifest::Manifest]) -> Result<(), Failure> {
        if !embedded.address().ip().is_loopback() {
            complain(format!("warning: everybody who reaches {} may do everything", embedded.address()));
        }
        manifest::apply(&embedded.client(), manifests).await?;
        if let Some(path) = &self.kubeconfig {
            kubeconfig::write(path, embedded.address())?;
        }
        say(format!("ready: {}", embedded.url()))
    }
}

/// Takes what has the form of an address. Whether its host exists is seen when it is listened on.
fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err("HOST:PORT is wanted, such as 127.0.0.1:0 for a free port".into()),
    }
}

/// The two signals that end the process.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::Other(format!("signals cannot be caught: {error}")));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
