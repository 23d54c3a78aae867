//! Small worlds that are explored to the end, and rules broken on purpose that a search must find.

use exhaustive::{BASE, Flaw, Found, GATED, Left, Limits, Scenario, explore};

/// So many steps are enough for every story here.
const DEPTH: usize = 12;

#[track_caller]
fn holds(scenario: Scenario, depth: Option<usize>) -> Found {
    let found = explore(scenario, Flaw::None, Limits { depth, ..Limits::default() });
    assert!(found.violation.is_none(), "{}:\n{}", found.scenario.about, found.violation.unwrap_or_default());
    found
}

/// The story of the violation that a broken rule gives, whether or not settled moments are forgotten.
#[track_caller]
fn falls(scenario: Scenario, flaw: Flaw) -> String {
    let [whole, reduced] = [false, true].map(|is_reduced| {
        let scenario = Scenario { is_reduced, ..scenario.clone() };
        let found = explore(scenario, flaw, Limits { depth: Some(DEPTH), ..Limits::default() });
        let story = found.violation.unwrap_or_default();
        assert!(!story.is_empty(), "{flaw:?} is not found in {} states", found.states);
        story
    });
    let last = |story: &str| story.lines().last().map(str::to_owned);
    assert_eq!(last(&whole), last(&reduced));
    reduced
}

/// One automatic flow, one vector, and a clock that passes the deadline.
fn timeout() -> Scenario {
    Scenario { about: "automatic, timeout", instants: &[0, 300], ..BASE }
}

#[test]
fn s1_s2_s3_s4_s5_s6_p13_hold_in_every_state_of_a_flow_with_one_vector() {
    let found = holds(BASE, None);
    assert!(found.is_complete);
    assert!(found.depth >= 5, "made, started, written, finished, noted: {found:?}");
}

#[test]
fn s1_s2_s5_s6_p37_hold_when_an_execution_times_out() {
    let found = holds(timeout(), Some(8));
    assert!(!found.is_complete, "the limit is what ends it: {found:?}");
}

#[test]
fn s4_p29_hold_when_a_person_approves_one_of_two() {
    let left = Left { approvals: 1, ..BASE.left };
    holds(Scenario { about: "approval, 2 vectors", configs: &[GATED], vectors: 2, left, ..BASE }, Some(8));
}

#[test]
fn forgetting_settled_moments_loses_no_present_state() {
    let left = Left { approvals: 1, creations: 2, ..BASE.left };
    let approved = Scenario { about: "approval, 2 vectors", configs: &[GATED], vectors: 2, left, ..BASE };
    for scenario in [Scenario { vectors: 2, ..BASE }, approved] {
        let whole = holds(Scenario { is_reduced: false, ..scenario.clone() }, None);
        let reduced = holds(scenario, None);
        assert!(whole.is_complete && reduced.is_complete);
        assert!(reduced.states < whole.states, "{} of {}", reduced.states, whole.states);
        assert_eq!((reduced.rested, reduced.presents), (whole.rested, whole.presents), "{}", whole.scenario.about);
    }
}

#[test]
fn the_search_finds_the_same_in_every_run() {
    let (one, other) = (holds(timeout(), Some(7)), holds(timeout(), Some(7)));
    assert_eq!((one.states, one.transitions, one.depth), (other.states, other.transitions, other.depth));
}

#[test]
fn t5_s2_falls_when_the_fence_is_answered_and_not_written() {
    let story = falls(timeout(), Flaw::NoFence);
    assert!(story.contains("S2 is violated"), "{story}");
}

#[test]
fn t6_s5_falls_when_the_fence_does_not_name_the_version() {
    let story = falls(timeout(), Flaw::FenceWithoutVersion);
    assert!(story.contains("S5 is violated"), "{story}");
}

#[test]
fn t9_s5_falls_when_a_stage_is_written_whatever_its_version() {
    let story = falls(timeout(), Flaw::StageWithoutVersion);
    assert!(story.contains("S5 is violated"), "{story}");
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
