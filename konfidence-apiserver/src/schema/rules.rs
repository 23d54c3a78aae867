//! `x-kubernetes-validations`: CEL, compiled once per version, asked on create and, with `oldSelf`, on update.

use kube::core::cel::{CompiledSchema, ErrorKind, ValidationErrors, compile_schema, validate_compiled};
use serde_json::{Map, Value};

use super::cost::Costs;
use super::naming::{PassedNames, without_name_rules};
use super::path::{Step, steps};
use super::values::kind_of;
use super::{Structural, ratchet};
use crate::field::{FieldError, FieldErrorType, FieldErrors};

/// How many levels of schemas the library compiles, less a few.
const MOST_LEVELS: usize = 60;

/// The compiled rules of a schema.
pub(super) struct Rules {
    compiled: CompiledSchema,
    /// `None`: no rule reads the name alone.
    for_known_names: Option<ForKnownNames>,
    costs: Option<Costs>,
    empty: bool,
}

/// What is asked of an object whose name has passed.
struct ForKnownNames {
    passed: PassedNames,
    /// The rules that read more than the name, if there are any.
    others: Option<Box<CompiledSchema>>,
}

impl Rules {
    pub(super) fn compile(schema: &Value) -> Self {
        let for_known_names = without_name_rules(schema).map(|others| ForKnownNames {
            passed: PassedNames::default(),
            others: has_rules(&others).then(|| Box::new(compile(&others))),
        });
        Self { compiled: compile(schema), for_known_names, costs: Costs::of(schema), empty: !has_rules(schema) }
    }

    pub(super) fn compiled(&self) -> &CompiledSchema {
        &self.compiled
    }

    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// How deep the macros of a rule are nested in each other at most; `None`: none are.
    pub(super) fn depth(&self) -> Option<u32> {
        self.costs.as_ref().map(Costs::depth)
    }

    /// Every rule that `object` breaks. A rule that cannot be evaluated counts as broken: a refusal is seen and
    /// mended, a rule that is silently skipped is not.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, schema: &Structural) -> FieldErrors {
        if self.empty {
            return Vec::new();
        }
        let dear = self.costs.as_ref().map(|costs| costs.check(object)).unwrap_or_default();
        if !dear.is_empty() {
            return dear;
        }
        let Err(broken) = self.evaluate(object, old) else { return Vec::new() };
        broken
            .iter()
            .filter(|error| {
                let ratcheted = error.kind == ErrorKind::ValidationFailure && !error.rule.contains("oldSelf");
                !(ratcheted && old.is_some_and(|old| ratchet::is_unchanged(&error.field_path, object, old, schema)))
            })
            .map(|error| FieldError {
                field: if error.field_path.is_empty() { "<nil>".to_owned() } else { error.field_path.clone() },
                kind: match error.reason.as_deref() {
                    Some("FieldValueForbidden") => FieldErrorType::Forbidden,
                    Some("FieldValueRequired") => FieldErrorType::Required,
                    Some("FieldValueDuplicate") => FieldErrorType::Duplicate,
                    _ => FieldErrorType::Invalid,
                },
                value: match (&error.kind, error.reason.as_deref()) {
                    (_, Some("FieldValueForbidden" | "FieldValueRequired")) => None,
                    (ErrorKind::ValidationFailure, _) => scalar(at(object, &error.field_path)),
                    _ => Some(kind_of(at(object, &error.field_path)).into()),
                },
                shown: None,
                detail: match error.message.strip_prefix("rule evaluation error: ") {
                    Some(why) => format!("{why} evaluating rule: {}", error.rule),
                    None => error.message.clone(),
                },
            })
            .collect()
    }

    fn evaluate(&self, object: &Value, old: Option<&Value>) -> Result<(), ValidationErrors> {
        match &self.for_known_names {
            Some(known) if known.passed.has(object) => {
                known.others.as_ref().map_or(Ok(()), |others| validate_compiled(others, object, old))
            }
            known => {
                validate_compiled(&self.compiled, object, old)?;
                if let Some(known) = known {
                    known.passed.note(object);
                }
                Ok(())
            }
        }
    }
}

fn compile(schema: &Value) -> CompiledSchema {
    match cut(schema, MOST_LEVELS) {
        Some(cut) => compile_schema(&cut),
        None => compile_schema(schema),
    }
}

/// The value at a path; where the path leads nowhere, the last value on the way.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let mut value = object;
    for step in steps(path) {
        let below = match step {
            Step::Field(name) => value.get(name),
            Step::Index(index) => value.get(index),
        };
        match below {
            Some(below) => value = below,
            None => break,
        }
    }
    value
}

