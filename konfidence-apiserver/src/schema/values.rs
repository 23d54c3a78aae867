//! Types, lengths, patterns, enums, formats: JSON schema, with the words of the real server.

use std::collections::{HashMap, HashSet};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::{formats, path};
use crate::field::{FieldError, FieldErrorType, FieldErrors, child};

/// A compiled validator.
pub(super) struct Values(Option<Validator>);

impl Values {
    /// Checks nothing.
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let options = formats::register(jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(true));
        options.build(&plain(schema)).map(|validator| Self(Some(validator))).map_err(|error| error.to_string())
    }

    /// Everything that is wrong with a value. `source`: the schema as it was written.
    pub(super) fn check(&self, object: &Value, source: &Value) -> FieldErrors {
        let mut errors = Vec::new();
        let mut conjunctions = HashSet::new();
        if let Some(validator) = &self.0 {
            for error in validator.iter_errors(object) {
                translate(&error, source, &mut errors);
                // What is wrong with one of several schemas that all have to fit is told once more of all of them.
                if let Some(place) = conjunction(&error)
                    && conjunctions.insert(place.clone())
                {
                    errors.push(FieldError::invalid(
                        "<nil>",
                        "",
                        format!("{place:?} must validate all the schemas (allOf)"),
                    ));
                }
            }
        }
        first_of_each_text(errors)
    }
}

/// Of a text only the first thing that is wrong is told: too long, too short, or not of the pattern.
fn first_of_each_text(errors: FieldErrors) -> FieldErrors {
    let rank = |error: &FieldError| match error.kind {
        FieldErrorType::TooLong => Some(0),
        FieldErrorType::Invalid if error.detail.contains(" in body should be at least ") => Some(1),
        FieldErrorType::Invalid if error.detail.contains(" in body should match ") => Some(2),
        _ => None,
    };
    let mut first: HashMap<String, i32> = HashMap::new();
    for (field, rank) in errors.iter().filter_map(|error| Some((&error.field, rank(error)?))) {
        first.entry(field.clone()).and_modify(|first| *first = rank.min(*first)).or_insert(rank);
    }
    let kept: Vec<bool> =
        errors.iter().map(|error| rank(error).is_none_or(|rank| first.get(&error.field) == Some(&rank))).collect();
    errors.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(error, _)| error).collect()
}

/// The schema in plain JSON schema: without the `x-kubernetes-` words, with `OpenAPI`'s own spellings
/// (`nullable`, a boolean `exclusiveMinimum`, int-or-string) translated.
fn plain(schema: &Value) -> Value {
    let Value::Object(source) = schema else { return schema.clone() };
    let mut result = Map::new();
    for (key, value) in source {
        match key.as_str() {
            "properties" | "definitions" => {
                let all = value.as_object().into_iter().flatten();
                let all: Map<String, Value> = all.map(|(name, one)| (name.clone(), plain(one))).collect();
                result.insert(key.clone(), Value::Object(all));
            }
            "items" | "additionalProperties" | "not" => {
                result.insert(key.clone(), plain(value));
            }
            "allOf" | "anyOf" | "oneOf" => {
                let all = value.as_array().into_iter().flatten().map(plain).collect();
                result.insert(key.clone(), Value::Array(all));
            }
            "format" => {
                if let Some(format) = value.as_str().and_then(formats::checked) {
                    result.insert(key.clone(), format.into());
                }
            }
            "type" | "enum" | "pattern" | "minLength" | "maxLength" | "minItems" | "maxItems" | "required"
            | "uniqueItems" | "minProperties" | "maxProperties" | "multipleOf" | "minimum" | "maximum" => {
                result.insert(key.clone(), value.clone());
            }
            // The rest describes, defaults, or belongs to another part of the schema.
            _ => {}
        }
    }
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if source.get(exclusive).and_then(Value::as_bool) == Some(true)
            && let Some(limit) = result.remove(bound)
        {
            result.insert(exclusive.to_owned(), limit);
        }
    }
    if source.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true) {
        result.remove("format");
        result.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if source.get("nullable").and_then(Value::as_bool) == Some(true) {
        let kinds = match result.remove("type") {
            Some(Value::Array(mut kinds)) => {
                kinds.push("null".into());
                Some(kinds)
            }
            Some(kind) => Some(vec![kind, "null".into()]),
            None => None,
        };
        if let Some(kinds) = kinds {
            result.insert("type".to_owned(), Value::Array(kinds));
        }
        if let Some(Value::Array(allowed)) = result.get_mut("enum") {
            allowed.push(Value::Null);
        }
    }
    Value::Object(result)
}

