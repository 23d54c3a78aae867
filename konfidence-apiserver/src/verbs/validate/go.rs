//! What a type of Go cannot hold, in the words of its decoder. The types are known by their schemas.

use serde_json::Value;

use crate::field::child;
use crate::resource::METADATA;
use crate::schema::Structural;
use crate::verbs::prepare;

/// The first value below `value` that its type cannot hold. `name`: of the type; `prefix`: the fields on the way to it.
pub(super) fn undecodable(value: &Value, schema: &Structural, name: &str, prefix: &str) -> Option<String> {
    walk(value, schema, name, prefix, prefix.is_empty())
}

/// `at`: the fields of structs on the way; keys of maps and indexes of lists are none. `root`: whether this is what the
/// decoder was given.
fn walk(value: &Value, schema: &Structural, name: &str, at: &str, root: bool) -> Option<String> {
    let refused = |of: &str| {
        // A number that is one, and does not fit, is shown.
        let got = match value {
            Value::Number(number) if schema.kind.as_deref() == Some("integer") => format!("number {number}"),
            value => prepare::go(value).to_owned(),
        };
        Some(if root {
            format!("json: cannot unmarshal {got} into Go value of type v1.{name}")
        } else {
            format!("json: cannot unmarshal {got} into Go struct field {name}.{at} of type {of}")
        })
    };
    let kind = schema.kind.as_deref().unwrap_or_default();
    let field = at.rsplit('.').next().unwrap_or_default();
    match (kind, value) {
        (_, Value::Null) | ("", _) | ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => None,
        ("object", Value::Object(fields)) => fields.iter().find_map(|(field, value)| {
            if let Some(below) = schema.properties.get(field) {
                let struct_name = if below.properties.is_empty() { name.to_owned() } else { type_name(field, name) };
                let place = child(at, field);
                // What a wrong value is told to be a field of is the struct that holds it.
                let of = if value.is_object() { struct_name.as_str() } else { name };
                // The metadata is looked at by itself.
                if at.is_empty() && field == "metadata" { None } else { walk(value, below, of, &place, false) }
            } else {
                schema.additional.as_deref().and_then(|below| walk(value, below, name, at, false))
            }
        }),
        ("array", Value::Array(items)) => {
            let below = schema.items.as_deref()?;
            let of = at.rsplit('.').next().map(|field| type_name(field, name)).unwrap_or_default();
            items.iter().find_map(|item| walk(item, below, if item.is_object() { &of } else { name }, at, false))
        }
        ("string", Value::String(text)) => match schema.format.as_deref() {
            Some("byte") => base64(text),
            Some("date-time") => time(text, at),
            _ => None,
        },
        ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => None,
        ("object", _) if schema.properties.is_empty() => refused(match field {
            "properties" | "patternProperties" | "definitions" => "map[string]v1.JSONSchemaProps",
            _ => "map[string]string",
        }),
        ("object", _) => refused(&format!("v1.{}", type_name(at.rsplit('.').next().unwrap_or_default(), name))),
        ("array", _) if field == "enum" => refused("[]v1.JSON"),
        ("array", _) if field == "x-kubernetes-validations" => refused("v1.ValidationRules"),
        ("array", _) => {
            let scalar = schema.items.as_ref().is_some_and(|items| items.properties.is_empty());
            let of = at.rsplit('.').next().map(|field| type_name(field, name)).unwrap_or_default();
            refused(&if scalar { "[]string".to_owned() } else { format!("[]v1.{of}") })
        }
        ("integer", _) => refused(if schema.format.as_deref() == Some("int32") { "int32" } else { "int64" }),
        ("boolean", _) => refused("bool"),
        ("number", _) => refused("float64"),
        (other, _) => refused(other),
    }
}

/// The type of a field that holds a struct, or a list of them.
fn type_name(field: &str, holder: &str) -> String {
    match field {
        "metadata" => "ObjectMeta".to_owned(),
        "ownerReferences" => "OwnerReference".to_owned(),
        "managedFields" => "ManagedFieldsEntry".to_owned(),
        "spec" | "status" => {
            let mut name = holder.to_owned();
            name.push_str(if field == "spec" { "Spec" } else { "Status" });
            name
        }
        "versions" => "CustomResourceDefinitionVersion".to_owned(),
        "names" | "acceptedNames" => "CustomResourceDefinitionNames".to_owned(),
        "schema" => "CustomResourceValidation".to_owned(),
        "subresources" => "CustomResourceSubresources".to_owned(),
        "scale" => "CustomResourceSubresourceScale".to_owned(),
        "additionalPrinterColumns" => "CustomResourceColumnDefinition".to_owned(),
        "selectableFields" => "SelectableField".to_owned(),
        "conversion" => "CustomResourceConversion".to_owned(),
        "x-kubernetes-validations" => "ValidationRule".to_owned(),
        "openAPIV3Schema"
        | "properties"
        | "patternProperties"
        | "definitions"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "items"
        | "additionalProperties" => "JSONSchemaProps".to_owned(),
        "involvedObject" | "regarding" | "related" | "secrets" => "ObjectReference".to_owned(),
        "imagePullSecrets" => "LocalObjectReference".to_owned(),
        "source" | "deprecatedSource" => "EventSource".to_owned(),
        _ => holder.to_owned(),
    }
}

