//! The laws of ownership, on random objects and on the cases that people meet.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn schema() -> Structural {
    Structural::parse(&json!({"type": "object", "properties": {
    "metadata": {"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
    "spec": {"type": "object", "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "fixed": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "steps": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "string"},
                "y": {"type": "string"}}}},
    }}}}))
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("an instant")
}

fn applier(name: &str) -> Manager {
    Manager { name: name.into(), applies: true, api_version: "konfidence.cloud/v1".into(), subresource: String::new() }
}

fn updater(name: &str) -> Manager {
    Manager { applies: false, ..applier(name) }
}

fn object(spec: impl Into<Value>) -> Value {
    let spec = spec.into();
    json!({"apiVersion": "konfidence.cloud/v1", "kind": "Menu", "metadata": {"name": "m"}, "spec": spec})
}

fn applied(live: &Value, spec: Value, by: &str) -> Result<Value, Conflicts> {
    apply(live, &object(spec), &schema(), &applier(by), false, now())
}

fn empty() -> Value {
    json!({"apiVersion": "konfidence.cloud/v1", "kind": "Menu", "metadata": {}})
}

fn owners(object: &Value) -> Vec<String> {
    let managed = Managed::of(object);
    managed
        .0
        .iter()
        .flat_map(|entry| {
            entry.fields.paths().into_iter().map(|path| format!("{} {}", entry.manager.name, print(&path)))
        })
        .collect()
}

#[test]
fn a_field_goes_when_its_only_owner_drops_it() {
    let live = applied(&empty(), json!({"a": "x", "b": 1, "map": {"k": "v"}}), "one").expect("no conflict");
    let live = applied(&live, json!({"b": 1}), "one").expect("no conflict");
    assert_eq!(live["spec"], json!({"b": 1}));
}

#[test]
fn a_field_stays_when_another_owner_is_left() {
    let live = applied(&empty(), json!({"a": "x", "b": 1}), "one").expect("no conflict");
    let live = applied(&live, json!({"a": "x"}), "two").expect("the same value is no conflict");
    let live = applied(&live, json!({"b": 1}), "one").expect("no conflict");
    assert_eq!(live["spec"], json!({"a": "x", "b": 1}));
    // Who only took part in what was there has no time of change, and comes first.
    assert_eq!(owners(&live), ["two .spec.a", "one .spec.b"]);
}

#[test]
fn dropping_the_last_label_takes_neither_the_metadata_nor_the_owners() {
    let mut config = object(json!({"a": "x"}));
    config["metadata"]["labels"] = json!({"k": "v"});
    let mut live = apply(&empty(), &config, &schema(), &applier("one"), false, now()).expect("no conflict");
    live["metadata"]["uid"] = "u".into();
    let live = applied(&live, json!({"a": "x"}), "one").expect("no conflict");
    assert_eq!(live["metadata"]["uid"], "u");
    assert_eq!(live["metadata"].get("labels"), None);
    assert_eq!(owners(&live), ["one .spec.a"]);
}

#[test]
fn a_field_that_nobody_applied_is_never_removed() {
    let mut live = object(json!({"a": "x"}));
    track(&empty(), &mut live, &schema(), &updater("editor"), now());
    let live = applied(&live, json!({"b": 1}), "one").expect("no conflict");
    let live = applied(&live, json!({}), "one").expect("no conflict");
    assert_eq!(live["spec"], json!({"a": "x"}));
}

