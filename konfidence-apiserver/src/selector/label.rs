//! Label selectors as queries write them: `app=menu,stage in (dev, test),!legacy`.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector, SelectorExt};
use serde_json::Value;

use crate::field::quoted;
use crate::verbs::validate::names;

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
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let requirements = parser.requirements()?;
        let (mut expressions, mut bounds): (Vec<Expression>, _) = (Vec::new(), Vec::new());
        let empty = requirements.is_empty();
        for requirement in requirements {
            match requirement {
                Requirement::Expression(expression) => expressions.push(expression),
                Requirement::Bound(key, bound) => bounds.push((key, bound)),
            }
        }
        Ok(Self { empty, selector: expressions.into_iter().collect(), bounds })
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

/// A word of a selector, or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Sign(sign) => sign,
            Self::End => "",
        }
    }

    fn is(&self, text: &str) -> bool {
        *self != Self::End && self.text() == text
    }
}

/// Longer signs first.
const SIGNS: &[&str] = &["==", "!=", "=", "!", ",", "(", ")", "<", ">"];

fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut word, mut rest) = (Vec::new(), String::new(), text);
    while let Some(letter) = rest.chars().next() {
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        if (sign.is_some() || letter.is_whitespace()) && !word.is_empty() {
            tokens.push(Token::Word(std::mem::take(&mut word)));
        }
        if let Some(sign) = sign {
            tokens.push(Token::Sign(sign));
            rest = rest.get(sign.len()..).unwrap_or_default();
            continue;
        }
        if !letter.is_whitespace() {
            word.push(letter);
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    if !word.is_empty() {
        tokens.push(Token::Word(word));
    }
    tokens
}

/// Reads requirements as the real server does, whose words for what it does not understand tell how it reads.
struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End if requirements.is_empty() => return Ok(requirements),
                Token::Word(_) | Token::Sign("!") => {}
                other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
            }
            let requirement = self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(requirement);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Sign(",") => match self.peek() {
                    Token::Word(_) | Token::Sign("!") => {}
                    other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                },
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Sign("!");
        if absent {
            self.take();
        }
        let Token::Word(key) = self.take() else {
            self.at -= 1;
            return Err(format!("found '{}', expected: identifier", self.peek().text()));
        };
        check_key(&key)?;
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(Requirement::Expression(if absent {
                Expression::DoesNotExist(key)
            } else {
                Expression::Exists(key)
            }));
        }
        let operator = self.take();
        match operator.text() {
            "in" | "notin" => {
                let values = self.set()?;
                for value in &values {
                    check_value(&key, value)?;
                }
                Ok(Requirement::Expression(if operator.is("in") {
                    Expression::In(key, values)
                } else {
                    Expression::NotIn(key, values)
                }))
            }
            "=" | "==" | "!=" => {
                let value = self.value()?;
                check_value(&key, &value)?;
                Ok(Requirement::Expression(if operator.is("!=") {
                    Expression::NotEqual(key, value)
                } else {
                    Expression::Equal(key, value)
                }))
            }
            ">" | "<" => {
                let value = self.value()?;
                let limit = value.parse().map_err(|_| {
                    format!(
                        "values[0]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                        quoted(&value)
                    )
                })?;
                let bound = if operator.is(">") { Bound::Above(limit) } else { Bound::Below(limit) };
                Ok(Requirement::Bound(key, bound))
            }
            other => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    /// A value; nothing is one, too.
    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(String::new()),
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            other @ Token::Sign(_) => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn set(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.take();
        if !open.is("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Word(_) | Token::Sign(",") => {}
            Token::Sign(")") => {
                self.take();
                values.insert(String::new());
                return Ok(values);
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.peek() {
                        Token::Sign(",") => {}
                        Token::Sign(")") => {
                            self.take();
                            return Ok(values);
                        }
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Sign(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Sign("," | ")")) {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Sign(")") {
                        self.take();
                        return Ok(values);
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    match names::label_key(key).as_slice() {
        [] => Ok(()),
        why => Err(format!("<nil>: Invalid value: {}: {}", quoted(key), why.join("; "))),
    }
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    match names::label_value(value).as_slice() {
        [] => Ok(()),
        why => Err(format!("values[0][{key}]: Invalid value: {}: {}", quoted(value), why.join("; "))),
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
