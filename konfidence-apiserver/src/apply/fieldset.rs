//! Sets of fields: who owns what, and the `FieldsV1` form in which it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A field of a struct or an entry of a map.
    Field(String),
    /// The item of a map list with these key fields, as canonical JSON.
    Key(String),
    /// The item of a set list with this value, as canonical JSON.
    Value(String),
    /// The item of a list at this place.
    Index(usize),
}

impl Element {
    /// The item that is known by the values of its key fields.
    pub(super) fn key(fields: BTreeMap<String, Value>) -> Self {
        Self::Key(Value::Object(fields.into_iter().collect()).to_string())
    }

    /// The item that is its value.
    pub(super) fn value(value: &Value) -> Self {
        Self::Value(value.to_string())
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => {
                let fields: BTreeMap<String, Value> = serde_json::from_str(rest).ok()?;
                Some(Self::key(fields))
            }
            "v" => serde_json::from_str(rest).ok().map(|value: Value| Self::value(&value)),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => format!("k:{fields}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: BTreeMap<String, Value> = serde_json::from_str(fields).unwrap_or_default();
                let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", pairs.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of paths into an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    /// Whether it holds no path.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds a path; the empty path (the object itself) is nobody's.
    pub(super) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the path of this one element is in the set.
    pub(super) fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// The paths below an element.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element).filter(|set| !set.is_empty())
    }

    /// The elements of this level that have paths below them.
    pub(super) fn inner(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter(|(_, set)| !set.is_empty()).map(|(element, _)| element)
    }

    /// Makes an element of this level a member.
    pub(super) fn set_member(&mut self, element: Element) {
        self.members.insert(element);
    }

    /// Adds paths below an element.
    pub(super) fn set_below(&mut self, element: &Element, set: Self) {
        if set.is_empty() {
            return;
        }
        let merged = match self.children.remove(element) {
            Some(present) => present.union(&set),
            None => set,
        };
        self.children.insert(element.clone(), merged);
    }

    /// How many elements its longest path has.
    pub(super) fn levels(&self) -> usize {
        let below = self.children.values().map(Self::levels).max().unwrap_or_default();
        if below == 0 { usize::from(!self.members.is_empty()) } else { below + 1 }
    }

    /// Maps what lies below an element.
    pub(super) fn map_children(&self, mut change: impl FnMut(&Element, &Self) -> Self) -> Self {
        Self {
            members: self.members.clone(),
            children: self.children.iter().map(|(element, set)| (element.clone(), change(element, set))).collect(),
        }
    }

    /// All paths of both.
    #[must_use]
    pub(super) fn union(&self, other: &Self) -> Self {
        let own = self.children.iter().map(|(element, set)| {
            let merged = other.children.get(element).map_or_else(|| set.clone(), |theirs| set.union(theirs));
            (element.clone(), merged)
        });
        let theirs = other.children.iter().filter(|(element, _)| !self.children.contains_key(*element));
        let theirs = theirs.map(|(element, set)| (element.clone(), set.clone()));
        Self { members: self.members.union(&other.members).cloned().collect(), children: own.chain(theirs).collect() }
    }

    /// The paths that are in both.
    #[must_use]
    pub(super) fn intersection(&self, other: &Self) -> Self {
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.zip(other, Self::intersection),
        }
    }

    /// The paths that are not in `other`.
    #[must_use]
    pub(super) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let left = other.children.get(element).map_or_else(|| set.clone(), |theirs| set.difference(theirs));
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    fn zip(&self, other: &Self, combine: fn(&Self, &Self) -> Self) -> BTreeMap<Element, Self> {
        self.children
            .iter()
            .filter_map(|(element, set)| {
                let combined = combine(set, other.children.get(element)?);
                (!combined.is_empty()).then(|| (element.clone(), combined))
            })
            .collect()
    }

    /// Every path: of each level first its members, then what lies below it, as conflict reports list them.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for member in &self.members {
            paths.push(prefix.iter().chain([member]).cloned().collect());
        }
        for (element, below) in &self.children {
            prefix.push(element.clone());
            below.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// The `fieldsV1` of a managed-fields entry.
    pub(super) fn encode(&self) -> Value {
        let mut fields = Map::new();
        for member in &self.members {
            fields.insert(member.encode(), Value::Object(Map::new()));
        }
        for (element, set) in self.children.iter().filter(|(_, set)| !set.is_empty()) {
            let mut below = set.encode();
            if self.members.contains(element)
                && let Value::Object(below) = &mut below
            {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }

    /// Reads a `fieldsV1`. `None`: it is none.
    pub(super) fn decode(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (name, below) in fields.as_object()? {
            if name == "." {
                continue;
            }
            let element = Element::parse(name)?;
            let below_fields = below.as_object()?;
            if below_fields.is_empty() || below_fields.contains_key(".") {
                set.members.insert(element.clone());
            }
            let below = Self::decode(below)?;
            if !below.is_empty() {
                set.children.insert(element, below);
            }
        }
        Some(set)
    }
}

/// A path as conflict reports print it: `.spec.steps[name="x"].image`.
pub(super) fn print(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_stored_form_is_read_back_as_written() {
        let stored = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}}},
            "f:tags": {"v:\"x\"": {}}});
        let set = FieldSet::decode(&stored).expect("a set");
        assert_eq!(set.encode(), stored);
        let paths: Vec<String> = set.paths().iter().map(|path| print(path)).collect();
        assert_eq!(
            paths,
            [
                ".metadata.labels",
                ".metadata.labels.a",
                r#".status.conditions[type="Ready"]"#,
                r#".status.conditions[type="Ready"].status"#,
                r#".tags[="x"]"#
            ]
        );
    }

    #[test]
    fn union_difference_and_intersection_are_those_of_sets() {
        let a = FieldSet::decode(&json!({"f:x": {"f:y": {}, "f:z": {}}, "f:w": {}})).expect("a set");
        let b = FieldSet::decode(&json!({"f:x": {"f:y": {}}, "f:v": {}})).expect("a set");
        assert_eq!(a.difference(&b).union(&a.intersection(&b)), a);
        assert_eq!(a.union(&b).difference(&b), a.difference(&b));
        assert!(a.difference(&a).is_empty());
    }
}
