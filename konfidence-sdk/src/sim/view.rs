//! What one reconcile sees of the store: each request waits for its turn.
//!
//! ```text
//!   reconcile (a future) --request--> Desk: asked, Pending      the world looks: what would it do next?
//!                        <--answer--- granted, maybe with a mishap     one turn = one request
//! ```
//!
//! No thread and no executor: the world polls the future by hand, and a future that is dropped between two turns is a
//! process that died between two requests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use kube::core::ResourceExt;

use super::meter::Part;
use super::server::Server;
use super::step::{Kind, Mishap};
use crate::store::{
    Key, Listed, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StaleStore, StoreError, Verb,
};

/// What a reconcile wants to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) verb: Verb,
    pub(super) kind: Option<Kind>,
    pub(super) name: Arc<str>,
    /// The version that a conditional write expects.
    pub(super) expected: Option<Arc<str>>,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::GetLive => "gets live",
            Verb::ListLive => "lists live",
            Verb::Create => "creates",
            Verb::Patch => "patches",
            Verb::PatchStatus => "patches the status of",
            Verb::Delete => "deletes",
            _ => "reads",
        };
        let kind = self.kind.map_or_else(String::new, |kind| format!("{kind:?} "));
        write!(f, "{verb} {kind}{}", self.name)?;
        self.expected.as_ref().map_or(Ok(()), |expected| write!(f, " @{expected}"))
    }
}

/// Leave to make one request.
pub(super) struct Grant {
    pub(super) mishap: Option<Mishap>,
}

/// Where the world and one reconcile meet.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) asked: Option<Asked>,
    pub(super) granted: Option<Grant>,
    /// How the last request ended, in a word.
    pub(super) answered: Option<Cow<'static, str>>,
}

/// What one controller wrote itself since it started. Clones share it.
#[derive(Clone, Default)]
pub(super) struct OwnWrites {
    /// The revision of the last write of each kind.
    revisions: Arc<Mutex<BTreeMap<Kind, u64>>>,
    #[cfg(test)]
    objects: super::lie::Overlay,
}

impl OwnWrites {
    pub(super) fn last(&self, kind: Kind) -> Option<u64> {
        self.revisions.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).copied()
    }

    fn note(&self, kind: Kind, revision: u64) {
        self.revisions.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, revision);
    }
}

/// The store as one reconcile sees it.
#[derive(Clone)]
pub(super) struct View {
    cache: StaleStore,
    desk: Arc<Mutex<Desk>>,
    own_writes: OwnWrites,
    server: Server,
}

impl View {
    /// A view with a desk of its own; cache and own writes are the controller's.
    pub(super) fn new(cache: StaleStore, own_writes: OwnWrites, server: Server) -> Self {
        Self { cache, desk: Arc::default(), own_writes, server }
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn<K: Object>(&self, verb: Verb, name: &str, expected: &str) -> Option<Mishap> {
        poll_fn(|_| {
            let mut desk = self.desk();
            if let Some(Grant { mishap }) = desk.granted.take() {
                desk.asked = None;
                return Poll::Ready(mishap);
            }
            if desk.asked.is_none() {
                let expected = (!expected.is_empty()).then(|| expected.into());
                desk.asked = Some(Asked { verb, kind: Kind::of::<K>(), name: name.into(), expected });
            }
            Poll::Pending
        })
        .await
    }

    /// Answers a read, unless it failed.
    fn read<T>(
        &self,
        mishap: Option<Mishap>,
        object: ObjectRef,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let answer = mishap.map_or(answer, |mishap| Err(mishap.fault.error(object)));
        self.desk().answered = Some(word(&answer));
        answer
    }

    #[cfg(test)]
    fn remember<K: Object>(&self, answer: &Result<Arc<K>, StoreError>) {
        if let Ok(object) = answer {
            let place = (object.namespace().unwrap_or_default(), object.name_any());
            self.own_writes.objects.lock().unwrap().insert(place, Arc::clone(object) as _);
        }
    }

    /// Answers a write, and remembers up to where the cache has to come before it may be read again (R1's barrier).
    fn written<K: Object, T>(
        &self,
        mishap: Option<Mishap>,
        object: ObjectRef,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let answer = mishap.map_or(answer, |mishap| Err(mishap.fault.error(object)));
        if answer.is_ok()
            && let Some(kind) = Kind::of::<K>()
        {
            let revision = self.server.store().engine().revision();
            self.own_writes.note(kind, revision);
        }
        self.desk().answered = Some(word(&answer));
        answer
    }
}

fn word<T>(answer: &Result<T, StoreError>) -> Cow<'static, str> {
    match answer {
        Ok(_) => "done".into(),
        Err(error) => error.to_string().into(),
    }
}

