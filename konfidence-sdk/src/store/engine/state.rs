//! All that the engine holds, under one lock: objects by resource, their history, who owns whom.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use serde_json::Value;

use super::entropy::{self, Entropy};
use super::history::{Change, Event, History};
use super::index::IndexEntries;
use super::journal::{Record, Unpublished};
use super::{Document, EngineError, ResourceType, metadata};

/// About how much memory the history may take, in bytes, however few events that is.
const MOST_HELD: usize = 64 << 20;

/// Where an object lives. The order is the order of lists, and the order in which the collector looks at suspects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) resource: usize,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// The objects of one resource.
pub(super) struct Contents {
    pub(super) resource: Arc<ResourceType>,
    /// By namespace, then name: looked up without making a key, and listed in order.
    pub(super) objects: BTreeMap<String, BTreeMap<String, Arc<Document>>>,
    pub(super) history: History,
    pub(super) indexes: Vec<IndexEntries>,
    /// Watches that wait for the next event, by their number.
    pub(super) waiting: BTreeMap<u64, Waker>,
}

impl Contents {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Document>> {
        self.objects.get(namespace)?.get(name)
    }

    pub(super) fn index(&self, name: &str) -> Option<&IndexEntries> {
        self.indexes.iter().find(|index| index.name() == name)
    }
}

pub(super) struct State {
    /// The revision of the last write.
    pub(super) revision: u64,
    /// The newest revision that readers see; older than the last write while a journal has yet to take it.
    pub(super) published: u64,
    /// What the journal has to take; `None`: there is no journal.
    pub(super) unpublished: Option<Unpublished>,
    pub(super) entropy: Entropy,
    pub(super) contents: Vec<Contents>,
    /// Resource of each held event, oldest first: the histories of all resources in one order.
    order: VecDeque<usize>,
    /// How many events are held.
    capacity: usize,
    /// About how much memory they take, in bytes.
    held: usize,
    /// The newest revision of which the history was dropped; nothing older can be asked for.
    pub(super) floor: u64,
    pub(super) by_uid: HashMap<String, Place>,
    /// Objects that name an owner, by the owner's uid.
    pub(super) dependants: HashMap<String, BTreeSet<Place>>,
    /// Objects that the collector has to look at.
    pub(super) suspects: BTreeSet<Place>,
    /// Watches to wake when the lock is released.
    pub(super) woken: Vec<Waker>,
    pub(super) watches: u64,
    /// How deep the deepest object is nested that has been here.
    pub(super) nesting: Arc<AtomicUsize>,
}

impl State {
    pub(super) fn new(entropy: Entropy, capacity: usize) -> Self {
        Self {
            // A server never answers 0: in requests it means "any version".
            revision: 1,
            published: 1,
            unpublished: None,
            entropy,
            contents: Vec::new(),
            order: VecDeque::new(),
            capacity,
            held: 0,
            floor: 0,
            by_uid: HashMap::new(),
            dependants: HashMap::new(),
            suspects: BTreeSet::new(),
            woken: Vec::new(),
            watches: 0,
            nesting: Arc::default(),
        }
    }

    /// The number of a resource, which is made if it is new and described anew if it is not.
    pub(super) fn register(&mut self, resource: ResourceType) -> usize {
        let known = self.contents.iter().position(|contents| {
            contents.resource.group == resource.group && contents.resource.plural == resource.plural
        });
        let resource = Arc::new(resource);
        if let Some(number) = known {
            self.contents[number].resource = resource;
            return number;
        }
        self.contents.push(Contents {
            resource,
            objects: BTreeMap::new(),
            history: History::default(),
            indexes: Vec::new(),
            waiting: BTreeMap::new(),
        });
        // Owners of a kind that nobody knew could not be judged until now.
        let unjudged = self.dependants.iter().filter(|(owner, _)| !self.by_uid.contains_key(*owner));
        self.suspects.extend(unjudged.flat_map(|(_, places)| places.iter().cloned()));
        self.contents.len() - 1
    }

    pub(super) fn at(&self, place: &Place) -> Option<&Arc<Document>> {
        self.contents[place.resource].get(&place.namespace, &place.name)
    }

    /// A free name, if the object wants one to be generated.
    pub(super) fn generate_name(&mut self, number: usize, namespace: &str, base: &str) -> Result<String, EngineError> {
        const ATTEMPTS: usize = 8;
        for _ in 0..ATTEMPTS {
            let name = entropy::name(base, &mut self.entropy);
            if self.contents[number].get(namespace, &name).is_none() {
                return Ok(name);
            }
        }
        Err(EngineError::AlreadyExists)
    }

    /// The form in which an object is held.
    pub(super) fn document(&self, json: Value, revision: u64) -> Arc<Document> {
        let document = Document::new(json, revision);
        self.nesting.fetch_max(document.nesting(), Ordering::Relaxed);
        Arc::new(document)
    }

    /// Takes in an object that is there already: no write, no event.
    pub(super) fn adopt(&mut self, place: &Place, object: &Arc<Document>) {
        let names = self.contents[place.resource].objects.entry(place.namespace.clone()).or_default();
        names.insert(place.name.clone(), Arc::clone(object));
        self.by_uid.insert(object.uid().to_owned(), place.clone());
        self.note_owners(place, None, Some(object));
    }

    /// Writes an object: the next revision, the history, the indexes, the owners.
    pub(super) fn put(&mut self, place: &Place, mut json: Value) -> Arc<Document> {
        self.revision += 1;
        metadata::set_revision(&mut json, self.revision);
        let object = self.document(json, self.revision);
        let names = self.contents[place.resource].objects.entry(place.namespace.clone()).or_default();
        let previous = names.insert(place.name.clone(), Arc::clone(&object));
        if previous.is_none() {
            self.by_uid.insert(object.uid().to_owned(), place.clone());
        }
        let change = if previous.is_some() { Change::Modified } else { Change::Added };
        self.note_owners(place, previous.as_deref(), Some(&object));
        self.record(place, change, Arc::clone(&object), previous);
        object
    }

