//! One refused field: where, what kind of refusal, and the words of the real server for it.

use std::fmt;

use serde_json::{Value, json};

/// All refusals of one object, in the order in which they were found.
pub(crate) type FieldErrors = Vec<FieldError>;

/// The kinds of refusal that `field.Error` of the real server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorType {
    /// A required field is missing.
    Required,
    /// The value breaks a rule.
    Invalid,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value is none of an enum.
    NotSupported,
    /// The value occurs twice in a set.
    Duplicate,
    /// The text is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// The value may not be there (or may not be changed).
    Forbidden,
}

impl FieldErrorType {
    /// How a sentence starts.
    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Forbidden => "Forbidden",
        }
    }

    /// `metav1.CauseType`.
    fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

/// One refused field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    /// `spec.steps[0].name`.
    pub field: String,
    /// The kind of refusal.
    pub kind: FieldErrorType,
    /// The value that is refused, as far as it is shown.
    pub value: Option<Value>,
    /// How the value is written, if not as JSON.
    pub shown: Option<String>,
    /// The rest of the sentence; empty: none.
    pub detail: String,
}

impl FieldError {
    /// A missing field.
    pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), kind: FieldErrorType::Required, value: None, shown: None, detail: detail.into() }
    }

    /// A value that breaks a rule.
    pub(crate) fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorType::Invalid,
            value: Some(value.into()),
            shown: None,
            detail: detail.into(),
        }
    }

    /// A value that breaks a rule and is shown in a form of its own.
    pub(crate) fn shown(field: impl Into<String>, shown: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { shown: Some(shown.into()), ..Self::invalid(field, Value::Null, detail) }
    }

    /// A value that is none of `supported`.
    pub(crate) fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[String]) -> Self {
        let listed: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        Self {
            field: field.into(),
            kind: FieldErrorType::NotSupported,
            value: Some(value.into()),
            shown: None,
            detail: format!("supported values: {}", listed.join(", ")),
        }
    }

    /// Text that is longer than `limit` bytes.
    pub(crate) fn too_long(field: impl Into<String>, limit: u64) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorType::TooLong,
            value: None,
            shown: None,
            detail: format!("may not be more than {limit} {}", if limit == 1 { "byte" } else { "bytes" }),
        }
    }

    /// A list or map of `actual` entries where `limit` are allowed.
    pub(crate) fn too_many(field: impl Into<String>, actual: usize, limit: u64) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorType::TooMany,
            value: Some(actual.into()),
            shown: None,
            detail: format!("must have at most {limit} {}", if limit == 1 { "item" } else { "items" }),
        }
    }

    /// A value that occurs twice.
    pub(crate) fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorType::Duplicate,
            value: Some(value.into()),
            shown: None,
            detail: String::new(),
        }
    }

    /// A field that may not be set or changed.
    pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), kind: FieldErrorType::Forbidden, value: None, shown: None, detail: detail.into() }
    }

    /// Whether the object is too broken for its CEL rules to be worth asking.
    pub(crate) fn is_blocking(&self) -> bool {
        matches!(
            self.kind,
            FieldErrorType::Required
                | FieldErrorType::NotSupported
                | FieldErrorType::TooLong
                | FieldErrorType::TooMany
                | FieldErrorType::TypeInvalid
        )
    }

    /// The sentence without the field: what a cause's `message` holds.
    pub(crate) fn body(&self) -> String {
        let mut body = self.kind.words().to_owned();
        if let Some(shown) = &self.shown {
            body.extend([": ", shown]);
            if !self.detail.is_empty() {
                body.extend([": ", &self.detail]);
            }
            return body;
        }
        match &self.value {
            Some(Value::String(text)) => body.extend([": ", &quoted(text)]),
            Some(value) => body.extend([": ", &value.to_string()]),
            None => {}
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }

    /// A `StatusCause`.
    pub(crate) fn cause(&self) -> Value {
        json!({"reason": self.kind.reason(), "message": self.body(), "field": self.field})
    }
}

/// Text in quotes with the escapes that Go's `%q` makes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            letter if letter.is_ascii_control() => quoted.extend(format!("\\x{:02x}", u32::from(letter)).chars()),
            letter if letter.is_control() => quoted.extend(format!("\\u{:04x}", u32::from(letter)).chars()),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The field under `parent`; a parent that is empty is the object itself.
pub(crate) fn child(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_the_real_server_words_it() {
        assert_eq!(FieldError::required("spec.target", "").to_string(), "spec.target: Required value");
        assert_eq!(
            FieldError::not_supported("spec.kind", "x", &["Stage".into(), "VectorTemplate".into()]).to_string(),
            r#"spec.kind: Unsupported value: "x": supported values: "Stage", "VectorTemplate""#
        );
        assert_eq!(
            FieldError::too_many("spec.steps", 5, 3).to_string(),
            "spec.steps: Too many: 5: must have at most 3 items"
        );
        assert_eq!(FieldError::invalid("spec.n", -1, "no").to_string(), "spec.n: Invalid value: -1: no");
    }
}