/// Whether the request is to be carried out at all.
fn arrives(mishap: Option<Mishap>) -> bool {
    mishap.is_none_or(|mishap| mishap.carried_out)
}

fn never_sent<T>(object: &ObjectRef) -> Result<T, StoreError> {
    Err(StoreError::Unavailable { object: object.clone(), message: "it did not arrive".into(), source: None })
}

#[async_trait]
impl<K: Object> ObjectStore<K> for View {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        let mishap = self.turn::<K>(Verb::Get, key.name(), "").await;
        let _spending = self.server.meter.spend(Part::Engine);
        self.read(mishap, ObjectRef::named(key), self.cache.get(key).await)
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let mishap = self.turn::<K>(Verb::List, query.namespace.as_deref().unwrap_or_default(), "").await;
        let _spending = self.server.meter.spend(Part::Engine);
        let object = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
        #[cfg(test)]
        if self.server.lying.is(super::lie::Lie::Overlay) {
            let mut listed = self.cache.list(query).await?;
            super::lie::lay_over(&self.own_writes.objects, query, &mut listed);
            return self.read(mishap, object, Ok(listed));
        }
        self.read(mishap, object, self.cache.list(query).await)
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        let mishap = self.turn::<K>(Verb::GetLive, key.name(), "").await;
        let _spending = self.server.meter.spend(Part::Engine);
        self.read(mishap, ObjectRef::named(key), self.server.get(key, &self.cache).await)
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let mishap = self.turn::<K>(Verb::ListLive, query.namespace.as_deref().unwrap_or_default(), "").await;
        let _spending = self.server.meter.spend(Part::Engine);
        let object = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
        self.read(mishap, object, self.server.list(query, &self.cache).await)
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        let mishap = self.turn::<K>(Verb::Create, &object.name_any(), "").await;
        let _spending = self.server.meter.spend(Part::Engine);
        let named = ObjectRef::of(object);
        let answer = if arrives(mishap) { self.server.create(object).await } else { never_sent(&named) };
        #[cfg(test)]
        self.remember(&answer);
        self.written::<K, _>(mishap, named, answer)
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let mishap = self.turn::<K>(Verb::Patch, key.name(), &patch.expected.resource_version).await;
        let _spending = self.server.meter.spend(Part::Engine);
        let named = ObjectRef::named(key);
        let answer = if arrives(mishap) { self.server.patch(key, patch).await } else { never_sent(&named) };
        #[cfg(test)]
        self.remember(&answer);
        self.written::<K, _>(mishap, named, answer)
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let mishap = self.turn::<K>(Verb::PatchStatus, key.name(), &patch.expected.resource_version).await;
        let _spending = self.server.meter.spend(Part::Engine);
        let named = ObjectRef::named(key);
        let answer = if arrives(mishap) { self.server.patch_status(key, patch).await } else { never_sent(&named) };
        #[cfg(test)]
        self.remember(&answer);
        self.written::<K, _>(mishap, named, answer)
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        let expected = precondition.resource_version.clone().unwrap_or_default();
        let mishap = self.turn::<K>(Verb::Delete, key.name(), &expected).await;
        let _spending = self.server.meter.spend(Part::Engine);
        let named = ObjectRef::named(key);
        let answer = if arrives(mishap) { self.server.delete(key, precondition).await } else { never_sent(&named) };
        self.written::<K, _>(mishap, named, answer)
    }
}
