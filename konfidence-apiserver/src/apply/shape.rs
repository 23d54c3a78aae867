//! How a schema cuts an object into fields that can be owned.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fieldset::{Element, FieldSet};
use crate::schema::{ListType, Structural};

/// How ownership treats a value.
pub(super) enum Shape<'a> {
    /// One owner for the value as a whole: a scalar, an atomic list or map.
    Leaf,
    /// Each field has owners of its own.
    Fields,
    /// Each item has owners of its own.
    Items(&'a ListType),
}

/// The shape of a value under a schema. Without a schema, maps are cut by field and lists are one.
pub(super) fn shape<'a>(schema: Option<&'a Structural>, value: &Value) -> Shape<'a> {
    match value {
        Value::Object(_) if schema.is_some_and(|one| one.atomic_map) => Shape::Leaf,
        Value::Object(_) => Shape::Fields,
        Value::Array(_) => match schema.map(|one| &one.list) {
            Some(list @ (ListType::Set | ListType::Map(_))) => Shape::Items(list),
            _ => Shape::Leaf,
        },
        _ => Shape::Leaf,
    }
}

/// Schema of a field below.
pub(super) fn field<'a>(schema: Option<&'a Structural>, name: &str) -> Option<&'a Structural> {
    schema.and_then(|one| one.field(name))
}

/// Schema of the items below.
pub(super) fn items(schema: Option<&Structural>) -> Option<&Structural> {
    schema.and_then(|one| one.items.as_deref())
}

/// Whether the field is one that the schema names, not an entry of a map.
pub(super) fn is_named(schema: Option<&Structural>, name: &str) -> bool {
    schema.is_some_and(|one| one.properties.contains_key(name))
}

/// What tells an item of a list from the others. A key field that the item lacks has its schema's default.
pub(super) fn element(list: &ListType, schema: Option<&Structural>, item: &Value) -> Element {
    match list {
        ListType::Map(keys) => {
            let fields: BTreeMap<String, Value> = keys
                .iter()
                .filter_map(|key| {
                    let default =
                        || schema.and_then(|one| one.properties.get(key)).and_then(|one| one.default.as_ref());
                    item.get(key).or_else(default).map(|value| (key.clone(), value.clone()))
                })
                .collect();
            Element::key(fields)
        }
        ListType::Set | ListType::Atomic => Element::value(item),
    }
}

/// All fields that `object` sets: what an applier owns by applying it.
pub(super) fn fields_of(object: &Value, schema: &Structural) -> FieldSet {
    below(object, Some(schema)).unwrap_or_default()
}

/// The fields that are set below a value; `None`: it is one as a whole.
fn below(value: &Value, schema: Option<&Structural>) -> Option<FieldSet> {
    let mut set = FieldSet::default();
    match (shape(schema, value), value) {
        (Shape::Fields, Value::Object(fields)) => {
            for (name, value) in fields {
                let element = Element::Field(name.clone());
                let inner = below(value, field(schema, name));
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if inner.is_none() || empty || !is_named(schema, name) {
                    set.set_member(element.clone());
                }
                set.set_below(&element, inner.unwrap_or_default());
            }
        }
        (Shape::Items(list), Value::Array(all)) => {
            for item in all {
                let element = element(list, items(schema), item);
                set.set_member(element.clone());
                set.set_below(&element, below(item, items(schema)).unwrap_or_default());
            }
        }
        _ => return None,
    }
    Some(set)
}

/// The set with every struct field in it that has an owned field below: owning `spec.x` owns the place `spec`.
pub(super) fn with_named_parents(set: &FieldSet, schema: Option<&Structural>) -> FieldSet {
    let mut result = set.map_children(|element, below| {
        let schema = match element {
            Element::Field(name) => field(schema, name),
            _ => items(schema),
        };
        with_named_parents(below, schema)
    });
    for element in set.inner() {
        if let Element::Field(name) = element
            && is_named(schema, name)
        {
            result.set_member(element.clone());
        }
    }
    result
}

/// `value` without the paths of `set`. A map or list that loses all it has stays as an empty one: whether it goes too
/// is said by its own path.
pub(super) fn without(value: &Value, set: &FieldSet, schema: Option<&Structural>) -> Value {
    match (shape(schema, value), value) {
        (Shape::Fields, Value::Object(fields)) => {
            let mut left = Map::new();
            for (name, below) in fields {
                let element = Element::Field(name.clone());
                if set.has(&element) {
                    continue;
                }
                let kept = match set.below(&element) {
                    Some(inner) => without(below, inner, field(schema, name)),
                    None => below.clone(),
                };
                left.insert(name.clone(), kept);
            }
            Value::Object(left)
        }
        (Shape::Items(list), Value::Array(all)) => {
            let mut left = Vec::new();
            for item in all {
                let element = element(list, items(schema), item);
                if set.has(&element) {
                    continue;
                }
                left.push(match set.below(&element) {
                    Some(inner) => without(item, inner, items(schema)),
                    None => item.clone(),
                });
            }
            Value::Array(left)
        }
        _ => value.clone(),
    }
}
