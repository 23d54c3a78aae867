//! What evaluating a rule may cost: a macro inside a macro goes through a list once for each element of another, so a
//! rule of one line over a list of a few hundred can take hours.
//!
//! The real server counts while it evaluates. The library that evaluates here does not, so the count is bounded from
//! what is known before: a rule whose macros are nested `depth` deep takes at most `n^depth` turns over a value whose
//! longest list or map has `n` entries.

use std::collections::BTreeMap;

use serde_json::Value;

use super::path::Place;
use crate::cel::macro_depth;
use crate::field::{FieldError, FieldErrors};

/// Turns of all macros of an object's rules: the real server's budget for them.
const MOST_TURNS: usize = 10_000_000;

/// The rules with nested macros, at the places of a schema that have some.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// Each with its depth, two or more.
    rules: Vec<(String, u32)>,
    fields: BTreeMap<String, Costs>,
    /// Of all elements of a list or entries of a map.
    each: Option<Box<Costs>>,
}

impl Costs {
    /// Those of a schema; `None`: it has no such rule.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
        let rules = rules.into_iter().flatten().filter_map(|rule| rule.get("rule")?.as_str());
        let rules = rules.map(|rule| (rule.to_owned(), macro_depth(rule))).filter(|(_, depth)| *depth > 1).collect();
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields = fields.into_iter().flatten();
        let fields = fields.filter_map(|(name, below)| Some((name.clone(), Self::of(below)?))).collect();
        let each = schema.get("items").or_else(|| schema.get("additionalProperties"));
        let costs = Self { rules, fields, each: each.and_then(Self::of).map(Box::new) };
        let empty = costs.rules.is_empty() && costs.fields.is_empty() && costs.each.is_none();
        (!empty).then_some(costs)
    }

    /// How deep the macros of a rule are nested at most.
    pub(super) fn depth(&self) -> u32 {
        let here = self.rules.iter().map(|(_, depth)| *depth);
        let below = self.fields.values().chain(self.each.as_deref()).map(Self::depth);
        here.chain(below).max().unwrap_or_default()
    }

    /// A refusal for each rule with which those of `object` could take too many turns.
    pub(super) fn check(&self, object: &Value) -> FieldErrors {
        let mut errors = Vec::new();
        self.add(object, &Place::Root, &mut 0, &mut errors);
        errors
    }

    fn add(&self, value: &Value, path: &Place<'_>, turns: &mut usize, errors: &mut FieldErrors) {
        for (rule, depth) in &self.rules {
            *turns = turns.saturating_add(longest(value).saturating_pow(*depth));
            if *turns > MOST_TURNS {
                let field = if matches!(path, Place::Root) { "<nil>".to_owned() } else { path.to_string() };
                let why =
                    format!("no further validation rules will be run due to call cost exceeds limit for rule: {rule}");
                errors.push(FieldError::invalid(field, Value::from(super::kind_of(value)), why));
            }
        }
        for (name, below) in &self.fields {
            if let Some(value) = value.get(name) {
                below.add(value, &Place::Field(path, name), turns, errors);
            }
        }
        match (&self.each, value) {
            (Some(each), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    each.add(item, &Place::Index(path, index), turns, errors);
                }
            }
            (Some(each), Value::Object(entries)) => {
                for (key, entry) in entries {
                    each.add(entry, &Place::Field(path, key), turns, errors);
                }
            }
            _ => {}
        }
    }
}

/// Entries of the longest list or map in a value.
pub(crate) fn longest(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest).max().unwrap_or(0).max(items.len()),
        Value::Object(entries) => entries.values().map(longest).max().unwrap_or(0).max(entries.len()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn macros_inside_macros_count_and_those_beside_each_other_do_not() {
        for (rule, wanted) in [
            ("self.size() > 0", 0),
            ("self.all(a, a > 0) && self.exists(b, b > 1)", 1),
            ("self.all(a, self . exists (b, (a + b) > 0))", 2),
            ("self.all(a, a.matches('.all(x, y.all('))", 1),
            ("self.all(a, self.all(b, self.map(c, c).all(d, d == \"\\\")\")))", 3),
        ] {
            assert_eq!(macro_depth(rule), wanted, "{rule}");
        }
    }

    #[test]
    fn a_rule_that_would_take_hours_is_refused_where_it_stands_and_one_over_little_is_not() {
        let rule = "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))";
        let list = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": rule}]});
        let schema = json!({"properties": {"spec": {"items": {"properties": {"sizes": list}}}}});
        let costs = Costs::of(&schema).unwrap();
        let refusals = |length: usize| {
            let errors = costs.check(&json!({"spec": [{}, {"sizes": vec![1; length]}]}));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(refusals(20), Vec::<String>::new());
        assert_eq!(
            refusals(300),
            [format!(
                "spec[1].sizes: Invalid value: \"array\": no further validation rules will be run due to call cost \
                 exceeds limit for rule: {rule}"
            )]
        );
        let many = json!({"spec": vec![json!({"sizes": vec![1; 50]}); 2]});
        assert_eq!(costs.check(&many).len(), 1, "the second is one too many");
        assert!(Costs::of(&json!({"x-kubernetes-validations": [{"rule": "self.all(a, a > 0)"}]})).is_none());
    }
}
