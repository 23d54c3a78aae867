//! One domain at work: a queue, its workers, and when they may work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use jiff::Timestamp;
use konfidence_sdk::clock::Clock;
use konfidence_sdk::store::StoreError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info, info_span, warn};

use super::queue::{Done, Queue, QueueKey};
use crate::metrics::{Metrics, Outcome};

/// How long work under way may take to end when the process stops or the lease is lost. A kubelet kills after 30 s.
const DRAIN: Duration = Duration::from_secs(15);

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// All is done; look again at this instant, although nothing else changed.
    Rest(Option<Timestamp>),
    /// There is nothing left under this key.
    Gone,
}

/// A domain of the SDK, as the runtime sees it.
#[async_trait]
pub trait Domain: Send + Sync + 'static {
    /// The unit of serialization.
    type Key: QueueKey;

    /// Short and lower case: `promotion`. It names the lease, the gates and the metrics' label.
    const NAME: &'static str;

    /// Leadership has been taken.
    fn elected(&self) {}

    /// Brings one key to rest.
    async fn reconcile(&self, key: &Self::Key) -> Result<Reconciled, StoreError>;
}

/// A domain, its queue and its workers.
pub struct Controller<D: Domain> {
    domain: Arc<D>,
    queue: Arc<Queue<D::Key>>,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    /// So many keys at a time.
    concurrency: usize,
}

impl<D: Domain> Controller<D> {
    /// A controller that works on `concurrency` keys at a time.
    pub fn new(domain: D, clock: Arc<dyn Clock>, metrics: Metrics, concurrency: usize) -> Self {
        Self { domain: Arc::new(domain), queue: Arc::default(), clock, metrics, concurrency: concurrency.max(1) }
    }

    /// Where keys are asked for.
    pub fn queue(&self) -> &Arc<Queue<D::Key>> {
        &self.queue
    }

    /// Works while `leads` shows true, until `stop`; then lets what is under way end.
    pub async fn run(&self, mut leads: watch::Receiver<bool>, stop: &CancellationToken) {
        while matches!(stop.run_until_cancelled(leads.wait_for(|leads| *leads)).await, Some(Ok(_))) {
            info!(domain = D::NAME, "at work");
            self.domain.elected();
            self.queue.wake_all();
            self.work(&mut leads, stop).await;
            info!(domain = D::NAME, "at rest");
        }
    }

    async fn work(&self, leads: &mut watch::Receiver<bool>, stop: &CancellationToken) {
        let mut workers = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                // An error means that the election is over, which is no leadership either.
                _ = leads.wait_for(|leads| !*leads) => break,
                Some(_) = workers.join_next() => {}
                key = self.queue.next(), if workers.len() < self.concurrency => {
                    workers.spawn(self.reconcile(key));
                }
            }
        }
        let drained = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            // Harmless: any prefix of a plan is a legal state.
            warn!(domain = D::NAME, left = workers.len(), "work under way did not end in time and is cut off");
        }
        workers.shutdown().await;
    }

    fn reconcile(&self, key: D::Key) -> impl Future<Output = ()> + Send + use<D> {
        let (domain, queue, clock) = (self.domain.clone(), self.queue.clone(), self.clock.clone());
        let metrics = self.metrics.clone();
        let span = info_span!("reconcile", domain = D::NAME, ?key);
        // Dropped with the future, so that a worker that is cut off gives its key back too.
        let work = Work { queue, key, done: Done::Failed };
        async move {
            let mut work = work;
            let start = Instant::now();
            // A panic is a bug; it must cost its own key's progress and nobody else's.
            let result = AssertUnwindSafe(domain.reconcile(&work.key)).catch_unwind().await;
            let outcome = match result {
                Ok(Ok(Reconciled::Rest(wake_up))) => {
                    work.done = Done::Rest(wake_up.map(|at| instant(at, clock.now())));
                    Outcome::Rest
                }
                Ok(Ok(Reconciled::Gone)) => {
                    work.done = Done::Forget;
                    Outcome::Rest
                }
                Ok(Err(error)) => {
                    if error.is_refusal() {
                        error!(%error, "the API server refuses; it will be tried again");
                    } else {
                        debug!(%error, "it will be tried again");
                    }
                    Outcome::of(&error)
                }
                Err(_) => {
                    error!("a reconcile panicked; it will be tried again");
                    Outcome::Panic
                }
            };
            metrics.reconciled(D::NAME, outcome, start.elapsed());
        }
        .instrument(span)
    }
}

struct Work<K: QueueKey> {
    queue: Arc<Queue<K>>,
    key: K,
    done: Done,
}

impl<K: QueueKey> Drop for Work<K> {
    fn drop(&mut self) {
        self.queue.done(&self.key, self.done);
    }
}

/// A wake-up on the runtime's clock. Wall clocks jump; the floor bounds by how much that can matter.
fn instant(at: Timestamp, now: Timestamp) -> Instant {
    Instant::now() + Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
