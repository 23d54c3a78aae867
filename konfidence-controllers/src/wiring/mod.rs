//! Domains put to work on a cluster.
//!
//! A [`Process`] runs any set of domains on one client: the binaries run it in a cluster, `konfidence dev` in process
//! against its own API server, and tests in virtual time. Each domain has a queue, a lease and gates of its own; the
//! caches are shared.

pub mod arguments;
mod landscape;
mod promotion;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_sdk::access::{Access, Verb};
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::store::Object;
use konfidence_sdk::types::crds;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::events::PostedEvents;
use crate::http::Health;
use crate::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::{Controller, Domain, Election, awaited, campaign};
use crate::store::KubeStore;

/// What the runtime itself asks of the API server, beside the `ACCESS` of the domains that it runs. Leases are in the
/// controllers' own namespace, events wherever the objects are.
pub const ACCESS: &[Access] = &[
    Access { group: "apiextensions.k8s.io", resource: "customresourcedefinitions", verbs: &[Verb::Get] },
    Access { group: "coordination.k8s.io", resource: "leases", verbs: &[Verb::Get, Verb::Create, Verb::Patch] },
    Access { group: "events.k8s.io", resource: "events", verbs: &[Verb::Create] },
];

/// A key that has been due, or worked on, for so long is no longer progress. Longer than any one request and any wait of
/// the store; a restart loses nothing.
const STUCK: Duration = Duration::from_mins(10);

/// How long the events that are still queued may take to be posted at the end.
const LAST_EVENTS: Duration = Duration::from_secs(3);

/// What can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum DomainName {
    /// Promotes vectors.
    Promotion,
    /// Makes and owns the namespaces of Landscapes.
    Landscape,
}

impl DomainName {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Promotion, Self::Landscape];
}

/// A set of domains on one client.
pub struct Process {
    client: Client,
    domains: Vec<DomainName>,
    clock: Arc<dyn Clock>,
    election: Option<Election>,
    own_namespace: Option<String>,
    concurrency: usize,
    health: Health,
    metrics: Metrics,
}

impl Process {
    /// `domains` on `client`, without an election: right where there is one process.
    pub fn new(client: Client, domains: impl IntoIterator<Item = DomainName>) -> Self {
        let mut domains: Vec<_> = domains.into_iter().collect();
        domains.sort();
        domains.dedup();
        Self {
            client,
            domains,
            clock: Arc::new(SystemClock),
            election: None,
            own_namespace: None,
            concurrency: 16,
            health: Health::default(),
            metrics: Metrics::default(),
        }
    }

    /// Told the time by `clock`.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Works only while it holds the lease of the domain: several processes share the work by waiting for it.
    #[must_use]
    pub fn with_election(self, election: Election) -> Self {
        Self { election: Some(election), ..self }
    }

    /// The namespace that the process itself runs in, which no Landscape may own.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { own_namespace: Some(namespace.into()), ..self }
    }

    /// Works on `concurrency` keys of a domain at a time; 16 if not told.
    #[must_use]
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// What `/healthz` and `/readyz` show.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// What `/metrics` shows.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Runs until `stop`, then lets what is under way end, posts the last events and hands the leases over.
    pub async fn run(&self, stop: &CancellationToken) {
        let metrics = self.metrics.clone();
        let store = KubeStore::cached(self.client.clone())
            .with_write_observer(Arc::new(move |kind, verb| metrics.wrote(kind, verb)));
        let domains = self.domains.iter().map(|domain| {
            let store = store.clone();
            async move {
                match domain {
                    DomainName::Promotion => promotion::run(self, store, stop).await,
                    DomainName::Landscape => landscape::run(self, store, stop).await,
                }
            }
        });
        futures::future::join_all(domains).await;
    }

    /// The sink of a domain's events and the task behind it.
    fn events(&self, controller: &str) -> (Arc<PostedEvents>, tokio::task::JoinHandle<()>) {
        let instance = self.election.as_ref().map_or("konfidence", |election| &election.identity);
        let name = format!("konfidence.cloud/{controller}");
        let (sink, task) = PostedEvents::start(self.client.clone(), self.clock.clone(), &name, instance);
        (Arc::new(sink), task)
    }

    /// Waits until the cluster serves `wanted` with our fields. `false`: stopped before that.
    async fn installed(&self, domain: &str, wanted: &[CustomResourceDefinition], stop: &CancellationToken) -> bool {
        let gate = self.health.latch(format!("{domain}/crds"), "not looked at yet");
        stop.run_until_cancelled(awaited(&self.client, wanted, |problem| gate.set(problem))).await.is_some()
    }

    /// Starts the watch of one kind and waits until its cache is filled; from then on its trouble is a gate.
    async fn filled<K: Object>(&self, domain: &str, store: &KubeStore) {
        let kind = K::kind(&());
        let gate = self.health.latch(format!("{domain}/cache/{kind}"), "not filled yet");
        let watched = store.clone();
        self.health.gate(format!("{domain}/watch/{kind}"), move || watched.trouble::<K>().map_or(Ok(()), Err));
        let fed = store.clone();
        self.health.progress(format!("{domain}/watch/{kind}"), move || {
            if fed.is_fed::<K>() { Ok(()) } else { Err("the watch has ended, which it never should".into()) }
        });
        store.filled::<K>().await;
        gate.set(None);
    }

    /// Runs a domain whose caches are filled and whose changes are followed.
    async fn work<D: Domain>(
        &self,
        controller: Controller<D>,
        mut followers: JoinSet<()>,
        events: tokio::task::JoinHandle<()>,
        stop: &CancellationToken,
    ) {
        let (leads, led) = watch::channel(self.election.is_none());
        self.watch_progress(D::NAME, controller.queue(), led.clone());
        let handed_over = CancellationToken::new();
        let campaign = self.election.clone().map(|election| {
            let lease = format!("konfidence-{}", D::NAME);
            tokio::spawn(campaign(self.client.clone(), election, lease, leads.clone(), handed_over.clone()))
        });
        controller.run(led, stop).await;
        followers.shutdown().await;
        // The sink goes with the domain; the task ends when what it holds is posted.
        drop(controller);
        if tokio::time::timeout(LAST_EVENTS, events).await.is_err() {
            warn!(domain = D::NAME, "the last events could not be posted in time");
        }
        handed_over.cancel();
        if let Some(campaign) = campaign
            && campaign.await.is_err()
        {
            warn!(domain = D::NAME, "the election ended badly");
        }
    }

    fn watch_progress<Q: crate::runtime::queue::QueueKey>(
        &self,
        domain: &str,
        queue: &Arc<Queue<Q>>,
        leads: watch::Receiver<bool>,
    ) {
        let queue = queue.clone();
        self.health.progress(format!("{domain}/queue"), move || {
            let pulse = queue.pulse();
            if pulse.longest_work > STUCK {
                return Err(format!("a reconcile has been running for {} s", pulse.longest_work.as_secs()));
            }
            // Who does not lead lets keys wait.
            if *leads.borrow() && pulse.longest_wait > STUCK {
                let seconds = pulse.longest_wait.as_secs();
                return Err(format!("{} keys are due, the first for {seconds} s", pulse.waiting));
            }
            Ok(())
        });
    }
}

/// The definitions of the kinds with these plural names.
fn definitions(plurals: &[&str]) -> Vec<CustomResourceDefinition> {
    let mut all = crds::all();
    all.retain(|crd| plurals.contains(&crd.spec.names.plural.as_str()));
    all
}
