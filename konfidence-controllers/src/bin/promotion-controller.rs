//! The promotion controller: `promotion-controller --help`.

use std::process::ExitCode;

use clap::Parser;
use konfidence_controllers::wiring::DomainName;
use konfidence_controllers::wiring::arguments::{Arguments, log};

/// Promotes vectors, one at a time, in order.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    arguments: Arguments,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    log();
    match cli.arguments.run(vec![DomainName::Promotion]).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
