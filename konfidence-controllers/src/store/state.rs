//! What a cache holds: a plain state machine, fed by a watch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use konfidence_sdk::store::{Key, Listed, Object, Query};
use kube::runtime::watcher::Event;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::entry::{Content, Entry, Received, number, selects};
use super::expectation::{Expectation, Progress};

/// One change that a cache has taken in. Both sides missing cannot be; both present: it changed.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// The object before, if there was one.
    pub before: Option<Content<K>>,
    /// The object now, if there is one.
    pub after: Option<Content<K>>,
}

/// Told of each change, in order, before a read can see it; it runs within the cache and must only take notes.
pub type Observer<K> = dyn Fn(&Change<K>) + Send + Sync;

/// What keeps a read waiting.
pub(super) enum Obstacle {
    /// It goes when the watch delivers something, and not before.
    Watch,
    /// It goes by itself at this time.
    Until(Instant),
}

/// What a read asks for.
pub(super) enum Scope<'a, K> {
    One(&'a Key<K>),
    All(&'a Query<K>),
}

struct Expected<K> {
    key: Key<K>,
    /// Where the written object is found; where the older one is found, the cached entry tells.
    values: Vec<(&'static str, String)>,
    expectation: Expectation,
}

impl<K: Object> Expected<K> {
    fn concerns(&self, scope: &Scope<'_, K>, entry: Option<&Entry<K>>) -> bool {
        match scope {
            Scope::One(key) => **key == self.key,
            Scope::All(query) => {
                selects(query, self.key.namespace(), &self.values)
                    || entry.is_some_and(|entry| entry.is_selected_by(query))
            }
        }
    }
}

/// The state: always the kind as it stood in the server, all at once, at some moment.
pub(super) struct State<K> {
    objects: BTreeMap<Key<K>, Arc<Entry<K>>>,
    index: HashMap<(&'static str, String), BTreeSet<Key<K>>>,
    /// A list that is under way; it replaces `objects` when it is complete, not before.
    filling: Option<BTreeMap<Key<K>, Arc<Entry<K>>>>,
    pub(super) filled: bool,
    progress: Progress,
    expected: Vec<Expected<K>>,
    /// Told of a change before it can be read.
    observers: Vec<Box<Observer<K>>>,
    subscribers: Vec<mpsc::UnboundedSender<Change<K>>>,
    /// Why the watch stands still, if it does.
    pub(super) trouble: Option<String>,
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            index: HashMap::new(),
            filling: None,
            filled: false,
            progress: Progress::default(),
            expected: Vec::new(),
            observers: Vec::new(),
            subscribers: Vec::new(),
            trouble: None,
        }
    }
}

impl<K: Object> State<K> {
    pub(super) fn apply(&mut self, event: Event<Received<K>>) {
        match event {
            Event::Init => {
                self.filling = Some(BTreeMap::new());
                self.progress.lists_begun += 1;
            }
            Event::InitApply(received) => {
                if let Some(filling) = &mut self.filling {
                    filling.insert(received.entry.key.clone(), received.entry);
                }
            }
            Event::InitDone => self.replace(),
            Event::Apply(received) => {
                self.progress.number = self.progress.number.max(number(&received.entry.resource_version));
                self.set(received.entry);
            }
            Event::Delete(received) => {
                self.progress.number = self.progress.number.max(number(&received.entry.resource_version));
                self.remove(&received.entry.key);
            }
        }
    }

    /// Takes a complete list over, as the changes that lead to it.
    fn replace(&mut self) {
        let Some(listed) = self.filling.take() else { return };
        self.filled = true;
        self.progress.list = self.progress.lists_begun;
        // Not the maximum with what was seen before: after a restore of the server's storage the numbers start lower.
        if let Some(newest) = listed.values().map(|entry| number(&entry.resource_version)).max() {
            self.progress.number = newest;
        }
        let gone: Vec<_> = self.objects.keys().filter(|key| !listed.contains_key(key)).cloned().collect();
        for key in gone {
            self.remove(&key);
        }
        for entry in listed.into_values() {
            self.set(entry);
        }
    }

    fn set(&mut self, entry: Arc<Entry<K>>) {
        let before = self.objects.get(&entry.key).cloned();
        if let Some(before) = &before {
            if before.uid == entry.uid && before.resource_version == entry.resource_version {
                return;
            }
            self.unindex(before);
        }
        for value in &entry.values {
            self.index.entry(value.clone()).or_default().insert(entry.key.clone());
        }
        let after = entry.content.clone();
        self.objects.insert(entry.key.clone(), entry);
        self.tell(&Change { before: before.map(|entry| entry.content.clone()), after: Some(after) });
    }

    fn remove(&mut self, key: &Key<K>) {
        let Some(before) = self.objects.remove(key) else { return };
        self.unindex(&before);
        self.tell(&Change { before: Some(before.content.clone()), after: None });
    }

    fn unindex(&mut self, entry: &Entry<K>) {
        for value in &entry.values {
            if let Some(keys) = self.index.get_mut(value) {
                keys.remove(&entry.key);
                if keys.is_empty() {
                    self.index.remove(value);
                }
            }
        }
    }

    fn tell(&mut self, change: &Change<K>) {
        self.observers.iter().for_each(|observer| observer(change));
        self.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
    }

    /// Takes a receiver of all changes on, and tells it what there is.
    pub(super) fn subscribe(&mut self) -> mpsc::UnboundedReceiver<Change<K>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        for entry in self.objects.values() {
            // The receiver is at hand, so this cannot fail.
            let _ = sender.send(Change { before: None, after: Some(entry.content.clone()) });
        }
        self.subscribers.push(sender);
        receiver
    }

    /// Takes an observer of all changes on, and tells it what there is.
    pub(super) fn observe(&mut self, observer: Box<Observer<K>>) {
        for entry in self.objects.values() {
            observer(&Change { before: None, after: Some(entry.content.clone()) });
        }
        self.observers.push(observer);
    }

    /// The expectation that a write of ours, answered just now with this version, has to come back.
    pub(super) fn written(&self, resource_version: &str) -> Expectation {
        Expectation::Written { number: number(resource_version), lists: self.progress.lists_begun }
    }

    /// Remembers `expectation` about the object that the indexes find under `values`, unless it is met already.
    pub(super) fn expect(
        &mut self,
        key: &Key<K>,
        mut values: Vec<(&'static str, String)>,
        expectation: Expectation,
        now: Instant,
    ) {
        if expectation.is_met(self.objects.get(key).map(AsRef::as_ref), self.progress, now) {
            return;
        }
        // A later write of one object stands for the earlier ones; where any of them is found stays known.
        if matches!(expectation, Expectation::Written { .. }) {
            self.expected.retain(|earlier| {
                let stands = earlier.key == *key && matches!(earlier.expectation, Expectation::Written { .. });
                if stands {
                    values.extend(earlier.values.iter().cloned());
                }
                !stands
            });
        }
        self.expected.push(Expected { key: key.clone(), values, expectation });
    }

    pub(super) fn get(&self, key: &Key<K>) -> Option<Content<K>> {
        self.objects.get(key).map(|entry| entry.content.clone())
    }

    fn settle(&mut self, now: Instant) {
        let (objects, progress) = (&self.objects, self.progress);
        self.expected.retain(|expected| {
            !expected.expectation.is_met(objects.get(&expected.key).map(AsRef::as_ref), progress, now)
        });
    }

    pub(super) fn obstacle(&mut self, scope: &Scope<'_, K>, now: Instant) -> Option<Obstacle> {
        self.settle(now);
        let concerned = self
            .expected
            .iter()
            .filter(|expected| expected.concerns(scope, self.objects.get(&expected.key).map(AsRef::as_ref)));
        let ends: Vec<_> = concerned.map(|expected| expected.expectation.until()).collect();
        match ends.iter().flatten().min() {
            _ if ends.is_empty() => None,
            Some(until) => Some(Obstacle::Until(*until)),
            None => Some(Obstacle::Watch),
        }
    }

    pub(super) fn select(&self, query: &Query<K>) -> Listed<K> {
        let mut listed = Listed { resource_version: self.progress.number.to_string(), ..Listed::default() };
        let mut take = |entry: &Entry<K>| match &entry.content {
            Ok(object) => listed.items.push(object.clone()),
            Err(unreadable) => listed.unreadable.push((**unreadable).clone()),
        };
        match (&query.index, &query.namespace) {
            (Some((name, value)), _) => {
                let keys = self.index.get(&(*name, value.clone()));
                let entries = keys.into_iter().flatten().filter_map(|key| self.objects.get(key));
                entries.filter(|entry| entry.is_selected_by(query)).for_each(|entry| take(entry));
            }
            (None, Some(namespace)) => {
                let entries = self.objects.range(Key::new(namespace, "")..).map(|(_, entry)| entry);
                entries.take_while(|entry| entry.key.namespace() == namespace).for_each(|entry| take(entry));
            }
            (None, None) => self.objects.values().for_each(|entry| take(entry)),
        }
        listed
    }
}
