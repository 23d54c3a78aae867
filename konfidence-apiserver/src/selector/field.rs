//! Field selectors as queries write them: `metadata.name=a,status.state!=Failed`.

use serde_json::Value;

/// A parsed field selector.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSelector(Vec<(String, bool, String)>);

impl FieldSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for term in split(text) {
            let (field, equal, value) = if let Some((field, value)) = term.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
                (field, true, value)
            } else {
                return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
            };
            terms.push((field.trim().trim_start_matches('.').to_owned(), equal, unescape(value)));
        }
        Ok(Self(terms))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(field, _, _)| field.as_str())
    }

    /// A field that is not there counts as empty.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(field, equal, wanted)| (text(object, field) == *wanted) == *equal)
    }
}

/// The value of a dotted path as text; empty if there is none.
fn text(object: &Value, path: &str) -> String {
    // Selectors on core events say `source` and mean the component.
    let path = if path == "source" { "source.component" } else { path };
    match path.split('.').try_fold(object, |value, name| value.get(name)) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        _ => String::new(),
    }
}

/// At the commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            ',' if !escaped => terms.push(String::new()),
            letter => {
                if let Some(last) = terms.last_mut() {
                    last.push(letter);
                }
            }
        }
        escaped = letter == '\\' && !escaped;
    }
    terms.retain(|term| !term.is_empty());
    terms
}

fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => result.extend(letters.next()),
            letter => result.push(letter),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_select_by_their_text_and_escapes_are_undone() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"n": 3, "on": true, "x": "p,q=r"}});
        let selects = |text: &str| FieldSelector::parse(text).expect(text).matches(&object);
        assert!(selects("metadata.name=a,spec.n==3,spec.on=true"));
        assert!(selects("metadata.name!=b,spec.none="));
        assert!(selects(r"spec.x=p\,q\=r"));
        assert!(!selects("spec.n=4"));
        assert!(FieldSelector::parse("nonsense").is_err());
    }
}
