//! All controllers in one process: `konfidence-controllers --help`.

use std::process::ExitCode;

use clap::Parser;
use konfidence_controllers::wiring::DomainName;
use konfidence_controllers::wiring::arguments::{Arguments, log};

/// Runs any set of Konfidence's controllers in one process.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// What to run.
    #[arg(long, env = "KONFIDENCE_DOMAINS", value_enum, value_delimiter = ',', default_values_t = DomainName::ALL)]
    domains: Vec<DomainName>,

    #[command(flatten)]
    arguments: Arguments,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    log();
    match cli.arguments.run(cli.domains).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
