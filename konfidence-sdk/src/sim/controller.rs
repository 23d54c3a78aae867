//! One of several active controllers: its views, its queue, and the reconciles that it is in the middle of.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};

use super::meter::{Meter, Part};
use super::server::Server;
use super::states::{Mixer, States};
use super::step::{Kind, Mishap};
use super::view::{Asked, Grant, OwnWrites, View};
use crate::clock::{Clock, ManualClock};
use crate::event::RecordedEvents;
use crate::promotion::{
    self, Inbox, Keys, Outcome, SourceKey, affected_by_landscape, affected_by_promotion, affected_by_stage,
    affected_by_template,
};
use crate::store::engine::{Change, Document, Event};
use crate::store::{Key, Object, ObjectStore, Query, StaleStore, StoreError};

/// A change that is repeated is at most so many revisions old.
const REPEATED_WITHIN: u64 = 60;

type Reconcile = Pin<Box<dyn Future<Output = Result<Outcome, StoreError>> + Send>>;

/// A reconcile under way.
struct Task {
    reconcile: Reconcile,
    view: View,
}

/// A clock that is wrong by a fixed amount.
#[derive(Clone)]
struct OffsetClock(ManualClock, SignedDuration);

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        let now = self.0.now();
        now.saturating_add(self.1).unwrap_or(now)
    }
}

pub(super) struct Controller {
    server: Server,
    clock: OffsetClock,
    cache: StaleStore,
    events: RecordedEvents,
    own_writes: OwnWrites,
    has_barrier: bool,
    inbox: Inbox,
    queue: BTreeSet<Key<VectorPromotionConfig>>,
    wake_ups: BTreeMap<Key<VectorPromotionConfig>, Timestamp>,
    tasks: BTreeMap<Key<VectorPromotionConfig>, Task>,
    pub(super) is_asleep: bool,
}

/// How far one turn brought a reconcile.
pub(super) enum Turned {
    /// It has a next request.
    Going,
    /// It is at rest, or has given up and is queued again.
    Over(Result<Outcome, StoreError>),
}

/// How a change came.
pub(super) struct Delivered {
    /// Others of its kind have happened meanwhile.
    pub(super) is_late: bool,
    /// A later one of another kind came before.
    pub(super) is_overtaken: bool,
}

impl Controller {
    pub(super) fn new(
        server: Server,
        clock: ManualClock,
        offset: SignedDuration,
        events: RecordedEvents,
        has_barrier: bool,
    ) -> Self {
        let cache = StaleStore::new(server.store().clone());
        let mut controller = Self {
            server,
            clock: OffsetClock(clock, offset),
            cache,
            events,
            own_writes: OwnWrites::default(),
            has_barrier,
            inbox: Inbox::default(),
            queue: BTreeSet::new(),
            wake_ups: BTreeMap::new(),
            tasks: BTreeMap::new(),
            is_asleep: false,
        };
        controller.start();
        controller
    }

    /// The process dies and starts again: what it held in memory is gone, and its views may be older than before.
    pub(super) fn crash(&mut self, ages: [u8; 5]) {
        self.tasks.clear();
        self.queue.clear();
        self.wake_ups.clear();
        self.inbox.clear();
        self.own_writes = OwnWrites::default();
        for (kind, age) in Kind::ALL.into_iter().zip(ages) {
            if let Some(revision) = kind.collection(self.server.store()).revision_before(age.into()) {
                kind.move_to(&self.cache, revision);
            }
        }
        self.is_asleep = false;
        self.start();
    }

    /// The first list of everything. Whatever a source, a target or a Landscape touches is named by a config or a
    /// promotion of the same list.
    fn start(&mut self) {
        for kind in Kind::ALL {
            for object in self.viewed(kind) {
                self.note_source(kind, Change::Added, &object);
                if matches!(kind, Kind::Config | Kind::Promotion) {
                    let keys = self.touched(kind, &object);
                    self.queue.extend(keys);
                }
            }
        }
    }

    fn viewed(&self, kind: Kind) -> Vec<Arc<Document>> {
        let listing = kind.collection(self.server.store()).list_at(kind.position(&self.cache), None);
        listing.map(|listing| listing.items).unwrap_or_default()
    }

    /// The view jumps to the present; what happened in between is never seen.
    pub(super) fn relist(&mut self, kind: Kind) {
        kind.move_to(&self.cache, self.server.store().engine().revision());
        for object in self.viewed(kind) {
            self.note_source(kind, Change::Added, &object);
            let keys = self.touched(kind, &object);
            self.queue.extend(keys);
        }
    }

