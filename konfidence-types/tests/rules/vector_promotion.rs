use konfidence_types::MAX_SEQUENCE;
use serde_json::{Value, json};

use crate::admission::{assert_accepted, assert_immutable, assert_refused, update};
use crate::example::{a_condition, approved, letters, promotion, rejected, set, without};

#[test]
fn p19_what_was_approved_is_immutable() {
    for (field, other) in [
        ("vectorPromotionConfigName", json!("another")),
        ("source", json!({ "kind": "VectorTemplate", "name": "shop" })),
        ("target", json!({ "kind": "Stage", "name": "prod", "landscape": "eu" })),
        ("vector", json!("registry.example/shop//example.com/shop:2")),
        ("sequence", json!(8)),
    ] {
        let changed = set(promotion(), &format!("/spec/{field}"), other);
        assert_immutable(&promotion(), &changed, &format!("spec.{field}: {field} is immutable"));
    }
}

#[test]
fn p19_parts_of_the_references_are_immutable() {
    for (pointer, field) in [("/spec/source/landscape", "source"), ("/spec/target/name", "target")] {
        assert_immutable(&promotion(), &set(promotion(), pointer, "other"), &format!("{field} is immutable"));
    }
}

#[test]
fn require_approval_is_immutable_also_from_true_to_absent() {
    let words = "requireApproval is immutable";
    assert_immutable(&promotion(), &set(promotion(), "/spec/requireApproval", false), words);
    assert_immutable(&promotion(), &without(promotion(), "/spec/requireApproval"), words);
    assert_immutable(&promotion(), &set(promotion(), "/spec/requireApproval", json!(null)), words);
    let automatic = without(promotion(), "/spec/requireApproval");
    assert_immutable(&automatic, &promotion(), words);
    assert_accepted(&automatic, &set(promotion(), "/spec/requireApproval", false));
}

#[test]
fn the_ttl_may_change() {
    let kept = set(promotion(), "/spec/ttlAfterFinished", "24h");
    assert_accepted(&promotion(), &kept);
    assert_accepted(&kept, &promotion());
}

#[test]
fn fields_that_say_what_goes_where_are_required() {
    for field in ["vectorPromotionConfigName", "source", "target", "vector", "sequence"] {
        let bad = without(promotion(), &format!("/spec/{field}"));
        assert_refused(&promotion(), &bad, &format!("spec: \"{field}\" is a required property"));
    }
}

#[test]
fn the_config_name_has_1_to_253_characters() {
    for bad in [String::new(), letters(254)] {
        let bad = set(promotion(), "/spec/vectorPromotionConfigName", bad);
        assert_refused(&promotion(), &bad, "spec.vectorPromotionConfigName");
    }
}

#[test]
fn the_vector_is_not_empty() {
    for bad in [String::new(), letters(4097)] {
        assert_refused(&promotion(), &set(promotion(), "/spec/vector", bad), "spec.vector");
    }
}

#[test]
fn the_sequence_is_between_0_and_2_to_the_53_minus_1() {
    for good in [0, MAX_SEQUENCE] {
        assert_eq!(crate::admission::create(&set(promotion(), "/spec/sequence", good)), [""; 0]);
    }
    for bad in [-1, MAX_SEQUENCE + 1] {
        assert_refused(&promotion(), &set(promotion(), "/spec/sequence", bad), "spec.sequence");
    }
}

#[test]
fn p15_the_approval_is_set_at_most_once() {
    assert_accepted(&promotion(), &approved(promotion()));
    assert_set_once(&approved(promotion()), "approval", "/status/approval/approvedBy");
}

#[test]
fn p18_the_rejection_is_set_at_most_once() {
    assert_accepted(&promotion(), &rejected(promotion()));
    assert_set_once(&rejected(promotion()), "rejection", "/status/rejection/reason");
}

fn assert_set_once(decided: &Value, field: &str, part: &str) {
    let words = format!("status.{field} is set at most once: it can be neither changed nor removed");
    assert_immutable(decided, &set(decided.clone(), part, "somebody else"), &words);
    assert_immutable(decided, &without(decided.clone(), &format!("/status/{field}")), &words);
    assert_immutable(decided, &without(decided.clone(), "/status"), &words);
    assert!(!update(decided, &set(decided.clone(), "/status", json!(null))).is_empty());
    assert_accepted(decided, &set(decided.clone(), "/status/state", "Ready"));
}

#[test]
fn whoever_approves_or_rejects_has_a_name() {
    let bad = set(approved(promotion()), "/status/approval/approvedBy", "");
    assert_refused(&promotion(), &bad, "status.approval.approvedBy");
    let bad = set(rejected(promotion()), "/status/rejection/rejectedBy", "");
    assert_refused(&promotion(), &bad, "status.rejection.rejectedBy");
}

#[test]
fn when_was_approved_is_a_time() {
    let bad = set(approved(promotion()), "/status/approval/approvedAt", "noon");
    assert_refused(&promotion(), &bad, "status.approval.approvedAt");
}

#[test]
fn states_and_reasons_of_newer_versions_are_accepted() {
    let newer = set(promotion(), "/status", json!({ "state": "Soaking", "conditions": [a_condition("Succeeded")] }));
    assert_accepted(&promotion(), &newer);
}
