//! The types of a tree, and what is wrong with them, in the words of a real server.

use super::functions::{FUNCTIONS, QUALIFIED, TYPES, result_of};
use super::lexer::Kind;
use super::parser::{Expr, Node};
use super::types::Type;
use crate::crd::pattern::misspelt;

/// One expression being looked at.
pub(super) struct Check<'a> {
    names: Vec<(&'a str, Type<'a>)>,
    /// What is wrong, each with where, in bytes.
    pub(super) mistakes: Vec<(usize, String)>,
}

impl<'a> Check<'a> {
    /// With these variables.
    pub(super) fn new(names: Vec<(&'a str, Type<'a>)>) -> Self {
        Self { names, mistakes: Vec::new() }
    }

    fn wrong(&mut self, at: usize, what: impl Into<String>) -> Type<'a> {
        self.mistakes.push((at, what.into()));
        Type::Wrong
    }

    fn no_overload(&mut self, at: usize, function: &str, of: &[&Type<'a>]) -> Type<'a> {
        let listed: Vec<_> = of.iter().map(ToString::to_string).collect();
        self.wrong(at, format!("found no matching overload for '{function}' applied to '({})'", listed.join(", ")))
    }

    fn is_known(&self, name: &str) -> bool {
        self.names.iter().any(|(known, _)| *known == name)
    }

    /// The type of an expression, and whatever is wrong with it.
    pub(super) fn type_of(&mut self, expr: &Expr<'a>) -> Type<'a> {
        match &expr.node {
            Node::Literal(kind, text) => literal(*kind, text),
            Node::Name(name) => match self.names.iter().rev().find(|(known, _)| known == name) {
                Some((_, of)) => of.clone(),
                None if TYPES.contains(name) || *name == "timestamp" => Type::Dyn,
                None => self.wrong(expr.at, undeclared(name)),
            },
            Node::Select { of, field, is_optional } => {
                if self.is_of_google(of) {
                    return Type::Dyn;
                }
                let of = self.type_of(of);
                let selected = self.select(&of, field, expr.at);
                if *is_optional { Type::Optional(Box::new(selected)) } else { selected }
            }
            Node::Index { of, index, is_optional } => {
                let (of, index) = (self.type_of(of), self.type_of(index));
                let found = match &of {
                    Type::List(item) if index.may_be(&Type::Int) => (**item).clone(),
                    Type::Map(key, value) if index.may_be(key) => (**value).clone(),
                    _ if of.is_certain() && index.is_certain() => self.no_overload(expr.at, "_[_]", &[&of, &index]),
                    _ => Type::Dyn,
                };
                if *is_optional { Type::Dyn } else { found }
            }
            Node::Call { target, name, args } => self.call(expr.at, target.as_deref(), name, args),
            Node::Operator(operator, operands) => self.operator(expr.at, operator, operands),
            Node::List(items) => Type::List(Box::new(self.one_type(items.iter()))),
            Node::Map(entries) => {
                let key = self.one_type(entries.iter().map(|(key, _)| key));
                let value = self.one_type(entries.iter().map(|(_, value)| value));
                Type::Map(Box::new(key), Box::new(value))
            }
        }
    }

    /// The type that all of these have to have.
    fn one_type<'e>(&mut self, items: impl Iterator<Item = &'e Expr<'a>>) -> Type<'a>
    where
        'a: 'e,
    {
        let types: Vec<_> = items.map(|item| (item.at, self.type_of(item))).collect();
        let Some((_, first)) = types.first().filter(|_| types.iter().all(|(_, one)| one.is_certain())) else {
            return Type::Dyn;
        };
        for (at, other) in types.iter().filter(|(_, other)| !other.may_be(first)) {
            self.wrong(*at, format!("expected type '{first}' but found '{other}'"));
        }
        first.clone()
    }

    /// Whether it is the name of a type of messages, or a part of one.
    fn is_of_google(&self, expr: &Expr<'a>) -> bool {
        match &expr.node {
            Node::Name(name) => *name == "google" && !self.is_known(name),
            Node::Select { of, .. } => self.is_of_google(of),
            _ => false,
        }
    }

    fn is_qualified(&self, target: &Expr<'a>, name: &str) -> bool {
        let Node::Name(first) = target.node else { return false };
        let behind = QUALIFIED.iter().find(|(known, _)| *known == first && !self.is_known(first));
        behind.is_some_and(|(_, names)| names.is_empty() || names.contains(&name))
    }

    fn select(&mut self, of: &Type<'a>, field: &str, at: usize) -> Type<'a> {
        match of {
            Type::Object(fields) => match fields.get(field) {
                Some(found) => found,
                None => self.wrong(at, format!("undefined field '{field}'")),
            },
            Type::Map(_, value) => (**value).clone(),
            Type::Optional(inner) => {
                let inner = self.select(inner, field, at);
                Type::Optional(Box::new(inner))
            }
            Type::Dyn => Type::Dyn,
            Type::Wrong => Type::Wrong,
            other if !other.is_certain() => Type::Dyn,
            other => self.wrong(at, format!("type '{other}' does not support field selection")),
        }
    }

    fn call(&mut self, at: usize, target: Option<&Expr<'a>>, name: &str, args: &[Expr<'a>]) -> Type<'a> {
        if let (None, "has", [arg]) = (target, name, args) {
            if let Node::Select { of, field, .. } = &arg.node {
                let of = self.type_of(of);
                self.select(&of, field, at);
            }
            return Type::Bool;
        }
        let Some(target) = target else {
            let types: Vec<_> = args.iter().map(|arg| self.type_of(arg)).collect();
            return self.function(at, name, &types);
        };
        if self.is_qualified(target, name) {
            for arg in args {
                self.type_of(arg);
            }
            return Type::Dyn;
        }
        let of = self.type_of(target);
        if matches!(
            (name, args.len()),
            ("all" | "exists" | "exists_one" | "filter" | "map" | "optMap" | "optFlatMap", 2)
                | ("all" | "exists" | "existsOne" | "map" | "transformList" | "transformMap" | "transformMapEntry", 3)
                | ("transformList" | "transformMap" | "transformMapEntry", 4)
        ) {
            return self.comprehension(at, (&of, target.at), name, args);
        }
        if let ("format", [Expr { node: Node::List(items), .. }]) = (name, args) {
            // Of all lists this one may mix types.
            for item in items {
                self.type_of(item);
            }
            return Type::String;
        }
        let types: Vec<_> = args.iter().map(|arg| self.type_of(arg)).collect();
        if let (Type::String, "matches", [Expr { at, node: Node::Literal(Kind::String, text) }]) = (&of, name, args)
            && !text.contains('\\')
            && misspelt(text.trim_matches(['\'', '"'])).is_some()
        {
            return self.wrong(*at, "invalid matches argument");
        }
        self.method(at, &of, name, &types)
    }

    fn comprehension(&mut self, at: usize, (of, of_at): (&Type<'a>, usize), name: &str, args: &[Expr<'a>]) -> Type<'a> {
        let (first, second) = match of {
            Type::List(item) => (Type::Int, (**item).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Wrong | Type::Optional(_) | Type::Object(_) => (Type::Dyn, Type::Dyn),
            other => {
                let why = "cannot be range of a comprehension (must be list, map, or dynamic)";
                return self.wrong(of_at, format!("expression of type '{other}' {why}"));
            }
        };
        if matches!(name, "optMap" | "optFlatMap") {
            return Type::Dyn;
        }
        let variables: Vec<_> =
            args.iter().map_while(|arg| if let Node::Name(name) = arg.node { Some(name) } else { None }).collect();
        let has_two = args.len() > 2 && name != "map";
        let bound = self.names.len();
        let wanted = if has_two { 2 } else { 1 };
        let (Some(names), Some(rest)) = (variables.get(..wanted), args.get(wanted..)) else { return Type::Dyn };
        match (names, of) {
            ([one, other], _) => self.names.extend([(*one, first), (*other, second)]),
            ([one], Type::Map(..)) => self.names.push((*one, first)),
            ([one], _) => self.names.push((*one, second)),
            _ => {}
        }
        let types: Vec<_> = rest.iter().map(|arg| (arg.at, self.type_of(arg))).collect();
        self.names.truncate(bound);
        match (name, types.as_slice()) {
            ("all" | "exists", [(at, predicate)]) => {
                self.want_bool(*at, predicate);
                Type::Bool
            }
            ("filter", [(_, predicate)]) => match of {
                Type::List(_) if predicate.may_be(&Type::Bool) => of.clone(),
                Type::List(_) if predicate.is_certain() => self.no_overload(at, "_?_:_", &[predicate, of, of]),
                _ => Type::Dyn,
            },
            ("exists_one" | "existsOne", [(_, predicate)]) => {
                if predicate.is_certain() && !predicate.may_be(&Type::Bool) {
                    return self.no_overload(at, "_?_:_", &[predicate, &Type::Int, &Type::Int]);
                }
                Type::Bool
            }
            ("map", [.., (_, mapped)]) => Type::List(Box::new(mapped.clone())),
            _ => Type::Dyn,
        }
    }

    fn want_bool(&mut self, at: usize, found: &Type<'a>) {
        if !found.may_be(&Type::Bool) && found.is_certain() {
            self.wrong(at, format!("expected type 'bool' but found '{found}'"));
        }
    }

    fn function(&mut self, at: usize, name: &str, args: &[Type<'a>]) -> Type<'a> {
        match (name, args) {
            ("size", [Type::String | Type::Bytes | Type::List(_) | Type::Map(..)])
            | ("int", [Type::Int | Type::Uint | Type::Double | Type::String | Type::Timestamp]) => Type::Int,
            ("size", [one]) if one.is_certain() => self.no_overload(at, name, &[one]),
            ("string", [_]) => Type::String,
            ("double", [_]) => Type::Double,
            ("bool" | "isURL" | "isIP" | "isCIDR" | "isQuantity" | "isSemver", _) => Type::Bool,
            ("duration", [_]) => Type::Duration,
            ("timestamp", [_]) => Type::Timestamp,
            _ if FUNCTIONS.contains(&name) => Type::Dyn,
            _ => self.wrong(at, undeclared(name)),
        }
    }

    fn method(&mut self, at: usize, of: &Type<'a>, name: &str, args: &[Type<'a>]) -> Type<'a> {
        match (name, of, args) {
            ("startsWith" | "endsWith" | "contains" | "matches", Type::String, [Type::String])
            | ("hasValue", Type::Optional(_), [])
            | ("isSorted", Type::List(_), []) => Type::Bool,
            ("startsWith" | "endsWith" | "matches", one, [other]) if one.is_certain() && other.is_certain() => {
                let what = format!("found no matching overload for '{name}' applied to '{one}.({other})'");
                self.wrong(at, what)
            }
            ("size", Type::String | Type::Bytes | Type::List(_) | Type::Map(..), [])
            | ("indexOf" | "lastIndexOf", Type::String, _) => Type::Int,
            ("size", one, []) if one.is_certain() => {
                self.wrong(at, format!("found no matching overload for 'size' applied to '{one}.()'"))
            }
            ("lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "charAt" | "quote", Type::String, _)
            | ("join", Type::List(_), _)
            | ("find", Type::String, [_]) => Type::String,
            ("split" | "findAll", Type::String, _) => Type::List(Box::new(Type::String)),
            ("value", Type::Optional(inner), []) | ("orValue", Type::Optional(inner), [_]) => (**inner).clone(),
            ("min" | "max" | "sum", Type::List(item), []) => (**item).clone(),
            _ if FUNCTIONS.contains(&name) => result_of(name),
            _ => self.wrong(at, undeclared(name)),
        }
    }

    fn operator(&mut self, at: usize, operator: &str, operands: &[Expr<'a>]) -> Type<'a> {
        let types: Vec<_> = operands.iter().map(|operand| (operand.at, self.type_of(operand))).collect();
        match (operator, types.as_slice()) {
            ("&&" | "||", [(one_at, one), (other_at, other)]) => {
                self.want_bool(*one_at, one);
                self.want_bool(*other_at, other);
                Type::Bool
            }
            ("!_", [(_, one)]) => match one {
                one if one.may_be(&Type::Bool) || !one.is_certain() => Type::Bool,
                one => self.no_overload(at, operator, &[one]),
            },
            ("-_", [(_, one)]) => match one {
                Type::Int | Type::Double => one.clone(),
                one if one.is_certain() => self.no_overload(at, operator, &[one]),
                _ => Type::Dyn,
            },
            ("_?_:_", [(_, condition), (_, one), (_, other)]) => {
                let is_certain = condition.is_certain() && one.is_certain() && other.is_certain();
                if is_certain && !(condition.may_be(&Type::Bool) && one.may_be(other)) {
                    return self.no_overload(at, operator, &[condition, one, other]);
                }
                if one.is_certain() && other.is_certain() { one.clone() } else { Type::Dyn }
            }
            (_, [(_, one), (_, other)]) => self.binary(at, operator, one, other),
            _ => Type::Dyn,
        }
    }

    fn binary(&mut self, at: usize, operator: &str, one: &Type<'a>, other: &Type<'a>) -> Type<'a> {
        use Type::{Bool, Bytes, Double, Duration, Int, List, Map, String, Timestamp, Uint};
        let is_unknown = !one.is_certain() || !other.is_certain();
        let result = match (operator, one, other) {
            ("==" | "!=", one, other) if is_unknown || one.may_be(other) => Some(Bool),
            ("<" | "<=" | ">" | ">=", Int | Uint | Double, Int | Uint | Double)
            | ("<" | "<=" | ">" | ">=", Bool, Bool)
            | ("<" | "<=" | ">" | ">=", String, String)
            | ("<" | "<=" | ">" | ">=", Bytes, Bytes)
            | ("<" | "<=" | ">" | ">=", Duration, Duration)
            | ("<" | "<=" | ">" | ">=", Timestamp, Timestamp) => Some(Bool),
            ("in", one, List(item)) if one.may_be(item) => Some(Bool),
            ("in", one, Map(key, _)) if one.may_be(key) => Some(Bool),
            ("+" | "-" | "*" | "/" | "%", Int, Int) => Some(Int),
            ("+" | "-" | "*" | "/" | "%", Uint, Uint) => Some(Uint),
            ("+" | "-" | "*" | "/", Double, Double) => Some(Double),
            ("+", String, String) => Some(String),
            ("+", Bytes, Bytes) => Some(Bytes),
            ("+", List(item), List(more)) if item.may_be(more) => Some(one.clone()),
            ("+" | "-", Duration, Duration) | ("-", Timestamp, Timestamp) => Some(Duration),
            ("+" | "-", Timestamp, Duration) | ("+", Duration, Timestamp) => Some(Timestamp),
            ("<" | "<=" | ">" | ">=" | "in", ..) if is_unknown => Some(Bool),
            _ if is_unknown => Some(Type::Dyn),
            _ => None,
        };
        result.unwrap_or_else(|| {
            let name = if operator == "in" { "@in".to_owned() } else { format!("_{operator}_") };
            self.no_overload(at, &name, &[one, other])
        })
    }
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

fn literal<'a>(kind: Kind, text: &str) -> Type<'a> {
    match kind {
        Kind::Int => Type::Int,
        Kind::Uint => Type::Uint,
        Kind::Double => Type::Double,
        Kind::String => Type::String,
        Kind::Bytes => Type::Bytes,
        Kind::Name if text == "null" => Type::Null,
        Kind::Name | Kind::Sign => Type::Bool,
    }
}
