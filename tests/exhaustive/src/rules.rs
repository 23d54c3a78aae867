//! The rules, run on what the model shows them: `load`, `decide`, `verify` and `apply` of the library, nothing else.
//!
//! ```text
//!   view, now --load, decide--> plan                         remembered by the content of the view
//!                         \--> doubt --verify--> verdict --decide--> ...   live reads, all at one moment
//!   plan, answers so far --apply--> the next write, or the end
//! ```
//!
//! `apply` runs to its next write and is dropped there, as a process that dies between two writes; to go on it is run
//! again and told the answers that it had. So a plan that waits is data, and there is no second `apply`.
//!
//! Conditions and mirrors in the config's status are read by no rule. Where a scenario does not keep them, a step that
//! writes nothing else is *silent*: it succeeds at once and changes nothing, whatever version the config has. So nobody
//! is stopped by such a write, nor by the lack of one.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::FutureExt;
use jiff::Timestamp;
use konfidence_sdk::plan::{Decision, Plan};
use konfidence_sdk::promotion::{
    Action, Doubt, Inbox, Setback, Snapshot, Step, Stopped, Verdict, Write, apply, decide, load, verify,
};
use konfidence_sdk::store::{Key, Listed, Object, ObjectStore, Patch, Precondition, Query, StoreError, Version};
use konfidence_types::{VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};
use nohash_hasher::NoHashHasher;

use crate::answer::{Answer, Request, Scope};
use crate::feasible::Due;
use crate::server::{get, list};
use crate::shelf::{Kind, Shelf, View, hash_of, mix};
use crate::unread;

/// What a decision is made from.
pub(crate) struct Sight<'a> {
    pub(crate) flow: &'a Key<VectorPromotionConfig>,
    pub(crate) now: Timestamp,
    pub(crate) setback: Option<&'a Setback>,
    /// Where sources are watched for their vectors (P8): the templates at every moment up to the view's.
    pub(crate) watched: &'a [Arc<Shelf>],
}

impl Sight<'_> {
    /// Identifies all of it but the view.
    pub(crate) fn seed(&self) -> u64 {
        let seed = mix(hash_of(self.flow), hash_of(&self.now.as_second()));
        let seed = self.watched.iter().fold(seed, |seed, shelf| mix(seed, shelf.hash));
        self.setback.map_or(seed, |setback| mix(seed, hash_of(&format!("{setback:?}"))))
    }
}

/// A plan with steps.
pub(crate) struct Planned {
    /// Identifies it.
    id: u64,
    pub(crate) plan: Plan<Step>,
    /// What each step changes, told apart by a hash, without the versions that the plan's own writes move; `None`: the
    /// step is silent.
    essence: Vec<Option<u64>>,
    /// The config as it was viewed, which a silent step leaves as it is.
    config: Option<Arc<VectorPromotionConfig>>,
    /// How it begins; `None`: it changes nothing.
    pub(crate) first: Option<Asks>,
}

impl Planned {
    /// The writes that are left after these answers. Two plans that are left with the same are the same from now on.
    fn left(&self, told: &[Told]) -> Arc<[Due]> {
        let steps = rest(&self.plan, told).zip(self.essence.iter().skip(told.len()));
        steps.filter_map(|((action, write), essence)| Some(Due::new((*essence)?, action, &write))).collect()
    }
}

/// A decision without a look at the live state.
#[derive(Clone)]
pub(crate) enum Considered {
    Plan(Arc<Planned>),
    /// The live state has to be looked at first.
    Doubt(Arc<Doubtful>),
}

pub(crate) struct Doubtful {
    /// Identifies all that was considered.
    key: u64,
    snapshot: Snapshot,
    now: Timestamp,
    doubt: Doubt,
}

/// A write that a plan asks for.
#[derive(Clone)]
pub(crate) struct Asks {
    /// Identifies the request.
    pub(crate) id: u64,
    pub(crate) request: Arc<Request>,
    /// What the plan has been told so far.
    pub(crate) told: Arc<[Told]>,
    /// What is left of the plan, this request included.
    pub(crate) left: Arc<[Due]>,
}

