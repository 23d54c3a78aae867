//! One good object of each kind, and ways to change it in one place.

use konfidence_types::{
    Approval, Component, Landscape, LandscapeSpec, Rejection, SourceRef, Stage, StageSpec, TargetRef, Time,
    VectorPromotion, VectorPromotionConfig, VectorPromotionConfigSpec, VectorPromotionSpec, VectorPromotionStatus,
    VectorTemplate, VectorTemplateSpec,
};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) fn landscape() -> Value {
    json(&Landscape::new("eu", LandscapeSpec::default()))
}

pub(crate) fn stage() -> Value {
    json(&Stage::new("dev", StageSpec { vector: "registry.example/shop//example.com/shop:1".into() }))
}

pub(crate) fn template() -> Value {
    let spec = VectorTemplateSpec {
        upload_target: "registry.example/shop//example.com/shop".into(),
        components: vec![Component { name: "registry.example/cart//example.com/cart:latest".into(), as_: None }],
        ..VectorTemplateSpec::default()
    };
    json(&VectorTemplate::new("shop", spec))
}

/// From a template to a Stage.
pub(crate) fn config() -> Value {
    let spec = VectorPromotionConfigSpec::new(SourceRef::template("shop"), TargetRef::stage("eu", "dev"));
    json(&VectorPromotionConfig::new("shop-to-dev", spec))
}

/// From a Stage to a Stage, waiting for approval.
pub(crate) fn promotion() -> Value {
    let spec = VectorPromotionSpec {
        vector_promotion_config_name: "dev-to-test".into(),
        source: SourceRef::stage("eu", "dev"),
        target: TargetRef::stage("eu", "test"),
        vector: "registry.example/shop//example.com/shop:1".into(),
        require_approval: true,
        sequence: 7,
        ttl_after_finished: None,
    };
    json(&VectorPromotion::new("dev-to-test-7", spec))
}

pub(crate) fn approved(promotion: Value) -> Value {
    let approval = Approval { approved_by: "ann".into(), approved_at: noon() };
    set(promotion, "/status", json(&VectorPromotionStatus { approval: Some(approval), ..Default::default() }))
}

pub(crate) fn rejected(promotion: Value) -> Value {
    let rejection = Rejection { rejected_by: "bob".into(), rejected_at: noon(), reason: "broken".into() };
    set(promotion, "/status", json(&VectorPromotionStatus { rejection: Some(rejection), ..Default::default() }))
}

fn noon() -> Time {
    Time("2026-11-30T12:00:00Z".parse().unwrap())
}

/// The object as it goes over the wire.
pub(crate) fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap()
}

/// The object with that value at that pointer; what is missing on the way is made.
pub(crate) fn set(mut object: Value, pointer: &str, value: impl Into<Value>) -> Value {
    let (parents, last) = pointer.rsplit_once('/').unwrap();
    let mut place = &mut object;
    for key in parents.split('/').skip(1) {
        place = match key.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[key],
        };
    }
    match last.parse::<usize>() {
        Ok(index) => place[index] = value.into(),
        Err(_) => place[last] = value.into(),
    }
    object
}

/// The object without what is at that pointer.
pub(crate) fn without(mut object: Value, pointer: &str) -> Value {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let removed = object.pointer_mut(parent).and_then(Value::as_object_mut).and_then(|map| map.remove(last));
    assert!(removed.is_some(), "nothing at {pointer}");
    object
}

/// The object under another name.
pub(crate) fn named(object: Value, name: &str) -> Value {
    set(object, "/metadata/name", name)
}

/// `length` times the letter a.
pub(crate) fn letters(length: usize) -> String {
    "a".repeat(length)
}

/// Some condition of that type.
pub(crate) fn a_condition(type_: &str) -> Value {
    json!({
        "type": type_, "status": "False", "reason": "SomethingNewer", "message": "",
        "lastTransitionTime": "2026-11-30T12:00:00Z",
    })
}
