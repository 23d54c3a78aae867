//! A store that fails: every error of the port, by script or by chance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::engine::{Entropy, seeded};
use super::request::{Request, Verb, all};
use super::{
    Key, Listed, Object, ObjectRef, ObjectStore, ObjectWatch, Patch, Precondition, Query, StoreError, Unreadable,
    WatchStream,
};

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// [`StoreError::NotFound`].
    NotFound,
    /// [`StoreError::AlreadyExists`].
    AlreadyExists,
    /// [`StoreError::Conflict`].
    Conflict,
    /// [`StoreError::Invalid`].
    Invalid,
    /// [`StoreError::Forbidden`].
    Forbidden,
    /// [`StoreError::Unavailable`]; the request did not arrive.
    Unavailable,
    /// [`StoreError::Unavailable`]; the request was carried out and its answer was lost.
    AnswerLost,
    /// [`StoreError::Expired`].
    Expired,
    /// [`StoreError::Unreadable`].
    Unreadable,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 9] = [
        Self::NotFound,
        Self::AlreadyExists,
        Self::Conflict,
        Self::Invalid,
        Self::Forbidden,
        Self::Unavailable,
        Self::AnswerLost,
        Self::Expired,
        Self::Unreadable,
    ];

    /// Whether a server could answer a request so.
    pub fn is_possible(self, verb: Verb) -> bool {
        match self {
            Self::NotFound | Self::Conflict => matches!(verb, Verb::Patch | Verb::PatchStatus | Verb::Delete),
            Self::AlreadyExists => verb == Verb::Create,
            Self::Invalid => matches!(verb, Verb::Create | Verb::Patch | Verb::PatchStatus),
            Self::Forbidden | Self::Unavailable => true,
            Self::AnswerLost => verb.is_write(),
            Self::Expired => matches!(verb, Verb::List | Verb::ListLive | Verb::Watch),
            Self::Unreadable => matches!(verb, Verb::Get | Verb::GetLive),
        }
    }

    /// The error that the caller sees.
    pub fn error(self, object: ObjectRef) -> StoreError {
        let message = "injected fault".to_owned();
        match self {
            Self::NotFound => StoreError::NotFound { object },
            Self::AlreadyExists => StoreError::AlreadyExists { object },
            Self::Conflict => StoreError::Conflict { object },
            Self::Invalid => StoreError::Invalid { object, message, fields: Vec::new() },
            Self::Forbidden => StoreError::Forbidden { object, message },
            Self::Unavailable | Self::AnswerLost => StoreError::Unavailable { object, message, source: None },
            Self::Expired => StoreError::Expired { object },
            Self::Unreadable => StoreError::Unreadable(Box::new(Unreadable { object, message, raw: Arc::default() })),
        }
    }
}

/// Passes requests on, but for those that a script or a seed lets fail. Clones share script and seed.
///
/// ```
/// use konfidence_sdk::store::{Fault, FaultyStore, Key, MemoryStore, ObjectStore, StoreError, Verb};
/// use konfidence_sdk::types::Stage;
///
/// # futures::executor::block_on(async {
/// let store = FaultyStore::new(MemoryStore::new(), 0);
/// store.fail_next::<Stage>(Verb::Get, Fault::Forbidden);
/// let dev = Key::<Stage>::new("bakery-eu", "dev");
/// assert!(matches!(store.get(&dev).await, Err(StoreError::Forbidden { .. })));
/// assert_eq!(store.get(&dev).await.unwrap(), None);
/// # });
/// ```
#[derive(Clone)]
pub struct FaultyStore<S> {
    store: S,
    plan: Arc<Mutex<Faults>>,
}

struct Faults {
    script: VecDeque<(Verb, String, Fault)>,
    bits: Entropy,
    /// One request of so many fails; 0: none.
    one_in: u64,
    chosen: Vec<Fault>,
    injected: Vec<(Request, Fault)>,
}

