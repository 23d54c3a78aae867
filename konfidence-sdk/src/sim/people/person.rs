//! People who go through the public operations, request by request like a controller.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use konfidence_types::{VectorPromotion, VectorPromotionConfig};

use crate::clock::ManualClock;
use crate::event::NoEvents;
use crate::promotion::{self, PromotionStore, Refusal};
use crate::sim::meter::{Meter, Part};
use crate::sim::server::Server;
use crate::sim::step::Mishap;
use crate::sim::view::{Asked, Grant, OwnWrites, View};
use crate::store::{Key, StaleStore};

type Operation = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>>;

/// One person, who does one thing at a time.
pub(in crate::sim) struct Person {
    name: &'static str,
    server: Server,
    clock: ManualClock,
    /// The operation under way, its requests, and what it is.
    under_way: Option<(Operation, View, Word)>,
}

/// A person's word.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Word {
    Approve(Key<VectorPromotion>),
    Reject(Key<VectorPromotion>, String),
    Retry(Key<VectorPromotion>),
    Promote(Key<VectorPromotionConfig>, String),
    Release(Key<VectorPromotionConfig>),
    Suspend(Key<VectorPromotionConfig>),
    Resume(Key<VectorPromotionConfig>),
}

/// How far one request brought an operation.
pub(in crate::sim) struct Said {
    pub(in crate::sim) person: &'static str,
    pub(in crate::sim) asked: Asked,
    pub(in crate::sim) mishap: Option<Mishap>,
    pub(in crate::sim) answered: Cow<'static, str>,
    /// The operation and its answer, if it is over.
    pub(in crate::sim) over: Option<(Word, Result<(), Refusal>)>,
}

impl Person {
    pub(in crate::sim) fn new(name: &'static str, server: Server, clock: ManualClock) -> Self {
        Self { name, server, clock, under_way: None }
    }

    pub(in crate::sim) fn measure(&mut self, meter: Meter) {
        self.server.meter = meter;
    }

    pub(in crate::sim) fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// Begins an operation, up to its first request.
    pub(in crate::sim) fn begin(&mut self, word: Word) -> String {
        // Operations read live; the cache is never asked.
        let view = View::new(StaleStore::new(self.server.store().clone()), OwnWrites::default(), self.server.clone());
        let (store, clock, by, of) = (view.clone(), self.clock.clone(), self.name, word.clone());
        let mut operation: Operation = Box::pin(async move { say(&store, &clock, by, of).await });
        let told = format!("{} begins to {}", self.name, told(&word));
        if operation.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.under_way = Some((operation, view, word));
        }
        told
    }

    /// What the operation would ask next.
    pub(in crate::sim) fn asked(&self) -> Option<Asked> {
        self.under_way.as_ref().and_then(|(_, view, _)| view.desk().asked.clone())
    }

    /// What this person is about to do, for counting states.
    pub(in crate::sim) fn hash_into(&self, hasher: &mut impl Hasher) {
        if let Some(asked) = self.asked() {
            (asked.verb, asked.kind, asked.name).hash(hasher);
        }
    }

    /// Carries out the next request.
    pub(in crate::sim) fn turn(&mut self, mishap: Option<Mishap>) -> Option<Said> {
        let (operation, view, word) = self.under_way.as_mut()?;
        let asked = view.desk().asked.clone()?;
        let mishap = mishap.filter(|mishap| mishap.fault.is_possible(asked.verb));
        view.desk().granted = Some(Grant { mishap });
        let spending = self.server.meter.spend(Part::Reconciles);
        let polled = operation.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(spending);
        let answered = view.desk().answered.take().unwrap_or_default();
        let over = match polled {
            Poll::Pending => None,
            Poll::Ready(result) => Some((word.clone(), result)),
        };
        if over.is_some() {
            self.under_way = None;
        }
        Some(Said { person: self.name, asked, mishap, answered, over })
    }
}

/// Says it to the store.
pub(in crate::sim) async fn say<S: PromotionStore + ?Sized>(
    store: &S,
    clock: &ManualClock,
    by: &str,
    word: Word,
) -> Result<(), Refusal> {
    match word {
        Word::Approve(key) => promotion::approve(store, clock, &NoEvents, &key, by).await.map(|_| ()),
        Word::Reject(key, why) => promotion::reject(store, clock, &NoEvents, &key, by, &why).await.map(|_| ()),
        Word::Retry(key) => promotion::retry(store, &NoEvents, &key, by).await.map(|_| ()),
        Word::Promote(key, vector) => promotion::promote(store, &NoEvents, &key, &vector, by).await.map(|_| ()),
        Word::Release(key) => promotion::release(store, &key, by).await.map(|_| ()),
        Word::Suspend(key) => promotion::suspend(store, &key).await.map(|_| ()),
        Word::Resume(key) => promotion::resume(store, &key).await.map(|_| ()),
    }
}

/// What it is, in words.
pub(in crate::sim) fn told(word: &Word) -> String {
    match word {
        Word::Approve(key) => format!("approve {key}"),
        Word::Reject(key, why) => format!("reject {key}: {why}"),
        Word::Retry(key) => format!("retry {key}"),
        Word::Promote(key, vector) => format!("promote {vector} with {key}"),
        Word::Release(key) => format!("release {key}"),
        Word::Suspend(key) => format!("suspend {key}"),
        Word::Resume(key) => format!("resume {key}"),
    }
}
