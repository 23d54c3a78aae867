//! Runs random worlds of the simulator, and tells how many steps, how many states, and what went wrong on purpose.
//!
//! `cargo xtask sim` builds it with optimizations and hands its arguments over.

use std::num::NonZero;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use konfidence_sdk::sim::{Profile, Report, Scenario, Stopwatch, Survey};
use rustix::time::{ClockId, clock_gettime};

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
    /// Tell where the time goes
    #[arg(long)]
    profile: bool,
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
    survey.stopwatch = arguments.profile.then_some(computing as Stopwatch);
    let began = now();
    let report = survey.run();
    tell(&survey, &report, began.elapsed());
    if arguments.profile {
        tell_profile(&report);
    }
    match report.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::disallowed_methods)] // how long it takes is no part of any world
fn now() -> Instant {
    Instant::now()
}

/// How long this thread has been computing, whatever else the machine did meanwhile. Asking takes about 0.2 µs.
fn computing() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

/// What one step costs on average, and what each part of it.
fn tell_profile(report: &Report) {
    let Profile { engine, rules, watches, checker, whole } = report.profile;
    let rest = whole.saturating_sub(engine + rules + watches + checker);
    println!("microseconds of computing a step");
    let parts = [
        ("store engine", engine),
        ("load, decide, apply", rules),
        ("watches and queues", watches),
        ("checker", checker),
        ("people, chance, bookkeeping", rest),
        ("all", whole),
    ];
    for (part, spent) in parts {
        let nanos = spent.as_nanos() / u128::from(report.tally.steps.max(1));
        println!("{:>8}.{:03} {part}", nanos / 1000, nanos % 1000);
    }
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
