//! Watching: the changes of all processes, read from the directory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use konfidence_sdk::store::{
    Key, Object, ObjectRef, ObjectStore, ObjectWatch, Query, StoreError, WatchEvent, WatchStream,
};
use serde_json::Value;

use crate::FileStore;
use crate::disk::{Change, Disk};
use crate::store::{Selection, kind, parse, unavailable};

/// How often the directory is looked at. No file system tells of changes on every platform.
const PAUSE: Duration = Duration::from_millis(20);

#[async_trait]
impl<K: Object> ObjectWatch<K> for FileStore {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        let all = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
        let mut ready = VecDeque::new();
        let version = match from {
            None | Some("" | "0") => {
                let listed = ObjectStore::<K>::list(self, query).await?;
                ready.extend(listed.items.into_iter().map(WatchEvent::Added));
                ready.extend(listed.unreadable.into_iter().map(WatchEvent::Unreadable));
                listed.resource_version
            }
            Some(version) => version.to_owned(),
        };
        // A version that is no number is none of ours.
        let seen = version.parse().map_err(|_| StoreError::Expired { object: all.clone() })?;
        let watching = Watching {
            disk: self.disk.clone(),
            kind: kind::<K>(),
            namespace: query.namespace.clone(),
            selection: Selection::of(query)?,
            all,
            ready,
            seen,
        };
        Ok(stream::unfold(Some(watching), async |watching| {
            let mut watching = watching?;
            let item = watching.next().await;
            let rest = item.is_ok().then_some(watching);
            Some((item, rest))
        })
        .boxed())
    }
}

struct Watching<K> {
    disk: Arc<Disk>,
    kind: String,
    namespace: Option<String>,
    selection: Selection,
    all: ObjectRef,
    ready: VecDeque<WatchEvent<K>>,
    /// The changes up to here are told, or in `ready`.
    seen: u64,
}

impl<K: Object> Watching<K> {
    async fn next(&mut self) -> Result<WatchEvent<K>, StoreError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if !self.look()? {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Takes in what has happened since. Answers whether anything has.
    fn look(&mut self) -> Result<bool, StoreError> {
        let failed = |error| unavailable(&self.all, error);
        // Without the lock: at worst it is seen the next time.
        if self.disk.revision().map_err(failed)? == self.seen {
            return Ok(false);
        }
        let disk = self.disk.lock().map_err(failed)?;
        let changes = disk.changes_after(self.seen).map_err(failed)?;
        let changes = changes.ok_or_else(|| StoreError::Expired { object: self.all.clone() })?;
        self.seen = disk.revision();
        let told: Vec<_> = changes.iter().filter_map(|change| self.told(change)).collect();
        self.ready.extend(told);
        Ok(true)
    }

    /// How a change looks from inside the selection; `None`: it does not.
    fn told(&self, change: &Change) -> Option<WatchEvent<K>> {
        let place = &change.place;
        if place.kind != self.kind || self.namespace.as_ref().is_some_and(|it| *it != place.namespace) {
            return None;
        }
        let within = |side: &Option<Value>| side.as_ref().is_some_and(|object| self.selection.contains(object));
        match (within(&change.before), within(&change.after)) {
            (false, false) => None,
            (false, true) => shown(change.after.as_ref()?, WatchEvent::Added),
            (true, true) => shown(change.after.as_ref()?, WatchEvent::Modified),
            (true, false) => shown(change.after.as_ref().or(change.before.as_ref())?, WatchEvent::Deleted),
        }
    }
}

fn shown<K: Object>(object: &Value, readable: fn(Arc<K>) -> WatchEvent<K>) -> Option<WatchEvent<K>> {
    match parse(object) {
        Ok(object) => Some(readable(object)),
        Err(StoreError::Unreadable(unreadable)) => Some(WatchEvent::Unreadable(*unreadable)),
        Err(_) => None,
    }
}