/// The place of the value of which an `allOf` does not hold, if it is that.
fn conjunction(error: &ValidationError<'_>) -> Option<String> {
    let (mut steps, mut values) = (error.schema_path().into_iter(), 0);
    while let Some(LocationSegment::Property(keyword)) = steps.next() {
        match keyword.as_ref() {
            "allOf" => {
                let below = error.instance_path().into_iter().take(values);
                return Some(path::join(below));
            }
            "properties" => {
                steps.next();
                values += 1;
            }
            "items" | "additionalProperties" => values += 1,
            _ => return None,
        }
    }
    None
}

/// The format that a schema names where a value is of another type than it wants.
fn format_of<'a>(error: &ValidationError<'_>, source: &'a Value) -> Option<&'a str> {
    let place = error.schema_path().as_str();
    let format = source.pointer(place.strip_suffix("/type")?)?.get("format")?.as_str()?;
    let numeric = matches!(format, "int32" | "int64" | "float" | "double");
    (numeric || formats::checked(format).is_some()).then_some(format)
}

fn translate(error: &ValidationError<'_>, source: &Value, errors: &mut FieldErrors) {
    let field = path::of(error.instance_path());
    let value = error.instance().as_ref();
    let in_body = |rest: String| format!("{field} in body {rest}");
    let invalid = |detail: String| FieldError::invalid(field.clone(), value.clone(), detail);
    let sized = |size: usize, detail: String| FieldError::invalid(field.clone(), size, detail);
    let translated = match error.kind() {
        ValidationErrorKind::Required { property } => {
            FieldError::required(child(&field, property.as_str().unwrap_or_default()), "")
        }
        ValidationErrorKind::Type { kind } => {
            let format =
                format_of(error, source).filter(|_| !(value.is_string() || value.is_array() || value.is_null()));
            // Of a formatted value the real server names Go's type.
            let (wanted, got) = match (format, value) {
                (None, _) => (expected(kind), kind_of(value)),
                (Some(format), Value::Number(number)) if number.is_i64() => (format.to_owned(), "int64"),
                (Some(format), Value::Number(_)) => (format.to_owned(), "float64"),
                (Some(format), _) => (format.to_owned(), ""),
            };
            wrong_type(&field, &wanted, got)
        }
        ValidationErrorKind::Enum { options } => {
            let supported: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .filter(|one| !one.is_null())
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
                .collect();
            FieldError::not_supported(field.clone(), value.clone(), &supported)
        }
        ValidationErrorKind::MinLength { limit } => invalid(in_body(format!("should be at least {limit} chars long"))),
        ValidationErrorKind::MaxLength { limit } => FieldError::too_long(field.clone(), *limit),
        ValidationErrorKind::Pattern { pattern } => invalid(in_body(format!("should match '{pattern}'"))),
        ValidationErrorKind::Format { format } => FieldError {
            field: field.clone(),
            kind: FieldErrorType::TypeInvalid,
            value: Some(value.clone()),
            shown: None,
            detail: in_body(format!("must be of type {format}: {value}")),
        },
        ValidationErrorKind::Minimum { limit } => {
            invalid(in_body(format!("should be greater than or equal to {}", number(limit))))
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            invalid(in_body(format!("should be greater than {}", number(limit))))
        }
        ValidationErrorKind::Maximum { limit } => {
            invalid(in_body(format!("should be less than or equal to {}", number(limit))))
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            invalid(in_body(format!("should be less than {}", number(limit))))
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            invalid(in_body(format!("should be a multiple of {multiple_of}")))
        }
        ValidationErrorKind::MinItems { limit } => {
            sized(length(value), in_body(format!("should have at least {limit} items")))
        }
        ValidationErrorKind::MinProperties { limit } => {
            sized(length(value), in_body(format!("should have at least {limit} properties")))
        }
        ValidationErrorKind::MaxItems { limit } | ValidationErrorKind::MaxProperties { limit } => {
            FieldError::too_many(field.clone(), length(value), *limit)
        }
        ValidationErrorKind::UniqueItems => invalid(in_body("shouldn't contain duplicates".to_owned())),
        ValidationErrorKind::AnyOf { context } => {
            alternatives(&field, "must validate at least one schema (anyOf)", context, source, errors);
            return;
        }
        ValidationErrorKind::OneOfNotValid { context } => {
            let rule = "must validate one and only one schema (oneOf). Found none valid";
            alternatives(&field, rule, context, source, errors);
            return;
        }
        ValidationErrorKind::OneOfMultipleValid { context } => {
            let valid = context.iter().filter(|branch| branch.is_empty()).count();
            let rule = format!("must validate one and only one schema (oneOf). Found {valid} valid alternatives");
            alternatives(&field, &rule, &[], source, errors);
            return;
        }
        ValidationErrorKind::Not { .. } => {
            alternatives(&field, "must not validate the schema (not)", &[], source, errors);
            return;
        }
        _ => invalid(error.to_string()),
    };
    errors.push(translated);
}

