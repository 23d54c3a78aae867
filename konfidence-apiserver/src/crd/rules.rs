//! The rules of a definition: whether they compile, read what is there, and say what they have to say.

use kube::core::cel::{CompilationError, CompiledSchema};
use serde_json::Value;

use crate::cel::{self, Mistake, Wanted};
use crate::field::{FieldError, FieldErrors};
use crate::json::{list, text};
use crate::schema::Structural;

/// Every rule has to compile: one that does not would refuse every object later, when nobody knows why.
///
/// `within`: the list around it whose items have no identity; what one of them was before cannot be told.
pub(super) fn check_rules(
    schema: &Value,
    compiled: &CompiledSchema,
    at: &str,
    within: Option<&str>,
    errors: &mut FieldErrors,
) {
    let mut words = Vec::new();
    check_words(schema, at, &mut words);
    // Rules that do not say what they have to say are not compiled.
    for (index, rule) in compiled.validations.iter().enumerate().filter(|_| words.is_empty()) {
        let Err(error) = rule else {
            check_types(schema, index, at, errors);
            continue;
        };
        let field = format!("{at}.x-kubernetes-validations[{index}].rule");
        let written = schema.pointer(&format!("/x-kubernetes-validations/{index}")).cloned().unwrap_or_default();
        errors.push(match error {
            CompilationError::Parse { source, .. } => {
                FieldError::shown(field, internal_rule(&written), format!("compilation failed: {}", in_place(source)))
            }
            CompilationError::MessageExpressionParse { source, .. } => FieldError::shown(
                format!("{at}.x-kubernetes-validations[{index}].messageExpression"),
                internal_rule(&written),
                format!("messageExpression compilation failed: {source}"),
            ),
            other => FieldError::shown(field, internal_rule(&written), format!("compilation failed: {other:?}")),
        });
    }
    errors.append(&mut words);
    if let Some(within) = within {
        for (index, rule) in list(schema, "/x-kubernetes-validations").iter().enumerate() {
            let rule = text(rule, "/rule");
            if rule.contains("oldSelf") {
                let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                errors.push(FieldError::invalid(format!("{at}.x-kubernetes-validations[{index}].rule"), rule, why));
            }
        }
    }
    for (name, below) in &compiled.properties {
        if let Some(property) = schema.pointer("/properties").and_then(|all| all.get(name)) {
            check_rules(property, below, &format!("{at}.properties[{name}]"), within, errors);
        }
    }
    if let (Some(items), Some(below)) = (schema.get("items"), &compiled.items) {
        let is_map = text(schema, "/x-kubernetes-list-type") == "map";
        let within = within.or((!is_map).then_some(at));
        check_rules(items, below, &format!("{at}.items"), within, errors);
    }
    if let (Some(more), Some(below)) = (schema.get("additionalProperties"), &compiled.additional_properties) {
        check_rules(more, below, &format!("{at}.additionalProperties"), within, errors);
    }
}

/// What a rule and its message read has to be there, and they have to come to a verdict and a text.
fn check_types(schema: &Value, index: usize, at: &str, errors: &mut FieldErrors) {
    let Some(rule) = schema.pointer(&format!("/x-kubernetes-validations/{index}")) else { return };
    let place = cel::Place {
        schema,
        is_object: at.ends_with("openAPIV3Schema")
            || schema.get("x-kubernetes-embedded-resource") == Some(&true.into()),
        old_is_optional: rule.get("optionalOldSelf") == Some(&true.into()),
    };
    let at = format!("{at}.x-kubernetes-validations[{index}]");
    for (field, what, prefix, wanted) in [
        ("rule", "cel expression must evaluate to a bool", "", Wanted::Bool),
        ("messageExpression", "messageExpression must evaluate to a string", "messageExpression ", Wanted::String),
    ] {
        let Some(source) = rule.get(field).and_then(Value::as_str).filter(|source| !source.trim().is_empty()) else {
            continue;
        };
        let why = match cel::mistake(source, place, wanted) {
            None => continue,
            Some(Mistake::Result) => what.to_owned(),
            Some(Mistake::Types(told)) => format!("{prefix}compilation failed: {told}"),
        };
        errors.push(FieldError::shown(format!("{at}.{field}"), internal_rule(rule), why));
    }
    if let Some(optional) = rule.get("optionalOldSelf").filter(|set| !set.is_null())
        && !text(rule, "/rule").contains("oldSelf")
    {
        let why = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(format!("{at}.optionalOldSelf"), optional.clone(), why));
    }
}

/// A mistake and its place, indented as the real server does.
fn in_place(mistake: &impl std::fmt::Display) -> String {
    mistake.to_string().replace("\n|", "\n |")
}

/// What a rule says besides the expression.
fn check_words(schema: &Value, at: &str, errors: &mut FieldErrors) {
    for (index, rule) in list(schema, "/x-kubernetes-validations").iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        let text = |name: &str| text(rule, &format!("/{name}"));
        if text("rule").trim().is_empty() {
            errors.push(FieldError::required(format!("{at}.rule"), "rule is not specified"));
        }
        if !text("message").is_empty() && text("message").trim().is_empty() {
            errors.push(FieldError::invalid(
                format!("{at}.message"),
                text("message"),
                "must be non-empty if specified",
            ));
        } else if text("message").contains('\n') {
            errors.push(FieldError::invalid(format!("{at}.message"), text("message"), "must not contain line breaks"));
        } else if text("message").is_empty() && text("rule").trim().contains(['\n', '\r']) {
            let why = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(format!("{at}.message"), why));
        }
        if !text("messageExpression").is_empty() && text("messageExpression").trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(format!("{at}.messageExpression"), why));
        }
        let reasons = ["Duplicate", "Forbidden", "Invalid", "Required"].map(|reason| format!("FieldValue{reason}"));
        if !text("reason").is_empty() && !reasons.contains(&text("reason").to_owned()) {
            errors.push(FieldError::not_supported(format!("{at}.reason"), text("reason"), &reasons));
        }
        let path = text("fieldPath");
        let mut place = Some(Structural::parse(schema));
        for name in path.split('.').filter(|name| !name.is_empty()) {
            place = place.and_then(|place| place.field(name).cloned());
        }
        let leads = path.starts_with('.') && place.is_some() || path.contains('[');
        if !path.is_empty() && !leads {
            errors.push(FieldError::invalid(format!("{at}.fieldPath"), path, "must be a valid path"));
        }
    }
}

/// A rule as the real server shows it.
fn internal_rule(rule: &Value) -> String {
    let text = |name: &str| in_html(text(rule, &format!("/{name}")));
    let optional = |name: &str| rule.get(name).cloned().unwrap_or_default();
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        optional("reason"),
        text("fieldPath"),
        optional("optionalOldSelf"),
    )
}

/// JSON as Go writes it, fit for a page of HTML.
fn in_html(text: &str) -> String {
    let json = Value::from(text).to_string();
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
