use konfidence_types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
use serde_json::{Value, json};

use crate::admission::{assert_accepted, assert_refused};
use crate::example::{config, set, without};

fn stage(landscape: &str, name: &str) -> Value {
    json!({ "kind": "Stage", "landscape": landscape, "name": name })
}

#[test]
fn a_stage_is_not_promoted_to_itself() {
    let good = set(config(), "/spec/source", stage("eu", "qa"));
    let bad = set(config(), "/spec/source", stage("eu", "dev"));
    assert_refused(&good, &bad, "spec: source must not be the target's own Stage");
}

#[test]
fn equal_names_in_other_landscapes_or_kinds_are_other_objects() {
    assert_accepted(&config(), &set(config(), "/spec/source", stage("us", "dev")));
    assert_accepted(&config(), &set(config(), "/spec/source/name", "dev"));
}

#[test]
fn spec_source_and_target_are_required() {
    assert_refused(&config(), &without(config(), "/spec"), "\"spec\" is a required property");
    assert_refused(&config(), &without(config(), "/spec/source"), "spec: \"source\" is a required property");
    assert_refused(&config(), &without(config(), "/spec/target"), "spec: \"target\" is a required property");
}

#[test]
fn keep_last_promotions_is_at_least_0() {
    assert_accepted(&config(), &set(config(), "/spec/keepLastPromotions", 0));
    assert_refused(&config(), &set(config(), "/spec/keepLastPromotions", -1), "spec.keepLastPromotions");
}

#[test]
fn keep_last_promotions_is_10_when_absent() {
    let spec = &crate::admission::openapi("VectorPromotionConfig")["properties"]["spec"];
    assert_eq!(spec["properties"]["keepLastPromotions"]["default"], json!(10));
    assert_accepted(&config(), &without(config(), "/spec/keepLastPromotions"));
}

#[test]
fn everything_in_a_config_may_change() {
    let changed = json!({
        "source": stage("us", "qa"), "target": stage("us", "prod"), "ttlAfterFinished": "24h",
        "keepLastPromotions": 3, "requireApproval": false, "suspend": true,
    });
    assert_accepted(&config(), &set(config(), "/spec", changed));
}

#[test]
fn a_client_can_ask_the_rules_itself() {
    let spec = VectorPromotionConfigSpec::new(SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "dev"));
    let config = VectorPromotionConfig::new("dev-to-dev", spec);
    let refusal = config.validate_cel().unwrap_err().to_string();
    assert!(refusal.contains("spec: source must not be the target's own Stage"), "{refusal}");
}
