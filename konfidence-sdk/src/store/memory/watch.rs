//! Watching the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, future, stream};
use serde_json::Value;

use super::{MemoryStore, parse, refusal, undeclared};
use crate::store::engine::{Change, Document, Event};
use crate::store::{Index, Key, Object, ObjectWatch, Query, StoreError, WatchEvent, WatchStream};

#[async_trait]
impl<K: Object> ObjectWatch<K> for MemoryStore {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        let selection = Selection::of(query)?;
        let collection = self.collection::<K>();
        let namespace = query.namespace.clone();
        let all = Key::<K>::new(namespace.clone().unwrap_or_default(), "");
        let (present, from) = match from {
            None | Some("" | "0") => {
                let listing = self.select(query)?;
                (listing.items, listing.revision)
            }
            // A version that is no number comes from another kind of server: its history was never held here.
            Some(version) => match version.parse() {
                Ok(revision) => (Vec::new(), revision),
                Err(_) => return Err(StoreError::Expired { object: crate::store::ObjectRef::named(&all) }),
            },
        };
        let changes = collection.watch(namespace.as_deref(), from).map_err(|error| refusal(&all, &error))?;
        let present = present.into_iter().map(|object| Ok(told(&object, WatchEvent::Added)));
        let changes = changes.filter_map(move |change| {
            future::ready(match change {
                Ok(event) => selection.told(&event).map(Ok),
                Err(error) => Some(Err(refusal(&all, &error))),
            })
        });
        Ok(stream::iter(present).chain(changes).boxed())
    }
}

/// What a watch shows of the collection.
struct Selection(Option<(Index, String)>);

impl Selection {
    fn of<K: Object>(query: &Query<K>) -> Result<Self, StoreError> {
        let Some((name, value)) = &query.index else { return Ok(Self(None)) };
        let index = K::INDEXES.iter().find(|index| index.name == *name);
        let index = index.ok_or_else(|| undeclared::<K>(query.namespace.as_deref(), name))?;
        Ok(Self(Some((*index, value.clone()))))
    }

    fn contains(&self, object: &Value) -> bool {
        self.0.as_ref().is_none_or(|(index, value)| (index.values)(object).contains(value))
    }

    /// How a change looks from inside the selection; `None`: it does not.
    fn told<K: Object>(&self, event: &Event) -> Option<WatchEvent<K>> {
        let was = event.previous.as_ref().is_some_and(|object| self.contains(object.json()));
        let is = event.change != Change::Deleted && self.contains(event.object.json());
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(told(&event.object, WatchEvent::Added)),
            (true, true) => Some(told(&event.object, WatchEvent::Modified)),
            (true, false) => Some(told(&event.object, WatchEvent::Deleted)),
        }
    }
}

fn told<K: Object>(object: &Document, readable: fn(Arc<K>) -> WatchEvent<K>) -> WatchEvent<K> {
    parse(object).map_or_else(WatchEvent::Unreadable, readable)
}
