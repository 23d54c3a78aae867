//! The same requests to the embedded API and to a real kube-apiserver, and where their answers differ.
//!
//! ```text
//!   cases/*.http ---\
//!                    >-- steps --> run, once per server --> normal --> compare --> differences
//!   generate (seed) -/               client                  noise                 docs/differences.md
//! ```
//!
//! A case is a sequence of requests; what one answers, the next may use. What a server chooses by itself (uids, versions,
//! times, random names) is replaced by its order of appearance before two answers are compared. A difference that is to
//! stay is named in the case and explained in `docs/differences.md`.

pub mod case;
pub mod client;
pub mod compare;
pub mod generate;
pub mod known;
mod manifests;
mod normal;
pub mod run;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::{StreamExt, TryStreamExt};
use serde_json::Value;

use crate::case::Case;
use crate::client::Server;

/// How many cases run at the same time; the real server is the slower one, and has two cores.
const AT_ONCE: usize = 8;

/// A case and the answers of both servers.
#[derive(Debug)]
pub struct Run {
    /// The case.
    pub case: Case,
    /// Of each server, one answer a step.
    pub answers: [Result<Vec<Value>, Error>; 2],
}

/// The directory of the cases.
pub fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Runs cases on both servers, in the order in which they are given.
///
/// # Errors
/// When a server does not take the definition that the cases use.
pub async fn run_all(servers: &[Server; 2], cases: Vec<Case>) -> Result<Vec<Run>, Error> {
    let [embedded, real] = servers;
    futures::try_join!(manifests::install(embedded), manifests::install(real))?;
    // The real server may have seen an earlier run.
    let stamp = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let runs = cases.into_iter().enumerate().map(async |(index, case)| {
        let id = format!("case-{stamp}-{:03}", index + 1);
        let answers = futures::join!(run::run(embedded, &case, &id), run::run(real, &case, &id));
        Ok(Run { case, answers: answers.into() })
    });
    futures::stream::iter(runs).buffered(AT_ONCE).try_collect().await
}

/// What keeps the comparison from being made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A case file does not say what to do.
    #[error("{file}:{line}: {why}")]
    Case {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A server does not answer.
    #[error("{server} does not answer: {why}")]
    Server {
        /// Which one.
        server: String,
        /// Why.
        why: String,
    },
    /// A file cannot be read.
    #[error("{file} cannot be read: {source}")]
    File {
        /// Which one.
        file: String,
        /// Why.
        source: std::io::Error,
    },
}
