//! How many different states worlds were in.
//!
//! A state is what stands in the store, what each controller sees of it, and what everybody would do next; without
//! versions and times, which never come back. What stands in the store is known as the exclusive or of its objects'
//! hashes, which a write changes in one place.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use serde_json::Value;

use super::step::Kind;
use crate::store::engine::{Change, Event};

/// Mixes words into one: every machine and every compiler counts the same with it, and a step is hashed in no time. Two
/// states in a billion billion may pass for one.
#[derive(Clone, Copy, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut padded = [0; 8];
            padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(padded));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).unwrap_or(u64::MAX));
    }

    fn finish(&self) -> u64 {
        // The high bits have seen everything, the low ones little.
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 29)
    }
}

/// Hashes of states; they are mixed already, and every step adds one.
pub(super) type Seen = HashSet<u64, BuildHasherDefault<Mixer>>;

/// Hashes of the states that a world was in, if they are counted.
#[derive(Default)]
pub(super) struct States {
    seen: Seen,
    objects: BTreeMap<(Kind, String, String), u64>,
    /// By kind: what stood there from which revision on.
    prefixes: BTreeMap<Kind, Vec<(u64, u64)>>,
}

impl States {
    /// Takes in a write.
    pub(super) fn see(&mut self, kind: Kind, event: &Event) {
        let object = &event.object;
        let place = (kind, object.namespace().to_owned(), object.name().to_owned());
        let new = if event.change == Change::Deleted { 0 } else { content(&place, object.json()) };
        let old = self.objects.insert(place, new).unwrap_or_default();
        let prefixes = self.prefixes.entry(kind).or_default();
        let before = prefixes.last().map_or(0, |(_, all)| *all);
        prefixes.push((event.revision, before ^ old ^ new));
    }

    /// What stood there of `kind` at `revision`.
    pub(super) fn at(&self, kind: Kind, revision: u64) -> u64 {
        let Some(prefixes) = self.prefixes.get(&kind) else { return 0 };
        let after = prefixes.partition_point(|(from, _)| *from <= revision);
        after.checked_sub(1).and_then(|at| prefixes.get(at)).map_or(0, |(_, all)| *all)
    }

    /// Notes the state that `rest` describes besides the store.
    pub(super) fn note(&mut self, rest: u64) {
        let mut hasher = Mixer::default();
        for prefixes in self.prefixes.values() {
            prefixes.last().map_or(0, |(_, all)| *all).hash(&mut hasher);
        }
        rest.hash(&mut hasher);
        self.seen.insert(hasher.finish());
    }

    pub(super) fn into_seen(self) -> Seen {
        self.seen
    }
}

fn content(place: &(Kind, String, String), object: &Value) -> u64 {
    let mut hasher = Mixer::default();
    place.hash(&mut hasher);
    hash(object, &mut hasher);
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut Mixer) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let passes = matches!(
                    name.as_str(),
                    "resourceVersion"
                        | "uid"
                        | "creationTimestamp"
                        | "lastTransitionTime"
                        | "approvedAt"
                        | "rejectedAt"
                        | "managedFields"
                );
                if !passes {
                    name.hash(hasher);
                    hash(value, hasher);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| hash(item, hasher)),
        other => {
            // Told apart by their JSON: text keeps its quotes.
            std::mem::discriminant(other).hash(hasher);
            match other {
                Value::String(text) => text.hash(hasher),
                Value::Bool(is) => is.hash(hasher),
                Value::Number(number) => number.hash(hasher),
                _ => {}
            }
        }
    }
}
