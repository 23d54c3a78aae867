//! Controllers that run the rules of `konfidence-sdk` against the Kubernetes API.
//!
//! ```text
//!   wiring    a Process: which domains, on which client          bin/  promotion-controller, konfidence-controllers
//!      |
//!   runtime   queue, workers, followers, election, CRD gate       http  /healthz /readyz /metrics
//!      |                                                          metrics
//!   store     KubeStore: one cache and one watch per kind         events  events.k8s.io
//! ```
//!
//! No rule is in here. What may be written, and in which order, is decided by the SDK; this crate feeds it with reads
//! that are prefixes of history, calls it when something changed, and makes its writes.
//!
//! ```no_run
//! use konfidence_controllers::client;
//! use konfidence_controllers::wiring::{DomainName, Process};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = client::connect(kube::Config::infer().await?)?;
//! let stop = CancellationToken::new();
//! Process::new(client, DomainName::ALL).run(&stop).await;
//! # Ok(())
//! # }
//! ```

pub mod client;
pub mod events;
pub mod http;
pub mod metrics;
pub mod runtime;
pub mod store;
pub mod wiring;
