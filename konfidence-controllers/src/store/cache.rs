//! The cache of one kind: a plain state machine that a watch feeds, and the waiting around it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use konfidence_sdk::store::{Key, Listed, Object, ObjectRef, Query, StoreError};
use kube::runtime::watcher::Event;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::entry::{Content, Entry, Received, number, selects};
use super::expectation::{Expectation, Progress};

/// How long a read waits for the first list and for writes of our own before it says that it does not know.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long a read waits for news about an object that a conflict said has moved on.
pub(super) const DOUBT: Duration = Duration::from_secs(2);

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
enum Obstacle {
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
struct State<K> {
    objects: BTreeMap<Key<K>, Arc<Entry<K>>>,
    index: HashMap<(&'static str, String), BTreeSet<Key<K>>>,
    /// A list that is under way; it replaces `objects` when it is complete, not before.
    filling: Option<BTreeMap<Key<K>, Arc<Entry<K>>>>,
    filled: bool,
    progress: Progress,
    expected: Vec<Expected<K>>,
    /// Told of a change before it can be read.
    observers: Vec<Box<Observer<K>>>,
    subscribers: Vec<mpsc::UnboundedSender<Change<K>>>,
    /// Why the watch stands still, if it does.
    trouble: Option<String>,
}

impl<K: Object> State<K> {
    fn apply(&mut self, event: Event<Received<K>>) {
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

    fn settle(&mut self, now: Instant) {
        let (objects, progress) = (&self.objects, self.progress);
        self.expected.retain(|expected| {
            !expected.expectation.is_met(objects.get(&expected.key).map(AsRef::as_ref), progress, now)
        });
    }

    fn obstacle(&mut self, scope: &Scope<'_, K>, now: Instant) -> Option<Obstacle> {
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

    fn select(&self, query: &Query<K>) -> Listed<K> {
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

/// A cache that can be waited for.
pub(super) struct Cache<K> {
    state: Mutex<State<K>>,
    /// Moves whenever the state does.
    moved: watch::Sender<()>,
}

impl<K: Object> Cache<K> {
    pub(super) fn new() -> Self {
        let state = State {
            objects: BTreeMap::new(),
            index: HashMap::new(),
            filling: None,
            filled: false,
            progress: Progress::default(),
            expected: Vec::new(),
            observers: Vec::new(),
            subscribers: Vec::new(),
            trouble: None,
        };
        Self { state: Mutex::new(state), moved: watch::Sender::new(()) }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the watch delivered.
    pub(super) fn apply(&self, event: Event<Received<K>>) {
        let mut state = self.state();
        // The beginning of a list is no sign that it will end well.
        if !matches!(event, Event::Init) {
            state.trouble = None;
        }
        state.apply(event);
        drop(state);
        self.moved.send_replace(());
    }

    /// The watch stands still for this reason; it will be tried again.
    pub(super) fn fail(&self, trouble: String) {
        self.state().trouble = Some(trouble);
        self.moved.send_replace(());
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    pub(super) fn is_filled(&self) -> bool {
        self.state().filled
    }

    /// All changes from now on, in order, beginning with an addition for each object that there is.
    pub(super) fn subscribe(&self) -> mpsc::UnboundedReceiver<Change<K>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.state();
        for entry in state.objects.values() {
            // The receiver is at hand, so this cannot fail.
            let _ = sender.send(Change { before: None, after: Some(entry.content.clone()) });
        }
        state.subscribers.push(sender);
        receiver
    }

    /// Has `observer` told of every change from now on, beginning with an addition for each object that there is.
    pub(super) fn observe(&self, observer: Box<Observer<K>>) {
        let mut state = self.state();
        for entry in state.objects.values() {
            observer(&Change { before: None, after: Some(entry.content.clone()) });
        }
        state.observers.push(observer);
    }

    /// A write of ours succeeded and made `written` of the object.
    pub(super) fn expect_written(&self, written: &Entry<K>) {
        let lists = self.state().progress.lists_begun;
        let expectation = Expectation::Written { number: number(&written.resource_version), lists };
        self.expect(&written.key, written.values.clone(), expectation);
    }

    /// Remembers `expectation` unless the cache meets it already.
    pub(super) fn expect(&self, key: &Key<K>, values: Vec<(&'static str, String)>, expectation: Expectation) {
        let mut state = self.state();
        let entry = state.objects.get(key).map(AsRef::as_ref);
        if expectation.is_met(entry, state.progress, Instant::now()) {
            return;
        }
        // A later write of one object stands for the earlier ones; where any of them is found stays known.
        let mut values = values;
        if matches!(expectation, Expectation::Written { .. }) {
            state.expected.retain(|earlier| {
                let stands = earlier.key == *key && matches!(earlier.expectation, Expectation::Written { .. });
                if stands {
                    values.extend(earlier.values.iter().cloned());
                }
                !stands
            });
        }
        state.expected.push(Expected { key: key.clone(), values, expectation });
    }

    pub(super) async fn get(&self, key: &Key<K>, waits: bool) -> Result<Option<Arc<K>>, StoreError> {
        let scope = Scope::One(key);
        let found = self.read(&scope, waits, |state| state.objects.get(key).map(|entry| entry.content.clone())).await?;
        found.transpose().map_err(|unreadable| StoreError::Unreadable(Box::new((*unreadable).clone())))
    }

    pub(super) async fn list(&self, query: &Query<K>, waits: bool) -> Result<Listed<K>, StoreError> {
        self.read(&Scope::All(query), waits, |state| state.select(query)).await
    }

    /// Waits until the cache is filled and, if the reader `waits`, until nothing that concerns `scope` is outstanding.
    async fn read<T>(&self, scope: &Scope<'_, K>, waits: bool, read: impl Fn(&State<K>) -> T) -> Result<T, StoreError> {
        let deadline = Instant::now() + PATIENCE;
        let mut moved = self.moved.subscribe();
        loop {
            moved.mark_unchanged();
            let (until, why) = {
                let mut state = self.state();
                let trouble = state.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                if state.filled {
                    let until = match state.obstacle(scope, Instant::now()) {
                        _ if !waits => return Ok(read(&state)),
                        None => return Ok(read(&state)),
                        Some(Obstacle::Until(until)) => until.min(deadline),
                        Some(Obstacle::Watch) => deadline,
                    };
                    (until, format!("the watch has not delivered a write of our own yet{trouble}"))
                } else {
                    (deadline, format!("the cache has not been filled yet{trouble}"))
                }
            };
            // The sender lives in `self`: a closed channel cannot be.
            let _ = tokio::time::timeout_at(until, moved.changed()).await;
            if Instant::now() >= deadline {
                let object = match scope {
                    Scope::One(key) => ObjectRef::named(*key),
                    Scope::All(query) => ObjectRef::named(&Key::<K>::new(
                        query.namespace.clone().unwrap_or_default(),
                        query.index.as_ref().map(|(name, value)| format!("{name}={value}")).unwrap_or_default(),
                    )),
                };
                return Err(StoreError::Unavailable { object, message: why, source: None });
            }
        }
    }

    /// Waits until the first list is complete.
    pub(super) async fn filled(&self) {
        let mut moved = self.moved.subscribe();
        while !self.is_filled() {
            if moved.changed().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use konfidence_sdk::store::BY_CONFIG;
    use konfidence_sdk::types::VectorPromotion;
    use serde_json::{Value, json};

    use super::*;

    type Promotions = Cache<VectorPromotion>;

    fn raw(name: &str, config: &str, version: u64) -> Value {
        json!({
            "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotion",
            "metadata": {"namespace": "bakery", "name": name, "uid": format!("uid-{name}"),
                         "resourceVersion": version.to_string()},
            "spec": {"vectorPromotionConfigName": config, "vector": "v1", "sequence": 1,
                     "source": {"kind": "VectorTemplate", "name": "menu"},
                     "target": {"kind": "Stage", "name": "dev", "landscape": "eu"}},
        })
    }

    fn received(value: Value) -> Received<VectorPromotion> {
        serde_json::from_value(value).unwrap()
    }

    fn promotion(name: &str, version: u64) -> Received<VectorPromotion> {
        received(raw(name, "to-dev", version))
    }

    fn key(name: &str) -> Key<VectorPromotion> {
        Key::new("bakery", name)
    }

    fn of(config: &str) -> Query<VectorPromotion> {
        Query::within("bakery").by(BY_CONFIG, config)
    }

    fn fill(cache: &Promotions, objects: Vec<Received<VectorPromotion>>) {
        cache.apply(Event::Init);
        for object in objects {
            cache.apply(Event::InitApply(object));
        }
        cache.apply(Event::InitDone);
    }

    async fn names(cache: &Promotions, query: &Query<VectorPromotion>) -> Vec<String> {
        let listed = cache.list(query, true).await.unwrap();
        listed.items.iter().map(|item| Key::of(&**item).name().to_owned()).collect()
    }

    /// How long a read took, in milliseconds of virtual time.
    async fn taken(read: impl Future<Output = ()>) -> u128 {
        let start = Instant::now();
        read.await;
        start.elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn reads_wait_for_the_first_list_and_say_so_when_it_does_not_come() {
        let cache = Arc::new(Promotions::new());
        cache.fail("the server is away".into());
        let error = cache.get(&key("menu-1"), true).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }));
        assert!(error.to_string().contains("the server is away"), "{error}");

        let reader = tokio::spawn({
            let cache = cache.clone();
            async move { cache.get(&key("menu-1"), true).await.unwrap().is_some() }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        fill(&cache, vec![promotion("menu-1", 5)]);
        assert!(reader.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_under_way_is_not_seen_before_it_is_complete() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5)]);
        cache.apply(Event::Init);
        cache.apply(Event::InitApply(promotion("menu-2", 6)));
        assert_eq!(names(&cache, &Query::all()).await, ["menu-1"]);
        cache.apply(Event::InitDone);
        assert_eq!(names(&cache, &Query::all()).await, ["menu-2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn indexes_follow_changes_and_deletions() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5), promotion("menu-2", 6), received(raw("soup-1", "soup", 7))]);
        assert_eq!(names(&cache, &of("to-dev")).await, ["menu-1", "menu-2"]);
        cache.apply(Event::Apply(received(raw("menu-2", "soup", 8))));
        cache.apply(Event::Delete(promotion("menu-1", 9)));
        assert_eq!(names(&cache, &of("to-dev")).await, Vec::<String>::new());
        assert_eq!(names(&cache, &of("soup")).await, ["menu-2", "soup-1"]);
        assert_eq!(names(&cache, &Query::within("other").by(BY_CONFIG, "soup")).await, Vec::<String>::new());
        assert_eq!(cache.list(&of("soup"), true).await.unwrap().resource_version, "9");
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreadable_object_is_reported_where_it_belongs_and_nowhere_else() {
        let cache = Promotions::new();
        let mut broken = raw("menu-2", "to-dev", 6);
        broken["spec"]["sequence"] = json!("seven");
        fill(&cache, vec![promotion("menu-1", 5), received(broken)]);
        let listed = cache.list(&of("to-dev"), true).await.unwrap();
        assert_eq!((listed.items.len(), listed.unreadable.len()), (1, 1));
        assert!(matches!(cache.get(&key("menu-2"), true).await, Err(StoreError::Unreadable(_))));
        assert!(cache.list(&of("soup"), true).await.unwrap().unreadable.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn r1_a_read_waits_for_an_own_write_and_never_sees_it_before_the_watch_delivers_it() {
        let cache = Arc::new(Promotions::new());
        fill(&cache, vec![promotion("menu-1", 5), received(raw("soup-1", "soup", 7))]);
        cache.expect_written(&promotion("menu-2", 9).entry);

        // What the write does not concern is read at once.
        assert_eq!(taken(async { drop(cache.list(&of("soup"), true).await.unwrap()) }).await, 0);
        assert_eq!(taken(async { drop(cache.get(&key("menu-1"), true).await.unwrap()) }).await, 0);

        let reader = tokio::spawn({
            let cache = cache.clone();
            async move { names(&cache, &of("to-dev")).await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!reader.is_finished());
        assert_eq!(cache.list(&of("to-dev"), false).await.unwrap().items.len(), 1, "a glance waits for nothing");
        // Somebody else's earlier change comes first: the reader must have it too.
        cache.apply(Event::Apply(promotion("menu-0", 8)));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!reader.is_finished());
        cache.apply(Event::Apply(promotion("menu-2", 9)));
        assert_eq!(reader.await.unwrap(), ["menu-0", "menu-1", "menu-2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn r1_a_read_waits_also_where_the_written_object_was_found_before() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5)]);
        cache.expect_written(&received(raw("menu-1", "soup", 6)).entry);
        for query in [of("to-dev"), of("soup"), Query::all()] {
            assert!(matches!(cache.list(&query, true).await, Err(StoreError::Unavailable { .. })), "{query:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r1_a_list_that_began_after_the_write_delivers_it_even_when_the_object_is_gone_again() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5)]);
        cache.apply(Event::Init);
        cache.expect_written(&promotion("menu-2", 9).entry);
        cache.apply(Event::InitApply(promotion("menu-1", 5)));
        cache.apply(Event::InitDone);
        assert!(cache.list(&of("to-dev"), true).await.is_err(), "this list began before the write");
        fill(&cache, vec![promotion("menu-1", 5)]);
        assert_eq!(names(&cache, &of("to-dev")).await, ["menu-1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delete_is_waited_for_until_the_object_is_gone_or_another() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5)]);
        let deleted = Expectation::Deleted { uid: "uid-menu-1".into() };
        cache.expect(&key("menu-1"), vec![], deleted.clone());
        assert!(cache.get(&key("menu-1"), true).await.is_err());
        cache.apply(Event::Delete(promotion("menu-1", 6)));
        assert_eq!(cache.get(&key("menu-1"), true).await.unwrap(), None);
        // Known already: nothing to wait for.
        cache.expect(&key("menu-1"), vec![], deleted);
        assert_eq!(taken(async { drop(cache.get(&key("menu-1"), true).await.unwrap()) }).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_conflict_the_next_read_waits_for_news_but_not_for_long() {
        let cache = Arc::new(Promotions::new());
        fill(&cache, vec![promotion("menu-1", 5)]);
        let used = konfidence_sdk::store::Version { uid: "uid-menu-1".into(), resource_version: "5".into() };
        let doubt = || Expectation::MovedPast { version: used.clone(), until: Instant::now() + DOUBT };

        cache.expect(&key("menu-1"), vec![], doubt());
        assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, DOUBT.as_millis());
        assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, 0);

        cache.expect(&key("menu-1"), vec![], doubt());
        tokio::spawn({
            let cache = cache.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                cache.apply(Event::Apply(promotion("menu-1", 6)));
            }
        });
        assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_taken_name_the_next_read_waits_until_it_is_seen() {
        let cache = Promotions::new();
        fill(&cache, vec![]);
        let values = promotion("menu-1", 0).entry.values.clone();
        cache.expect(&key("menu-1"), values, Expectation::Exists { until: Instant::now() + DOUBT });
        assert_eq!(taken(async { drop(names(&cache, &of("soup")).await) }).await, 0);
        assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, DOUBT.as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn subscribers_see_every_change_once_and_in_order_also_across_a_list() {
        let cache = Promotions::new();
        fill(&cache, vec![promotion("menu-1", 5)]);
        let mut changes = cache.subscribe();
        cache.apply(Event::Apply(promotion("menu-2", 6)));
        fill(&cache, vec![promotion("menu-2", 6), promotion("menu-3", 8)]);
        cache.apply(Event::Apply(promotion("menu-3", 8)));
        let mut seen = Vec::new();
        while let Ok(change) = changes.try_recv() {
            let name = |side: Option<Content<VectorPromotion>>| side.map(|o| Key::of(&*o.unwrap()).name().to_owned());
            seen.push((name(change.before), name(change.after)));
        }
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            seen,
            [(None, some("menu-1")), (None, some("menu-2")), (some("menu-1"), None), (None, some("menu-3"))]
        );
    }
}
