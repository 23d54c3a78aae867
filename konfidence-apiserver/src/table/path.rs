//! The JSON paths of printer columns: fields, indexes, `[*]` and one comparison, as the real server allows them there.

use serde_json::Value;

/// The first value that `path` finds.
pub(super) fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let steps = parse(path)?;
    let mut found = vec![object];
    for step in &steps {
        found = found.into_iter().flat_map(|value| follow(value, step)).collect();
    }
    found.into_iter().next()
}

/// Whether `path` can be followed at all.
pub(crate) fn is_valid(path: &str) -> bool {
    path.starts_with('.') && parse(path).is_some()
}

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// `[?(@.type=="Ready")]`: items whose field compares so.
    Where {
        path: Vec<String>,
        equal: bool,
        value: Value,
    },
}

fn follow<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match (step, value) {
        (Step::Field(name), _) => value.get(name).into_iter().collect(),
        (Step::Index(index), Value::Array(items)) => {
            let at = if *index < 0 { i64::try_from(items.len()).unwrap_or_default() + index } else { *index };
            usize::try_from(at).ok().and_then(|at| items.get(at)).into_iter().collect()
        }
        (Step::All, Value::Array(items)) => items.iter().collect(),
        (Step::All, Value::Object(fields)) => fields.values().collect(),
        (Step::Where { path, equal, value: wanted }, Value::Array(items)) => items
            .iter()
            .filter(|item| {
                let found = path.iter().try_fold(*item, |value, name| value.get(name));
                found.is_some_and(|found| (found == wanted) == *equal)
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = closing(inner)?;
            steps.push(bracket(inner.get(..end)?.trim())?);
            rest = inner.get(end + 1..)?;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let (name, after) = field(rest);
            match name.as_str() {
                "" if after.starts_with('[') => {}
                "" if after.is_empty() && steps.is_empty() => {}
                "" => return None,
                "*" => steps.push(Step::All),
                _ => steps.push(Step::Field(name)),
            }
            rest = after;
        }
    }
    Some(steps)
}

/// A field name up to the next step; a dot in it is escaped (`\.`).
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, text.get(at..).unwrap_or_default()),
            letter => name.push(letter),
        }
    }
    (name, "")
}

/// Where the bracket ends that was opened before `text`; quotes hide brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inner) {
        return Some(Step::Field(name));
    }
    if let Some(condition) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (left, equal, right) = condition
            .split_once("==")
            .map(|(left, right)| (left, true, right))
            .or_else(|| condition.split_once("!=").map(|(left, right)| (left, false, right)))?;
        let path = left.trim().strip_prefix('@')?.split('.').filter(|name| !name.is_empty());
        let right = right.trim();
        let value = quoted(right).map(Value::String).or_else(|| serde_json::from_str(right).ok())?;
        return Some(Step::Where { path: path.map(str::to_owned).collect(), equal, value });
    }
    inner.parse().ok().map(Step::Index)
}

fn quoted(text: &str) -> Option<String> {
    ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        Some(inner.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_paths_of_printer_columns_are_followed() {
        let object = json!({
            "spec": {"vector": "v1", "list": [{"n": 1}, {"n": 2}], "a.b": "dotted"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        let found = |path: &str| first(&object, path).cloned().unwrap_or_default();
        assert_eq!(found(".spec.vector"), "v1");
        assert_eq!(found(r#".status.conditions[?(@.type=="Other")].status"#), "False");
        assert_eq!(found(".status.conditions[?(@.type=='Ready')].status"), "True");
        assert_eq!(found(".spec.list[1].n"), 2);
        assert_eq!(found(".spec.list[-1].n"), 2);
        assert_eq!(found(".spec.list[*].n"), 1);
        assert_eq!(found(r".spec.a\.b"), "dotted");
        assert_eq!(found(".spec['a.b']"), "dotted");
        assert_eq!(found(".spec.none"), Value::Null);
        assert!(!is_valid("spec.vector"));
        assert!(!is_valid(".spec[?(@.x)"));
    }
}
