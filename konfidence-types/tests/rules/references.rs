//! Source and target references, which configs and promotions share.

use serde_json::json;

use crate::admission::{assert_accepted, assert_refused};
use crate::example::{config, letters, promotion, set, without};

#[test]
fn a_stage_source_needs_a_landscape() {
    for (good, place) in [(set(config(), "/spec/source", dev()), "spec.source"), (promotion(), "spec.source")] {
        let bad = without(good.clone(), "/spec/source/landscape");
        assert_refused(&good, &bad, "landscape must be set exactly when kind is Stage");
        assert_refused(&good, &bad, place);
    }
}

#[test]
fn a_template_source_has_no_landscape() {
    let bad = set(config(), "/spec/source/landscape", "eu");
    assert_refused(&config(), &bad, "spec.source: landscape must be set exactly when kind is Stage");
}

#[test]
fn a_landscape_that_is_null_is_absent() {
    assert_accepted(&config(), &set(config(), "/spec/source/landscape", json!(null)));
}

#[test]
fn kinds_are_those_that_have_a_vector() {
    assert_refused(&config(), &set(config(), "/spec/source/kind", "ConfigMap"), "spec.source.kind");
    assert_refused(&config(), &set(config(), "/spec/target/kind", "VectorTemplate"), "spec.target.kind");
}

#[test]
fn names_have_1_to_253_characters() {
    for end in ["source", "target"] {
        let name = format!("/spec/{end}/name");
        assert_accepted(&config(), &set(config(), &name, letters(253)));
        for bad in [String::new(), letters(254)] {
            assert_refused(&config(), &set(config(), &name, bad), &format!("spec.{end}.name"));
        }
        assert_refused(&config(), &without(config(), &name), &format!("spec.{end}: \"name\" is a required property"));
    }
}

#[test]
fn landscapes_have_1_to_63_characters() {
    for end in ["source", "target"] {
        let good = set(config(), "/spec/source", dev());
        let landscape = format!("/spec/{end}/landscape");
        assert_accepted(&good, &set(good.clone(), &landscape, letters(63)));
        for bad in [String::new(), letters(64)] {
            assert_refused(&good, &set(good.clone(), &landscape, bad), &format!("spec.{end}.landscape"));
        }
    }
}

#[test]
fn a_target_needs_a_landscape() {
    let bad = without(config(), "/spec/target/landscape");
    assert_refused(&config(), &bad, "spec.target: \"landscape\" is a required property");
}

fn dev() -> serde_json::Value {
    json!({ "kind": "Stage", "name": "qa", "landscape": "eu" })
}
