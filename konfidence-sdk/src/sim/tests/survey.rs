//! Many worlds have one answer, whoever looks for it.

use std::num::NonZero;

use crate::sim::world::World;
use crate::sim::{Deed, Nuisance, Report, Scenario, Survey};
use crate::store::Fault;

fn survey(steps: u64, seed: u64, threads: usize) -> Survey {
    Survey { threads: NonZero::new(threads).unwrap(), ..Survey::of(steps, seed) }
}

fn told(report: &Report) -> (u64, String, usize, Option<String>) {
    let failure = report.failure.as_ref().map(ToString::to_string);
    (report.worlds, report.tally.to_string(), report.states, failure)
}

#[test]
fn a_survey_says_the_same_on_any_number_of_threads() {
    let one = told(&survey(6_000, 40, 1).run());
    for threads in [2, 5] {
        assert_eq!(told(&survey(6_000, 40, threads).run()), one, "{threads} threads");
    }
}

#[test]
fn the_first_failing_seed_is_the_same_on_any_number_of_threads() {
    // A world that is cut short stands for one in which something is wrong.
    let failing = |seed: u64| {
        let mut world = World::new(&Scenario::random(seed));
        if matches!(seed, 13 | 14 | 17) {
            world.limit(30);
        }
        world
    };
    let one = survey(1_000_000, 10, 1).run_in(&failing);
    assert_eq!((one.worlds, one.failure.as_ref().unwrap().seed), (4, 13));
    assert_eq!(told(&survey(1_000_000, 10, 4).run_in(&failing)), told(&one));
}

/// Everything that can go wrong does, and everything that people can do is done: the list of what is tried is not a list
/// of names.
#[test]
fn random_worlds_meet_every_error_every_nuisance_and_every_deed() {
    let report = survey(60_000, 0, 2).run();
    assert!(report.failure.is_none(), "{}", report.failure.unwrap());
    for deed in Deed::ALL {
        assert!(report.tally.deeds.contains_key(&deed), "nobody did {deed:?}");
    }
    let errors = [
        (Fault::Conflict, false),
        (Fault::Conflict, true),
        (Fault::AlreadyExists, false),
        (Fault::AlreadyExists, true),
        (Fault::Unavailable, false),
        (Fault::Unavailable, true),
        (Fault::Forbidden, false),
        (Fault::Invalid, false),
        (Fault::Expired, false),
    ];
    for (fault, carried_out) in errors {
        let count = report.tally.mishaps.iter().filter(|(it, _)| (it.fault, it.carried_out) == (fault, carried_out));
        assert!(count.map(|(_, count)| count).sum::<u64>() > 3, "{fault:?}, carried out: {carried_out}");
    }
    for nuisance in [
        Nuisance::Crash,
        Nuisance::Pause,
        Nuisance::PauseUnderWay,
        Nuisance::StaleRead,
        Nuisance::DelayedEvent,
        Nuisance::OvertakenEvent,
        Nuisance::RepeatedEvent,
        Nuisance::LostEvent,
        Nuisance::Relist,
        Nuisance::Stir,
        Nuisance::ClockMove,
    ] {
        assert!(report.tally.count(nuisance) > 20, "{nuisance}: {}", report.tally.count(nuisance));
    }
    assert!(report.states > 10_000, "{}", report.states);
}
