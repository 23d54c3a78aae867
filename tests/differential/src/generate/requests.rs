//! Requests in the order of a life: most objects are made before they are changed, and end at some time.

use serde_json::{Value, json};

use super::dice::Dice;
use super::objects;
use crate::case::{Compare, Step, Until};

const COLLECTIONS: &[&str] =
    &["${loaves}", "${loaves}", "${loaves}", "${core}/configmaps", "${core}/secrets", "${leases}", "${ours}/stages"];
const NAMES: &[&str] = &["a", "a", "b", "Bad_Name"];

const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A life of about so many requests.
pub(super) fn life(dice: &mut Dice, length: usize) -> Vec<Step> {
    let collection = dice.one(COLLECTIONS);
    let begin = Step {
        save: vec![("from".into(), "/metadata/resourceVersion".into())],
        compare: Compare::Nothing,
        ..step("GET", collection, "")
    };
    let mut steps = vec![begin, create(dice, collection, "a")];
    for _ in 0..length {
        let name = dice.one(NAMES);
        match dice.below(20) {
            0..=2 => steps.push(create(dice, collection, name)),
            3..=5 => steps.push(update(dice, collection, name)),
            6..=8 => steps.push(merge(dice, collection, name)),
            9 => steps.push(json_patch(dice, collection, name)),
            10..=12 => steps.push(apply(dice, collection, name)),
            13..=14 => steps.push(part(dice, collection, name)),
            15 => steps.push(read(dice, collection, name)),
            16..=17 => steps.extend(list(dice, collection)),
            _ => steps.extend(delete(dice, collection, name)),
        }
    }
    let selector = dice.one(&["", "", "&labelSelector=app=menu", "&fieldSelector=metadata.name=a"]);
    let watch = format!("{collection}?watch=true&resourceVersion=${{from}}&timeoutSeconds=1{selector}");
    let form = dice.one(&["application/json", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"]);
    steps.push(Step { headers: vec![("accept".into(), form.to_owned())], ..step("GET", &watch, "") });
    steps
}

fn step(method: &str, path: &str, body: &str) -> Step {
    Step { method: method.into(), path: path.into(), body: body.into(), repeat: 1, ..Step::default() }
}

fn patch(path: &str, media_type: &str, body: &Value) -> Step {
    let headers = vec![("content-type".into(), media_type.into())];
    let save = vec![("version".into(), "/metadata/resourceVersion".into())];
    Step { headers, save, ..step("PATCH", path, &body.to_string()) }
}

/// What the query of a write may say.
fn query(dice: &mut Dice) -> String {
    let mut parts = Vec::new();
    if dice.happens(12) {
        parts.push("dryRun=All");
    }
    if dice.happens(20) {
        parts.push(dice.one(&["fieldValidation=Strict", "fieldValidation=Ignore", "fieldValidation=Warn"]));
    }
    if dice.happens(50) {
        parts.push(dice.one(&["fieldManager=anna", "fieldManager=bert"]));
    }
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
}

fn object(dice: &mut Dice, collection: &str, name: &str) -> Value {
    if collection == "${loaves}" { objects::loaf(dice, name) } else { objects::other(dice, collection, name) }
}

fn create(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let body = object(dice, collection, name).to_string();
    let save = vec![("version".into(), "/metadata/resourceVersion".into())];
    Step { save, ..step("POST", &format!("{collection}{}", query(dice)), &body) }
}

fn update(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let mut body = object(dice, collection, name);
    if dice.happens(80) {
        body["metadata"]["resourceVersion"] = "${version}".into();
    }
    let save = vec![("version".into(), "/metadata/resourceVersion".into())];
    // A pretended lease that an update would make keeps the version that was sent, on a real server.
    let query = if collection == "${leases}" { String::new() } else { query(dice) };
    Step { save, ..step("PUT", &format!("{collection}/{name}{query}"), &body.to_string()) }
}

fn merge(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let mut body = json!({});
    if collection == "${loaves}" && dice.happens(80) {
        body["spec"] = objects::spec(dice, 3).into();
    } else if dice.happens(50) {
        let mut other = object(dice, collection, name);
        for field in ["spec", "data"] {
            if !other[field].is_null() {
                body[field] = other[field].take();
            }
        }
    }
    if dice.happens(30) {
        body["metadata"] = objects::metadata(dice, name).into();
    }
    let media_type = if collection.starts_with("${core}") && dice.happens(50) { STRATEGIC } else { MERGE };
    patch(&format!("{collection}/{name}{}", query(dice)), media_type, &body)
}

fn json_patch(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let body = dice.one(&[
        r#"[{"op": "add", "path": "/metadata/labels", "value": {"app": "menu"}}]"#,
        r#"[{"op": "remove", "path": "/metadata/labels"}]"#,
        r#"[{"op": "replace", "path": "/spec/flour", "value": "spelt"}]"#,
        r#"[{"op": "test", "path": "/spec/flour", "value": "rye"}, {"op": "add", "path": "/spec/note", "value": "x"}]"#,
        "[]",
        "{}",
    ]);
    let headers = vec![("content-type".into(), JSON.into())];
    Step { headers, ..step("PATCH", &format!("{collection}/{name}{}", query(dice)), body) }
}

fn apply(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let mut body = object(dice, collection, name);
    if collection == "${loaves}" && dice.happens(50) {
        body["spec"] = objects::spec(dice, 3).into();
        body["spec"]["flour"] = dice.one(&["rye", "oat"]).into();
    }
    // A field that no schema names is refused alone, whatever else is wrong, in an order that is a hash map's.
    for part in ["spec", "metadata"] {
        if let Some(fields) = body.get_mut(part).and_then(Value::as_object_mut) {
            fields.retain(|name, _| name != "typo" && name != "lables");
        }
    }
    let manager = dice.one(&["anna", "bert", "carl"]);
    let force = dice.one(&["", "", "&force=true", "&force=false"]);
    let dry_run = if dice.happens(10) { "&dryRun=All" } else { "" };
    patch(&format!("{collection}/{name}?fieldManager={manager}{force}{dry_run}"), APPLY, &body)
}

/// The status, and the scale.
fn part(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let path = format!("{collection}/{name}");
    match dice.below(4) {
        0 => step("GET", &format!("{path}/scale"), ""),
        1 => {
            let manager = dice.one(&["anna", "dora"]);
            let body = json!({"apiVersion": "bakery.example/v1", "kind": "Loaf", "metadata": {"name": name},
                "status": objects::status(dice)});
            patch(&format!("{path}/status?fieldManager={manager}"), APPLY, &body)
        }
        _ => patch(&format!("{path}/status{}", query(dice)), MERGE, &json!({"status": objects::status(dice)})),
    }
}

fn accept(dice: &mut Dice) -> Vec<(String, String)> {
    let form = dice.one(&[
        "application/json",
        "application/json",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
        "application/vnd.kubernetes.protobuf;q=0.1,application/json",
        "text/html",
    ]);
    vec![("accept".into(), form.to_owned())]
}

fn read(dice: &mut Dice, collection: &str, name: &str) -> Step {
    let version = dice.one(&["", "", "?resourceVersion=nonsense"]);
    step("GET", &format!("{collection}/{name}{version}"), "")
}

fn list(dice: &mut Dice, collection: &str) -> Vec<Step> {
    let query = dice.one(&[
        "",
        "?labelSelector=app=menu",
        "?labelSelector=app in (menu,other),tier",
        "?labelSelector=!app",
        "?labelSelector=a b",
        "?fieldSelector=metadata.name=a",
        "?fieldSelector=metadata.name!=a",
        "?fieldSelector=spec.none=a",
        "?limit=1",
        "?limit=1&labelSelector=app",
        "?resourceVersion=${from}&resourceVersionMatch=Exact",
        "?resourceVersion=${from}&resourceVersionMatch=NotOlderThan",
        "?resourceVersionMatch=Exact",
        "?continue=nonsense",
    ]);
    let list = Step { headers: accept(dice), ..step("GET", &format!("{collection}{query}"), "") };
    if !query.ends_with("NotOlderThan") {
        return vec![list];
    }
    // The cache of the real server may be a write behind; a list of now makes it catch up.
    vec![Step { compare: Compare::Nothing, ..step("GET", collection, "") }, list]
}

/// A delete; one that the collector of a real server has to finish is waited for.
fn delete(dice: &mut Dice, collection: &str, name: &str) -> Vec<Step> {
    let path = format!("{collection}/{name}");
    let body = match dice.below(8) {
        0 => r#"{"preconditions": {"uid": "7d444840-9dc0-11d1-b245-5ffdce74fad2"}}"#,
        1 => r#"{"preconditions": {"resourceVersion": "1"}}"#,
        2 => r#"{"propagationPolicy": "Background"}"#,
        3 => r#"{"propagationPolicy": "Nonsense"}"#,
        4 => r#"{"dryRun": ["All"]}"#,
        5 => {
            let policy = dice.one(&["Foreground", "Orphan"]);
            let gone = Step { until: Some(Until::Code(404)), compare: Compare::Nothing, ..step("GET", &path, "") };
            let quiet =
                Step { compare: Compare::Code, ..step("DELETE", &format!("{path}?propagationPolicy={policy}"), "") };
            return vec![quiet, gone];
        }
        _ => "",
    };
    vec![step("DELETE", &path, body)]
}
