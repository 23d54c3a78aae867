//! Tasks of the repository: what is generated, what is checked, and the one command that runs every test.
//!
//! | command | does |
//! |---|---|
//! | `cargo xtask crds [--check]` | writes `deploy/crds/` from the types, or says that it is stale |
//! | `cargo xtask rbac [--check]` | writes `deploy/rbac/` from the domains' tables, or says that it is stale |
//! | `cargo xtask flaws [--check]` | writes `docs/flaws.md`: what each rule prevents; or says that it is stale |
//! | `cargo xtask mutants` | mutates the decisions and lists what no test notices |
//! | `cargo xtask check` | the layering: who may depend on what |
//! | `cargo xtask sim --steps N --seed S [--world W]` | random worlds: every statement, after every step |
//! | `cargo xtask statements` | every statement of the specification is named by a test |
//! | `cargo xtask apiserver build\|up\|down` | a real kube-apiserver with etcd, for trying things on it |
//! | `cargo xtask explore [--long] [--scenario NAME]` | explores every interleaving of small worlds |
//! | `cargo xtask bench apiserver` | measures the embedded API server beside a real one |
//! | `cargo xtask test` | everything above, format, lints, docs, tests, the demo and the example |

mod apiserver;
mod bench;
mod crds;
mod explore;
mod flaws;
mod generated;
mod layering;
mod mutants;
mod rbac;
mod sim;
mod statements;
mod test;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What went wrong, for the person who ran the task.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TaskError(String);

impl TaskError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

type TaskResult<T = ()> = Result<T, TaskError>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of the repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the custom resource definitions to deploy/crds
    Crds {
        /// Write nothing; fail when a file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Write the cluster roles of the controllers to deploy/rbac
    Rbac {
        /// Write nothing; fail when a file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Write what each rule of the promotion protocol prevents to docs/flaws.md
    Flaws {
        /// Write nothing; fail when the page is not what would be written
        #[arg(long, conflicts_with = "search")]
        check: bool,
        /// Look for the shortest steps that show each flaw anew, in random worlds
        #[arg(long)]
        search: bool,
    },
    /// Mutate the decisions with cargo-mutants and list what no test notices
    Mutants {
        /// Files of the decision's folder, without `.rs`; all of them if none is named
        files: Vec<String>,
    },
    /// Check who depends on what
    Check,
    /// Run random worlds and check every statement of the specification in them
    #[command(disable_help_flag = true)]
    Sim {
        /// Handed over to the program that runs them; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Check that every statement of the specification is named by a test
    Statements,
    /// A real kube-apiserver with etcd on loopback
    Apiserver {
        /// What to do with it
        #[command(subcommand)]
        task: apiserver::Task,
    },
    /// Explore every interleaving of small worlds
    #[command(disable_help_flag = true)]
    Explore {
        /// Handed over to the program that explores; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure, in a release build
    Bench {
        /// What to measure
        subject: bench::Subject,
    },
    /// Run every check and every test
    Test,
}

fn main() -> ExitCode {
    let root = root();
    let done = match Arguments::parse().task {
        Task::Crds { check } => generated::bring_up_to_date(&root.join("deploy/crds"), "crds", &crds::files, check),
        Task::Rbac { check } => generated::bring_up_to_date(&root.join("deploy/rbac"), "rbac", &rbac::files, check),
        Task::Flaws { check, search } => flaws::run(&root, check, search),
        Task::Mutants { files } => mutants::run(&root, &files),
        Task::Check => layering::check(&root),
        Task::Sim { arguments } => sim::run(&root, &arguments),
        Task::Statements => statements::check(&root),
        Task::Apiserver { task } => apiserver::run(&task),
        Task::Explore { arguments } => explore::run(&root, &arguments),
        Task::Bench { subject } => bench::run(&root, subject),
        Task::Test => test::run(&root),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace, wherever the command was called.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
