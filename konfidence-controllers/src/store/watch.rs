//! Watching: one watch of its own per stream, so that it can start from any version that a list gave.

use std::collections::{BTreeSet, VecDeque};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use konfidence_sdk::store::{
    Key, Object, ObjectRef, ObjectWatch, Query, StoreError, Unreadable, WatchEvent, WatchStream,
};
use kube::Client;
use kube::api::WatchParams;
use kube::core::WatchEvent as Wire;

use super::entry::{Content, Entry, Received};
use super::feed::WATCH_SECONDS;
use super::{KubeStore, answer, check_index, live};

type Lines<K> = BoxStream<'static, kube::Result<Wire<Received<K>>>>;

#[async_trait]
impl<K: Object> ObjectWatch<K> for KubeStore {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        check_index(query)?;
        let mut ready = VecDeque::new();
        let mut members = BTreeSet::new();
        let version = match from {
            // An empty kind has no version yet: what is there now was added since.
            None | Some("" | "0") => {
                let (received, version) = live::list(self.client(), query, None).await?;
                for entry in received.into_iter().map(|received| received.entry) {
                    if entry.is_selected_by(query) {
                        members.insert(entry.key.clone());
                        ready.push_back(Ok(event(&entry.content, WatchEvent::Added)));
                    }
                }
                version
            }
            Some(version) => {
                if query.index.is_some() {
                    // Whether a change makes an object enter or leave the selection depends on where it was before.
                    let (received, _) = live::list(self.client(), query, Some(version)).await?;
                    let selected = received.iter().filter(|received| received.entry.is_selected_by(query));
                    members.extend(selected.map(|received| received.entry.key.clone()));
                }
                version.to_owned()
            }
        };
        let watched =
            Watched { client: self.client().clone(), query: query.clone(), version, members, ready, lines: None };
        Ok(stream::unfold(Some(watched), |watched| async move {
            let mut watched = watched?;
            let item = watched.next().await;
            let rest = item.is_ok().then_some(watched);
            Some((item, rest))
        })
        .boxed())
    }
}

struct Watched<K> {
    client: Client,
    query: Query<K>,
    /// The version from which the watch goes on when the server ends it, as it does every few minutes.
    version: String,
    /// The objects that the query selects, where that takes more than the server's own answer.
    members: BTreeSet<Key<K>>,
    ready: VecDeque<Result<WatchEvent<K>, StoreError>>,
    lines: Option<Lines<K>>,
}

impl<K: Object> Watched<K> {
    async fn next(&mut self) -> Result<WatchEvent<K>, StoreError> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return item;
            }
            let lines = if let Some(lines) = &mut self.lines {
                lines
            } else {
                let opened = open(&self.client, &self.query, &self.version).await?;
                self.lines.insert(opened)
            };
            match lines.next().await {
                None => self.lines = None,
                Some(line) => {
                    let line = line.map_err(|error| answer::error(all(&self.query), error))?;
                    if let Some(event) = self.take(line)? {
                        return Ok(event);
                    }
                }
            }
        }
    }

    fn take(&mut self, line: Wire<Received<K>>) -> Result<Option<WatchEvent<K>>, StoreError> {
        let (entry, added, gone) = match line {
            Wire::Added(received) => (received.entry, true, false),
            Wire::Modified(received) => (received.entry, false, false),
            Wire::Deleted(received) => (received.entry, false, true),
            Wire::Bookmark(bookmark) => {
                self.version.clone_from(&bookmark.metadata.resource_version);
                return Ok(Some(WatchEvent::Bookmark { resource_version: bookmark.metadata.resource_version }));
            }
            Wire::Error(status) => return Err(answer::status_error(all(&self.query), *status)),
        };
        self.version.clone_from(&entry.resource_version);
        Ok(self.classify(&entry, added, gone))
    }

    fn classify(&mut self, entry: &Entry<K>, added: bool, gone: bool) -> Option<WatchEvent<K>> {
        if self.query.index.is_none() {
            let wrap = match (added, gone) {
                (_, true) => WatchEvent::Deleted,
                (true, _) => WatchEvent::Added,
                (false, false) => WatchEvent::Modified,
            };
            return Some(event(&entry.content, wrap));
        }
        let was = self.members.contains(&entry.key);
        let is = !gone && entry.is_selected_by(&self.query);
        match (was, is) {
            (false, false) => None,
            (false, true) => {
                self.members.insert(entry.key.clone());
                Some(event(&entry.content, WatchEvent::Added))
            }
            (true, true) => Some(event(&entry.content, WatchEvent::Modified)),
            (true, false) => {
                self.members.remove(&entry.key);
                Some(event(&entry.content, WatchEvent::Deleted))
            }
        }
    }
}

async fn open<K: Object>(client: &Client, query: &Query<K>, version: &str) -> Result<Lines<K>, StoreError> {
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    let request = live::path::<K>(query.namespace.as_deref()).watch(&params, version);
    let request = request.map_err(|error| answer::error(all(query), kube::Error::BuildRequest(error)))?;
    let lines = client.request_events(request).await.map_err(|error| answer::error(all(query), error))?;
    Ok(lines.boxed())
}

fn all<K: Object>(query: &Query<K>) -> ObjectRef {
    ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""))
}

fn event<K>(content: &Content<K>, readable: fn(std::sync::Arc<K>) -> WatchEvent<K>) -> WatchEvent<K> {
    match content {
        Ok(object) => readable(object.clone()),
        Err(unreadable) => WatchEvent::Unreadable(Unreadable::clone(unreadable)),
    }
}