/// The first byte that is none of the standard alphabet's.
pub(super) fn base64(text: &str) -> Option<String> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let at = match STANDARD.decode(text) {
        Ok(_) => return None,
        Err(base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _)) => at,
        Err(_) => text.len().saturating_sub(text.len() % 4),
    };
    Some(format!("illegal base64 data at input byte {at}"))
}

/// An instant: with microseconds where the API says so.
pub(super) fn time(text: &str, at: &str) -> Option<String> {
    let micro = matches!(at.rsplit('.').next(), Some("renewTime" | "acquireTime" | "eventTime" | "lastObservedTime"));
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let quoted = |text: &str| format!("{text:?}");
    let cannot = |rest: &str, element: &str| {
        format!("parsing time {} as {layout:?}: cannot parse {} as {}", quoted(text), quoted(rest), quoted(element))
    };
    // Element by element, as Go reads it.
    let elements: &[(&str, usize)] = &[
        ("2006", 4),
        ("-", 1),
        ("01", 2),
        ("-", 1),
        ("02", 2),
        ("T", 1),
        ("15", 2),
        (":", 1),
        ("04", 2),
        (":", 1),
        ("05", 2),
    ];
    let mut rest = text;
    for (element, length) in elements {
        let fits = rest.get(..*length).is_some_and(|part| {
            if element.starts_with(|letter: char| letter.is_ascii_digit()) {
                part.bytes().all(|byte| byte.is_ascii_digit())
            } else {
                part == *element
            }
        });
        if !fits {
            return Some(cannot(rest, element));
        }
        rest = rest.get(*length..).unwrap_or_default();
    }
    if micro {
        let fraction = rest
            .get(..7)
            .is_some_and(|part| part.starts_with('.') && part.bytes().skip(1).all(|byte| byte.is_ascii_digit()));
        if !fraction {
            return Some(cannot(rest, ".000000"));
        }
    }
    if text.parse::<jiff::Timestamp>().is_err() { Some(cannot(rest, "Z07:00")) } else { None }
}

/// `x is of the type string`.
pub(super) fn is_of_the_type(value: &Value) -> String {
    let (shown, of) = match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(flag) => (flag.to_string(), "bool"),
        Value::Number(number) if number.is_f64() => {
            (number.as_f64().map(|number| number.to_string()).unwrap_or_default(), "float64")
        }
        Value::Number(number) => (number.to_string(), "int64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (crate::patch::strategic::in_go(value), "[]interface {}"),
        Value::Object(_) => (crate::patch::strategic::in_go(value), "map[string]interface {}"),
    };
    format!("{shown} is of the type {of}")
}

/// The first metadata of an embedded resource that is none.
pub(super) fn embedded(value: &Value, schema: &Structural) -> Option<String> {
    find(value, schema, "")
}

fn find(value: &Value, schema: &Structural, at: &str) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let named = ["apiVersion", "kind"].into_iter().filter(|_| schema.embedded);
            for (name, value) in named.filter_map(|name| Some((name, fields.get(name)?))) {
                if !value.is_string() && !value.is_null() {
                    return Some(format!("{}: Invalid value: {value}: must be a string", child(at, name)));
                }
            }
            if schema.embedded
                && let Some(metadata) = fields.get("metadata").filter(|metadata| !metadata.is_null())
                && let Some(why) = undecodable(metadata, &METADATA.structure, "ObjectMeta", "")
            {
                return Some(format!("{}: Invalid value: {metadata}: {why}", child(at, "metadata")));
            }
            fields.iter().find_map(|(name, below)| find(below, schema.field(name)?, &child(at, name)))
        }
        Value::Array(items) => {
            let below = schema.items.as_deref()?;
            items.iter().enumerate().find_map(|(index, item)| find(item, below, &format!("{at}[{index}]")))
        }
        _ => None,
    }
}
