//! Random worlds, from seeds.

#![allow(clippy::panic)] // how a test fails

use konfidence_sdk::sim::{Nuisance, Tally, run_seeds};

/// Lengths of worlds, in steps: short ones end in every half-done state, long ones pile up history.
const STEPS: [usize; 5] = [60, 120, 200, 400, 800];

fn worlds(seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for (seed, steps) in seeds.zip(STEPS.into_iter().cycle()) {
        tally += &run_seeds(seed..seed + 1, steps).unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{tally:?}");
    tally
}

// Two halves, so that two cores share the time.

#[test]
fn s1_to_s6_p12_p13_p22_hold_in_random_worlds() {
    let tally = worlds(0..180);
    assert!(tally.steps > 60_000, "{tally:?}");
    assert!(tally.faults() > 500 && tally.count(Nuisance::Crash) > 500, "{tally:?}");
}

#[test]
fn s1_to_s6_p12_p13_p22_hold_in_other_random_worlds() {
    let tally = worlds(180..360);
    assert!(tally.steps > 60_000, "{tally:?}");
    assert!(tally.faults() > 500 && tally.count(Nuisance::Crash) > 500, "{tally:?}");
}
