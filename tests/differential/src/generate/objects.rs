//! Objects, good and bad.

use serde_json::{Map, Value, json};

use super::dice::Dice;

/// Fields of a loaf's spec with values of which the first half is legal.
const LOAF: &[(&str, &[&str])] = &[
    ("name", &["\"ok\"", "\"abc\"", "\"UPPER\"", "\"toolongname\""]),
    ("grams", &["1", "500", "0", "\"x\"", "5001"]),
    ("weight", &["5", "10", "7", "null"]),
    ("price", &["2.5", "99.5", "0", "100"]),
    ("vegan", &["true", "false", "5", "null"]),
    ("grain", &["\"fine\"", "\"coarse\"", "\"medium\"", "null"]),
    ("level", &["1", "3", "9", "\"1\""]),
    ("port", &["80", "\"http\"", "1.5", "{}"]),
    ("amount", &["10", "\"10%\"", "\"x\"", "true"]),
    ("note", &["\"a\"", "null", "5", "[]"]),
    ("replicas", &["0", "3", "-1", "\"x\""]),
    ("min", &["1", "2", "9", "1.5"]),
    ("max", &["5", "8", "0", "\"x\""]),
    ("forbidden", &["\"no\"", "\"ok\"", "\"yes\"", "\"muchtoolong\""]),
    ("needsName", &["false", "true", "\"x\"", "5"]),
    ("sealed", &["\"s\"", "\"t\"", "5", "\"muchtoolongtobesealed\""]),
    ("grows", &["5", "6", "1", "\"x\""]),
    ("quantity", &["\"1Gi\"", "\"5\"", "\"x\"", "5"]),
    ("free", &["{\"a\": 1}", "{\"known\": \"x\", \"b\": [1]}", "{\"known\": 5}", "[]"]),
    ("anything", &["1", "{\"a\": {\"b\": null}}", "[1, \"x\"]", "\"x\""]),
    ("tags", &["[\"a\"]", "[\"a\", \"b\"]", "[\"a\", \"a\"]", "[]"]),
    (
        "steps",
        &[
            "[{\"name\": \"knead\"}]",
            "[{\"name\": \"knead\", \"minutes\": 5}, {\"name\": \"bake\", \"tools\": [\"oven\"]}]",
            "[{\"name\": \"a\"}, {\"name\": \"a\"}]",
            "[{\"minutes\": 700, \"name\": \"x\"}]",
            "[{}]",
        ],
    ),
    ("order", &["[{\"id\": \"a\"}]", "[{\"id\": \"b\", \"n\": 1}]", "[{\"n\": -1}]", "[5]"]),
    ("plain", &["[1, 2]", "[]", "[-1]", "[\"x\"]"]),
    ("labels", &["{\"a\": \"1\"}", "{\"a\": \"2\", \"b.c/d\": \"x\"}", "{\"a\": \"toolong\"}", "{\"a\": 5}"]),
    (
        "shops",
        &["{\"n\": {\"city\": \"x\"}}", "{\"s\": {\"city\": \"y\", \"open\": false}}", "{\"n\": {}}", "{\"n\": 1}"],
    ),
    ("atom", &["{\"a\": \"1\"}", "{\"b\": \"2\"}", "{\"c\": \"3\"}", "5"]),
    ("oneOf", &["{\"a\": \"1\"}", "{\"b\": \"1\"}", "{}", "{\"a\": \"1\", \"b\": \"2\"}"]),
    ("anyOf", &["{\"a\": \"1\"}", "{\"a\": \"1\", \"b\": \"2\"}", "{}", "5"]),
    ("allOf", &["\"abc\"", "\"ab\"", "\"x\"", "\"abcde\""]),
    ("notX", &["\"y\"", "\"z\"", "\"x\"", "5"]),
    ("formats", &["{\"ipv4\": \"1.2.3.4\"}", "{\"duration\": \"1h\"}", "{\"ipv4\": \"x\"}", "{\"date\": \"x\"}"]),
    (
        "template",
        &[
            "{\"apiVersion\": \"v1\", \"kind\": \"X\"}",
            "{\"apiVersion\": \"v1\", \"kind\": \"Y\", \"z\": 1}",
            "{}",
            "5",
        ],
    ),
    ("typo", &["1", "{}", "\"x\"", "null"]),
];

