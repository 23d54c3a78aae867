//! Runs random worlds of the simulator, and tells how many steps, how many states, and what went wrong on purpose.
//!
//! `cargo xtask sim` builds it with optimizations and hands its arguments over.

use std::num::NonZero;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use konfidence_sdk::sim::{Deed, Profile, Report, Scenario, Stopwatch, Survey};
use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// How many steps each world takes before it comes to rest; without it some take few, some many
    #[arg(long)]
    length: Option<usize>,
    /// How many worlds run at once; the answer is the same for any number [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZero<usize>>,
    /// Tell where the time goes
    #[arg(long)]
    profile: bool,
}

/// What a step costs depends on how many promotions there are: here ten at most that have ended are kept, and soon are
/// there.
fn ten_promotions() -> Scenario {
    let config = |name, source, stage| {
        let mut spec = VectorPromotionConfigSpec::new(source, TargetRef::stage("eu", stage));
        spec.keep_last_promotions = 5;
        let mut config = VectorPromotionConfig::new(name, spec);
        config.metadata.namespace = Some("bakery".to_owned());
        config
    };
    let configs = vec![
        config("menu-to-dev", SourceRef::template("menu"), "dev"),
        config("dev-to-test", SourceRef::stage("eu", "dev"), "test"),
    ];
    Scenario::of("ten promotions", configs).with(&[(Deed::EditStage, 1)])
}

fn all() -> Vec<Scenario> {
    let mut all = Scenario::all();
    all.push(ten_promotions());
    all
}

fn named(name: &str) -> Result<Scenario, String> {
    all().into_iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let names: Vec<_> = all().into_iter().map(|scenario| format!("{:?}", scenario.name)).collect();
        format!("there is no such world; there are {}", names.join(", "))
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { world: scenario, length, .. } = arguments;
    let mut survey = Survey { scenario, length, ..Survey::of(arguments.steps, arguments.seed) };
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
        ("load, decide, apply", rules),
        ("store", engine),
        ("simulator: watches and queues", watches),
        ("simulator: checker", checker),
        ("simulator: people, chance, bookkeeping", rest),
        ("simulator", watches + checker + rest),
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

#[cfg(test)]
mod tests {
    use konfidence_sdk::sim::Script;
    use konfidence_sdk::store::{Key, ObjectStore, Query};
    use konfidence_sdk::types::VectorPromotion;

    use super::*;

    #[test]
    fn worlds_of_ten_promotions_soon_hold_ten() {
        let mut script = Script::new(&ten_promotions());
        for number in 1..=8 {
            script.publish("the oven", &Key::new("bakery", "menu"), &format!("bakery//menu:{number}")).unwrap();
            script.wait("1m".parse().unwrap()).unwrap();
            let waiting = script.waiting(&Key::new("bakery", "dev-to-test"));
            script.approve("the head baker", &Key::of(&**waiting.last().unwrap())).unwrap();
            script.wait("1m".parse().unwrap()).unwrap();
        }
        let store = script.world().store().clone();
        let promotions = futures::executor::block_on(store.list(&Query::<VectorPromotion>::all())).unwrap();
        assert_eq!(promotions.items.len(), 10);
    }
}
