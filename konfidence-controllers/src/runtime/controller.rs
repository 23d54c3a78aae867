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

/// How a reconcile failed.
#[derive(Debug)]
pub struct Failure {
    /// Why.
    pub error: StoreError,
    /// Whether it had written something before.
    pub progressed: bool,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { error, progressed: false }
    }
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
    async fn reconcile(&self, key: &Self::Key) -> Result<Reconciled, Failure>;
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
        let work = Work { queue, key, done: Done::Failed { progressed: false } };
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
                Ok(Err(Failure { error, progressed })) => {
                    work.done = Done::Failed { progressed };
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use konfidence_sdk::store::ObjectRef;
    use tokio::sync::Semaphore;

    use super::*;

    /// A domain that does as its key says, and notes what it does.
    struct Scripted {
        log: Arc<Mutex<Vec<String>>>,
        busy: Arc<AtomicUsize>,
        busiest: Arc<AtomicUsize>,
        /// Keys that begin with `wait` end when they are let go.
        gate: Arc<Semaphore>,
    }

    #[async_trait]
    impl Domain for Scripted {
        type Key = String;
        const NAME: &'static str = "scripted";

        fn elected(&self) {
            self.log.lock().unwrap().push("elected".into());
        }

        async fn reconcile(&self, key: &String) -> Result<Reconciled, Failure> {
            self.log.lock().unwrap().push(key.clone());
            let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
            self.busiest.fetch_max(busy, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            if key.starts_with("wait") {
                self.gate.acquire().await.unwrap().forget();
            }
            self.busy.fetch_sub(1, Ordering::SeqCst);
            self.log.lock().unwrap().push(format!("{key} done"));
            match key.as_str() {
                "panics" => panic!("as told"),
                "fails" => Err(StoreError::Conflict { object: ObjectRef::default() }.into()),
                "gone" => Ok(Reconciled::Gone),
                _ => Ok(Reconciled::Rest(None)),
            }
        }
    }

    struct Stand {
        log: Arc<Mutex<Vec<String>>>,
        busiest: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
        queue: Arc<Queue<String>>,
        leads: watch::Sender<bool>,
        stop: CancellationToken,
        task: tokio::task::JoinHandle<()>,
    }

    impl Stand {
        fn new(leads: bool, concurrency: usize) -> Self {
            let (log, busiest, gate) = (Arc::default(), Arc::default(), Arc::new(Semaphore::new(0)));
            let domain = Scripted {
                log: Arc::clone(&log),
                busy: Arc::default(),
                busiest: Arc::clone(&busiest),
                gate: gate.clone(),
            };
            let clock = Arc::new(Timestamp::UNIX_EPOCH);
            let controller = Controller::new(domain, clock, Metrics::default(), concurrency);
            let (queue, stop, leads) =
                (controller.queue().clone(), CancellationToken::new(), watch::Sender::new(leads));
            let (led, stopped) = (leads.subscribe(), stop.clone());
            let task = tokio::spawn(async move { controller.run(led, &stopped).await });
            Self { log, busiest, gate, queue, leads, stop, task }
        }

        fn add(&self, keys: &[&str]) {
            for key in keys {
                self.queue.add(&(*key).to_owned());
            }
        }

        /// What happened since the last call, after a little while.
        async fn log(&self) -> Vec<String> {
            tokio::time::sleep(Duration::from_millis(100)).await;
            std::mem::take(&mut *self.log.lock().unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_begun_without_the_lease_and_what_came_meanwhile_is_done_with_it() {
        let stand = Stand::new(false, 4);
        stand.add(&["menu"]);
        assert!(stand.log().await.is_empty());
        stand.leads.send_replace(true);
        assert_eq!(stand.log().await, ["elected", "menu", "menu done"]);
    }

    #[tokio::test(start_paused = true)]
    async fn losing_the_lease_begins_nothing_more_and_lets_work_end_and_taking_it_back_looks_at_everything() {
        let stand = Stand::new(true, 4);
        stand.add(&["menu", "wait"]);
        assert_eq!(stand.log().await, ["elected", "menu", "wait", "menu done"]);
        stand.leads.send_replace(false);
        stand.add(&["soup"]);
        assert!(stand.log().await.is_empty());
        stand.gate.add_permits(1);
        assert_eq!(stand.log().await, ["wait done"]);
        stand.gate.add_permits(1);
        stand.leads.send_replace(true);
        let log = stand.log().await;
        assert_eq!(log[0], "elected");
        let begun: BTreeSet<_> = log.iter().map(String::as_str).collect();
        assert!(["menu", "soup", "wait"].iter().all(|key| begun.contains(key)), "{log:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_costs_its_own_key_only_and_the_key_is_tried_again() {
        let stand = Stand::new(true, 4);
        stand.add(&["panics", "menu"]);
        let log = stand.log().await;
        assert!(log.contains(&"menu done".to_owned()), "{log:?}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(stand.log().await.contains(&"panics".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_at_a_time_and_no_more() {
        let stand = Stand::new(true, 3);
        let keys: Vec<_> = (0..50).map(|n| format!("key-{n}")).collect();
        for key in &keys {
            stand.queue.add(key);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(stand.busiest.load(Ordering::SeqCst), 3);
        assert_eq!(stand.log.lock().unwrap().iter().filter(|line| line.ends_with("done")).count(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_work_but_not_for_ever() {
        let stand = Stand::new(true, 3);
        stand.add(&["wait"]);
        stand.log().await;
        let start = Instant::now();
        stand.stop.cancel();
        stand.task.await.unwrap();
        assert_eq!(start.elapsed(), DRAIN);
    }
}