/// How a plan goes on.
#[derive(Clone)]
pub(crate) enum Next {
    Write(Asks),
    End,
    /// The next decision has to know.
    Setback(Setback),
}

/// One answer that a plan has been given.
#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) answer: Answer,
    /// The version of the object after the write.
    pub(crate) version: Version,
    /// Identifies the answer.
    pub(crate) key: u64,
}

/// What was found before, by a hash of what it was found for.
pub(crate) type Memo<T> = Mutex<HashMap<u64, T, BuildHasherDefault<NoHashHasher<u64>>>>;

/// Runs the rules and remembers what they answered.
pub(crate) struct Rules {
    considered: Memo<Considered>,
    verdicts: Memo<Verdict>,
    plans: Memo<Arc<Planned>>,
    ways: Memo<Next>,
    /// Live reads are answered from the view: a rule broken on purpose.
    is_blind: bool,
    /// Conditions and mirrors of the config's status are kept.
    reports: bool,
}

impl Rules {
    pub(crate) fn new(is_blind: bool, reports: bool) -> Self {
        Self {
            considered: Memo::default(),
            verdicts: Memo::default(),
            plans: Memo::default(),
            ways: Memo::default(),
            is_blind,
            reports,
        }
    }

    /// How many different decisions were made.
    pub(crate) fn decisions(&self) -> usize {
        self.considered.lock().map_or(0, |considered| considered.len())
    }

    /// What is decided from the view with the given key, if that was asked before.
    pub(crate) fn known(&self, key: u64) -> Option<Considered> {
        recall(&self.considered, key)
    }

    /// Decides from `view`; `key` identifies view and sight.
    pub(crate) fn consider(&self, key: u64, view: &View, sight: &Sight<'_>) -> Considered {
        if let Some(known) = self.known(key) {
            return known;
        }
        let port = Port::new(view, view, &[]);
        let inbox = Inbox::default();
        for shelf in sight.watched {
            shelf.all::<VectorTemplate>().for_each(|template| inbox.saw_template(&template));
        }
        // Cached reads answer at once, and never fail.
        let mut snapshot = match load(&port, &inbox, sight.flow).now_or_never() {
            Some(Ok(snapshot)) => snapshot,
            _ => Snapshot::empty(sight.flow.clone()),
        };
        snapshot.setback = sight.setback.cloned();
        self.decide(key, snapshot, sight.now)
    }

    fn decide(&self, key: u64, snapshot: Snapshot, now: Timestamp) -> Considered {
        let considered = match decide(&snapshot, now) {
            Decision::Plan(plan) => Considered::Plan(self.planned(plan, &snapshot)),
            Decision::Verify(doubt) => {
                let key = mix(key, hash_of(&format!("{doubt:?}")));
                Considered::Doubt(Arc::new(Doubtful { key, snapshot, now, doubt }))
            }
        };
        remember(&self.considered, key, considered.clone());
        considered
    }

    fn planned(&self, plan: Plan<Step>, snapshot: &Snapshot) -> Arc<Planned> {
        let writes: Vec<_> = plan.steps.iter().map(|step| (step.action, &step.write)).collect();
        let writes = hash_of(&format!("{writes:?}"));
        let key = mix(writes, hash_of(&plan.wake_up.map(Timestamp::as_second)));
        if let Some(planned) = recall(&self.plans, key) {
            return planned;
        }
        let essence: Vec<_> = plan.steps.iter().map(|step| self.essence(step, snapshot)).collect();
        let config = snapshot.config.found().cloned();
        let mut planned = Planned { id: key, plan, essence, config, first: None };
        if let Next::Write(asks) = next(&planned, Vec::new()) {
            planned.first = Some(asks);
        }
        let planned = Arc::new(planned);
        remember(&self.plans, key, Arc::clone(&planned));
        planned
    }

