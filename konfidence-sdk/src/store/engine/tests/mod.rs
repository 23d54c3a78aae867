//! The engine against the API server's rules.

mod garbage;
mod journal;
mod metadata;
mod reads;
mod watching;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::store::Precondition;

fn noon() -> Timestamp {
    "2026-03-01T12:00:00.5Z".parse().unwrap()
}

fn engine() -> Engine {
    Engine::new(Options::new(Arc::new(noon())))
}

fn resource(kind: &'static str, plural: &'static str) -> ResourceType {
    ResourceType {
        group: "bakery.example".into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: true,
        status_subresource: true,
        counts_generations: true,
    }
}

fn menus(engine: &Engine) -> Collection {
    engine.collection(resource("Menu", "menus"))
}

fn menu(name: &str) -> Value {
    json!({"metadata": {"namespace": "bakery", "name": name}, "spec": {"pages": 2}})
}

fn any() -> Precondition {
    Precondition::default()
}

/// Creates and answers the object.
fn create(collection: &Collection, object: Value) -> Arc<Document> {
    collection.create(object, Scope::Main).unwrap().object
}

/// Updates `bakery/<name>` without precondition.
fn update(
    collection: &Collection,
    name: &str,
    scope: Scope,
    change: impl FnOnce(&mut Value),
) -> Result<Written, EngineError> {
    collection.update("bakery", name, &any(), scope, |object| {
        let mut json = object.json().clone();
        change(&mut json);
        Ok(json)
    })
}

/// The names in a list.
fn names(listing: &Listing) -> Vec<&str> {
    listing.items.iter().map(|object| object.name()).collect()
}
