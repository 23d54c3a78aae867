//! A person's word on promotions, over the store in memory: approve, reject, retry, promote, release, suspend, explain.

#![allow(clippy::unwrap_used, clippy::panic)]

mod approving;
mod explaining;
mod holding;
mod making;
mod rejecting;
mod suspending;
mod total;
mod world;
