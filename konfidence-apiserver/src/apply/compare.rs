//! What changed between two states, field by field.

use serde_json::Value;

use super::fieldset::{Element, FieldSet};
use super::shape::{self, Shape};
use crate::schema::Structural;

/// The fields that differ between an old and a new state.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    pub(super) fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Compares two states of one object.
pub(super) fn compare(old: &Value, new: &Value, schema: &Structural) -> Comparison {
    let mut comparison = Comparison::default();
    walk(Some(old), Some(new), Some(schema), &mut Vec::new(), &mut comparison);
    comparison
}

fn walk(
    old: Option<&Value>,
    new: Option<&Value>,
    schema: Option<&Structural>,
    path: &mut Vec<Element>,
    found: &mut Comparison,
) {
    if old == new {
        return;
    }
    let shape_of = |value: Option<&Value>| value.map(|value| shape::shape(schema, value));
    let empty = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Null) | None => true,
        Some(_) => false,
    };
    // An empty map and a missing one are told apart, so both sides empty is a leaf.
    let leaf = empty(old) && empty(new);
    match (shape_of(old), shape_of(new)) {
        (Some(Shape::Fields), Some(Shape::Fields) | None) | (None, Some(Shape::Fields)) if !leaf => {
            fields(old, new, schema, path, found);
        }
        (Some(Shape::Items(_)), Some(Shape::Items(_)) | None) | (None, Some(Shape::Items(_))) if !leaf => {
            items(old, new, schema, path, found);
        }
        _ => {
            match (old, new) {
                (None, _) => found.added.insert(path),
                (_, None) => found.removed.insert(path),
                _ => found.modified.insert(path),
            }
            return;
        }
    }
    match (old, new) {
        (None, _) => found.added.insert(path),
        (_, None) => found.removed.insert(path),
        _ => {}
    }
}

fn fields(
    old: Option<&Value>,
    new: Option<&Value>,
    schema: Option<&Structural>,
    path: &mut Vec<Element>,
    found: &mut Comparison,
) {
    let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    let both = old.into_iter().flatten().chain(new.into_iter().flatten());
    let mut names: Vec<&String> = both.map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    for name in names {
        path.push(Element::Field(name.clone()));
        let of = |side: Option<&'_ serde_json::Map<String, Value>>| side.and_then(|fields| fields.get(name)).cloned();
        walk(of(old).as_ref(), of(new).as_ref(), shape::field(schema, name), path, found);
        path.pop();
    }
}

fn items(
    old: Option<&Value>,
    new: Option<&Value>,
    schema: Option<&Structural>,
    path: &mut Vec<Element>,
    found: &mut Comparison,
) {
    let Some(list) = schema.map(|one| &one.list) else { return };
    let below = shape::items(schema);
    let keyed = |side: Option<&Value>| -> Vec<(Element, Value)> {
        let all = side.and_then(Value::as_array).into_iter().flatten();
        all.map(|item| (shape::element(list, below, item), item.clone())).collect()
    };
    let (old, new) = (keyed(old), keyed(new));
    let of = |side: &[(Element, Value)], element: &Element| {
        side.iter().find(|(one, _)| one == element).map(|(_, item)| item.clone())
    };
    let mut elements: Vec<&Element> = old.iter().chain(&new).map(|(element, _)| element).collect();
    elements.sort();
    elements.dedup();
    for element in elements {
        path.push(element.clone());
        walk(of(&old, element).as_ref(), of(&new, element).as_ref(), below, path, found);
        path.pop();
    }
}