const LABELS: &[&str] = &[
    "{\"app\": \"menu\"}",
    "{\"app\": \"other\", \"tier\": \"1\"}",
    "{\"tier\": \"2\"}",
    "{\"app\": \"\"}",
    "{\"a b\": \"c\"}",
    "{\"app\": \"not ok!\"}",
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// One value of a pool: one of the first half, and now and then any.
fn drawn(dice: &mut Dice, pool: &[&str]) -> Value {
    let good = pool.get(..pool.len().div_ceil(2)).unwrap_or(pool);
    let pool = if dice.happens(12) { pool } else { good };
    parsed(dice.one(pool))
}

/// The metadata of an object of this name.
pub(super) fn metadata(dice: &mut Dice, name: &str) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("name".into(), name.into());
    if dice.happens(40) {
        metadata.insert("labels".into(), drawn(dice, LABELS));
    }
    if dice.happens(10) {
        metadata.insert("annotations".into(), json!({"note": dice.one(&["x", "y", ""])}));
    }
    if dice.happens(4) {
        metadata.insert("lables".into(), json!({}));
    }
    metadata
}

/// Some fields of a loaf's spec.
pub(super) fn spec(dice: &mut Dice, most: usize) -> Map<String, Value> {
    let mut spec = Map::new();
    for _ in 0..dice.below(most + 1) {
        let at = dice.below(LOAF.len());
        if let Some((name, pool)) = LOAF.get(at) {
            spec.insert((*name).to_owned(), drawn(dice, pool));
        }
    }
    spec
}

/// A whole loaf.
pub(super) fn loaf(dice: &mut Dice, name: &str) -> Value {
    let mut spec = spec(dice, 5);
    if dice.happens(95) {
        spec.insert("flour".into(), drawn(dice, &["\"rye\"", "\"oat\"", "\"spelt\"", "\"\"", "5", "\"sand\""]));
    }
    json!({"apiVersion": "bakery.example/v1", "kind": "Loaf", "metadata": metadata(dice, name), "spec": spec})
}

/// A status of a loaf.
pub(super) fn status(dice: &mut Dice) -> Value {
    drawn(
        dice,
        &[
            "{\"phase\": \"Dough\"}",
            "{\"phase\": \"Baked\", \"count\": 2}",
            "{\"replicas\": 1, \"selector\": \"app=menu\"}",
            "{\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}",
            "{\"phase\": \"Burnt\"}",
            "{\"count\": -1}",
            "{\"conditions\": [{\"type\": \"Ready\"}]}",
            "{\"typo\": 1}",
        ],
    )
}

/// A whole object of a built-in kind, or one of our kinds.
pub(super) fn other(dice: &mut Dice, collection: &str, name: &str) -> Value {
    let metadata = metadata(dice, name);
    match collection {
        "${core}/configmaps" => {
            let data = drawn(
                dice,
                &[
                    "{\"a\": \"1\"}",
                    "{\"a\": \"2\", \"b\": \"3\"}",
                    "{\"c\": \"\"}",
                    "{\"a b\": \"1\"}",
                    "{\"a\": 5}",
                    "null",
                ],
            );
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        }
        "${core}/secrets" => {
            let data = drawn(dice, &["{\"a\": \"aGk=\"}", "{\"b\": \"\"}", "{\"..\": \"aGk=\"}", "{\"a\": \"?\"}"]);
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        }
        "${leases}" => {
            let spec = drawn(
                dice,
                &[
                    "{\"holderIdentity\": \"me\"}",
                    "{\"holderIdentity\": \"you\", \"leaseDurationSeconds\": 15}",
                    "{\"leaseDurationSeconds\": 0}",
                    "{\"leaseTransitions\": -1}",
                ],
            );
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
        }
        _ => {
            let spec = drawn(
                dice,
                &["{\"vector\": \"v1\"}", "{\"vector\": \"v2\"}", "{\"vektor\": \"v1\"}", "{\"vector\": 5}"],
            );
            json!({"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage", "metadata": metadata, "spec": spec})
        }
    }
}
