//! The garbage collector: what becomes of objects whose owners go.
//!
//! The rules are those of the real one. An owner is named by uid, and its group, kind, name and namespace must fit; an
//! owner of a kind that the engine does not know is taken to be alive, because nobody can tell. An object all of whose
//! owners are gone goes too; one that has an owner left only loses its references to the others. Suspects are looked
//! at in the order of their places, so that the same history gives the same collection.

use jiff::Timestamp;
use serde_json::Value;

use super::metadata::{self, FOREGROUND, ORPHAN};
use super::state::{Place, State};
use super::{Document, Propagation};

/// What an owner reference leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Alive,
    /// Deleted, and it waits for its dependants to go first.
    Waiting,
    Gone,
}

impl State {
    /// Collects until nothing is left to do and answers how many writes that took.
    pub(super) fn collect(&mut self, now: Timestamp) -> u64 {
        let before = self.revision;
        while let Some(place) = self.suspects.pop_first() {
            self.examine(&place, now);
        }
        self.revision - before
    }

    fn examine(&mut self, place: &Place, now: Timestamp) {
        let Some(object) = self.at(place).cloned() else { return };
        if metadata::is_deleting(object.json()) {
            let finalizers = metadata::finalizers(object.json());
            if finalizers.contains(&ORPHAN) {
                self.let_go(&object);
                self.drop_finalizer(place, ORPHAN);
            } else if finalizers.contains(&FOREGROUND) {
                self.await_dependants(place, &object);
            }
            return;
        }
        let owners = metadata::owners(object.json());
        if owners.is_empty() {
            return;
        }
        let states: Vec<Owner> = owners.iter().map(|owner| self.owner(owner, place)).collect();
        if states.contains(&Owner::Alive) {
            let kept = owners.iter().zip(&states).filter(|(_, state)| **state == Owner::Alive);
            self.set_owners(place, &object, kept.map(|(owner, _)| owner.clone()).collect());
        } else if states.contains(&Owner::Waiting) && self.dependants.contains_key(object.uid()) {
            self.delete(place, Some(Propagation::Foreground), now);
        } else {
            self.delete(place, None, now);
        }
    }

    fn owner(&self, reference: &Value, dependant: &Place) -> Owner {
        let field = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
        let group = field("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let is_of_kind = |resource: &super::ResourceType| resource.group == group && resource.kind == field("kind");
        let found = self.by_uid.get(field("uid")).filter(|place| {
            is_of_kind(&self.contents[place.resource].resource)
                && place.name == field("name")
                && (place.namespace.is_empty() || place.namespace == dependant.namespace)
        });
        let Some(owner) = found.and_then(|place| self.at(place)) else {
            let is_known = self.contents.iter().any(|contents| is_of_kind(&contents.resource));
            return if is_known { Owner::Gone } else { Owner::Alive };
        };
        let waits = metadata::is_deleting(owner.json()) && metadata::finalizers(owner.json()).contains(&FOREGROUND);
        if waits { Owner::Waiting } else { Owner::Alive }
    }

    /// Removes an owner once no dependant blocks it any more.
    fn await_dependants(&mut self, place: &Place, owner: &Document) {
        let dependants = self.dependants.get(owner.uid());
        let blocks = |dependant: &Place| {
            self.at(dependant).is_some_and(|object| {
                metadata::owners(object.json()).iter().any(|reference| {
                    reference.get("uid").and_then(Value::as_str) == Some(owner.uid())
                        && reference.get("blockOwnerDeletion") == Some(&Value::Bool(true))
                })
            })
        };
        // Those that block were suspected when the owner's deletion began; when they go, the owner is suspected again.
        if !dependants.into_iter().flatten().any(blocks) {
            self.drop_finalizer(place, FOREGROUND);
        }
    }

    /// Takes the references to `owner` out of its dependants.
    fn let_go(&mut self, owner: &Document) {
        let dependants: Vec<Place> = self.dependants.get(owner.uid()).into_iter().flatten().cloned().collect();
        for place in dependants {
            if let Some(object) = self.at(&place).cloned() {
                let others = metadata::owners(object.json())
                    .iter()
                    .filter(|reference| reference.get("uid").and_then(Value::as_str) != Some(owner.uid()));
                self.set_owners(&place, &object, others.cloned().collect());
            }
        }
    }

    fn set_owners(&mut self, place: &Place, object: &Document, owners: Vec<Value>) {
        if owners.len() < metadata::owners(object.json()).len() {
            let mut next = object.json().clone();
            metadata::set_list(&mut next, "ownerReferences", owners);
            self.put(place, next);
        }
    }

    fn drop_finalizer(&mut self, place: &Place, finalizer: &str) {
        let Some(object) = self.at(place).cloned() else { return };
        let left: Vec<Value> = metadata::finalizers(object.json())
            .into_iter()
            .filter(|name| *name != finalizer)
            .map(Value::from)
            .collect();
        if left.is_empty() && !metadata::is_held(object.json(), &self.contents[place.resource].resource) {
            self.remove(place);
        } else {
            let mut next = object.json().clone();
            metadata::set_list(&mut next, "finalizers", left);
            self.put(place, next);
        }
    }
}
