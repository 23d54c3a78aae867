//! Every rule is needed: without it, its statement falls.

use std::collections::BTreeSet;

use super::variants;

/// With the flaw the script violates what the variant says; without it, nothing.
fn shows(name: &str) {
    let variant = variants::all().into_iter().find(|variant| variant.name == name).unwrap();
    let steps = variant.script().steps;
    let violation = variant.violation(steps);
    assert_eq!(violation.as_ref().map(|violation| violation.statement), Some(variant.violates), "{violation:?}");
    assert_eq!(variant.violation_without_flaw(steps), None, "{name} fails without the flaw too");
}

#[test]
fn r1_t2_s1_a_decision_reads_one_prefix() {
    shows("OVERLAY");
}

#[test]
fn r2_t4_s1_the_config_s_uid_is_certain() {
    shows("ANY_OWNER");
}

#[test]
fn r2_p12_a_leftover_never_overwrites_its_successor() {
    shows("ANY_OWNER_WRITES");
}

#[test]
fn r3_t3_s1_the_choice_depends_on_no_other_kind() {
    shows("LOWER_OVERTAKES");
}

#[test]
fn r4_t1_s1_lower_ones_are_superseded() {
    shows("SUPERSEDES_NOBODY");
}

#[test]
fn r4_t1_s1_lower_ones_are_superseded_before_the_start() {
    shows("SUPERSEDES_LATE");
}

#[test]
fn r4_s1_nothing_starts_beside_one_in_progress() {
    shows("STARTS_BESIDE");
}

#[test]
fn r5_t16_s3_what_was_executed_is_a_floor() {
    shows("NO_FLOOR");
}

#[test]
fn r5_t17_s3_an_equal_number_is_not_above_the_floor() {
    shows("EQUAL_PASSES");
}

#[test]
fn r6_t7_s2_a_resumption_writes_the_promotion_first() {
    shows("NO_ATTEMPT");
}

#[test]
fn r6_t8_s2_reading_the_promotion_live_is_not_enough() {
    shows("ATTEMPT_IS_A_READ");
}

#[test]
fn r6_t8b_s2_what_the_fence_says_is_not_enough() {
    shows("ASKS_THE_FENCE");
}

#[test]
fn r6_t9_s2_the_stage_is_written_on_the_version_viewed() {
    shows("STAGE_UNCONDITIONALLY");
}

#[test]
fn r7_t5_s2_a_retirement_fences() {
    shows("NO_FENCE");
}

#[test]
fn r7_t5_s2_a_retirement_fences_before_it_fails() {
    shows("FENCE_LATE");
}

#[test]
fn r7_t6_s2_the_fence_names_the_version_of_the_promotion() {
    shows("FENCE_TWICE_THE_SAME");
}

#[test]
fn r7_t10_s5_the_fence_is_written_on_the_version_viewed() {
    shows("BLIND_FENCE");
}

#[test]
fn r7_s2_only_a_live_read_shows_that_a_stage_is_absent() {
    shows("BELIEVES_IN_ABSENCE");
}

#[test]
fn r8_t11_s5_evidence_comes_before_the_deadline() {
    shows("DEADLINE_FIRST");
}

#[test]
fn r8_t11_s5_evidence_is_the_uid_and_not_the_name() {
    shows("NAME_IS_EVIDENCE");
}

#[test]
fn r9_s2_the_stage_of_an_execution_is_the_one_of_its_start() {
    shows("RESOLVES_AGAIN");
}

#[test]
fn r9_s5_what_was_written_elsewhere_is_not_forgotten() {
    shows("RESOLVES_AGAIN_LOST");
}

#[test]
fn r9_s2_the_start_stores_its_stage() {
    shows("STORES_NO_STAGE");
}

#[test]
fn r10_t12_p13_the_name_is_the_lock_of_creating() {
    shows("GENERATED_NAMES");
}

#[test]
fn r10_p50_a_taken_name_costs_its_number_only() {
    shows("TAKEN_NAME");
}

#[test]
fn r10_t19_s6_hand_made_numbers_count() {
    shows("HAND_MADE");
}

#[test]
fn r11_t13_p13_the_record_names_the_newest_success() {
    shows("NO_R11A");
}

#[test]
fn r11_p13_the_record_of_the_config_before_vouches_for_nothing() {
    shows("FOREIGN_RECORD");
}

#[test]
fn r11_t13_p13_no_number_is_above_the_members() {
    shows("NO_R11B");
}

#[test]
fn r11_p13_a_superseded_newest_member_vouches_for_nothing() {
    shows("NO_R11C");
}

#[test]
fn r11_r13_p13_doubts_are_settled_live() {
    shows("LIVE_READS_CACHED");
}

#[test]
fn r12_t15_p13_a_config_begins_with_its_number_base() {
    shows("NO_NUMBER_BASE");
}

#[test]
fn r13_t14_p13_an_older_view_of_the_source_is_in_doubt() {
    shows("OLD_SOURCE");
}

#[test]
fn r13_p13_an_older_view_of_the_config_is_in_doubt() {
    shows("OLD_CONFIG");
}

#[test]
fn r14_p13_clean_up_waits_for_the_number() {
    shows("CLEANS_UP_FIRST");
}

#[test]
fn r14_p13_the_stored_number_never_falls() {
    shows("NUMBER_FALLS");
}

#[test]
fn s4_what_waits_for_approval_does_not_start() {
    shows("GATE_IS_OPEN");
}

#[test]
fn s4_the_vector_is_the_promotion_s() {
    shows("PRESENT_VECTOR");
}

#[test]
fn s6_t18_somebody_goes_on_with_what_was_begun() {
    shows("NOBODY_GOES_ON");
}

#[test]
fn p23_p22_promotions_are_written_on_the_version_read() {
    shows("PROMOTION_UNCONDITIONALLY");
}

#[test]
fn every_rule_and_every_trace_has_a_variant_and_every_script_its_own() {
    let variants = variants::all();
    let broken: BTreeSet<&str> = variants.iter().flat_map(|variant| variant.rule.split(' ')).collect();
    let of = |letter: char, last: u32| (1..=last).map(move |number| format!("{letter}{number}"));
    let wanted = of('R', 14).chain(of('T', 19)).chain(["T8b".to_owned()]);
    assert_eq!(wanted.filter(|rule| !broken.contains(rule.as_str())).collect::<Vec<_>>(), Vec::<String>::new());
    let fallen: BTreeSet<&str> = variants.iter().map(|variant| variant.violates).collect();
    assert_eq!(
        of('S', 6).filter(|statement| !fallen.contains(statement.as_str())).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    let scripts: Vec<_> = super::scripts::ALL.iter().map(|script| script.variant).collect();
    assert_eq!(scripts, variants.iter().map(|variant| variant.name).collect::<Vec<_>>());
}
