//! Numbers that a format, or Go's way of reading JSON, cannot hold.

use serde_json::{Number, Value};

use super::Structural;
use super::path::Place;
use super::values::wrong_type;
use super::walk::walk;
use crate::field::{FieldError, FieldErrors};

/// The greatest number up to which every whole number has a float of its own.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// Adds every number that does not fit the type or the format of its schema.
pub(super) fn check(value: &Value, schema: &Structural, errors: &mut FieldErrors) {
    walk(value, schema, &Place::Root, &mut |value, schema, at| {
        let Value::Number(number) = value else { return };
        match schema.kind.as_deref() {
            Some("integer") => integer(number, schema, at, errors),
            Some("number")
                if schema.format.as_deref() == Some("float")
                    && number.as_f64().is_some_and(|number| number.abs() > f64::from(f32::MAX)) =>
            {
                errors.push(out_of_range("number", Some("float"), at));
            }
            _ => {}
        }
    });
}

fn integer(number: &Number, schema: &Structural, at: &Place<'_>, errors: &mut FieldErrors) {
    let format = schema.format.as_deref().filter(|format| matches!(*format, "int32" | "int64"));
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
        format!("{float:.0}").parse().ok()
    });
    let Some(whole) = whole else {
        // Such a number is read as a float. Where it is no whole one, that has been told.
        if number.as_f64().is_some_and(|float| float.fract() == 0.0) {
            errors.push(match format {
                Some(format) => wrong_type(&at.to_string(), format, "float64"),
                None => wrong_type(&at.to_string(), "integer", "number"),
            });
        }
        errors.push(out_of_range("integer", format, at));
        return;
    };
    if format == Some("int32") && i32::try_from(whole).is_err() {
        errors.push(out_of_range("integer", format, at));
    }
}

fn out_of_range(kind: &str, format: Option<&str>, at: &Place<'_>) -> FieldError {
    let format = format.map_or_else(|| "(default format)".to_owned(), |format| format!("with format {format}"));
    FieldError::invalid("<nil>", "", format!("Checked value must be of type {kind} {format} in {at}"))
}

/// `10.0` is `10`.
pub(super) fn write_whole(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(write_whole),
        Value::Array(items) => items.iter_mut().for_each(write_whole),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
            if let Some(whole) = float.and_then(|float| format!("{float:.0}").parse::<i64>().ok()) {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_beyond_their_format_are_refused_in_the_real_servers_words() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {
            "n": {"type": "integer", "format": "int32"}, "m": {"type": "integer"}}}));
        let refused = |object: Value| {
            let mut errors = Vec::new();
            check(&object, &schema, &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(refused(json!({"n": 2_147_483_647, "m": 10.0})), Vec::<String>::new());
        assert_eq!(
            refused(json!({"n": 3_000_000_000_u32})),
            [r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in n"#]
        );
        assert_eq!(
            refused(json!({"m": 1e30})),
            [
                r#"m: Invalid value: "number": m in body must be of type integer: "number""#,
                r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in m"#,
            ]
        );
    }
}
