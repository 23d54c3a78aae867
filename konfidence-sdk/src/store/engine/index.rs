//! Indexes that are kept up to date, not searched for.

use std::collections::{BTreeMap, BTreeSet};

use super::Document;
use crate::store::Index;

/// The objects of one resource by the values of one index.
pub(super) struct IndexEntries {
    index: Index,
    /// Value to (namespace, name).
    places: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl IndexEntries {
    pub(super) fn new(index: Index) -> Self {
        Self { index, places: BTreeMap::new() }
    }

    pub(super) fn name(&self) -> &'static str {
        self.index.name
    }

    /// Takes in that an object changed.
    pub(super) fn update(&mut self, namespace: &str, name: &str, before: Option<&Document>, after: Option<&Document>) {
        let values = |object: Option<&Document>| object.map(|it| (self.index.values)(it.json())).unwrap_or_default();
        let (old, new) = (values(before), values(after));
        if old == new {
            return;
        }
        let place = (namespace.to_owned(), name.to_owned());
        for value in old {
            if let Some(places) = self.places.get_mut(&value) {
                places.remove(&place);
                if places.is_empty() {
                    self.places.remove(&value);
                }
            }
        }
        for value in new {
            self.places.entry(value).or_default().insert(place.clone());
        }
    }

    /// Whether an object has `value`.
    pub(super) fn has(&self, object: &Document, value: &str) -> bool {
        (self.index.values)(object.json()).iter().any(|one| one == value)
    }

    /// The (namespace, name) of the objects that have `value`, in order.
    pub(super) fn places(&self, value: &str) -> impl Iterator<Item = &(String, String)> {
        self.places.get(value).into_iter().flatten()
    }
}
