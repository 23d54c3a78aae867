//! The checker can fail: each flaw of the machinery is found in a few worlds, and the same world without it is sound.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::clock::ManualClock;
use crate::sim::flaw::{Flaw, Flawed};
use crate::sim::run::drive;
use crate::sim::server::Server;
use crate::sim::{Deed, Kind, Scenario, Step, World};
use crate::store::MemoryStore;
use crate::store::engine::{Collector, Engine, Options};

/// So many worlds at most, of so many steps each.
const WORLDS: u64 = 400;
const STEPS: usize = 200;

fn world(scenario: &Scenario, flaw: Flaw) -> World {
    let clock = ManualClock::new("2026-03-01T12:00:00Z".parse().unwrap());
    let options = Options { collector: Collector::OnRequest, ..Options::new(Arc::new(clock.clone())) };
    let mut server = Server::new(MemoryStore::over(Engine::new(options)));
    server.flaw = Flawed::with(flaw);
    World::over(scenario, clock, server)
}

/// The statement that these steps violate.
fn play(scenario: &Scenario, script: &[Step], flaw: Flaw) -> Option<&'static str> {
    let mut world = world(scenario, flaw);
    script.iter().find_map(|step| world.step(*step).err()).map(|violation| violation.statement)
}

/// The first random world with `flaw` that violates one of these statements, and does not without it.
fn assert_found(flaw: Flaw, wanted: &[&str]) {
    for seed in 0..WORLDS {
        let scenario = Scenario::random(seed);
        let (steps, violation) = drive(&mut world(&scenario, flaw), seed, STEPS);
        // What follows from a broken rule is broken too; it is the rule's own statement that must be found.
        if let Some(violation) = violation.filter(|violation| wanted.contains(&violation.statement)) {
            println!("{flaw:?}: seed {seed}, {} steps: {violation}", steps.len());
            let (_, sound) = drive(&mut world(&scenario, Flaw::None), seed, STEPS);
            assert_eq!(sound, None, "seed {seed} fails without the flaw too");
            return;
        }
    }
    panic!("{WORLDS} worlds with {flaw:?} show nothing");
}

#[test]
fn p23_a_write_without_its_version_is_found() {
    assert_found(Flaw::StageWithoutVersion, &["S2", "S3", "S5", "P12"]);
    assert_found(Flaw::PromotionWithoutVersion, &["S1", "P22", "P28"]);
}

#[test]
fn s2_s5_a_broken_handshake_is_found() {
    for flaw in [Flaw::NoFence, Flaw::BlindFence, Flaw::NoAttempt] {
        assert_found(flaw, &["S2", "S5"]);
    }
}

/// Trace T6, step by step: the clock of B is ahead, so that it retires what A has just started, and dies after the
/// fence. A resumes on the fenced Stage and sleeps; B starts again, and its second fence has to move the Stage's version.
#[test]
fn s2_t6_a_fence_that_does_not_name_the_version_is_found() {
    let mut scenario = Scenario::all().swap_remove(0);
    scenario.clock_offset = SignedDuration::from_secs(400);
    let (flow, mishap) = (0, None);
    let all = |controller| Kind::ALL.map(|kind| Step::Relist { controller, kind });
    let read = |controller| Step::Read { controller, flow };
    let turn = |controller| Step::Turn { controller, flow, mishap };
    let (a, b) = (0, 1);
    let mut script = vec![Step::Begin { controller: a, flow }, read(a), turn(a), turn(a)];
    script.extend(all(a).into_iter().chain([read(a), turn(a)])); // creates
    script.extend(all(a).into_iter().chain([read(a), turn(a)])); // starts
    script.extend(all(b).into_iter().chain([Step::Begin { controller: b, flow }, read(b), turn(b)])); // fences
    script.extend([Step::Crash { controller: b, ages: [0; 5] }, turn(a)]); // meets the fence
    script.extend(all(a).into_iter().chain([read(a), turn(a)])); // resumes
    script.extend(all(b).into_iter().chain([Step::Begin { controller: b, flow }, read(b), turn(b), turn(b)])); // retires
    script.push(turn(a)); // writes the Stage
    assert_eq!(play(&scenario, &script, Flaw::FenceWithoutVersion), Some("S2"));
    assert_eq!(play(&scenario, &script, Flaw::None), None);
}

#[test]
fn s1_superseding_after_the_start_is_found() {
    assert_found(Flaw::SupersedeAfterStart, &["S1", "P22", "P28"]);
}

/// Trace T2, step by step: B, whose view ends before somebody makes a promotion by hand, creates another one. If it sees
/// its own without the one before it, it starts its own, and A starts the one by hand.
#[test]
fn s1_t2_own_writes_over_an_older_view_are_found() {
    let mut scenario = Scenario::all().swap_remove(0);
    scenario.has_barrier = false;
    scenario.deeds = vec![(Deed::HandMake, 1)];
    let (flow, mishap) = (0, None);
    let all = |controller| Kind::ALL.map(|kind| Step::Relist { controller, kind });
    let begin = |controller| Step::Begin { controller, flow };
    let read = |controller| Step::Read { controller, flow };
    let turn = |controller| Step::Turn { controller, flow, mishap };
    let (a, b) = (0, 1);
    let mut script = vec![begin(b), read(b), turn(b), turn(b)];
    script.extend(all(b));
    // Sequence 1, the source's vector, no approval.
    script.push(Step::Deed { deed: Deed::HandMake, flow, pick: 163 });
    script.extend(all(a));
    script.extend([read(b), turn(b), read(b), turn(b)]); // creates, starts
    script.extend([begin(a), read(a), turn(a)]); // starts
    assert_eq!(play(&scenario, &script, Flaw::Overlay), Some("S1"));
    assert_eq!(play(&scenario, &script, Flaw::None), None);
}

#[test]
fn p13_names_without_numbers_and_live_reads_from_a_cache_are_found() {
    assert_found(Flaw::GeneratedNames, &["P13"]);
    assert_found(Flaw::LiveReadsFromCache, &["P13", "P12", "R14"]);
}
