//! Explores small worlds, prints what came of each, and tells the way to whatever does not hold.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Parser;
use exhaustive::{Flaw, Found, Limits, Scenario, explore, into_page, row, scenarios, table};
use konfidence_sdk::clock::{Clock, SystemClock};

/// How many steps of each scenario the usual run takes at most, and the long one.
const USUAL: usize = 1_000_000;
const LONG: usize = 40_000_000;

#[derive(Parser)]
#[command(name = "exhaustive", about = "Explores every interleaving of small worlds")]
struct Arguments {
    /// Only this scenario; may be given several times
    #[arg(long)]
    scenario: Vec<String>,
    /// Take forty times as many steps where that is not the end: minutes become an hour
    #[arg(long)]
    long: bool,
    /// At most so many steps from the beginning
    #[arg(long)]
    depth: Option<usize>,
    /// At most so many steps altogether
    #[arg(long)]
    steps: Option<usize>,
    /// Views are at most so many changes old, kind by kind
    #[arg(long)]
    old: Option<usize>,
    /// Forget no moment, not even those that are settled
    #[arg(long)]
    all_moments: bool,
    /// How many scenarios are explored side by side; as many as there are processors if not given
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Break a rule, and expect to see that
    #[arg(long, value_enum, default_value_t)]
    broken: Flaw,
    /// Write the table into this page, between its marks
    #[arg(long)]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let chosen: Vec<_> = scenarios()
        .into_iter()
        .filter(|it| arguments.scenario.is_empty() || arguments.scenario.iter().any(|name| name == it.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = scenarios().iter().map(|it| it.name).collect();
        eprintln!("error: there is no such scenario; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let started = SystemClock.now();
    let found = explore_all(&arguments, chosen);
    print!("{}", table(&found));
    println!("\n{} scenarios in {} seconds", found.len(), SystemClock.now().duration_since(started).as_secs());
    if let Some(page) = &arguments.page
        && let Err(error) = into_page(page, &table(&found))
    {
        eprintln!("error: {}: {error}", page.display());
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for Found { scenario, violation, .. } in &found {
        if let Some(story) = violation {
            println!("\n{} ({}):\n{story}", scenario.name, scenario.about);
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Explores side by side and answers in the order of the table.
fn explore_all(arguments: &Arguments, chosen: Vec<Scenario>) -> Vec<Found> {
    let mut queue: Vec<_> = chosen.into_iter().enumerate().collect();
    queue.reverse();
    let (queue, found) = (Mutex::new(queue), Mutex::new(BTreeMap::new()));
    let steps = arguments.steps.unwrap_or(if arguments.long { LONG } else { USUAL });
    let limits = Limits { depth: arguments.depth, steps: Some(steps) };
    let threads = arguments.threads.or(thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some((place, mut scenario)) = next else { return };
                    scenario.old = arguments.old.or(scenario.old);
                    scenario.is_reduced &= !arguments.all_moments;
                    let result = explore(scenario, arguments.broken, limits);
                    eprintln!("{}", row(&result));
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(place, result);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}
