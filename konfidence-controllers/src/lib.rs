//! Controllers that run the rules of `konfidence-sdk` against the Kubernetes API.

pub mod store;
pub mod runtime;
