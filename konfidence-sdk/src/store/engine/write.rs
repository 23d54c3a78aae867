//! Writes: what a request asks for, checked and completed as the API server does, in one step under the lock.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::metadata::{self, FOREGROUND, ORPHAN};
use super::state::{Place, State};
use super::{Collection, Document, EngineError, Propagation, Scope};
use crate::store::Precondition;

/// What a write came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The object afterwards; its last state if it is gone.
    pub object: Arc<Document>,
    /// What happened to it.
    pub outcome: Outcome,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Created,
    /// It has a new resourceVersion. After a delete: it waits for its finalizers.
    Changed,
    /// It was so already; there is no new resourceVersion.
    Unchanged,
    /// It is gone.
    Removed,
}

impl Collection {
    /// Makes an object. The server's metadata is set, `metadata.generateName` is honoured, and unless the scope is
    /// [`Scope::Whole`] the status of a kind that keeps it apart is dropped.
    ///
    /// # Errors
    /// [`EngineError::AlreadyExists`] when the name is taken, [`EngineError::Refused`] when the metadata is not what a
    /// new object may have, [`EngineError::Unavailable`] when the journal takes no writes.
    pub fn create(&self, object: Value, scope: Scope) -> Result<Written, EngineError> {
        self.engine.write(|state, now| {
            state.check_journal()?;
            state.create(self.number, object, scope, now)
        })
    }

    /// Changes an object: `change` turns the present state into the wanted one, and everything the scope does not
    /// cover, or the server owns, stays. Nobody sees or writes anything in between.
    ///
    /// `change` runs under the engine's lock: it must not call the engine. An error from it leaves all as it was.
    /// A `metadata.resourceVersion` or `metadata.uid` in the wanted state is a precondition, as in the API. A wanted
    /// state that equals the present one writes nothing. Taking the last finalizer from a deleted object removes it.
    ///
    /// # Errors
    /// Besides those of `change`: [`EngineError::NotFound`], [`EngineError::Conflict`] when `precondition` does not
    /// hold, [`EngineError::Refused`] when something immutable is changed, [`EngineError::Unavailable`] when the journal
    /// takes no writes.
    pub fn update<E: From<EngineError>>(
        &self,
        namespace: &str,
        name: &str,
        precondition: &Precondition,
        scope: Scope,
        change: impl FnOnce(&Document) -> Result<Value, E>,
    ) -> Result<Written, E> {
        let place = self.place(namespace, name);
        self.engine.write(|state, _| {
            state.check_journal()?;
            state.update(&place, precondition, scope, change)
        })
    }

    /// Deletes an object, or marks it as deleted if it has finalizers. Without a `propagation` the object's own
    /// finalizers decide, and if there are none its dependants are collected in the background.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], [`EngineError::Conflict`] when `precondition` does not hold, [`EngineError::Unavailable`]
    /// when the journal takes no writes.
    pub fn delete(
        &self,
        namespace: &str,
        name: &str,
        precondition: &Precondition,
        propagation: Option<Propagation>,
    ) -> Result<Written, EngineError> {
        let place = self.place(namespace, name);
        self.engine.write(|state, now| {
            state.check_journal()?;
            check(state.at(&place).ok_or(EngineError::NotFound)?, precondition)?;
            state.delete(&place, propagation, now).ok_or(EngineError::NotFound)
        })
    }

    fn place(&self, namespace: &str, name: &str) -> Place {
        Place { resource: self.number, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl State {
    fn create(
        &mut self,
        number: usize,
        mut object: Value,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Written, EngineError> {
        let resource = &self.contents[number].resource;
        metadata::complete(&mut object, resource, scope, now, &mut self.entropy)?;
        let namespace = metadata::text(&object, "namespace").to_owned();
        let mut name = metadata::text(&object, "name").to_owned();
        if name.is_empty() {
            let base = metadata::text(&object, "generateName").to_owned();
            if base.is_empty() {
                return Err(EngineError::refused("metadata.name", "name or generateName is required"));
            }
            name = self.generate_name(number, &namespace, &base)?;
            metadata::of(&mut object)?.insert("name".into(), name.clone().into());
        }
        let place = Place { resource: number, namespace, name };
        if self.at(&place).is_some() {
            return Err(EngineError::AlreadyExists);
        }
        Ok(Written { object: self.put(&place, object), outcome: Outcome::Created })
    }

    fn update<E: From<EngineError>>(
        &mut self,
        place: &Place,
        precondition: &Precondition,
        scope: Scope,
        change: impl FnOnce(&Document) -> Result<Value, E>,
    ) -> Result<Written, E> {
        let current = Arc::clone(self.at(place).ok_or(EngineError::NotFound)?);
        check(&current, precondition)?;
        let wanted = change(&current)?;
        let next = metadata::admit(wanted, &current, &self.contents[place.resource].resource, scope)?;
        if next == *current.json() {
            return Ok(Written { object: current, outcome: Outcome::Unchanged });
        }
        let resource = &self.contents[place.resource].resource;
        if metadata::is_deleting(&next) && metadata::finalizers(&next).is_empty() && !metadata::is_held(&next, resource)
        {
            let last = self.remove(place).ok_or(EngineError::NotFound)?;
            return Ok(Written { object: last, outcome: Outcome::Removed });
        }
        Ok(Written { object: self.put(place, next), outcome: Outcome::Changed })
    }

    /// `None`: there is nothing to delete.
    pub(super) fn delete(
        &mut self,
        place: &Place,
        propagation: Option<Propagation>,
        now: Timestamp,
    ) -> Option<Written> {
        let current = Arc::clone(self.at(place)?);
        let finalizers = finalizers_for(current.json(), propagation);
        if finalizers.is_empty() && !metadata::is_held(current.json(), &self.contents[place.resource].resource) {
            return Some(Written { object: self.remove(place)?, outcome: Outcome::Removed });
        }
        let mut next = current.json().clone();
        metadata::set_list(&mut next, "finalizers", finalizers);
        metadata::mark_deleted(&mut next, now);
        if next == *current.json() {
            return Some(Written { object: current, outcome: Outcome::Unchanged });
        }
        Some(Written { object: self.put(place, next), outcome: Outcome::Changed })
    }
}

fn check(current: &Document, precondition: &Precondition) -> Result<(), EngineError> {
    for (field, expected, found) in [
        ("uid", &precondition.uid, current.uid()),
        ("resourceVersion", &precondition.resource_version, current.resource_version()),
    ] {
        if expected.as_deref().is_some_and(|expected| expected != found) {
            let expected = expected.as_deref().unwrap_or_default();
            return Err(EngineError::conflict(format!("the object has {field} {found}, not {expected}")));
        }
    }
    Ok(())
}

/// The finalizers of an object that is to be deleted so: an explicit propagation replaces the collector's own.
fn finalizers_for(object: &Value, propagation: Option<Propagation>) -> Vec<Value> {
    let present = metadata::finalizers(object);
    let added = match propagation {
        None => return present.into_iter().map(Value::from).collect(),
        Some(Propagation::Background) => None,
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
    };
    // One that is there already keeps its place, so that deleting twice changes nothing.
    let kept = present.iter().filter(|name| Some(**name) == added || (**name != FOREGROUND && **name != ORPHAN));
    let missing = added.filter(|name| !present.contains(name));
    kept.copied().chain(missing).map(Value::from).collect()
}
