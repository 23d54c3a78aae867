//! What a definition's schema may say: no word that a server cannot enforce, the type of every place, and of keyed lists
//! what their keys are. Rules, defaults and values are looked at when all of this is right.

use serde_json::Value;

use super::pattern;
use crate::field::{FieldError, FieldErrors};
use crate::json::list;
use crate::schema::Structural;

/// Everything that is wrong with a schema. One with words that mean nothing here is not looked at any further.
pub(super) fn check(schema: &Value, at: &str, errors: &mut FieldErrors) {
    let before = errors.len();
    words(schema, at, errors);
    let is_foreign = |error: &FieldError| error.detail.ends_with(UNSUPPORTED);
    if !errors.iter().skip(before).any(is_foreign) {
        structural(schema, at, Level::Root, errors);
    }
}

fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn fields<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// Words of JSON Schema that are not for schemas of custom resources.
const FOREIGN: &[&str] = &["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

const UNSUPPORTED: &str = " is not supported";

const KINDS: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn words(schema: &Value, at: &str, errors: &mut FieldErrors) {
    let kind = text(schema, "type");
    if kind == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(format!("{at}.type"), why));
    }
    let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_str() == Some("");
    for name in FOREIGN.iter().filter(|name| schema.get(**name).is_some_and(|value| !value.is_null() && !empty(value)))
    {
        errors.push(FieldError::forbidden(format!("{at}.{name}"), format!("{name}{UNSUPPORTED}")));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        errors.push(FieldError::forbidden(format!("{at}.items"), "items must be a schema object and not an array"));
    }
    if let Some(why) = pattern::misspelt(text(schema, "pattern")) {
        let why = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        errors.push(FieldError::invalid(format!("{at}.pattern"), text(schema, "pattern"), why));
    }
    if flag(schema, "uniqueItems") {
        errors.push(FieldError::forbidden(
            format!("{at}.uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
    if let Some(more) = schema.get("additionalProperties") {
        if *more != Value::Bool(false) && fields(schema, "properties").next().is_some() {
            errors.push(FieldError::forbidden(
                format!("{at}.additionalProperties"),
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if more.is_object() {
            words(more, &format!("{at}.additionalProperties"), errors);
        }
    }
    for (name, property) in fields(schema, "properties") {
        words(property, &format!("{at}.properties[{name}]"), errors);
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        words(items, &format!("{at}.items"), errors);
    }
    list_words(schema, at, errors);
}

/// What is said of the lists and maps that have several owners.
fn list_words(schema: &Value, at: &str, errors: &mut FieldErrors) {
    let (kind, list_type) = (text(schema, "type"), text(schema, "x-kubernetes-list-type"));
    let keys = list(schema, "/x-kubernetes-list-map-keys");
    let place = |name: &str| format!("{at}.{name}");
    if !list_type.is_empty() && kind != "array" {
        let why = "must be array if x-kubernetes-list-type is specified";
        errors.push(match kind {
            "" => FieldError::required(place("type"), why),
            kind => FieldError::invalid(place("type"), kind, why),
        });
    } else if !matches!(list_type, "" | "atomic" | "map" | "set") {
        let legal = ["atomic", "map", "set"].map(str::to_owned);
        errors.push(FieldError::not_supported(place("x-kubernetes-list-type"), list_type, &legal));
    }
    if !keys.is_empty() && list_type != "map" {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            "" => FieldError::required(place("x-kubernetes-list-type"), why),
            other => FieldError::invalid(place("x-kubernetes-list-type"), other, why),
        });
    }
    if list_type != "map" {
        return;
    }
    let named = place("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors.push(FieldError::required(named.as_str(), "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        errors.push(FieldError::required(place("items"), "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    if text(items, "type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(place("items.type"), text(items, "type"), why));
    }
    let item = Structural::parse(items);
    for key in keys {
        if !key.as_str().is_some_and(|name| item.properties.contains_key(name)) {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid(named.as_str(), Value::from(keys.to_vec()), why));
        }
    }
}

/// Where a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

fn structural(schema: &Value, at: &str, level: Level, errors: &mut FieldErrors) {
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        structural(items, &format!("{at}.items"), Level::Item, errors);
    } else if text(schema, "type") == "array" {
        errors.push(FieldError::required(format!("{at}.items"), "must be specified"));
    }
    for (name, property) in fields(schema, "properties") {
        // What the API itself describes may be mentioned, and says nothing.
        if level != Level::Root || !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            structural(property, &format!("{at}.properties[{name}]"), Level::Field, errors);
        }
    }
    if let Some(more) = schema.get("additionalProperties").filter(|more| more.is_object()) {
        structural(more, &format!("{at}.additionalProperties"), Level::Field, errors);
    }
    let is_int_or_string = flag(schema, "x-kubernetes-int-or-string");
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, junct) in list(schema, &format!("/{name}")).iter().enumerate() {
            junction(junct, &format!("{at}.{name}[{index}]"), is_int_or_string, errors);
        }
    }
    if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
        junction(not, &format!("{at}.not"), false, errors);
    }
    let kind = text(schema, "type");
    if kind.is_empty() && !is_int_or_string && !flag(schema, "x-kubernetes-preserve-unknown-fields") {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Field => "must not be empty for specified object fields",
            Level::Item => "must not be empty for specified array items",
        };
        errors.push(FieldError::required(format!("{at}.type"), why));
    }
    if !kind.is_empty() && !KINDS.contains(&kind) {
        errors.push(FieldError::not_supported(format!("{at}.type"), kind, &KINDS.map(str::to_owned)));
    }
    if flag(schema, "x-kubernetes-embedded-resource") {
        if kind != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(match kind {
                "" => FieldError::required(format!("{at}.type"), why),
                kind => FieldError::invalid(format!("{at}.type"), kind, why),
            });
        } else if fields(schema, "properties").next().is_none() && !flag(schema, "x-kubernetes-preserve-unknown-fields")
        {
            errors.push(FieldError::required(
                format!("{at}.properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields",
            ));
        }
    }
    keys_are_there(schema, at, errors);
}

