//! Small worlds that are explored to the end, and rules broken on purpose that a search must find.

use exhaustive::{AUTO, BASE, Config, Flaw, Found, GATED, Left, Numbers, Scenario, explore, scenarios};

#[track_caller]
fn holds(scenario: Scenario) -> Found {
    let found = explore(scenario, Flaw::None, None);
    if let Some(story) = &found.violation {
        panic!("{}:\n{story}", found.scenario.about);
    }
    assert!(found.is_complete);
    found
}

/// The story of the violation that a broken rule gives.
#[track_caller]
fn falls(scenario: Scenario, flaw: Flaw) -> String {
    let found = explore(scenario, flaw, None);
    found.violation.unwrap_or_else(|| panic!("{flaw:?} is not found in {} states", found.states))
}

fn named(name: &str) -> Scenario {
    scenarios().into_iter().find(|scenario| scenario.name == name).unwrap()
}

/// One automatic flow, one vector, and a clock that passes the deadline.
fn timeout() -> Scenario {
    Scenario { about: "automatic, timeout", instants: &[0, 300], ..BASE }
}

#[test]
fn s1_s2_s3_s4_s5_s6_p13_hold_when_an_execution_times_out() {
    holds(timeout());
}

#[test]
fn s4_p29_hold_when_a_person_approves_one_of_two() {
    let left = Left { approvals: 1, ..BASE.left };
    holds(Scenario { about: "approval, 2 vectors", configs: &[GATED], vectors: 2, left, ..BASE });
}

#[test]
fn the_search_finds_the_same_in_every_run() {
    let (one, other) = (holds(timeout()), holds(timeout()));
    assert_eq!((one.states, one.transitions, one.depth), (other.states, other.transitions, other.depth));
}

#[test]
fn t5_s2_falls_when_the_fence_is_answered_and_not_written() {
    let story = falls(timeout(), Flaw::NoFence);
    assert!(story.contains("S2 is violated"), "{story}");
}

#[test]
fn t6_s2_falls_when_the_fence_does_not_name_the_version() {
    let story = falls(timeout(), Flaw::FenceWithoutVersion);
    assert!(story.contains("S2 is violated"), "{story}");
}

#[test]
fn t9_s2_falls_when_a_stage_is_written_whatever_its_version() {
    let story = falls(timeout(), Flaw::StageWithoutVersion);
    assert!(story.contains("S2 is violated"), "{story}");
}

#[test]
fn s1_falls_when_promotions_are_written_whatever_their_version() {
    let story = falls(Scenario { vectors: 2, ..BASE }, Flaw::PromotionWithoutVersion);
    assert!(story.contains("is violated"), "{story}");
}

#[test]
fn t13_p13_falls_when_live_reads_come_from_the_view() {
    let story = falls(Scenario { vectors: 2, ..BASE }, Flaw::LiveReadsFromCache);
    assert!(story.contains("P13 is violated"), "{story}");
}