    /// The next change of `kind` that this controller has not seen.
    pub(super) fn next_event(&self, kind: Kind) -> Option<Arc<Event>> {
        kind.collection(self.server.store()).next_event(kind.position(&self.cache)).ok().flatten()
    }

    /// Sees the next change: the inbox first, then the cache, then the queue (P8). Answers how it came, if one did.
    pub(super) fn deliver(&mut self, kind: Kind, told: bool) -> Option<Delivered> {
        let event = self.next_event(kind)?;
        let _spending = self.server.meter.spend(Part::Watches);
        self.note_source(kind, event.change, &event.object);
        kind.move_to(&self.cache, event.revision);
        if told {
            let keys = self.touched(kind, &event.object);
            self.queue.extend(keys);
        }
        let others = Kind::ALL.into_iter().filter(|other| *other != kind);
        Some(Delivered {
            is_late: self.next_event(kind).is_some(),
            is_overtaken: others.into_iter().any(|other| other.position(&self.cache) > event.revision),
        })
    }

    /// Sees once more a change that it has seen, with `back` later ones in between. The cache knows better; inbox and
    /// queue are told.
    pub(super) fn repeat(&mut self, kind: Kind, back: usize) -> bool {
        let position = kind.position(&self.cache);
        let past = kind.collection(self.server.store()).events_after(position.saturating_sub(REPEATED_WITHIN));
        let past = past.unwrap_or_default();
        let seen = past.partition_point(|event| event.revision <= position);
        let Some(event) = seen.checked_sub(1 + back).and_then(|at| past.get(at)) else { return false };
        self.note_source(kind, event.change, &event.object);
        let keys = self.touched(kind, &event.object);
        self.queue.extend(keys);
        true
    }

    fn note_source(&self, kind: Kind, change: Change, object: &Document) {
        match kind {
            Kind::Template => {
                if let Ok(template) = object.parse::<VectorTemplate>() {
                    match change {
                        Change::Deleted => self.inbox.source_is_gone(&SourceKey::Template(Key::of(&*template))),
                        _ => self.inbox.saw_template(&template),
                    }
                }
            }
            Kind::Stage => {
                if let Ok(stage) = object.parse::<Stage>() {
                    match change {
                        Change::Deleted => self.inbox.source_is_gone(&SourceKey::Stage(Key::of(&*stage))),
                        _ => self.inbox.saw_stage(&stage),
                    }
                }
            }
            _ => {}
        }
    }

    /// Which flows an object touches, as far as this controller's own view shows.
    fn touched(&self, kind: Kind, object: &Document) -> Keys {
        let cache = &self.cache;
        // Cached reads answer at once.
        match kind {
            Kind::Promotion => {
                let config = object.json()["spec"]["vectorPromotionConfigName"].as_str();
                config.map(|config| Keys::from([Key::new(object.namespace(), config)]))
            }
            Kind::Config => Some(Keys::from([Key::new(object.namespace(), object.name())])),
            Kind::Stage => affected_by_stage(cache, &readable(object)).now_or_never().and_then(Result::ok),
            Kind::Landscape => affected_by_landscape(cache, &readable(object)).now_or_never().and_then(Result::ok),
            Kind::Template => affected_by_template(cache, &readable(object)).now_or_never().and_then(Result::ok),
        }
        .unwrap_or_default()
    }

    /// Queues every flow that the view shows: the slow resync.
    pub(super) fn resync(&mut self) {
        let configs = ObjectStore::<VectorPromotionConfig>::list(&self.cache, &Query::all()).now_or_never();
        let promotions = ObjectStore::<VectorPromotion>::list(&self.cache, &Query::all()).now_or_never();
        let configs = configs.and_then(Result::ok).map(|listed| listed.items).unwrap_or_default();
        let promotions = promotions.and_then(Result::ok).map(|listed| listed.items).unwrap_or_default();
        self.queue.extend(configs.iter().map(|config| Key::of(&**config)));
        self.queue.extend(promotions.iter().flat_map(|promotion| affected_by_promotion(promotion)));
    }

    pub(super) fn measure(&mut self, meter: Meter) {
        self.server.meter = meter;
    }

    pub(super) fn stir(&mut self, key: &Key<VectorPromotionConfig>) {
        self.queue.insert(key.clone());
    }

    pub(super) fn has_queued(&self, key: &Key<VectorPromotionConfig>) -> bool {
        self.queue.contains(key) && !self.tasks.contains_key(key)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.tasks.is_empty()
    }

