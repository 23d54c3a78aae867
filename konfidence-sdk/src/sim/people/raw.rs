//! Requests without a decision behind them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::store::engine::{Document, EngineError, Outcome, Scope};
use crate::store::{Key, MemoryStore, Object, Precondition};

/// What people hold on to an object with.
const HOLD: &str = "bakery.example/hold";

pub(super) fn insert<K: Object>(store: &MemoryStore, object: Value) -> bool {
    store.insert_raw::<K>(object).is_ok()
}

/// Changes what is there. Answers whether that made a difference.
pub(in crate::sim) fn change<K: Object>(
    store: &MemoryStore,
    key: &Key<K>,
    scope: Scope,
    change: impl FnOnce(&mut Value),
) -> bool {
    let changed =
        store.collection::<K>().update(key.namespace(), key.name(), &Precondition::default(), scope, |object| {
            let mut object = object.json().clone();
            change(&mut object);
            Ok::<_, EngineError>(object)
        });
    changed.is_ok_and(|written| written.outcome != Outcome::Unchanged)
}

pub(super) fn delete<K: Object>(store: &MemoryStore, key: &Key<K>) -> Option<String> {
    let deleted = store.collection::<K>().delete(key.namespace(), key.name(), &Precondition::default(), None).ok()?;
    match deleted.outcome {
        Outcome::Removed => Some(format!("somebody deletes {} {key}", K::kind(&()))),
        Outcome::Changed => Some(format!("somebody deletes {} {key}, which is held", K::kind(&()))),
        _ => None,
    }
}

pub(super) fn toggle<K: Object>(store: &MemoryStore, key: &Key<K>, make: impl FnOnce() -> Value) -> Option<String> {
    if store.collection::<K>().get(key.namespace(), key.name()).is_some() {
        return delete(store, key);
    }
    let mut object = make();
    object["metadata"] = json!({"namespace": key.namespace(), "name": key.name()});
    insert::<K>(store, object).then(|| format!("somebody makes {} {key} again", K::kind(&())))
}

pub(super) fn hold<K: Object>(store: &MemoryStore, key: &Key<K>) -> Option<String> {
    let mut told = "holds";
    let changed = change(store, key, Scope::Main, |object| {
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        object["metadata"]["finalizers"] = if held { json!([]) } else { json!([HOLD]) };
        told = if held { "lets go of" } else { "holds" };
    });
    changed.then(|| format!("somebody {told} {} {key}", K::kind(&())))
}

pub(super) fn release_all<K: Object>(store: &MemoryStore) {
    let held = |object: &Arc<Document>| !object.json()["metadata"]["finalizers"].is_null();
    for object in store.collection::<K>().list(None).items.into_iter().filter(held) {
        let key = Key::<K>::new(object.namespace(), object.name());
        change(store, &key, Scope::Main, |object| {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("finalizers");
            }
        });
    }
}
