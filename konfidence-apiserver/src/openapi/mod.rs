//! `OpenAPI`: what `kubectl explain` reads, and where clients look up whether the server validates fields.
//!
//! [`v3`] is the source: one document per group and version. [`v2`] is made from all of them, in JSON and in
//! [`protobuf`].

mod protobuf;
pub(crate) mod v2;
pub(crate) mod v3;

pub(crate) use v3::Cache;
