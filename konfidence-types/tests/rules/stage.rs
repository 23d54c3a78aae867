use serde_json::json;

use crate::admission::{assert_accepted, assert_refused, create};
use crate::example::{a_condition, letters, named, set, stage, without};

#[test]
fn the_name_has_at_most_49_characters() {
    assert_eq!(create(&named(stage(), &letters(49))), [""; 0]);
    assert_refused(&stage(), &named(stage(), &letters(50)), "stage name must be at most 49 characters");
}

#[test]
fn the_name_is_a_dns_label() {
    assert_eq!(create(&named(stage(), "3-dev")), [""; 0]);
    assert_refused(&stage(), &named(stage(), "dev.eu"), "stage name must be a DNS label");
}

#[test]
fn the_vector_is_required_and_may_be_empty() {
    assert_accepted(&stage(), &set(stage(), "/spec/vector", ""));
    assert_refused(&stage(), &without(stage(), "/spec/vector"), "spec: \"vector\" is a required property");
    assert_refused(&stage(), &set(stage(), "/spec/vector", letters(4097)), "spec.vector");
}

#[test]
fn the_active_record_is_whole_or_absent() {
    let active = json!({
        "stageVersion": "dev-1", "vectorDeployment": "dev-1", "vector": "shop:1", "stageGeneration": 1,
        "activatedAt": "2026-11-30T12:00:00Z",
        "rules": [{ "name": "shop", "component": "example.com/shop", "service": "shop-1", "port": 80, "rewrite": "Strip" }],
    });
    let good = set(stage(), "/status", json!({ "active": active }));
    assert_accepted(&stage(), &good);
    assert_refused(&good, &without(good.clone(), "/status/active/vector"), "status.active: \"vector\"");
    assert_refused(&good, &set(good.clone(), "/status/active/rules/0/port", 0), "status.active.rules.0.port");
    assert_refused(
        &good,
        &set(good.clone(), "/status/active/rules/0/rewrite", "Maybe"),
        "status.active.rules.0.rewrite",
    );
    assert_refused(&good, &set(good.clone(), "/status/active/stageGeneration", 0), "status.active.stageGeneration");
    let rules: Vec<_> = (0..17).map(|_| good["status"]["active"]["rules"][0].clone()).collect();
    assert_refused(&good, &set(good.clone(), "/status/active/rules", rules), "status.active.rules");
}

#[test]
fn a_condition_has_a_status_that_kubernetes_knows() {
    let good = set(stage(), "/status", json!({ "conditions": [a_condition("Ready")] }));
    assert_refused(&good, &set(good.clone(), "/status/conditions/0/status", "Maybe"), "status.conditions.0.status");
    assert_refused(&good, &set(good.clone(), "/status/conditions/0/reason", ""), "status.conditions.0.reason");
}
