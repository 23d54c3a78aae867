//! Vector promotion through the API, statement by statement (P, C and S of the specification), on three servers.
//!
//! A case is an `async fn(&World)`, written once; `on_every_server!` makes a test of it for each server, named
//! `in_process::p24_…`, `over_tcp::p24_…` and `real::p24_…`. A world is a project with the Landscape `eu`, the
//! controllers at work, an administrator and a person who decides.
//!
//! Cases wait much more than they compute, so that many run at a time, whatever the number of processors; hence the
//! harness of its own, which takes the arguments of the usual one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy knows tests by their attribute only"
)]

mod approval;
mod choosing;
mod cost;
mod drift;
mod ends;
mod execution;
mod faults;
mod people;
mod references;
mod rights;
mod world;

use libtest_mimic::{Arguments, Trial};

/// For each case a test on each server.
macro_rules! on_every_server {
    ($($case:ident),+ $(,)?) => {
        pub(crate) fn trials() -> Vec<libtest_mimic::Trial> {
            let cases: &[(&str, crate::world::Case)] = &[$((stringify!($case), |world| Box::pin($case(world)))),+];
            cases.iter().flat_map(|(name, case)| crate::world::trials(name, *case)).collect()
        }
    };
}
use on_every_server;

fn main() {
    let mut arguments = Arguments::from_args();
    let trials: Vec<Trial> = [
        approval::trials(),
        choosing::trials(),
        cost::trials(),
        drift::trials(),
        ends::trials(),
        execution::trials(),
        faults::trials(),
        people::trials(),
        references::trials(),
        rights::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    // One thread each: how many are at work at a time, `Turn` says.
    arguments.test_threads = arguments.test_threads.or(Some(trials.len()));
    libtest_mimic::run(&arguments, trials).exit();
}
