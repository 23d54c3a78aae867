//! Small worlds that are explored to the end, and rules broken on purpose that a search must find.

use exhaustive::{BASE, Flaw, Found, GATED, HandMade, Left, Limits, Numbers, Scenario, explore};

/// So many steps are enough for every story here.
const DEPTH: usize = 12;

/// Made by hand beside a flow.
const LOW: HandMade = HandMade { name: "by-hand-1", sequence: 1, target: "dev", gated: false };

#[track_caller]
fn holds(scenario: Scenario, depth: Option<usize>) -> Found {
    let found = explore(scenario, Flaw::None, Limits { depth, ..Limits::default() });
    assert!(found.violation.is_none(), "{}:\n{}", found.scenario.about, found.violation.unwrap_or_default());
    found
}

/// The statement that a broken rule violates on a shortest way, whether or not settled moments are forgotten.
#[track_caller]
fn falls(scenario: &Scenario, flaw: Flaw, statements: &[&str]) {
    let [whole, reduced] = [false, true].map(|is_reduced| {
        let scenario = Scenario { is_reduced, ..scenario.clone() };
        let found = explore(scenario, flaw, Limits { depth: Some(DEPTH), ..Limits::default() });
        let story = found.violation.unwrap_or_default();
        let is_expected = statements.iter().any(|it| story.contains(&format!("{it} is violated")));
        assert!(is_expected, "{flaw:?} gives in {} states:\n{story}", found.states);
        found.depth
    });
    assert_eq!(whole, reduced, "{flaw:?} is found in as many steps");
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
    let found = holds(timeout(), None);
    assert!(found.is_complete, "{found:?}");
    let cut = explore(timeout(), Flaw::None, Limits { steps: Some(100), ..Limits::default() });
    assert!(!cut.is_complete && cut.depth < found.depth, "the limit is what ends it: {cut:?}");
}

#[test]
fn s4_p29_hold_when_a_person_approves_one_of_two() {
    let left = Left { approvals: 1, ..BASE.left };
    holds(Scenario { about: "approval, 2 vectors", configs: &[GATED], vectors: 2, left, ..BASE }, Some(8));
}

/// What may happen in a world that is explored in full: fences that no retirement can follow are left out.
const FEW: Left = Left { creations: 2, fences: 0, ..BASE.left };

#[track_caller]
fn loses_no_present_state(scenario: Scenario) {
    let whole = holds(Scenario { is_reduced: false, ..scenario.clone() }, None);
    let reduced = holds(scenario, None);
    assert!(whole.is_complete && reduced.is_complete);
    assert!(reduced.states < whole.states, "{} of {}", reduced.states, whole.states);
    assert_eq!((reduced.rested, reduced.presents), (whole.rested, whole.presents), "{}", whole.scenario.about);
}

#[test]
fn forgetting_settled_moments_loses_no_present_state() {
    let automatic = Scenario { about: "automatic, 2 vectors", vectors: 2, left: FEW, ..BASE };
    let left = Left { approvals: 1, ..FEW };
    loses_no_present_state(Scenario { about: "approval, 2 vectors", configs: &[GATED], left, ..automatic.clone() });
    loses_no_present_state(automatic);
}

#[test]
fn forgetting_plans_that_add_nothing_loses_no_present_state() {
    loses_no_present_state(Scenario { left: FEW, ..timeout() });
    loses_no_present_state(Scenario { about: "Stage edit", left: Left { edits: 1, ..FEW }, ..BASE });
    loses_no_present_state(Scenario { about: "Stage re-created", left: Left { stages: 1, ..FEW }, ..BASE });
}

#[test]
fn forgetting_moments_loses_no_present_state_where_promotions_are_made_by_hand_or_removed() {
    let hand_made = Scenario { about: "hand-made", left: FEW, numbers: Numbers::Harmless, ..BASE };
    loses_no_present_state(Scenario { hand_made: &[LOW], ..hand_made });
    let left = Left { configs: 1, creations: 1, ..FEW };
    loses_no_present_state(Scenario { about: "config re-created", left, numbers: Numbers::Harmless, ..BASE });
    let left = Left { promotions: 1, ..FEW };
    loses_no_present_state(Scenario { about: "promotion deleted", left, numbers: Numbers::Free, ..BASE });
}

#[test]
fn the_search_finds_the_same_in_every_run() {
    let (one, other) = (holds(timeout(), Some(7)), holds(timeout(), Some(7)));
    assert_eq!((one.states, one.transitions, one.depth), (other.states, other.transitions, other.depth));
}

// Which of the two it is depends on who writes last on a way of the same length: the writer (S2) or the retirer (S5).

#[test]
fn t5_s2_s5_fall_when_the_fence_is_answered_and_not_written() {
    falls(&timeout(), Flaw::NoFence, &["S2", "S5"]);
}

#[test]
fn t6_s2_s5_fall_when_the_fence_does_not_name_the_version() {
    falls(&timeout(), Flaw::FenceWithoutVersion, &["S2", "S5"]);
}

#[test]
fn t7_s2_s5_fall_when_a_resumption_does_not_write_the_promotion() {
    falls(&timeout(), Flaw::NoAttempt, &["S2", "S5"]);
}

#[test]
fn t9_s2_s5_fall_when_a_stage_is_written_whatever_its_version() {
    falls(&timeout(), Flaw::StageWithoutVersion, &["S2", "S5"]);
}

#[test]
fn s1_falls_when_promotions_are_written_whatever_their_version() {
    falls(&Scenario { vectors: 2, ..BASE }, Flaw::PromotionWithoutVersion, &["S1", "P22", "P28"]);
}

#[test]
fn t13_p13_falls_when_live_reads_come_from_the_view() {
    falls(&Scenario { vectors: 2, ..BASE }, Flaw::LiveReadsFromCache, &["P13"]);
}
