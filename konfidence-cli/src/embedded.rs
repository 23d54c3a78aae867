//! The embedded server: the Kubernetes API over memory and all controllers, in this process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use konfidence_apiserver::ApiServer;
use konfidence_controllers::http::Health;
use konfidence_controllers::wiring::{DomainName, Process};
use kube::Client;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// How often the gates of the controllers are looked at until they are open.
const GLANCE: Duration = Duration::from_millis(5);

/// So long the controllers may go on with what they have begun: what they would leave behind is gone with the store.
const GRACE: Duration = Duration::from_secs(3);

/// A server that accepts requests, and its controllers at work.
pub(crate) struct Embedded {
    address: SocketAddr,
    server: ApiServer,
    controllers: JoinHandle<()>,
    serving: JoinHandle<std::io::Result<()>>,
    stop_controllers: CancellationToken,
    stop_serving: CancellationToken,
}

impl Embedded {
    /// Starts on `listen`, `HOST:PORT`; port 0 takes a free one.
    pub(crate) async fn start(listen: &str) -> Result<Self, Failure> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::Other(match error.kind() {
                ErrorKind::AddrInUse => {
                    format!("{listen} is in use: choose another address with --listen, port 0 for a free one")
                }
                _ => format!("cannot listen on {listen}: {error}; name another address with --listen HOST:PORT"),
            })
        })?;
        let address = listener.local_addr().map_err(Failure::other)?;
        let server = ApiServer::builder().our_kinds().build().map_err(Failure::other)?;
        let (stop_controllers, stop_serving) = (CancellationToken::new(), CancellationToken::new());
        let serving = tokio::spawn({
            let (server, stop) = (server.clone(), stop_serving.clone());
            async move { server.serve(listener, stop.cancelled_owned()).await }
        });
        let process = Process::new(in_process(&server), DomainName::ALL);
        let health = process.health().clone();
        let controllers = tokio::spawn({
            let stop = stop_controllers.clone();
            async move { process.run(&stop).await }
        });
        at_work(&health).await;
        Ok(Self { address, server, controllers, serving, stop_controllers, stop_serving })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is reached.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client that needs no socket.
    pub(crate) fn client(&self) -> Client {
        in_process(&self.server)
    }

    /// Lets the controllers finish what they have begun, for a moment, then stops serving.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        self.stop_controllers.cancel();
        let controllers = tokio::time::timeout(GRACE, &mut self.controllers).await;
        self.controllers.abort();
        self.stop_serving.cancel();
        let served = self.serving.await.map_err(Failure::other)?;
        controllers.unwrap_or(Ok(())).map_err(Failure::other)?;
        served.map_err(Failure::other)
    }
}

/// Waits until the controllers see every change: a vector that comes before that would be no candidate (P8).
async fn at_work(health: &Health) {
    loop {
        let (ready, gates) = health.is_ready();
        if ready && !gates.is_empty() {
            return;
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// A client of `server` in this process.
pub(crate) fn in_process(server: &ApiServer) -> Client {
    Client::new(server.service(), "default")
}
