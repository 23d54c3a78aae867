//! assembly.md, section 1.

use serde_json::{Value, json};

use crate::admission::{assert_accepted, assert_refused};
use crate::example::{letters, set, template, without};

fn signed(signature: &Value) -> Value {
    set(template(), "/spec/verifyVector", json!({ "signatures": [signature] }))
}

#[test]
fn the_upload_target_has_1_to_1024_characters_and_may_change() {
    assert_accepted(&template(), &set(template(), "/spec/uploadTarget", letters(1024)));
    for bad in [String::new(), letters(1025)] {
        assert_refused(&template(), &set(template(), "/spec/uploadTarget", bad), "spec.uploadTarget");
    }
    assert_refused(&template(), &without(template(), "/spec/uploadTarget"), "\"uploadTarget\" is a required property");
}

#[test]
fn there_are_1_to_1024_components() {
    let component = template()["spec"]["components"][0].clone();
    assert_accepted(&template(), &set(template(), "/spec/components", vec![component.clone(); 1024]));
    for bad in [vec![], vec![component; 1025]] {
        assert_refused(&template(), &set(template(), "/spec/components", bad), "spec.components");
    }
}

#[test]
fn a_component_has_a_reference_and_maybe_a_name_that_is_a_dns_label() {
    assert_accepted(&template(), &set(template(), "/spec/components/0/as", "cart"));
    for bad in [String::new(), "Cart".into(), "example.com/cart".into(), letters(64)] {
        assert_refused(&template(), &set(template(), "/spec/components/0/as", bad), "spec.components.0.as");
    }
    for bad in [String::new(), letters(1025)] {
        assert_refused(&template(), &set(template(), "/spec/components/0/name", bad), "spec.components.0.name");
    }
}

#[test]
fn a_base_is_a_template_of_the_namespace() {
    let good = set(template(), "/spec/base", json!({ "name": "common" }));
    assert_accepted(&template(), &good);
    assert_refused(&good, &set(good.clone(), "/spec/base/kind", "Stage"), "spec.base.kind");
    assert_refused(&good, &set(good.clone(), "/spec/base/name", ""), "spec.base.name");
    assert_refused(&good, &set(good.clone(), "/spec/base/name", letters(254)), "spec.base.name");
}

#[test]
fn credentials_name_1_to_16_secrets() {
    let good = set(template(), "/spec/credentials", json!({ "ocm": { "refs": [{ "name": "registry" }] } }));
    assert_accepted(&template(), &good);
    let bad = set(good.clone(), "/spec/credentials", json!({}));
    assert_refused(&good, &bad, "spec.credentials: credentials.ocm must be set");
    for bad in [vec![], vec![json!({ "name": "registry" }); 17]] {
        assert_refused(&good, &set(good.clone(), "/spec/credentials/ocm/refs", bad), "spec.credentials.ocm.refs");
    }
    let bad = set(good.clone(), "/spec/credentials/ocm/refs/0/name", "");
    assert_refused(&good, &bad, "spec.credentials.ocm.refs.0.name");
}

#[test]
fn a_signature_policy_wants_something() {
    for field in ["verifyArtifacts", "verifyVector", "signVector"] {
        let policy = format!("/spec/{field}");
        for good in
            [json!({ "signatures": [{ "name": "a" }] }), json!({ "cosign": { "secretRef": { "name": "key" } } })]
        {
            assert_accepted(&template(), &set(template(), &policy, good));
        }
        let words = format!("spec.{field}: at least one of signatures and cosign must be set");
        assert_refused(&template(), &set(template(), &policy, json!({})), &words);
        let words = format!("spec.{field}.signatures");
        assert_refused(&template(), &set(template(), &policy, json!({ "signatures": [] })), &words);
        let words = format!("spec.{field}.cosign.secretRef.name");
        let nameless = json!({ "cosign": { "secretRef": { "name": "" } } });
        assert_refused(&template(), &set(template(), &policy, nameless), &words);
    }
}

#[test]
fn names_of_signatures_are_unique_in_their_list() {
    let two = |first: &str, second: &str| {
        set(template(), "/spec/signVector", json!({ "signatures": [{ "name": first }, { "name": second }] }))
    };
    assert_refused(&two("a", "b"), &two("a", "a"), "spec.signVector.signatures: signatures must have unique names");
}

#[test]
fn a_signature_is_made_in_one_of_the_ways_that_exist() {
    let good = signed(&json!({
        "name": "release", "algorithm": "RSASSA-PKCS1-V1_5", "hashAlgorithm": "SHA-512", "issuer": "CN=ca",
        "signatureMediaType": "application/vnd.ocm.signature.rsa", "normalisationAlgorithm": "jsonNormalisation/v4alpha1",
    }));
    assert_accepted(&template(), &good);
    for field in ["name", "algorithm", "hashAlgorithm", "issuer", "signatureMediaType", "normalisationAlgorithm"] {
        let bad = set(good.clone(), &format!("/spec/verifyVector/signatures/0/{field}"), "");
        assert_refused(&good, &bad, &format!("spec.verifyVector.signatures.0.{field}"));
    }
}

#[test]
fn a_vector_config_is_any_json() {
    for any in [json!({ "a": [1, null, { "b": true }] }), json!([1]), json!("text"), json!(7)] {
        assert_accepted(
            &template(),
            &set(template(), "/spec/vectorConfig", json!({ "features": any, "authored": any })),
        );
    }
}

#[test]
fn settle_is_at_most_10_minutes() {
    for good in ["0s", "10m", "600s", "1500µs"] {
        assert_accepted(&template(), &set(template(), "/spec/settle", good));
    }
    for bad in ["10m1ns", "1h", "9999999h"] {
        assert_refused(&template(), &set(template(), "/spec/settle", bad), "spec.settle: settle must be at most 10m");
    }
}

#[test]
fn changes_hold_at_most_32_entries() {
    let entry = json!({ "name": "cart", "change": "Mutated", "from": "1", "to": "2" });
    let with =
        |entries: usize| set(template(), "/status", json!({ "changes": { "entries": vec![entry.clone(); entries] } }));
    assert_refused(&with(32), &with(33), "status.changes.entries");
}
