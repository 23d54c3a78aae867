//! Objects stored under the public CRDs keep their meaning: they are accepted as they are, and read.

use konfidence_types::{
    Landscape, SignatureAlgorithm, SourceRef, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate,
};
use kube::core::cel::apply_defaults;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::admission::{assert_accepted, openapi};
use crate::example::a_condition;

/// What a client of ours sees of an object that the public controllers stored.
fn read<K: DeserializeOwned>(stored: &Value) -> K {
    assert_accepted(stored, stored);
    serde_json::from_value(apply_defaults(openapi(stored["kind"].as_str().unwrap()), stored)).unwrap()
}

fn stored(kind: &str, rest: &Value) -> Value {
    let mut object = json!({ "apiVersion": "konfidence.cloud/v1alpha1", "kind": kind, "metadata": { "name": "a", "namespace": "p" } });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

#[test]
fn a_landscape_without_spec() {
    let landscape: Landscape = read(&stored("Landscape", &json!({ "status": { "namespace": "kden-l-a-1" } })));
    assert_eq!(landscape.spec.namespace, None);
    assert_eq!(landscape.status.unwrap().namespace.unwrap(), "kden-l-a-1");
}

#[test]
fn a_stage_with_a_history_and_a_deployment() {
    let stage: Stage = read(&stored(
        "Stage",
        &json!({
            "spec": { "vector": "r//c:1" },
            "status": {
                "conditions": [a_condition("Ready")], "vectorHistory": ["r//c:1"],
                "latestVectorDeploymentRef": { "apiGroup": "konfidence.cloud", "kind": "VectorDeployment", "name": "a-1" },
            },
        }),
    ));
    let status = stage.status.unwrap();
    assert_eq!(status.latest_vector_deployment_ref.unwrap().namespace, None);
    assert_eq!(status.active, None);
}

#[test]
fn a_config_with_nothing_of_ours() {
    let config: VectorPromotionConfig = read(&stored(
        "VectorPromotionConfig",
        &json!({
            "spec": {
                "source": { "kind": "VectorTemplate", "name": "shop" },
                "target": { "kind": "Stage", "name": "dev", "landscape": "eu" },
                "ttlAfterFinished": "1h",
            },
            "status": { "lastPromotionConditions": [a_condition("Succeeded")] },
        }),
    ));
    assert_eq!(config.spec.source, SourceRef::template("shop"));
    assert_eq!(config.spec.keep_last_promotions, 10);
    assert_eq!((config.spec.require_approval, config.spec.suspend), (None, None));
    let status = config.status.unwrap();
    assert_eq!((status.sequence, status.observed_generation), (None, None));
    assert_eq!(status.last_promotion_conditions[0].reason, "SomethingNewer");
}

#[test]
fn a_promotion_in_a_state_and_for_a_reason_that_this_version_does_not_know() {
    let promotion: VectorPromotion = read(&stored(
        "VectorPromotion",
        &json!({
            "spec": {
                "vectorPromotionConfigName": "c", "vector": "r//c:1", "sequence": 0,
                "source": { "kind": "Stage", "name": "dev", "landscape": "eu" },
                "target": { "kind": "Stage", "name": "test", "landscape": "eu" },
            },
            "status": {
                "state": "PausedForLunch", "conditions": [a_condition("Succeeded"), a_condition("example.com/e2e-tests")],
                "approval": { "approvedBy": "ann", "approvedAt": "2026-11-30T12:00:00Z" },
                "promotedStageRef": { "kind": "Stage", "name": "test" },
            },
        }),
    ));
    assert!(!promotion.spec.require_approval);
    let status = promotion.status.unwrap();
    assert_eq!(status.state.unwrap(), "PausedForLunch");
    assert_eq!(status.promoted_stage_ref.unwrap().api_group, "");
    assert_eq!(status.superseded_by, None);
}

#[test]
fn a_template_with_signatures_and_credentials() {
    let template: VectorTemplate = read(&stored(
        "VectorTemplate",
        &json!({
            "spec": {
                "uploadTarget": "https://r//example.com/c", "components": [{ "name": "https://r//example.com/d:latest" }],
                "base": { "kind": "VectorTemplate", "name": "common" }, "reconcileInterval": "5m0s",
                "credentials": { "ocm": { "refs": [{ "name": "registry" }] } },
                "verifyVector": { "signatures": [{ "name": "release" }] },
                "vectorConfig": { "features": { "newCart": true } },
            },
            "status": { "latestVector": "https://r//example.com/c:1", "conditions": [a_condition("Ready")] },
        }),
    ));
    assert_eq!(template.spec.verify_vector.unwrap().signatures[0].algorithm, SignatureAlgorithm::RsassaPss);
    assert_eq!(template.spec.vector_config.unwrap().features.unwrap(), json!({ "newCart": true }));
}
