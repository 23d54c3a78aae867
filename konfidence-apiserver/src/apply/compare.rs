//! What changed between two states, field by field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fieldset::{Element, FieldSet};
use super::shape::{self, Shape};
use crate::schema::{ListType, Structural};

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
    walk(Some(old), Some(new), Some(schema)).below
}

/// What happened to a value as a whole.
#[derive(Clone, Copy)]
enum Change {
    Added,
    Modified,
    Removed,
}

/// What differs of a value.
#[derive(Default)]
struct Difference {
    whole: Option<Change>,
    below: Comparison,
}

impl Comparison {
    /// Takes in what differs of the value below `element`.
    fn take(&mut self, element: &Element, difference: Difference) {
        let Difference { whole, below } = difference;
        match whole {
            Some(Change::Added) => self.added.set_member(element.clone()),
            Some(Change::Modified) => self.modified.set_member(element.clone()),
            Some(Change::Removed) => self.removed.set_member(element.clone()),
            None => {}
        }
        self.added.set_below(element, below.added);
        self.modified.set_below(element, below.modified);
        self.removed.set_below(element, below.removed);
    }
}

fn walk(old: Option<&Value>, new: Option<&Value>, schema: Option<&Structural>) -> Difference {
    if old == new {
        return Difference::default();
    }
    let shape_of = |value: Option<&Value>| value.map(|value| shape::shape(schema, value));
    let empty = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Null) | None => true,
        Some(_) => false,
    };
    let whole = match (old, new) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        _ => Change::Modified,
    };
    // An empty map and a missing one are told apart, so both sides empty is a leaf.
    let leaf = empty(old) && empty(new);
    let below = match (shape_of(old), shape_of(new)) {
        (Some(Shape::Fields), Some(Shape::Fields) | None) | (None, Some(Shape::Fields)) if !leaf => {
            fields(old, new, schema)
        }
        (Some(Shape::Items(_)), Some(Shape::Items(_)) | None) | (None, Some(Shape::Items(_))) if !leaf => {
            items(old, new, schema)
        }
        _ => return Difference { whole: Some(whole), below: Comparison::default() },
    };
    Difference { whole: Some(whole).filter(|whole| !matches!(whole, Change::Modified)), below }
}

fn fields(old: Option<&Value>, new: Option<&Value>, schema: Option<&Structural>) -> Comparison {
    let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    let both = old.into_iter().flatten().chain(new.into_iter().flatten());
    let mut names: Vec<&String> = both.map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let mut found = Comparison::default();
    for name in names {
        let (old, new) = (old.and_then(|fields| fields.get(name)), new.and_then(|fields| fields.get(name)));
        found.take(&Element::Field(name.clone()), walk(old, new, shape::field(schema, name)));
    }
    found
}

fn items(old: Option<&Value>, new: Option<&Value>, schema: Option<&Structural>) -> Comparison {
    let mut found = Comparison::default();
    let Some(list) = schema.map(|one| &one.list) else { return found };
    let below = shape::items(schema);
    let (old, new) = (keyed(old, list, below), keyed(new, list, below));
    for element in old.keys().chain(new.keys().filter(|element| !old.contains_key(*element))) {
        found.take(element, walk(old.get(element).copied(), new.get(element).copied(), below));
    }
    found
}

/// The items of a list by what tells them apart; of two that nothing tells apart the first.
fn keyed<'a>(side: Option<&'a Value>, list: &ListType, schema: Option<&Structural>) -> BTreeMap<Element, &'a Value> {
    let mut keyed = BTreeMap::new();
    for item in side.and_then(Value::as_array).into_iter().flatten() {
        keyed.entry(shape::element(list, schema, item)).or_insert(item);
    }
    keyed
}
