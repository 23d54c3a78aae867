//! Controllers that run the rules of `konfidence-sdk` against the Kubernetes API.

pub mod runtime;
pub mod store;
