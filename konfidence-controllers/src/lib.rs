//! Controllers that run the rules of `konfidence-sdk` against the Kubernetes API.

pub mod client;
pub mod events;
pub mod http;
pub mod metrics;
pub mod runtime;
pub mod store;
pub mod wiring;