/// Without its key an item of a keyed list is nobody.
fn keys_are_there(schema: &Value, at: &str, errors: &mut FieldErrors) {
    if text(schema, "x-kubernetes-list-type") != "map" {
        return;
    }
    let item = schema.get("items").map(Structural::parse).unwrap_or_default();
    let required = list(schema, "/items/required");
    for key in list(schema, "/x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = item.properties.get(name) else { continue };
        if property.default.is_none() && !required.contains(key) {
            errors.push(FieldError::required(
                format!("{at}.items.properties[{name}].default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }
    }
}

/// What a part of a junction may not say, because it has to hold for whatever the value is.
const OUTSIDE: &[&str] = &["type", "title", "description", "default", "nullable", "additionalProperties"];

/// A part of a junction says what values have to be, not how they are shaped.
fn junction(part: &Value, at: &str, may_type: bool, errors: &mut FieldErrors) {
    for name in OUTSIDE.iter().filter(|name| !(may_type && **name == "type")) {
        let says = part.get(*name).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
        if says {
            errors.push(FieldError::forbidden(format!("{at}.{name}"), "must be empty to be structural"));
        }
    }
    for (name, property) in fields(part, "properties") {
        junction(property, &format!("{at}.properties[{name}]"), false, errors);
    }
    if let Some(items) = part.get("items").filter(|items| items.is_object()) {
        junction(items, &format!("{at}.items"), false, errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, junct) in list(part, &format!("/{name}")).iter().enumerate() {
            junction(junct, &format!("{at}.{name}[{index}]"), may_type, errors);
        }
    }
    if let Some(not) = part.get("not").filter(|not| not.is_object()) {
        junction(not, &format!("{at}.not"), false, errors);
    }
}
