//! Rules that read nothing of an object but its name: for the same name they say the same, and an object keeps its name
//! for life. So a name that passed them is remembered, and a write to its object is held against the other rules alone.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::cel::reads_only_the_name;

/// So many names are remembered; then all are forgotten.
const MOST_NAMES: usize = 16_384;

/// The names that passed the rules of one schema.
#[derive(Debug, Default)]
pub(super) struct PassedNames(Mutex<HashSet<Box<str>>>);

impl PassedNames {
    pub(super) fn has(&self, object: &Value) -> bool {
        name(object).is_some_and(|name| self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name))
    }

    pub(super) fn note(&self, object: &Value) {
        let Some(name) = name(object) else { return };
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MOST_NAMES {
            names.clear();
        }
        names.insert(name.into());
    }
}

fn name(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("name")?.as_str()
}

/// The schema without the rules that read nothing but the object's name; `None`: it has no such rule.
pub(super) fn without_name_rules(schema: &Value) -> Option<Value> {
    const RULES: &str = "x-kubernetes-validations";
    let reads_name = |rule: &Value| rule.get("rule").and_then(Value::as_str).is_some_and(reads_only_the_name);
    let rules = schema.get(RULES)?.as_array()?;
    let others: Vec<_> = rules.iter().filter(|rule| !reads_name(rule)).cloned().collect();
    if others.len() == rules.len() {
        return None;
    }
    let mut schema = schema.clone();
    let fields = schema.as_object_mut()?;
    if others.is_empty() {
        fields.remove(RULES);
    } else {
        fields.insert(RULES.to_owned(), others.into());
    }
    Some(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_rules_stay_where_they_are() {
        let of = |rules: Value| json!({"properties": {"spec": {}}, "x-kubernetes-validations": rules});
        let name = json!({"rule": "self.metadata.name != 'a'"});
        let other = json!({"rule": "self.spec.pages > 0"});
        assert_eq!(without_name_rules(&of(json!([name, other]))), Some(of(json!([other]))));
        assert_eq!(without_name_rules(&of(json!([name]))), Some(json!({"properties": {"spec": {}}})));
        assert_eq!(without_name_rules(&of(json!([other]))), None);
    }
}