/// None of several schemas fits: say so, and say what the nearest of them wants.
fn alternatives(
    field: &str,
    rule: &str,
    branches: &[Vec<ValidationError<'static>>],
    source: &Value,
    errors: &mut FieldErrors,
) {
    // The real server names the place in the sentence only.
    errors.push(FieldError::invalid("<nil>", "", format!("{field:?} {rule}")));
    if let Some(nearest) = branches.iter().min_by_key(|branch| branch.len()) {
        for error in nearest {
            translate(error, source, errors);
        }
    }
}

/// A value of another type than the schema's.
pub(super) fn wrong_type(field: &str, wanted: &str, got: &str) -> FieldError {
    FieldError {
        field: field.to_owned(),
        kind: FieldErrorType::TypeInvalid,
        value: Some(got.into()),
        shown: None,
        detail: format!("{field} in body must be of type {wanted}: {got:?}"),
    }
}

fn expected(kind: &TypeKind) -> String {
    let all: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(many) => many.iter().map(|one| one.to_string()).collect(),
    };
    all.into_iter().filter(|one| one != "null").collect::<Vec<_>>().join(",")
}

/// The JSON type of a value, as schemas call it.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A bound without a fraction that is none.
fn number(limit: &Value) -> String {
    limit.as_f64().map_or_else(|| limit.to_string(), |limit| limit.to_string())
}

fn length(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(schema: &Value, object: &Value) -> Vec<String> {
        Values::compile(schema).expect("a schema").check(object, schema).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_refusal_names_the_field_in_the_real_servers_words() {
        let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": {
        "type": "object", "required": ["target"], "properties": {
            "target": {"type": "string"},
            "kind": {"type": "string", "enum": ["Stage", "VectorTemplate"]},
            "count": {"type": "integer", "minimum": 0},
            "name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]*$"},
            "steps": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true},
        }}}});
        let one = |spec: Value| refusals(&schema, &json!({"spec": spec}));
        assert_eq!(refusals(&schema, &json!({})), ["spec: Required value"]);
        assert_eq!(one(json!({})), ["spec.target: Required value"]);
        assert_eq!(
            one(json!({"target": 1})),
            [r#"spec.target: Invalid value: "integer": spec.target in body must be of type string: "integer""#]
        );
        assert_eq!(
            one(json!({"target": "", "kind": "x"})),
            [r#"spec.kind: Unsupported value: "x": supported values: "Stage", "VectorTemplate""#]
        );
        assert_eq!(
            one(json!({"target": "", "count": -1})),
            ["spec.count: Invalid value: -1: spec.count in body should be greater than or equal to 0"]
        );
        assert_eq!(
            one(json!({"target": "", "name": ""})),
            [r#"spec.name: Invalid value: "": spec.name in body should be at least 1 chars long"#]
        );
        assert_eq!(one(json!({"target": "", "name": "abcd"})), ["spec.name: Too long: may not be more than 3 bytes"]);
        assert_eq!(
            one(json!({"target": "", "name": "A"})),
            [r#"spec.name: Invalid value: "A": spec.name in body should match '^[a-z]*$'"#]
        );
        assert_eq!(
            one(json!({"target": "", "steps": ["a", "b"]})),
            ["spec.steps: Too many: 2: must have at most 1 item"]
        );
        assert_eq!(one(json!({"target": "", "port": "http"})), Vec::<String>::new());
        assert_eq!(
            one(json!({"target": "", "port": true})),
            [r#"spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean""#]
        );
    }

    #[test]
    fn a_boolean_exclusive_bound_and_nullable_are_understood() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "nullable": true}}});
        assert_eq!(refusals(&schema, &json!({"n": null})), Vec::<String>::new());
        assert_eq!(refusals(&schema, &json!({"n": 0})), ["n: Invalid value: 0: n in body should be greater than 0"]);
    }
}
