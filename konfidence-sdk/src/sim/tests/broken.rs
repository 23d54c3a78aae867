//! The checker can fail: each flaw of the machinery is found in a few worlds, and the same world without it is sound.

use std::sync::Arc;

use crate::clock::ManualClock;
use crate::sim::flaw::{Flaw, Flawed};
use crate::sim::run::drive;
use crate::sim::server::Server;
use crate::sim::{Scenario, World};
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

/// The statement that the first world with `flaw` violates.
fn found(flaw: Flaw) -> &'static str {
    for seed in 0..WORLDS {
        let scenario = Scenario::random(seed);
        let (steps, violation) = drive(&mut world(&scenario, flaw), seed, STEPS);
        if let Some(violation) = violation {
            println!("{flaw:?}: seed {seed}, {} steps: {violation}", steps.len());
            let (_, sound) = drive(&mut world(&scenario, Flaw::None), seed, STEPS);
            assert_eq!(sound, None, "seed {seed} fails without the flaw too");
            return violation.statement;
        }
    }
    panic!("{WORLDS} worlds with {flaw:?} show nothing");
}

#[test]
fn p23_a_write_without_its_version_is_found() {
    assert!(["S2", "S3", "S5", "P12"].contains(&found(Flaw::StageWithoutVersion)));
    assert!(["S1", "P22", "P28"].contains(&found(Flaw::PromotionWithoutVersion)));
}

#[test]
fn s2_s5_a_broken_handshake_is_found() {
    for flaw in [Flaw::NoFence, Flaw::BlindFence, Flaw::NoAttempt] {
        assert!(["S2", "S5"].contains(&found(flaw)), "{flaw:?}");
    }
}

#[test]
fn s1_superseding_after_the_start_is_found() {
    assert!(["S1", "P22", "P28"].contains(&found(Flaw::SupersedeAfterStart)));
}

#[test]
fn p13_names_without_numbers_and_live_reads_from_a_cache_are_found() {
    assert_eq!(found(Flaw::GeneratedNames), "P13");
    assert!(["P13", "P12", "R14"].contains(&found(Flaw::LiveReadsFromCache)));
}