impl Faults {
    /// The fault of this request, if it is to have one.
    fn draw(&mut self, request: &Request) -> Option<Fault> {
        let scripted = self.script.iter().position(|(verb, kind, _)| *verb == request.verb && *kind == request.kind);
        if let Some(at) = scripted {
            return self.script.remove(at).map(|(.., fault)| fault);
        }
        if self.one_in == 0 || !(self.bits)().is_multiple_of(self.one_in) {
            return None;
        }
        let possible: Vec<Fault> = self.chosen.iter().copied().filter(|it| it.is_possible(request.verb)).collect();
        let count = u64::try_from(possible.len()).ok().filter(|count| *count > 0)?;
        possible.get(usize::try_from((self.bits)() % count).ok()?).copied()
    }
}

impl<S> FaultyStore<S> {
    /// No request fails until it is asked for; chance depends on `seed` and the order of requests alone.
    pub fn new(store: S, seed: u64) -> Self {
        let faults =
            Faults { script: VecDeque::new(), bits: seeded(seed), one_in: 0, chosen: Vec::new(), injected: Vec::new() };
        Self { store, plan: Arc::new(Mutex::new(faults)) }
    }

    /// The store below, which does not fail.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Lets the next such request fail that no earlier call has claimed.
    pub fn fail_next<K: Object>(&self, verb: Verb, fault: Fault) {
        self.with(|faults| faults.script.push_back((verb, K::kind(&()).into_owned(), fault)));
    }

    /// From now on lets one request of `one_in` fail, with one of those of `faults` that a server could answer it
    /// with; 0: none.
    pub fn fail_at_random(&self, one_in: u64, faults: &[Fault]) {
        self.with(|plan| {
            plan.one_in = one_in;
            plan.chosen = faults.to_vec();
        });
    }

    /// The requests that failed so far, in order, and how.
    pub fn injected(&self) -> Vec<(Request, Fault)> {
        self.with(|faults| faults.injected.clone())
    }

    fn with<T>(&self, with: impl FnOnce(&mut Faults) -> T) -> T {
        with(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn draw<K: Object>(&self, verb: Verb, key: &Key<K>) -> Option<Fault> {
        let request = Request::of(verb, key);
        self.with(|faults| {
            let fault = faults.draw(&request)?;
            faults.injected.push((request, fault));
            Some(fault)
        })
    }

    /// A read that may fail.
    fn try_read<K: Object>(&self, verb: Verb, key: &Key<K>) -> Result<&S, StoreError> {
        match self.draw(verb, key) {
            Some(fault) => Err(fault.error(ObjectRef::named(key))),
            None => Ok(&self.store),
        }
    }

    /// A write that may fail before or after it is carried out.
    async fn try_write<K: Object, T>(
        &self,
        verb: Verb,
        key: &Key<K>,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match self.draw(verb, key) {
            None => write.await,
            Some(fault) => {
                if fault == Fault::AnswerLost {
                    // Whatever it was, the caller never learns it.
                    drop(write.await);
                }
                Err(fault.error(ObjectRef::named(key)))
            }
        }
    }
}

#[async_trait]
impl<K: Object, S: ObjectStore<K>> ObjectStore<K> for FaultyStore<S> {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.try_read(Verb::Get, key)?.get(key).await
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.try_read(Verb::List, &all(query))?.list(query).await
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.try_read(Verb::GetLive, key)?.get_live(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.try_read(Verb::ListLive, &all(query))?.list_live(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.try_write(Verb::Create, &Key::of(object), self.store.create(object)).await
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.try_write(Verb::Patch, key, self.store.patch(key, patch)).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.try_write(Verb::PatchStatus, key, self.store.patch_status(key, patch)).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.try_write(Verb::Delete, key, self.store.delete(key, precondition)).await
    }
}

#[async_trait]
impl<K: Object, S: ObjectWatch<K>> ObjectWatch<K> for FaultyStore<S> {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        self.try_read(Verb::Watch, &all(query))?.watch(query, from).await
    }
}