/// Objects and lists are too long to be shown in a refusal.
fn scalar(value: &Value) -> Option<Value> {
    (!value.is_object() && !value.is_array()).then(|| value.clone())
}

/// A schema without what is more than so many levels below it and has no rules; `None`: there is nothing of that. Of
/// rules that are deeper the library says that it cannot compile them.
fn cut(schema: &Value, levels: usize) -> Option<Value> {
    let Value::Object(fields) = schema else { return None };
    let cut_all = |all: &Map<String, Value>| {
        let cut = all.iter().map(|(name, below)| Some((name.clone(), cut(below, levels.checked_sub(1)?)?)));
        let cut: Map<String, Value> = cut.flatten().collect();
        (!cut.is_empty()).then(|| Value::Object(all.clone().into_iter().chain(cut).collect()))
    };
    let mut changed = Map::new();
    for (keyword, below) in fields {
        match keyword.as_str() {
            "properties" | "items" | "additionalProperties" if levels == 0 && !has_rules(below) => {
                changed.insert(keyword.clone(), Value::Null);
            }
            "properties" | "items" | "additionalProperties" if levels == 0 => {}
            "properties" => changed.extend(below.as_object().and_then(cut_all).map(|cut| (keyword.clone(), cut))),
            "items" | "additionalProperties" => {
                changed.extend(cut(below, levels.saturating_sub(1)).map(|cut| (keyword.clone(), cut)));
            }
            _ => {}
        }
    }
    if changed.is_empty() {
        return None;
    }
    let kept = fields.iter().filter(|(keyword, _)| !changed.contains_key(*keyword));
    let kept: Map<String, Value> = kept.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
    Some(Value::Object(kept.into_iter().chain(changed.into_iter().filter(|(_, value)| !value.is_null())).collect()))
}

/// How many levels the rules of a schema may be parsed into at most: each sign may open one.
pub(crate) fn levels(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => {
            let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
            let texts = rules.flat_map(|rule| ["rule", "messageExpression"].map(|name| rule.get(name)));
            let texts = texts.flatten().filter_map(Value::as_str);
            let here = texts.map(|text| text.bytes().filter(u8::is_ascii_punctuation).count()).max();
            fields.values().map(levels).max().max(here).unwrap_or_default()
        }
        Value::Array(items) => items.iter().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}

fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusals(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
        let structure = Structural::parse(schema);
        Rules::compile(schema).check(object, old, &structure).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_hold_on_create_and_transition_rules_on_update() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-validations": [{"rule": "self.min <= self.max", "message": "min must not exceed max"}],
            "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}, "vector": {"type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "vector is immutable"}]}}}}});
        let object = |min: u8, vector: &str| json!({"spec": {"min": min, "max": 2, "vector": vector}});
        assert_eq!(refusals(&schema, &object(1, "a"), None), Vec::<String>::new());
        assert_eq!(refusals(&schema, &object(3, "a"), None), ["spec: Invalid value: min must not exceed max"]);
        assert_eq!(
            refusals(&schema, &object(1, "b"), Some(&object(1, "a"))),
            [r#"spec.vector: Invalid value: "b": vector is immutable"#]
        );
    }

    #[test]
    fn a_name_that_passed_is_held_against_the_other_rules_alone_and_one_that_did_not_against_all() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties":
            {"pages": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "no pages"}]}}}},
            "x-kubernetes-validations": [{"rule": "self.metadata.name != 'menu'", "message": "not menu"}]});
        let structure = Structural::parse(&schema);
        let rules = Rules::compile(&schema);
        let refused = |name: &str, pages: i8| {
            let object = json!({"metadata": {"name": name}, "spec": {"pages": pages}});
            rules.check(&object, None, &structure).iter().map(|error| error.detail.clone()).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            assert_eq!(refused("menu", 1), ["not menu"]);
            assert_eq!(refused("menu", 0), ["not menu", "no pages"]);
            assert_eq!(refused("winter", 1), [""; 0]);
            assert_eq!(refused("winter", 0), ["no pages"]);
        }
    }

    #[test]
    fn a_rule_that_would_take_hours_is_refused_and_not_evaluated() {
        let rule = "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))";
        let schema = json!({"type": "object", "properties": {"sizes": {"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": rule}]}}});
        assert_eq!(refusals(&schema, &json!({"sizes": [1, 2, 3]}), None).len(), 0);
        assert_eq!(refusals(&schema, &json!({"sizes": vec![1; 300]}), None).len(), 1);
    }

    #[test]
    fn a_rule_that_cannot_be_evaluated_refuses() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string",
            "x-kubernetes-validations": [{"rule": "self.nonsense()"}]}}});
        assert_eq!(refusals(&schema, &json!({"a": "x"}), None).len(), 1);
    }
}
