//! The rules of Konfidence as a library.
//!
//! Konfidence moves immutable application versions ("vectors") through stages: it sees that a source has something
//! new, makes a promotion, waits for its gates, and executes promotions one at a time in the right order. This crate
//! holds the rules and nothing else: no network, no thread, no wall clock. It reads and writes through the port
//! [`store::ObjectStore`] and is told the time through the port [`clock::Clock`].
//!
//! ```text
//!   promotion/   landscape/        domains: none imports another
//!        |            |
//!   condition  naming  event  plan  access     the kernel: what two domains share
//!        |            |
//!   store/  clock                  the ports, and implementations of them in memory
//! ```
//!
//! Every domain has one shape: `load` reads all that a decision needs, `decide` is a pure function from what was read
//! and the time to an ordered plan, and `apply` makes the plan's conditional writes in order and stops at the first
//! conflict. **Any prefix of a plan is a legal state**, so a crash between two writes needs no repair.

pub mod access;
pub mod clock;
pub mod condition;
pub mod event;
pub mod landscape;
pub mod naming;
pub mod plan;
pub mod promotion;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
pub mod store;

pub use konfidence_types as types;