    /// Takes `key` from the queue, and brings its reconcile up to its first request.
    pub(super) fn begin(&mut self, key: &Key<VectorPromotionConfig>) {
        self.queue.remove(key);
        self.wake_ups.remove(key);
        let view = View::new(self.cache.clone(), self.own_writes.clone(), self.server.clone());
        let (store, clock, inbox, of) = (view.clone(), self.clock.clone(), self.inbox.clone(), key.clone());
        let events = self.events.clone();
        let reconcile = Box::pin(async move { Ok(promotion::reconcile(&store, &clock, &events, &inbox, &of).await?) });
        self.tasks.insert(key.clone(), Task { reconcile, view });
        self.poll(key);
    }

    /// What the reconcile of `key` would do next.
    pub(super) fn asked(&self, key: &Key<VectorPromotionConfig>) -> Option<Asked> {
        self.tasks.get(key)?.view.desk().asked.clone()
    }

    /// Whether that has to wait until the watch has delivered what this controller itself wrote.
    pub(super) fn is_behind_own_writes(&self, asked: &Asked) -> bool {
        self.has_barrier
            && !asked.verb.is_live()
            && asked.kind.is_some_and(|kind| self.own_writes.last(kind).is_some_and(|written| self.lags(kind, written)))
    }

    /// Whether a change of `kind` up to `revision` is still to be delivered.
    fn lags(&self, kind: Kind, revision: u64) -> bool {
        self.next_event(kind).is_some_and(|next| next.revision <= revision)
    }

    /// Carries out the next request of the reconcile of `key`. Answers also how the request ended.
    pub(super) fn turn(
        &mut self,
        key: &Key<VectorPromotionConfig>,
        mishap: Option<Mishap>,
    ) -> Option<(Turned, Cow<'static, str>)> {
        let task = self.tasks.get(key)?;
        task.view.desk().granted = Some(Grant { mishap });
        let view = task.view.clone();
        let turned = self.poll(key)?;
        let answered = view.desk().answered.take().unwrap_or_default();
        Some((turned, answered))
    }

    fn poll(&mut self, key: &Key<VectorPromotionConfig>) -> Option<Turned> {
        let task = self.tasks.get_mut(key)?;
        let spending = self.server.meter.spend(Part::Reconciles);
        let Poll::Ready(result) = task.reconcile.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return Some(Turned::Going);
        };
        drop(spending);
        self.tasks.remove(key);
        match &result {
            Ok(Outcome { wake_up: Some(at), .. }) => {
                self.wake_ups.insert(key.clone(), *at);
            }
            Ok(_) => {}
            Err(_) => {
                self.queue.insert(key.clone());
            }
        }
        self.wake_due();
        Some(Turned::Over(result))
    }

    /// Queues the flows whose instant has come.
    pub(super) fn wake_due(&mut self) {
        let now = self.clock.now();
        let due: Vec<_> = self.wake_ups.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.wake_ups.remove(&key);
            self.queue.insert(key);
        }
    }

    /// How long until the first instant that this controller waits for.
    pub(super) fn next_wake_up(&self) -> Option<SignedDuration> {
        let first = self.wake_ups.values().min()?;
        Some(first.duration_since(self.clock.now()))
    }

    /// Whether a reconcile is between two requests.
    pub(super) fn is_under_way(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// What this controller knows and is about to do, as one number.
    pub(super) fn state(&self, states: &States) -> u64 {
        let mut hasher = Mixer::default();
        self.is_asleep.hash(&mut hasher);
        self.queue.hash(&mut hasher);
        for kind in Kind::ALL {
            states.at(kind, kind.position(&self.cache)).hash(&mut hasher);
        }
        for (key, task) in &self.tasks {
            key.hash(&mut hasher);
            if let Some(asked) = &task.view.desk().asked {
                (asked.verb, asked.kind, &asked.name).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// How old the views are, in revisions; for the story.
    pub(super) fn ages(&self) -> String {
        let now = self.server.store().engine().revision();
        let ages = Kind::ALL.map(|kind| format!("{kind:?} @{}", kind.position(&self.cache)));
        format!("{} of @{now}", ages.join(", "))
    }
}

/// The object, or one that has only its name: whom an object touches that does not parse, its name has to tell.
fn readable<K: Object + Default>(object: &Document) -> Arc<K> {
    object.parse().unwrap_or_else(|_| {
        let mut named = K::default();
        named.meta_mut().name = Some(object.name().to_owned());
        named.meta_mut().namespace = Some(object.namespace().to_owned());
        Arc::new(named)
    })
}
