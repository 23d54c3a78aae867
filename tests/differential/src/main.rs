//! Runs cases on an embedded server and on the one that a kubeconfig names, and prints where they differ.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use differential::client::Server;
use differential::generate::{self, STEPS};
use differential::{Error, Run, case, compare};

#[derive(Parser)]
#[command(name = "differential", about = "Where the embedded API and a kube-apiserver answer differently")]
struct Arguments {
    /// The kubeconfig of the real server; it has to allow everything
    #[arg(long)]
    real: PathBuf,
    /// Only cases whose place or title holds this text
    #[arg(long, default_value = "")]
    only: String,
    /// Run cases made from this seed, not those of the files
    #[arg(long)]
    seed: Option<u64>,
    /// How many cases are made from a seed
    #[arg(long, default_value_t = 150)]
    count: usize,
    /// Print every answer of the real server too
    #[arg(long)]
    show: bool,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let servers = [Server::embedded().await?, Server::at("real", &arguments.real).await?];
    let mut cases = match arguments.seed {
        Some(seed) => generate::cases(seed, arguments.count, STEPS),
        None => case::read(&differential::cases())?,
    };
    cases.retain(|case| case.place.contains(&arguments.only) || case.title.contains(&arguments.only));
    let (mut steps, mut found) = (0, 0);
    for Run { case, answers } in differential::run_all(&servers, cases).await? {
        let [embedded, real] = answers.map(|answers| {
            answers.unwrap_or_else(|error| {
                println!("{error}");
                found += 1;
                Vec::new()
            })
        });
        if arguments.show {
            for (step, answer) in case.steps.iter().zip(&real) {
                println!("{} {} {}\n{answer:#}", case.place, step.method, step.path);
            }
        }
        steps += case.steps.len();
        for difference in compare::compare(&case, &embedded, &real) {
            println!("{difference}");
            found += 1;
        }
    }
    println!("{steps} steps, {found} differences");
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
