//! The embedded API server beside a real kube-apiserver with etcd: the same client, the same requests, one run.
//!
//! ```text
//!   cargo xtask bench apiserver
//!          |
//!          +-- floor     a server that answers and does nothing    what the client and the machine cost
//!          +-- memory    the embedded server                       a process of its own, over TCP
//!          +-- durable   the embedded server, data directory       fsync before every answer
//!          +-- real      kube-apiserver and etcd                   fsync before every answer; over TLS
//!          |
//!          rounds in turn: each measures every load on every target; the median counts
//! ```
//!
//! The embedded server runs without controllers, as the real one does. Nothing is written by hand into the answer: what
//! was not measured is not in the table.

mod client;
mod load;
mod report;
mod serve;
mod target;

use std::process::ExitCode;

use target::{Kind, Target};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often everything is measured; the median counts.
const ROUNDS: usize = 5;
/// With how many objects memory is measured.
const OBJECTS: u64 = 10_000;

/// What kept the measurement from its end.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BenchError(String);

type BenchResult<T = ()> = Result<T, BenchError>;

fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> BenchError {
    move |why| BenchError(format!("{what}: {why}"))
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => run(ROUNDS).await,
        ["--rounds", rounds] => match rounds.parse() {
            Ok(rounds) => run(rounds).await,
            Err(error) => Err(BenchError(format!("--rounds takes a number: {error}"))),
        },
        ["serve", "floor"] => serve::floor().await,
        ["serve", "memory"] => serve::embedded(None).await,
        ["serve", "durable", directory] => serve::embedded(Some(directory.as_ref())).await,
        _ => Err(BenchError("usage: bench [--rounds N]".into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(rounds: usize) -> BenchResult {
    let mut targets = Vec::new();
    for kind in Kind::ALL {
        match Target::start(kind).await? {
            Some(target) => targets.push(target),
            None => {
                println!("The column `{}` is missing: no Go toolchain is here to build the real server.", kind.name());
            }
        }
    }
    let mut report = report::Report::default();
    for round in 0..rounds {
        for target in &targets {
            eprintln!("round {} of {rounds}: {}", round + 1, target.kind.name());
            for (load, rate) in load::measure(target, round).await? {
                report.add(load, target.kind, rate);
            }
        }
    }
    drop(targets);
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Floor) {
        if let Some(target) = Target::start(kind).await? {
            eprintln!("memory: {}", kind.name());
            let before = target.resident_memory()?;
            load::fill(&target, OBJECTS).await?;
            report.memory(kind, before, target.resident_memory()?);
        }
    }
    report.print(OBJECTS);
    Ok(())
}
