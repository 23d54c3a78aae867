//! The objects of one resource: reads.

use std::ops::Bound;
use std::sync::Arc;

use super::index::IndexEntries;
use super::state::Contents;
use super::{Document, Engine, EngineError, Event, ResourceType, Watch};
use crate::store::Index;

/// The objects of one resource of an [`Engine`]. Clones are the same collection.
#[derive(Clone)]
pub struct Collection {
    pub(super) engine: Engine,
    pub(super) number: usize,
}

/// Objects as they stood at one revision, ordered by namespace and name.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The objects.
    pub items: Vec<Arc<Document>>,
    /// The revision of the whole engine that the list shows. A watch from here misses nothing.
    pub revision: u64,
}

impl Collection {
    /// The engine that holds it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The kind of the objects.
    pub fn resource(&self) -> ResourceType {
        self.engine.read(|state| ResourceType::clone(&state.contents[self.number].resource))
    }

    /// One object as it stands now; the namespace is empty for cluster-scoped kinds. Where there is a journal this is what
    /// the next write changes; what may be told to others is [`get_published`](Self::get_published).
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<Document>> {
        self.engine.read(|state| state.contents[self.number].get(namespace, name).cloned())
    }

    /// One object as everybody may see it: without writes that the journal has yet to take.
    pub fn get_published(&self, namespace: &str, name: &str) -> Option<Arc<Document>> {
        self.engine.read(|state| {
            let contents = &state.contents[self.number];
            past_one(contents, (namespace, name), state.published, contents.history.unseen(state.published))
        })
    }

    /// One object as it stood at `revision`.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when the history since then is gone, [`EngineError::Ahead`] when it is yet to come.
    pub fn get_at(&self, revision: u64, namespace: &str, name: &str) -> Result<Option<Arc<Document>>, EngineError> {
        self.engine.read(|state| {
            state.check_published(revision)?;
            let contents = &state.contents[self.number];
            Ok(past_one(contents, (namespace, name), revision, contents.history.after(revision)?))
        })
    }

    /// All objects, or those of one namespace, as they stand now; of a journal the same is true as for [`get`](Self::get).
    pub fn list(&self, namespace: Option<&str>) -> Listing {
        self.engine
            .read(|state| Listing { items: items(&state.contents[self.number], namespace), revision: state.revision })
    }

    /// All objects, or those of one namespace, as everybody may see them: without writes that the journal has yet to take.
    pub fn list_published(&self, namespace: Option<&str>) -> Listing {
        self.engine.read(|state| {
            let contents = &state.contents[self.number];
            let items = past(contents, namespace, state.published, contents.history.unseen(state.published));
            Listing { items, revision: state.published }
        })
    }

    /// All objects, or those of one namespace, as they stood at `revision`: the pages of a list are cut from this.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when the history since then is gone, [`EngineError::Ahead`] when it is yet to come.
    pub fn list_at(&self, revision: u64, namespace: Option<&str>) -> Result<Listing, EngineError> {
        self.engine.read(|state| {
            state.check_published(revision)?;
            let contents = &state.contents[self.number];
            Ok(Listing { items: past(contents, namespace, revision, contents.history.after(revision)?), revision })
        })
    }

    /// The objects that have `value` in the index `name`, as everybody may see them; `None` when the collection has no such
    /// index.
    pub fn list_by(&self, namespace: Option<&str>, name: &str, value: &str) -> Option<Listing> {
        self.engine.read(|state| {
            let contents = &state.contents[self.number];
            let index = contents.index(name)?;
            let items =
                past_by(contents, index, value, namespace, state.published, contents.history.unseen(state.published));
            Some(Listing { items, revision: state.published })
        })
    }

    /// The objects that had `value` in the index `name` at `revision`; `None` when the collection has no such index.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when the history since then is gone, [`EngineError::Ahead`] when it is yet to come.
    pub fn list_by_at(
        &self,
        revision: u64,
        namespace: Option<&str>,
        name: &str,
        value: &str,
    ) -> Result<Option<Listing>, EngineError> {
        self.engine.read(|state| {
            state.check_published(revision)?;
            let contents = &state.contents[self.number];
            let Some(index) = contents.index(name) else { return Ok(None) };
            let items = past_by(contents, index, value, namespace, revision, contents.history.after(revision)?);
            Ok(Some(Listing { items, revision }))
        })
    }

    /// Keeps these indexes from now on; those that it has already stay.
    pub fn keep_indexes(&self, indexes: &[Index]) {
        self.engine.write(|state, _| {
            let contents = &mut state.contents[self.number];
            for index in indexes {
                if contents.indexes.iter().any(|kept| kept.name() == index.name) {
                    continue;
                }
                let mut entries = IndexEntries::new(*index);
                for (namespace, names) in &contents.objects {
                    for (name, object) in names {
                        entries.update(namespace, name, None, Some(object));
                    }
                }
                contents.indexes.push(entries);
            }
        });
    }

