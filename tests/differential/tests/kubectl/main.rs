//! kubectl against both servers: the same commands, and what it prints, letter for letter.
//!
//! ```text
//!   ../../kubectl/*.cases --transcript--> steps --servers--> output of each --text--> compared
//! ```
//!
//! The stock kubectl of this machine runs the cases; the one of the server's version runs what people do every day, and
//! again that in which kubectl has most to do with what the server says (explain, server-side apply). Where both servers have to
//! differ, the case says so and `docs/differences.md` says why.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows tests by their attribute only"
)]

mod servers;
mod text;
mod transcript;

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use servers::{Outcome, Servers};
use similar::TextDiff;
use transcript::{Case, Step};

/// How many cases run at the same time, each on both servers.
const AT_ONCE: usize = 4;

#[test]
fn kubectl_prints_the_same_from_both_servers() {
    let Some(servers) = Servers::start() else { return };
    let all = transcript::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kubectl"));
    let everyday = |case: &&Case| case.file == "everyday";
    let newer = |case: &&Case| {
        let titles = ["explain a custom kind", "explain our kinds", "server-side apply"];
        everyday(case) || titles.iter().any(|title| case.title.starts_with(title))
    };
    // One after the other: some cases look at the whole cluster.
    let mut told = run(&servers, Path::new("kubectl"), all.iter().filter(|case| !everyday(case)).collect());
    if let Some(kubectl) = servers.kubectl_of_the_servers_version() {
        told += &run(&servers, &kubectl, all.iter().filter(newer).collect());
    }
    assert!(
        told.is_empty(),
        "kubectl prints something else from the embedded API (-) than from the real one (+):\n{told}"
    );
}

/// Every difference, as a reader wants to see it.
fn run(servers: &Servers, kubectl: &Path, mut cases: Vec<&Case>) -> String {
    servers.prepare(kubectl, &cases);
    // What waits longest begins first, so that nothing is waited for alone in the end.
    cases.sort_by_key(|case| Reverse(case.weight()));
    let next = AtomicUsize::new(0);
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let [embedded, real] = servers.run(kubectl, case);
                    let differences = compare(case, &embedded, &real);
                    if !differences.is_empty() {
                        told.lock().expect("no thread panicked").push(format!("{case}\n{differences}"));
                    }
                }
            });
        }
    });
    let mut told = told.into_inner().expect("no thread panicked");
    told.sort();
    told.concat()
}

fn compare(case: &Case, embedded: &[Outcome], real: &[Outcome]) -> String {
    let mut told = String::new();
    let commands = case.steps.iter().filter_map(|step| match step {
        Step::Run { command, differs } => Some((command, *differs)),
        Step::File { .. } => None,
    });
    for ((command, differs), (embedded, real)) in commands.zip(embedded.iter().zip(real)) {
        match (embedded == real, differs) {
            (true, false) | (false, true) => {}
            (true, true) => {
                let _ = writeln!(told, "  $ {command}\n    is said to differ and does not");
            }
            (false, false) => {
                let _ = writeln!(told, "  $ {command}");
                let (embedded, real) = (embedded.to_string(), real.to_string());
                for line in TextDiff::from_lines(&embedded, &real).unified_diff().context_radius(1).to_string().lines()
                {
                    let _ = writeln!(told, "    {line}");
                }
            }
        }
    }
    told
}

/// The repository, which the cases call `$REPOSITORY`.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the workspace").to_owned()
}
