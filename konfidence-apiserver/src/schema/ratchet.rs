//! Ratcheting: what was wrong before and is as it was does not stop a write.

use serde_json::Value;

use super::path::{Step, steps};
use super::{ListType, Structural};

/// Whether the value at `field`, or a value that holds it, is the same in `old`.
///
/// Items of a list are compared with the item of the same key where the list is a map; in other lists an item has no
/// identity, so only an unchanged list counts.
pub(super) fn is_unchanged(field: &str, new: &Value, old: &Value, schema: &Structural) -> bool {
    let (mut new, mut old, mut schema) = (new, old, Some(schema));
    for step in steps(field) {
        if new == old {
            return true;
        }
        let below = match step {
            Step::Field(name) => match (new.get(name), old.get(name)) {
                (Some(new), Some(old)) => Some((new, old, schema.and_then(|one| one.field(name)))),
                _ => None,
            },
            Step::Index(index) => {
                let keys = match schema.map(|one| &one.list) {
                    Some(ListType::Map(keys)) => keys.as_slice(),
                    _ => return false,
                };
                let Some(item) = new.get(index) else { return false };
                let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
                let before = old.as_array().and_then(|items| items.iter().find(same));
                before.map(|before| (item, before, schema.and_then(|one| one.items.as_deref())))
            }
        };
        let Some((below_new, below_old, below_schema)) = below else { return false };
        (new, old, schema) = (below_new, below_old, below_schema);
    }
    new == old
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_untouched_value_is_let_pass() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {"list": {"type": "array",
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object",
            "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}}}}));
        let old = json!({"a": "BAD", "list": [{"k": "x", "v": "BAD"}]});
        let new = json!({"a": "BAD", "b": 1, "list": [{"k": "y", "v": "BAD"}, {"k": "x", "v": "BAD"}]});
        assert!(is_unchanged("a", &new, &old, &schema));
        assert!(is_unchanged("list[1].v", &new, &old, &schema));
        assert!(!is_unchanged("list[0].v", &new, &old, &schema));
        assert!(!is_unchanged("b", &new, &old, &schema));
    }
}