#[test]
fn a_conflict_names_the_owner_and_the_field_as_kubectl_prints_it() {
    let live = applied(&empty(), json!({"a": "x", "steps": [{"name": "s", "x": "1"}]}), "one").expect("no conflict");
    let error: ApiError = applied(&live, json!({"a": "y"}), "two").expect_err("a conflict").into();
    assert_eq!(error.code, 409);
    assert_eq!(error.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.a");
    let many = json!({"a": "y", "steps": [{"name": "s", "x": "2"}]});
    let error: ApiError = applied(&live, many, "two").expect_err("conflicts").into();
    assert_eq!(
        error.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.a\n- .spec.steps[name=\"s\"].x"
    );
}

#[test]
fn a_plain_update_takes_ownership_and_is_named_with_its_version() {
    let live = applied(&empty(), json!({"a": "x"}), "one").expect("no conflict");
    let mut new = live.clone();
    new["spec"]["a"] = json!("y");
    track(&live, &mut new, &schema(), &updater("editor"), now());
    assert_eq!(owners(&new), ["editor .spec.a"]);
    let error: ApiError = applied(&new, json!({"a": "x"}), "one").expect_err("a conflict").into();
    assert_eq!(
        error.message,
        "Apply failed with 1 conflict: conflict with \"editor\" using konfidence.cloud/v1: .spec.a"
    );
}

#[test]
fn a_create_by_update_owns_its_structs_too() {
    let mut new = object(json!({"a": "x", "map": {"k": "v"}}));
    new["metadata"]["labels"] = json!({"app": "menu"});
    track(&empty(), &mut new, &schema(), &updater("kubectl-create"), now());
    assert_eq!(
        new["metadata"]["managedFields"],
        json!([{"manager": "kubectl-create", "operation": "Update", "apiVersion": "konfidence.cloud/v1",
            "time": "2026-03-01T12:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {".": {}, "f:a": {}, "f:map": {".": {}, "f:k": {}}}}}])
    );
}

#[test]
fn atomic_values_have_one_owner_and_keyed_items_have_their_own() {
    let live =
        applied(&empty(), json!({"list": ["x"], "tags": ["a"], "fixed": {"k": "v"}}), "one").expect("no conflict");
    let live = applied(&live, json!({"tags": ["b"], "steps": [{"name": "s"}]}), "two").expect("no conflict");
    assert_eq!(live["spec"]["tags"], json!(["a", "b"]));
    assert_eq!(
        owners(&live),
        [
            "one .spec.fixed",
            "one .spec.list",
            "one .spec.tags[=\"a\"]",
            "two .spec.steps[name=\"s\"]",
            "two .spec.steps[name=\"s\"].name",
            "two .spec.tags[=\"b\"]"
        ]
    );
    assert!(applied(&live, json!({"list": ["x", "y"]}), "two").is_err());
}

#[test]
fn a_reset_of_the_managed_fields_forgets_every_owner() {
    let live = applied(&empty(), json!({"a": "x"}), "one").expect("no conflict");
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{}]);
    track(&live, &mut new, &schema(), &updater("editor"), now());
    assert_eq!(new["metadata"].get("managedFields"), None);
}

#[test]
fn more_than_ten_updaters_are_folded() {
    let mut live = empty();
    for writer in 0..15 {
        let mut new = live.clone();
        new["spec"]["map"][format!("k{writer}")] = json!("v");
        track(&live, &mut new, &schema(), &updater(&format!("w{writer}")), now());
        live = new;
    }
    let managed = Managed::of(&live);
    assert!(managed.0.len() <= 11, "{}", managed.0.len());
    let all = managed.0.iter().map(|entry| entry.fields.paths().len()).sum::<usize>();
    assert!(all >= 15, "no field has lost its owner");
}

fn spec() -> impl Strategy<Value = Value> {
    let word = || prop_oneof![Just("x"), Just("y"), Just("z")];
    let step = (word(), proptest::option::of(word()), proptest::option::of(word())).prop_map(|(name, x, y)| {
        let mut step = json!({"name": name});
        if let Some(x) = x {
            step["x"] = x.into();
        }
        if let Some(y) = y {
            step["y"] = y.into();
        }
        step
    });
    (
        proptest::option::of(word()),
        proptest::option::of(0..3_i32),
        proptest::option::of(proptest::collection::btree_map(word().prop_map(str::to_owned), word(), 1..3)),
        proptest::option::of(proptest::collection::vec(word(), 0..3)),
        proptest::option::of(proptest::collection::btree_set(word(), 1..3)),
        proptest::option::of(proptest::collection::vec(step, 1..4)),
    )
        .prop_map(|(a, b, map, list, tags, steps)| {
            let mut spec = json!({});
            if let Some(a) = a {
                spec["a"] = a.into();
            }
            if let Some(b) = b {
                spec["b"] = b.into();
            }
            if let Some(map) = map {
                spec["map"] = json!(map);
            }
            if let Some(list) = list {
                spec["list"] = json!(list);
            }
            if let Some(tags) = tags {
                spec["tags"] = json!(tags);
            }
            if let Some(mut steps) = steps {
                steps.sort_by_key(|step| step["name"].to_string());
                steps.dedup_by_key(|step| step["name"].to_string());
                spec["steps"] = json!(steps);
            }
            spec
        })
}

proptest! {
    #[test]
    fn applying_the_same_again_changes_nothing(first in spec(), second in spec()) {
        let live = applied(&empty(), first, "one").expect("no conflict on a new object");
        let config = object(second);
        let live = apply(&live, &config, &schema(), &applier("two"), true, now()).expect("forced");
        let later = now() + jiff::SignedDuration::from_secs(60);
        let again = apply(&live, &config, &schema(), &applier("two"), false, later).expect("no conflict with oneself");
        prop_assert_eq!(again, live);
    }

    #[test]
    fn the_only_applier_decides_alone_what_is_there(first in spec(), second in spec()) {
        let live = applied(&empty(), first, "one").expect("no conflict on a new object");
        let live = applied(&live, second.clone(), "one").expect("no conflict with oneself");
        let fresh = applied(&empty(), second, "one").expect("no conflict on a new object");
        prop_assert_eq!(fields_of(&bare(&live), &schema()), fields_of(&bare(&fresh), &schema()));
    }

    #[test]
    fn a_dropped_field_goes_exactly_when_its_dropper_was_the_only_owner(first in spec(), second in spec()) {
        let live = applied(&empty(), first, "one").expect("no conflict on a new object");
        let config = object(second);
        let live = apply(&live, &config, &schema(), &applier("two"), true, now()).expect("forced");
        let left = applied(&live, json!({}), "one").expect("saying nothing conflicts with nobody");
        let wanted = fields_of(&config, &schema()).difference(&nobodys());
        let present = fields_of(&bare(&left), &schema());
        // Everything that the other wants is there, and no value but the other's is left.
        prop_assert!(wanted.difference(&present).is_empty());
        let leaf_owned = with_named_parents(&wanted, Some(&schema()));
        let extra = present.difference(&leaf_owned).difference(&nobodys());
        prop_assert!(extra.is_empty() , "{:?} stayed", extra.paths());
    }

    #[test]
    fn another_value_of_an_owned_field_is_a_conflict_unless_forced(first in spec(), second in spec()) {
        let live = applied(&empty(), first, "one").expect("no conflict on a new object");
        let config = object(second);
        let forced = apply(&live, &config, &schema(), &applier("two"), true, now()).expect("forced");
        let changes = compare(&bare(&live), &bare(&forced), &schema());
        let owned = Managed::of(&live).get(&applier("one")).map(|entry| entry.fields.clone()).unwrap_or_default();
        let contested = owned.intersection(&changes.modified);
        let plain = apply(&live, &config, &schema(), &applier("two"), false, now());
        prop_assert_eq!(plain.is_err(), !contested.is_empty());
        // Forced or not, everything that was said is now what is there.
        let merged = merge::merge(&bare(&forced), &config, Some(&schema()));
        prop_assert_eq!(merged, bare(&forced));
    }

    #[test]
    fn owners_own_all_that_they_said_and_nothing_else(first in spec(), second in spec()) {
        let live = applied(&empty(), first, "one").expect("no conflict on a new object");
        let config = object(second);
        let live = apply(&live, &config, &schema(), &applier("two"), true, now()).expect("forced");
        let wanted = fields_of(&config, &schema()).difference(&nobodys());
        let owned = Managed::of(&live).get(&applier("two")).map(|entry| entry.fields.clone()).unwrap_or_default();
        prop_assert_eq!(owned, wanted);
    }
}
