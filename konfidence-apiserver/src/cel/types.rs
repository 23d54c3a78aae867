//! The types of CEL, and which one a schema declares.

use std::fmt;

use serde_json::Value;

/// A type.
#[derive(Clone, Debug)]
pub(super) enum Type<'a> {
    /// Whatever it is, it is let pass: known only to whoever evaluates.
    Dyn,
    /// Of what is wrong: it was told once.
    Wrong,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>, Box<Type<'a>>),
    Object(Fields<'a>),
    Optional(Box<Type<'a>>),
}

/// The fields of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields<'a> {
    /// Those of a schema; a whole object has `apiVersion`, `kind` and `metadata` besides.
    Of { schema: &'a Value, is_whole: bool },
    /// Those of `metadata` that rules may read.
    Metadata,
}

impl<'a> Fields<'a> {
    /// The type of a field, as it is named in a rule; `None`: there is none of this name.
    pub(super) fn get(self, name: &str) -> Option<Type<'a>> {
        match self {
            Self::Metadata => matches!(name, "name" | "generateName").then_some(Type::String),
            Self::Of { is_whole: true, .. } if matches!(name, "apiVersion" | "kind") => Some(Type::String),
            Self::Of { is_whole: true, .. } if name == "metadata" => Some(Type::Object(Self::Metadata)),
            Self::Of { schema, .. } => {
                let (_, field) = schema.get("properties")?.as_object()?.iter().find(|(own, _)| escaped(own) == name)?;
                of_schema(field, is_set(field, "x-kubernetes-embedded-resource"))
            }
        }
    }
}

impl Type<'_> {
    /// Whether a value of this type can be one of `other`, as far as is known.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Wrong | Self::Optional(_), _) | (_, Self::Dyn | Self::Wrong | Self::Optional(_)) => true,
            // What is a message or one of its wrappers can be null; the rest cannot.
            (Self::Null, other) | (other, Self::Null) => {
                !matches!(other, Self::Bool | Self::Int | Self::Uint | Self::Double | Self::String | Self::Bytes)
            }
            (Self::List(one), Self::List(other)) => one.may_be(other),
            (Self::Map(key, value), Self::Map(other_key, other)) => key.may_be(other_key) && value.may_be(other),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether nothing of it is left to whoever evaluates.
    pub(super) fn is_certain(&self) -> bool {
        match self {
            Self::Dyn | Self::Wrong | Self::Optional(_) | Self::Object(_) => false,
            Self::List(of) => of.is_certain(),
            Self::Map(key, value) => key.is_certain() && value.is_certain(),
            _ => true,
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn | Self::Wrong => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Object(_) => "object",
            Self::List(of) => return write!(f, "list({of})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
            Self::Optional(of) => return write!(f, "optional_type({of})"),
        })
    }
}

/// The type that a schema declares; `None`: none, so that rules cannot read it.
pub(super) fn of_schema(schema: &Value, is_whole: bool) -> Option<Type<'_>> {
    if is_set(schema, "x-kubernetes-int-or-string") {
        return Some(Type::Dyn);
    }
    Some(match schema.get("type").and_then(Value::as_str)? {
        "array" => {
            let items = schema.get("items")?;
            Type::List(Box::new(of_schema(items, is_set(items, "x-kubernetes-embedded-resource"))?))
        }
        "object" => match schema.get("additionalProperties").filter(|more| more.is_object()) {
            Some(more) => Type::Map(Box::new(Type::String), Box::new(of_schema(more, false)?)),
            None => Type::Object(Fields::Of { schema, is_whole }),
        },
        "string" => match schema.get("format").and_then(Value::as_str) {
            Some("byte") => Type::Bytes,
            Some("duration") => Type::Duration,
            Some("date" | "date-time") => Type::Timestamp,
            _ => Type::String,
        },
        "integer" => Type::Int,
        "number" => Type::Double,
        "boolean" => Type::Bool,
        _ => return None,
    })
}

fn is_set(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

/// A field's name as a rule has to write it.
fn escaped(name: &str) -> String {
    const WORDS: [&str; 22] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
        "__",
    ];
    if WORDS.contains(&name) {
        return format!("__{name}__");
    }
    let escaped = name.replace("__", "__underscores__");
    escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
