//! Runs random worlds of the simulator, and tells how many steps, how many states, and what went wrong on purpose.
//!
//! `cargo xtask sim` builds it with optimizations and hands its arguments over.

use std::num::NonZero;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use konfidence_sdk::sim::{Report, Scenario, Survey};

#[derive(Parser)]
#[command(name = "cargo xtask sim", about = "Run random worlds and check every statement of the specification in them")]
struct Arguments {
    /// How many steps in all, those of coming to rest included
    #[arg(long, default_value_t = 1_000_000)]
    steps: u64,
    /// Seed of the first world; each further one has the next
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Scenario of all worlds; without it each seed chooses its own
    #[arg(long, value_parser = named)]
    world: Option<Scenario>,
    /// How many worlds run at once; the answer is the same for any number [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZero<usize>>,
}

fn named(name: &str) -> Result<Scenario, String> {
    Scenario::named(name).ok_or_else(|| {
        let names: Vec<_> = Scenario::all().into_iter().map(|scenario| format!("{:?}", scenario.name)).collect();
        format!("there is no such world; there are {}", names.join(", "))
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut survey = Survey { scenario: arguments.world, ..Survey::of(arguments.steps, arguments.seed) };
    survey.threads = arguments.threads.unwrap_or(survey.threads);
    let (report, took) = timed(|| survey.run());
    tell(&survey, &report, took);
    match report.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::disallowed_methods)] // how long it takes is no part of any world
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let done = run();
    (done, start.elapsed())
}

fn tell(survey: &Survey, report: &Report, took: Duration) {
    let last = survey.seed.wrapping_add(report.worlds.saturating_sub(1));
    println!("{:>12} worlds, seeds {} to {last}", report.worlds, survey.seed);
    print!("{}", report.tally);
    println!("{:>12} distinct states", report.states);
    println!("{:>12} violations", u8::from(report.failure.is_some()));
    let millis = took.as_millis().max(1);
    let pace = u128::from(report.tally.steps) * 1000 / millis;
    println!("{pace:>12} steps per second, {} threads, {:.1} seconds", survey.threads, took.as_secs_f64());
}