    /// The changes after `from`, and all that come, in order, none left out and none twice.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when the history since then is gone, [`EngineError::Ahead`] when it is yet to come.
    pub fn watch(&self, namespace: Option<&str>, from: u64) -> Result<Watch, EngineError> {
        let number = self.engine.write(|state, _| {
            state.check_revision(from)?;
            state.watches += 1;
            Ok(state.watches)
        })?;
        Ok(Watch::new(self.clone(), namespace.map(str::to_owned), from, number))
    }

    /// The first change of this resource after `revision`, if it has happened yet.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn next_event(&self, revision: u64) -> Result<Option<Arc<Event>>, EngineError> {
        self.engine.read(|state| {
            state.check_revision(revision)?;
            Ok(state.events(self.number, revision)?.next().cloned())
        })
    }

    /// The revision of the change of this resource that `back` others have followed so far; of the oldest held, if there
    /// are not so many, and `None` if there is none.
    pub fn revision_before(&self, back: usize) -> Option<u64> {
        self.engine.read(|state| state.contents[self.number].history.before(back))
    }

    /// The changes of this resource after `revision` that have happened so far, oldest first.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn events_after(&self, revision: u64) -> Result<Vec<Arc<Event>>, EngineError> {
        self.engine.read(|state| {
            state.check_revision(revision)?;
            Ok(state.events(self.number, revision)?.cloned().collect())
        })
    }
}

/// Whether an event is about an object of `namespace`.
pub(super) fn is_in(event: &Event, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| event.object.namespace() == namespace)
}

fn place(object: &Document) -> (&str, &str) {
    (object.namespace(), object.name())
}

/// One object as it stood at `revision`; `since` are all later events of the resource.
///
/// A state that was written no later than `revision` is the one that stood there, wherever it is found: among the
/// objects, or as what an event found before it. At most one state of each object is so.
fn past_one<'a>(
    contents: &'a Contents,
    (namespace, name): (&str, &str),
    revision: u64,
    mut since: impl Iterator<Item = &'a Arc<Event>>,
) -> Option<Arc<Document>> {
    let here = contents.get(namespace, name).filter(|object| object.revision() <= revision);
    let earlier = || since.find_map(|event| replaced(event, revision).filter(|it| place(it) == (namespace, name)));
    here.or_else(earlier).cloned()
}

/// The objects that had `value` in the index at `revision`; `since` are all later events of the resource.
fn past_by<'a>(
    contents: &'a Contents,
    index: &IndexEntries,
    value: &'a str,
    namespace: Option<&'a str>,
    revision: u64,
    since: impl Iterator<Item = &'a Arc<Event>>,
) -> Vec<Arc<Document>> {
    let here = index.places(value).filter(|place| namespace.is_none_or(|namespace| place.0 == namespace));
    let here = here.filter_map(|(namespace, name)| contents.get(namespace, name));
    let earlier = earlier(namespace, revision, since).filter(|object| index.has(object, value));
    merged(here, revision, earlier)
}

/// The objects as they stood at `revision`; `since` are all later events of the resource.
fn past<'a>(
    contents: &'a Contents,
    namespace: Option<&'a str>,
    revision: u64,
    since: impl Iterator<Item = &'a Arc<Event>>,
) -> Vec<Arc<Document>> {
    let here = entries(contents, namespace).map(|(_, object)| object);
    merged(here, revision, earlier(namespace, revision, since))
}

/// The state that an event replaced, if it was the one at `revision`.
fn replaced(event: &Event, revision: u64) -> Option<&Arc<Document>> {
    event.previous.as_ref().filter(|previous| previous.revision() <= revision)
}

/// The states at `revision` of the objects that changed later.
fn earlier<'a>(
    namespace: Option<&'a str>,
    revision: u64,
    since: impl Iterator<Item = &'a Arc<Event>>,
) -> impl Iterator<Item = &'a Arc<Document>> {
    since.filter(move |event| is_in(event, namespace)).filter_map(move |event| replaced(event, revision))
}

/// The present states that stood at `revision` already, and the earlier ones of the other objects, in order.
fn merged<'a>(
    here: impl Iterator<Item = &'a Arc<Document>>,
    revision: u64,
    earlier: impl Iterator<Item = &'a Arc<Document>>,
) -> Vec<Arc<Document>> {
    let mut items: Vec<_> = here.filter(|object| object.revision() <= revision).cloned().collect();
    let unchanged = items.len();
    items.extend(earlier.cloned());
    if items.len() > unchanged {
        items.sort_by(|one, other| place(one).cmp(&place(other)));
    }
    items
}

fn items(contents: &Contents, namespace: Option<&str>) -> Vec<Arc<Document>> {
    entries(contents, namespace).map(|(_, object)| Arc::clone(object)).collect()
}

/// The objects in order, each with its namespace and name.
fn entries<'a>(
    contents: &'a Contents,
    namespace: Option<&'a str>,
) -> impl Iterator<Item = ((&'a str, &'a str), &'a Arc<Document>)> {
    let namespaces = match namespace {
        Some(namespace) => contents.objects.range::<str, _>((Bound::Included(namespace), Bound::Included(namespace))),
        None => contents.objects.range::<str, _>(..),
    };
    namespaces.flat_map(|(namespace, names)| {
        names.iter().map(move |(name, object)| ((namespace.as_str(), name.as_str()), object))
    })
}
