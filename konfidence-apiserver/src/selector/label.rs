//! Label selectors as queries write them: `app=menu,stage in (dev, test),!legacy`.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector, SelectorExt};
use serde_json::Value;

/// A parsed label selector.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelSelector {
    selector: Selector,
    /// `key > number` and `key < number`, which are not part of [`Expression`].
    bounds: Vec<(String, Bound)>,
    empty: bool,
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut expressions: Vec<Expression> = Vec::new();
        let mut bounds = Vec::new();
        let requirements: Vec<String> = split(text);
        for requirement in &requirements {
            match parse(requirement)? {
                Requirement::Expression(expression) => expressions.push(expression),
                Requirement::Bound(key, bound) => bounds.push((key, bound)),
            }
        }
        Ok(Self { empty: requirements.is_empty(), selector: expressions.into_iter().collect(), bounds })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        if self.empty {
            return true;
        }
        let labels: BTreeMap<String, String> = object
            .pointer("/metadata/labels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        let number = |key: &str| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        self.selector.matches(&labels)
            && self.bounds.iter().all(|(key, bound)| match (number(key), bound) {
                (Some(value), Bound::Above(limit)) => value > *limit,
                (Some(value), Bound::Below(limit)) => value < *limit,
                (None, _) => false,
            })
    }
}

enum Requirement {
    Expression(Expression),
    Bound(String, Bound),
}

/// At the commas that are not inside parentheses.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for letter in text.chars() {
        match letter {
            '(' => inside = true,
            ')' => inside = false,
            ',' if !inside => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn parse(requirement: &str) -> Result<Requirement, String> {
    let requirement = requirement.trim();
    let expression = if let Some((key, values)) = set(requirement, "notin") {
        Expression::NotIn(checked_key(key)?, values)
    } else if let Some((key, values)) = set(requirement, "in") {
        Expression::In(checked_key(key)?, values)
    } else if let Some((key, value)) = requirement.split_once("!=") {
        Expression::NotEqual(checked_key(key)?, checked_value(value)?)
    } else if let Some((key, value)) = requirement.split_once("==").or_else(|| requirement.split_once('=')) {
        Expression::Equal(checked_key(key)?, checked_value(value)?)
    } else if let Some((key, limit)) = requirement.split_once('>') {
        return Ok(Requirement::Bound(checked_key(key)?, Bound::Above(limit_of(limit)?)));
    } else if let Some((key, limit)) = requirement.split_once('<') {
        return Ok(Requirement::Bound(checked_key(key)?, Bound::Below(limit_of(limit)?)));
    } else if let Some(key) = requirement.strip_prefix('!') {
        Expression::DoesNotExist(checked_key(key)?)
    } else {
        Expression::Exists(checked_key(requirement)?)
    };
    Ok(Requirement::Expression(expression))
}

/// `key operator (a, b)`.
fn set<'a>(requirement: &'a str, operator: &str) -> Option<(&'a str, BTreeSet<String>)> {
    let (head, values) = requirement.strip_suffix(')')?.split_once('(')?;
    let head = head.trim_end();
    let key = head.strip_suffix(operator)?;
    let key = key.strip_suffix(char::is_whitespace)?;
    Some((key, values.split(',').map(|value| value.trim().to_owned()).collect()))
}

fn limit_of(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no number; for '>' and '<' the value must be an integer"))
}

fn checked_key(key: &str) -> Result<String, String> {
    let key = key.trim();
    match crate::verbs::validate::names::qualified_name(key).into_iter().next() {
        None => Ok(key.to_owned()),
        Some(error) => Err(format!("key: Invalid value: {key:?}: {error}")),
    }
}

fn checked_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    match crate::verbs::validate::names::label_value(value).into_iter().next() {
        None => Ok(value.to_owned()),
        Some(error) => Err(format!("values: Invalid value: {value:?}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector).expect(selector).matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_operator_selects_as_the_real_server_does() {
        let labels = json!({"app": "menu", "stage": "dev", "n": "5"});
        for yes in [
            "",
            "app=menu",
            "app==menu",
            "app!=x",
            "other!=x",
            "app",
            "!other",
            "stage in (dev, test)",
            "stage notin (prod)",
            "other notin (prod)",
            "app=menu,stage=dev",
            "n>4",
            "n<6",
            " app = menu ",
        ] {
            assert!(selects(yes, &labels), "{yes}");
        }
        for no in
            ["app=x", "app!=menu", "other", "!app", "stage in (prod)", "stage notin (dev)", "app=menu,stage=x", "n>5"]
        {
            assert!(!selects(no, &labels), "{no}");
        }
        for bad in ["a b", "a=b c", "a>x", "-=1"] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
    }
}
