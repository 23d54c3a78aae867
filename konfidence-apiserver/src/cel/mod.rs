//! What a rule in CEL says, before it is ever asked: whether the fields, functions and operators that it names exist for
//! the types that the schema declares, and what comes out of it.
//!
//! ```text
//!   text -> tokens -> tree -> types
//!           lexer     parser  check, with functions and what types makes of the schema
//! ```
//!
//! The library that evaluates rules compiles them without types, and its tree tells no places. A real server says what is
//! wrong and where, so the tree is read here once more. Whatever this does not know for certain is let pass: a rule that
//! a real server takes must not be refused.

mod check;
mod functions;
mod lexer;
mod parser;
mod types;

use serde_json::Value;

use self::check::Check;
use self::functions::MACROS;
use self::types::{Type, of_schema};

/// What a rule or its message has to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Bool,
    String,
}

/// What is wrong with an expression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Each with its place, as a real server prints them.
    Types(String),
    /// It comes to something else.
    Result,
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The schema of what is `self` there.
    pub schema: &'a Value,
    /// Whether that is a whole object.
    pub is_object: bool,
    /// Whether `oldSelf` may be missing.
    pub old_is_optional: bool,
}

/// The first thing that is wrong with the types of `source`; `None`: nothing is known to be.
pub(crate) fn mistake(source: &str, place: Place<'_>, wanted: Wanted) -> Option<Mistake> {
    let tree = parser::parse(&lexer::tokens(source)?)?;
    let of_self = of_schema(place.schema, place.is_object)?;
    let of_old = if place.old_is_optional { Type::Optional(Box::new(of_self.clone())) } else { of_self.clone() };
    let mut check = Check::new(vec![("self", of_self), ("oldSelf", of_old)]);
    let result = check.type_of(&tree);
    if !check.mistakes.is_empty() {
        check.mistakes.sort_by_key(|(at, _)| *at);
        let told = check.mistakes.iter().map(|(at, what)| in_place(source, *at, what));
        return Some(Mistake::Types(told.collect::<Vec<_>>().join("\n")));
    }
    let wanted = match wanted {
        Wanted::Bool => Type::Bool,
        Wanted::String => Type::String,
    };
    (!result.may_be(&wanted)).then_some(Mistake::Result)
}

/// Whether `self` stands nowhere in a rule but in `self.metadata.name`, and `oldSelf` nowhere.
pub(crate) fn reads_only_the_name(source: &str) -> bool {
    const NAME: [&str; 4] = [".", "metadata", ".", "name"];
    let Some(tokens) = lexer::tokens(source) else { return false };
    let is_field = |at: usize| at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|before| before.text == ".");
    let named = tokens.iter().enumerate().filter(|(at, token)| token.kind == lexer::Kind::Name && !is_field(*at));
    let mut reads = named.filter(|(_, token)| matches!(token.text, "self" | "oldSelf")).peekable();
    reads.peek().is_some()
        && reads.all(|(at, token)| {
            let after = tokens.iter().skip(at + 1).take(NAME.len()).map(|token| token.text);
            token.text == "self" && after.eq(NAME)
        })
}

/// How deep the macros of a rule that take a turn for each element are nested in each other.
pub(crate) fn macro_depth(source: &str) -> u32 {
    // A quote without an end is no rule.
    let tokens = lexer::tokens(source).unwrap_or_default();
    // Whether each open parenthesis is a macro's.
    let mut open = Vec::new();
    let (mut depth, mut deepest) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => {
                let before = at.checked_sub(2).and_then(|from| tokens.get(from..at));
                let is_macro = matches!(before, Some([dot, name]) if dot.text == "." && MACROS.contains(&name.text));
                open.push(is_macro);
                depth += u32::from(is_macro);
                deepest = deepest.max(depth);
            }
            ")" => depth -= u32::from(open.pop().unwrap_or_default()),
            _ => {}
        }
    }
    deepest
}

/// A mistake with its line and a mark under its place.
fn in_place(source: &str, at: usize, what: &str) -> String {
    let before = source.get(..at).unwrap_or(source);
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let line = source.get(begin..).unwrap_or_default().lines().next().unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let column = before.get(begin..).unwrap_or_default().chars().count();
    format!(
        "ERROR: <input>:{number}:{}: {what}\n | {}\n | {}^",
        column + 1,
        line.replace('\t', " "),
        ".".repeat(column)
    )
}

#[cfg(test)]
mod tests;