    fn essence(&self, step: &Step, snapshot: &Snapshot) -> Option<u64> {
        let essence = match &step.write {
            Write::Create(promotion) => serde_json::to_string(promotion).unwrap_or_default(),
            Write::Promotion(key, patch) => format!("{key} {}", patch.merge),
            Write::PromotionStatus(key, patch) => {
                let named = snapshot.promotions.iter().find(|promotion| Key::of(&***promotion) == *key);
                let annotations = named.and_then(|promotion| promotion.metadata.annotations.as_ref());
                let corrects = annotations.is_some_and(|all| all.contains_key(annotation::CORRECTIONS));
                let mut merge = patch.merge.clone();
                unread::erase_status(&mut merge["status"], corrects);
                format!("{key} {merge}")
            }
            Write::ConfigStatus(key, patch) if self.reports => format!("{key} {}", patch.merge),
            Write::ConfigStatus(key, patch) => {
                let number = patch.merge["status"].get("sequence")?;
                format!("{key} {number}")
            }
            Write::Stage { key, patch, promotion, .. } => {
                format!("{key} {:?} {} {promotion}", patch.expected, patch.merge)
            }
            Write::Delete(key, precondition) => format!("{key} {precondition:?}"),
        };
        Some(hash_of(&(format!("{:?}", step.action), essence)))
    }

    /// How the plan goes on after it has been given these answers.
    pub(crate) fn next(&self, planned: &Planned, told: Vec<Told>) -> Next {
        let key = told.iter().fold(planned.id, |key, told| mix(key, told.key));
        recall(&self.ways, key).unwrap_or_else(|| {
            let next = next(planned, told);
            remember(&self.ways, key, next.clone());
            next
        })
    }

    /// Looks at the live state, all in one moment, until there is a plan.
    pub(crate) fn look(&self, view: &View, live: &View, doubtful: Arc<Doubtful>) -> Arc<Planned> {
        let mut doubtful = doubtful;
        let live = if self.is_blind { view } else { live };
        loop {
            let read = read_for(&doubtful.doubt);
            let key = read.iter().fold(mix(doubtful.key, 0xd0b7), |key, kind| mix(key, live.of(*kind).hash));
            let verdict = recall(&self.verdicts, key).unwrap_or_else(|| {
                let port = Port::new(view, live, &[]);
                let verdict = verify(&port, &doubtful.snapshot, &doubtful.doubt).now_or_never();
                let verdict = verdict.and_then(Result::ok).unwrap_or(Verdict::Differs);
                remember(&self.verdicts, key, verdict);
                verdict
            });
            let told = match verdict {
                Verdict::Agrees => 1,
                Verdict::Differs => 2,
                Verdict::Highest(number) => hash_of(&number),
            };
            let key = mix(doubtful.key, told);
            let considered = self.known(key).unwrap_or_else(|| {
                let mut snapshot = doubtful.snapshot.clone();
                snapshot.confirmed.insert(doubtful.doubt.clone(), verdict);
                self.decide(key, snapshot, doubtful.now)
            });
            match considered {
                Considered::Plan(planned) => return planned,
                Considered::Doubt(next) => doubtful = next,
            }
        }
    }
}

pub(crate) fn recall<T: Clone>(memo: &Memo<T>, key: u64) -> Option<T> {
    memo.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

pub(crate) fn remember<T>(memo: &Memo<T>, key: u64, value: T) {
    memo.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value);
}

/// The kinds that a doubt has read live; any other makes no difference to its verdict.
fn read_for(doubt: &Doubt) -> &'static [Kind] {
    match doubt {
        Doubt::Owner | Doubt::Config => &[Kind::Config],
        Doubt::Initialise => &[Kind::Promotion],
        Doubt::Source => &[Kind::Template, Kind::Stage, Kind::Landscape],
        Doubt::Creation => &Kind::ALL,
        Doubt::Gone(_) => &[Kind::Stage],
    }
}

