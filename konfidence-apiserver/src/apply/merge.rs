//! Laying an applied configuration over the live object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fieldset::Element;
use super::shape::{self, Shape};
use crate::schema::{ListType, Structural};

/// `live` with everything that `config` says; what `config` does not mention stays.
pub(super) fn merge(live: &Value, config: &Value, schema: Option<&Structural>) -> Value {
    match (shape::shape(schema, config), live, config) {
        (Shape::Fields, Value::Object(live), Value::Object(config)) => {
            // Each value is copied once: a copy of the whole at each level is too much of a value that is nested deep.
            let present = live.iter().map(|(name, present)| {
                let wanted = config.get(name);
                (
                    name,
                    wanted.map_or_else(|| present.clone(), |value| merge(present, value, shape::field(schema, name))),
                )
            });
            let new = config.iter().filter(|(name, _)| !live.contains_key(*name));
            let merged = present.chain(new.map(|(name, value)| (name, value.clone())));
            Value::Object(merged.map(|(name, value)| (name.clone(), value)).collect())
        }
        (Shape::Items(list), Value::Array(live), Value::Array(config)) => {
            Value::Array(merge_items(live, config, list, shape::items(schema)))
        }
        // Of a map that is cut by field, nothing says nothing: what is in it stays.
        (_, Value::Object(_), Value::Null) if matches!(shape::shape(schema, live), Shape::Fields) => live.clone(),
        _ => config.clone(),
    }
}

/// Items that only the live list has keep their place before the shared item that follows them; the others follow the
/// order of the configuration.
fn merge_items(live: &[Value], config: &[Value], list: &ListType, schema: Option<&Structural>) -> Vec<Value> {
    let keyed = |all: &[Value]| -> Vec<Element> { all.iter().map(|item| shape::element(list, schema, item)).collect() };
    let (live_keys, config_keys) = (keyed(live), keyed(config));
    let mut present: BTreeMap<&Element, Vec<&Value>> = BTreeMap::new();
    for (key, item) in live_keys.iter().zip(live) {
        present.entry(key).or_default().push(item);
    }
    let configured: BTreeSet<&Element> = config_keys.iter().collect();
    let mut shared = config_keys.iter().filter(|key| present.contains_key(key)).peekable();
    let mut merged = Vec::with_capacity(live.len().max(config.len()));
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let (mut l, mut c) = (0, 0);
    let both = |key: &Element, wanted: &Value| {
        // Of an item that is there twice, neither is the one that is meant.
        match present.get(key).map(Vec::as_slice) {
            Some([present]) => merge(present, wanted, schema),
            _ => wanted.clone(),
        }
    };
    while l < live.len() || c < config.len() {
        let (here, wanted) = (live_keys.get(l).zip(live.get(l)), config_keys.get(c).zip(config.get(c)));
        if let (Some((here, _)), Some((key, item))) = (here, wanted) {
            if here == key {
                merged.push(both(key, item));
                done.insert(key);
                shared.next();
                (l, c) = (l + 1, c + 1);
                continue;
            }
            if configured.contains(here) && shared.peek().is_some_and(|next| *next != here) {
                l += 1;
                continue;
            }
        }
        if let Some((here, item)) = here {
            if !configured.contains(here) {
                merged.push(item.clone());
                l += 1;
                continue;
            }
            if done.contains(here) {
                l += 1;
            }
        }
        if let Some((key, item)) = wanted {
            merged.push(both(key, item));
            done.insert(key);
            if shared.peek() == Some(&key) {
                shared.next();
            }
            c += 1;
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_applied_null_leaves_a_map_of_fields_as_it_is_and_replaces_one_that_is_whole() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "oven": {"type": "object", "x-kubernetes-map-type": "atomic"}}}));
        let live = json!({"data": {"a": "1"}, "oven": {"a": "1"}});
        let merged = merge(&live, &json!({"data": null, "oven": null}), Some(&schema));
        assert_eq!(merged, json!({"data": {"a": "1"}, "oven": null}));
    }

    #[test]
    fn keyed_lists_merge_by_key_and_keep_both_orders() {
        let schema = Structural::parse(&json!({"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}));
        let live = json!([{"k": "a", "v": 1}, {"k": "b"}, {"k": "c"}]);
        let config = json!([{"k": "c"}, {"k": "d"}, {"k": "a", "w": 2}]);
        assert_eq!(
            merge(&live, &config, Some(&schema)),
            json!([{"k": "b"}, {"k": "c"}, {"k": "d"}, {"k": "a", "v": 1, "w": 2}])
        );
    }
}
