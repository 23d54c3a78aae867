//! The embedded server: the Kubernetes API over memory or a data directory, and all controllers, in this process.

use std::fmt::Display;
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use konfidence_apiserver::{ApiServer, persist};
use konfidence_controllers::http::Health;
use konfidence_controllers::wiring::{DomainName, Process};
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::store::engine::{Options, seeded};
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// How often the gates of the controllers are looked at until they are open.
const GLANCE: Duration = Duration::from_millis(5);

/// So long the controllers may go on with what they have begun: the next run takes up what they leave.
const GRACE: Duration = Duration::from_secs(3);

/// A server that accepts requests, and its controllers at work.
pub(crate) struct Embedded {
    address: SocketAddr,
    server: ApiServer,
    controllers: Part,
    serving: Part,
}

/// A task that runs until it is told to stop.
struct Part {
    task: JoinHandle<Result<(), String>>,
    work: AbortHandle,
    stop: CancellationToken,
}

/// Tells of a part that ended without being told to.
pub(crate) struct Parts(Receiver<String>);

impl Parts {
    /// Waits for a part to end by itself, which none should.
    pub(crate) async fn failure(&mut self) -> Failure {
        match self.0.recv().await {
            Some(message) => Failure::Other(message),
            // Every part has been stopped.
            None => std::future::pending().await,
        }
    }
}

impl Part {
    /// Runs `work`, which gets the token that stops it, and tells `ended` if it ends before that.
    fn start<W, E>(name: &'static str, ended: Sender<String>, work: impl FnOnce(CancellationToken) -> W) -> Self
    where
        W: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let stop = CancellationToken::new();
        // A task of its own, so that its panic is seen here and goes no further.
        let work = tokio::spawn(work(stop.clone()));
        let abort = work.abort_handle();
        let task = tokio::spawn({
            let stop = stop.clone();
            async move {
                let result = match work.await {
                    Ok(result) => result.map_err(|error| format!("{name} failed: {error}")),
                    Err(panicked) => Err(format!("{name} broke down: {panicked}; this is a bug")),
                };
                if !stop.is_cancelled() {
                    let message = result.clone().err().unwrap_or_else(|| format!("{name} ended; this is a bug"));
                    // If nobody listens yet or any more, the end itself is told by `stop`.
                    let _ = ended.try_send(message);
                }
                result
            }
        });
        Self { task, work: abort, stop }
    }

    async fn stop(mut self) -> Result<(), Failure> {
        self.stop.cancel();
        (&mut self.task).await.map_err(Failure::other)?.map_err(Failure::Other)
    }
}

/// What is not waited for any longer does not go on either: nothing outlives its store.
impl Drop for Part {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Embedded {
    /// Starts on `listen`, `HOST:PORT`; port 0 takes a free one. Without a data directory everything is in memory.
    pub(crate) async fn start(listen: &str, data_dir: Option<&Path>) -> Result<(Self, Parts), Failure> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::Other(match error.kind() {
                ErrorKind::AddrInUse => {
                    format!("{listen} is in use: choose another address with --listen, port 0 for a free one")
                }
                _ => format!("cannot listen on {listen}: {error}; name another address with --listen HOST:PORT"),
            })
        })?;
        let address = listener.local_addr().map_err(Failure::other)?;
        let mut server = ApiServer::builder().our_kinds();
        if let Some(directory) = data_dir {
            // Two runs must not give the same uid to different objects.
            let seed = RandomState::new().build_hasher().finish();
            let options = Options { entropy: seeded(seed), ..Options::new(Arc::new(SystemClock)) };
            server = server.engine(persist::open(directory, options).map_err(Failure::other)?);
        }
        let server = server.build().map_err(Failure::other)?;
        server.engine().committed().await.map_err(Failure::other)?;
        let (ended, parts) = channel(2);
        let mut parts = Parts(parts);
        let serving = Part::start("the server", ended.clone(), |stop| {
            let server = server.clone();
            async move { server.serve(listener, stop.cancelled_owned()).await }
        });
        let process = Process::new(in_process(&server), DomainName::ALL);
        let health = process.health().clone();
        let controllers = Part::start("the controllers", ended, |stop| async move {
            process.run(&stop).await;
            Ok::<_, String>(())
        });
        tokio::select! {
            () = at_work(&health) => {}
            failure = parts.failure() => return Err(failure),
        }
        Ok((Self { address, server, controllers, serving }, parts))
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
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let controllers = tokio::time::timeout(GRACE, self.controllers.stop()).await;
        let served = self.serving.stop().await;
        controllers.unwrap_or(Ok(()))?;
        served
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_ends_by_itself_is_told_with_its_name() {
        let (ended, parts) = channel(2);
        let mut parts = Parts(parts);
        let part = Part::start("the oven", ended.clone(), |_| async { Err("it is cold") });
        assert_eq!(parts.failure().await.to_string(), "the oven failed: it is cold");
        assert_eq!(part.stop().await.expect_err("it failed").to_string(), "the oven failed: it is cold");

        let _part = Part::start("the oven", ended.clone(), |_| async { Ok::<_, String>(()) });
        assert_eq!(parts.failure().await.to_string(), "the oven ended; this is a bug");

        let burn = || -> Result<(), String> { panic!("it burns") };
        let _part = Part::start("the oven", ended, move |_| async move { burn() });
        let told = parts.failure().await.to_string();
        assert!(told.starts_with("the oven broke down: ") && told.contains("it burns"), "{told}");
    }

    #[tokio::test]
    async fn a_part_that_is_stopped_is_not_told() {
        let (ended, parts) = channel(2);
        let part = Part::start("the oven", ended, |stop| async move {
            stop.cancelled().await;
            Ok::<_, String>(())
        });
        part.stop().await.expect("it was told to");
        let told = tokio::time::timeout(Duration::from_millis(20), Parts(parts).failure_of_tests()).await;
        assert!(told.is_err(), "{told:?}");
    }

    impl Parts {
        async fn failure_of_tests(mut self) -> String {
            self.failure().await.to_string()
        }
    }
}