/// What the plan asks for after it has been given these answers; silent steps are answered at once.
fn next(planned: &Planned, mut told: Vec<Told>) -> Next {
    while planned.essence.get(told.len()) == Some(&None) {
        let Some(config) = &planned.config else { return Next::End };
        told.push(Told { version: Version::of(&**config), answer: Answer::Object(Arc::clone(config) as _), key: 0 });
    }
    let nothing = View::empty();
    let port = Port::new(&nothing, &nothing, &told);
    match apply(&port, &planned.plan).now_or_never() {
        None => port.asked().map_or(Next::End, |request| {
            Next::Write(Asks {
                id: told.iter().fold(mix(planned.id, 0xa5c5), |id, told| mix(id, told.key)),
                request: Arc::new(request),
                left: planned.left(&told),
                told: told.into(),
            })
        }),
        Some(applied) => match applied.stopped {
            Some(Stopped::Setback(setback)) => Next::Setback(setback),
            _ => Next::End,
        },
    }
}

/// The writes of `plan` that are left after these answers, each with the version that it is conditional on.
pub(crate) fn rest(plan: &Plan<Step>, told: &[Told]) -> impl Iterator<Item = (Action, Write)> {
    let mut promotions: HashMap<Key<VectorPromotion>, Version> = HashMap::new();
    let mut configs: HashMap<Key<VectorPromotionConfig>, Version> = HashMap::new();
    for (step, told) in plan.steps.iter().zip(told) {
        match &step.write {
            Write::Promotion(key, _) | Write::PromotionStatus(key, _) => {
                promotions.insert(key.clone(), told.version.clone());
            }
            Write::ConfigStatus(key, _) => {
                configs.insert(key.clone(), told.version.clone());
            }
            _ => {}
        }
    }
    plan.steps.iter().skip(told.len()).map(move |step| {
        let mut write = step.write.clone();
        match &mut write {
            Write::Promotion(key, patch) | Write::PromotionStatus(key, patch) => {
                follow(&mut patch.expected, promotions.get(key));
            }
            Write::ConfigStatus(key, patch) => follow(&mut patch.expected, configs.get(key)),
            Write::Stage { promotion, read, .. } => follow(read, promotions.get(promotion)),
            Write::Delete(key, precondition) => {
                if let Some(own) = promotions.get(key) {
                    *precondition = Precondition::from(own.clone());
                }
            }
            Write::Create(_) => {}
        }
        (step.action, write)
    })
}

fn follow(expected: &mut Version, own: Option<&Version>) {
    if let Some(own) = own {
        *expected = own.clone();
    }
}

/// The store as one run of the rules sees it: cached reads from the view, live reads from the present, and writes that
/// are answered from the script as far as it goes. The write after that is asked for and never answered.
struct Port<'a> {
    view: &'a View,
    live: &'a View,
    script: Mutex<VecDeque<Answer>>,
    asked: Mutex<Option<Request>>,
}

impl<'a> Port<'a> {
    fn new(view: &'a View, live: &'a View, told: &[Told]) -> Self {
        let script = told.iter().map(|told| told.answer.clone()).collect();
        Self { view, live, script: Mutex::new(script), asked: Mutex::default() }
    }

    fn asked(&self) -> Option<Request> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn ask<K: Object>(&self, key: &Key<K>, request: Option<Request>) -> Result<Option<Arc<K>>, StoreError> {
        let told = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match told {
            Some(Answer::Object(object)) => Ok(object.downcast().ok()),
            Some(Answer::Deleted) => Ok(None),
            Some(Answer::Refused(message)) => Err(crate::server::Refused::Invalid(message).error(key)),
            None => {
                *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = request;
                futures::future::pending().await
            }
        }
    }

    async fn written<K: Object>(&self, key: &Key<K>, request: Option<Request>) -> Result<Arc<K>, StoreError> {
        self.ask(key, request).await?.ok_or_else(|| crate::server::Refused::NotFound.error(key))
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for Port<'_> {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        Ok(get(self.view, key))
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(list(self.view, query))
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        Ok(get(self.live, key))
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(list(self.live, query))
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.written(&Key::of(object), Request::create(object)).await
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.written(key, Request::patch(key, patch, Scope::Main)).await
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.written(key, Request::patch(key, patch, Scope::Status)).await
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.ask(key, Request::delete(key, precondition)).await.map(|_| ())
    }
}
