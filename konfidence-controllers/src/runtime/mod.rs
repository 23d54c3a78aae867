//! What runs a domain.

pub mod queue;
