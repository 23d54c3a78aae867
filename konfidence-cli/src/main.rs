//! The command line of Konfidence: an embedded server for development, a demo, and the everyday acts on promotions.
//!
//! One file for each command. Commands that talk to a cluster share [`cluster`]; all end in one [`failure::Failure`],
//! whose variants are the exit codes.

mod approve;
mod cluster;
mod completion;
mod crds;
mod demo;
mod dev;
mod embedded;
mod explain;
mod failure;
mod format;
mod get;
mod kubeconfig;
mod manifest;
mod name;
mod outcome;
mod promote;
mod reject;
mod release;
mod retry;
mod suspend;
mod wait;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use failure::Failure;
use format::complain;

/// An embedded server makes and drops small objects most of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is logged when `$RUST_LOG` does not say. The client's errors are told once, by the command that made the request.
const LOGGED: &str = "warn,kube_client=off";

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    an error that is none of the others
  2    the command line is wrong
  3    refused: by the rules of promotion or by the server
  4    there is no such object
  5    what was waited for did not happen in time
  6    the promotion that was waited for ended without success
  141  nobody reads the output any more

Named kubectl-konfidence and found in $PATH, this program is the kubectl plugin `kubectl konfidence`.";

/// Promotes application versions from stage to stage
#[derive(Parser)]
#[command(name = "konfidence", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dev(dev::Dev),
    Demo(demo::Demo),
    Get(get::Get),
    Explain(explain::Explain),
    Approve(approve::Approve),
    Reject(reject::Reject),
    Retry(retry::Retry),
    Promote(promote::Promote),
    Release(release::Release),
    /// Stop creating and starting promotions of a config; what runs finishes
    Suspend(suspend::Suspension),
    /// Let a suspended config go on
    Resume(suspend::Suspension),
    /// Print the custom resource definitions
    Crds,
    Completion(completion::Completion),
}

impl Command {
    async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Dev(command) => command.run().await,
            Self::Demo(command) => command.run().await,
            Self::Get(command) => command.run().await,
            Self::Explain(command) => command.run().await,
            Self::Approve(command) => command.run().await,
            Self::Reject(command) => command.run().await,
            Self::Retry(command) => command.run().await,
            Self::Promote(command) => command.run().await,
            Self::Release(command) => command.run().await,
            Self::Suspend(command) => command.suspend().await,
            Self::Resume(command) => command.resume().await,
            Self::Crds => crds::run(),
            Self::Completion(command) => command.run(),
        }
    }
}

/// How long the end waits for what is still being worked on.
const LAST_WORK: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    // Wrong usage ends here, with exit code 2.
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let ansi = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).init();
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(format!("error: the runtime does not start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let done = runtime.block_on(cli.command.run());
    // A request that calculates for long cannot be interrupted; the program ends without it.
    runtime.shutdown_timeout(LAST_WORK);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Unread) {
                complain(format!("error: {failure}"));
            }
            ExitCode::from(failure.code())
        }
    }
}
