//! The Kubernetes API over an engine in memory: for development and tests, in process or on a port.
//!
//! ```text
//!   kube::Client (in process)        kubectl, kube::Client (TCP)
//!             \                       /
//!              http/   paths, queries, bodies, content negotiation, answers
//!                |
//!      discovery/ openapi/        verbs/    get list watch create update patch delete
//!                                   |
//!      schema/  prune, default, validate, CEL      apply/  who owns which field
//!      selector/ labels and fields                 table/  what kubectl prints
//!      patch/   JSON, strategic                    crd/ builtin/  which kinds there are
//!                                   |
//!                    konfidence_sdk::store::engine
//! ```
//!
//! [`ApiServer`] is the entry. With the feature `persist`, [`persist::open`] gives it an engine whose objects outlive the
//! process. It behaves as a real API server does for the kinds it serves: where the two differ, the
//! real one is right. It has no authentication and allows everything, so it belongs on a loopback address.

mod apply;
mod builtin;
mod cel;
mod crd;
mod discovery;
mod field;
mod http;
mod json;
mod openapi;
mod patch;
#[cfg(feature = "persist")]
pub mod persist;
mod registry;
mod resource;
mod schema;
mod selector;
mod server;
mod stack;
mod status;
mod table;
mod verbs;

pub use self::http::user::DEVELOPER;
pub use self::server::{ApiServer, BuildError, Builder};