    /// Removes an object and answers its last state.
    pub(super) fn remove(&mut self, place: &Place) -> Option<Arc<Document>> {
        let objects = &mut self.contents[place.resource].objects;
        let names = objects.get_mut(&place.namespace)?;
        let previous = names.remove(&place.name)?;
        if names.is_empty() {
            objects.remove(&place.namespace);
        }
        self.revision += 1;
        let mut last = previous.json().clone();
        metadata::set_revision(&mut last, self.revision);
        let last = self.document(last, self.revision);
        self.by_uid.remove(previous.uid());
        self.note_owners(place, Some(&previous), None);
        self.record(place, Change::Deleted, Arc::clone(&last), Some(previous));
        Some(last)
    }

    /// Keeps track of who owns whom, and suspects those whose owners have changed.
    fn note_owners(&mut self, place: &Place, before: Option<&Document>, after: Option<&Document>) {
        let old = before.map(|object| metadata::owners(object.json())).unwrap_or_default();
        let new = after.map(|object| metadata::owners(object.json())).unwrap_or_default();
        if old != new {
            for uid in uids(old) {
                if let Some(places) = self.dependants.get_mut(uid) {
                    places.remove(place);
                    if places.is_empty() {
                        self.dependants.remove(uid);
                    }
                }
            }
            for uid in uids(new) {
                self.dependants.entry(uid.to_owned()).or_default().insert(place.clone());
            }
            self.suspects.insert(place.clone());
            // An owner may wait for this dependant to be gone or to let go.
            self.suspects.extend(uids(old).filter_map(|uid| self.by_uid.get(uid).cloned()));
        }
        // The finalizers that a deletion leaves tell how the dependants are to be treated.
        let awaited = |object: Option<&Document>| -> Option<Vec<String>> {
            let json = object?.json();
            metadata::is_deleting(json).then(|| metadata::finalizers(json).into_iter().map(str::to_owned).collect())
        };
        let starts_deleting =
            after.is_some_and(|object| metadata::is_deleting(object.json())) && awaited(after) != awaited(before);
        if starts_deleting {
            self.suspects.insert(place.clone());
        }
        if (starts_deleting || after.is_none())
            && let Some(dependants) = before.and_then(|object| self.dependants.get(object.uid()))
        {
            self.suspects.extend(dependants.iter().cloned());
        }
    }

    fn record(&mut self, place: &Place, change: Change, object: Arc<Document>, previous: Option<Arc<Document>>) {
        let contents = &mut self.contents[place.resource];
        let after = (change != Change::Deleted).then_some(&*object);
        for index in &mut contents.indexes {
            index.update(&place.namespace, &place.name, previous.as_deref(), after);
        }
        let event = Arc::new(Event { revision: self.revision, change, object, previous });
        self.held += event.object.size();
        contents.history.push(Arc::clone(&event));
        self.order.push_back(place.resource);
        if let Some(unpublished) = &mut self.unpublished {
            let resource = Arc::clone(&contents.resource);
            unpublished.push(Record { resource, event, number: place.resource });
        } else {
            self.published = self.revision;
            self.woken.extend(std::mem::take(&mut contents.waiting).into_values());
        }
        self.trim();
    }

    /// Drops what is too much of the history, but nothing that readers have yet to see.
    pub(super) fn trim(&mut self) {
        while (self.order.len() > self.capacity || self.held > MOST_HELD)
            && let Some(number) = self.order.front()
            && self.contents[*number].history.oldest().is_some_and(|oldest| oldest <= self.published)
        {
            self.drop_oldest();
        }
    }

    /// The published events of a resource after `revision`, oldest first.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when some of them are gone.
    pub(super) fn events(
        &self,
        number: usize,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Event>>, EngineError> {
        let events = self.contents[number].history.after(revision)?;
        Ok(events.take_while(|event| event.revision <= self.published))
    }

    fn drop_oldest(&mut self) {
        if let Some(number) = self.order.pop_front()
            && let Some(event) = self.contents[number].history.drop_oldest()
        {
            self.floor = event.revision;
            self.held -= event.object.size();
        }
    }

    /// Forgets the history up to `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.published);
        while let Some(number) = self.order.front()
            && self.contents[*number].history.oldest().is_some_and(|oldest| oldest <= revision)
        {
            self.drop_oldest();
        }
        self.floor = self.floor.max(revision);
    }

    /// # Errors
    /// [`EngineError::Unavailable`] when the journal takes no writes at the moment.
    pub(super) fn check_journal(&self) -> Result<(), EngineError> {
        self.unpublished.as_ref().map_or(Ok(()), Unpublished::check)
    }

    /// Whether a request may look at `revision`.
    pub(super) fn check_published(&self, revision: u64) -> Result<(), EngineError> {
        if revision > self.published {
            return Err(EngineError::Ahead { asked: revision, present: self.published });
        }
        self.check_revision(revision)
    }

    /// Whether a request may start from `revision`.
    pub(super) fn check_revision(&self, revision: u64) -> Result<(), EngineError> {
        if revision > self.revision {
            return Err(EngineError::Ahead { asked: revision, present: self.revision });
        }
        if revision < self.floor {
            return Err(EngineError::Expired { asked: revision, oldest: self.floor });
        }
        Ok(())
    }
}

fn uids(owners: &[Value]) -> impl Iterator<Item = &str> {
    owners.iter().filter_map(|owner| owner.get("uid").and_then(Value::as_str))
}
