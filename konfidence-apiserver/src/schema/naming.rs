//! Rules that read nothing of an object but its name: for the same name they say the same, and an object keeps its name
//! for life. So a name that passed them is remembered, and a write to its object is held against the other rules alone.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

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

/// Whether `self` stands nowhere in a rule but in `self.metadata.name`. In doubt it says no.
fn reads_only_the_name(rule: &str) -> bool {
    const NAME: [&str; 4] = [".", "metadata", ".", "name"];
    // What a quote holds is then told by its two ends.
    if ["\\", "'''", "\"\"\""].iter().any(|doubtful| rule.contains(doubtful)) {
        return false;
    }
    let words = words(rule);
    let mut reads = false;
    for (at, word) in words.iter().enumerate() {
        let is_field = at > 0 && words.get(at - 1) == Some(&".");
        match *word {
            "oldSelf" => return false,
            "self" if !is_field => {
                if words.get(at + 1..=at + NAME.len()) != Some(&NAME) {
                    return false;
                }
                reads = true;
            }
            _ => {}
        }
    }
    reads
}

/// Names and signs, without what is quoted.
fn words(rule: &str) -> Vec<&str> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut words, mut rest) = (Vec::new(), rule.trim_start());
    while let Some(letter) = rest.chars().next() {
        let end = if letter == '\'' || letter == '"' {
            rest.char_indices().skip(1).find(|(_, other)| *other == letter).map_or(rest.len(), |(end, _)| end + 1)
        } else if is_of_name(letter) {
            rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len())
        } else {
            letter.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(if letter == '\'' || letter == '"' { "''" } else { word });
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_of_the_name_is_told_from_one_that_reads_more() {
        for (rule, wanted) in [
            ("size(self.metadata.name) <= 49", true),
            ("self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", true),
            ("self . metadata\n.name.startsWith('self.spec') || self.metadata.name == 'oldSelf'", true),
            ("self.metadata.name == self.spec.vector", false),
            ("self.metadata.name == oldSelf.metadata.name", false),
            ("self.metadata.names == 'a'", false),
            ("self.metadata.generateName == 'a'", false),
            ("self.metadata.name == 'a' && has(self.spec)", false),
            ("[self].all(one, one.spec.vector == self.metadata.name)", false),
            ("self.metadata.name != r'\\' + self.spec.vector + '\\'", false),
            ("self.metadata.name != '''a'b''' + self.spec.vector", false),
            ("1 == 1", false),
        ] {
            assert_eq!(reads_only_the_name(rule), wanted, "{rule}");
        }
    }

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
