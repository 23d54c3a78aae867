//! The cache of one kind: its state, and the waiting around it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use konfidence_sdk::store::{Key, Listed, Object, ObjectRef, Query, StoreError};
use kube::runtime::watcher::Event;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use super::entry::{Entry, Received};
use super::expectation::Expectation;
use super::state::{Change, Observer, Obstacle, Scope, State};

/// How long a read waits for the first list and for writes of our own before it says that it does not know.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long a read waits for news about an object that a conflict said has moved on.
pub(super) const DOUBT: Duration = Duration::from_secs(2);

/// A cache that can be waited for.
pub(super) struct Cache<K> {
    state: Mutex<State<K>>,
    /// Moves whenever the state does.
    moved: watch::Sender<()>,
    /// Moves when the watch delivers again after trouble.
    recovered: watch::Sender<()>,
    /// Asks for a full list, in place of a watch that should have delivered something and did not.
    stalled: Notify,
}

impl<K: Object> Cache<K> {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            moved: watch::Sender::new(()),
            recovered: watch::Sender::new(()),
            stalled: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the watch delivered.
    pub(super) fn apply(&self, event: Event<Received<K>>) {
        let mut state = self.state();
        // The beginning of a list is no sign that it will end well.
        let recovered = !matches!(event, Event::Init) && state.trouble.take().is_some();
        state.apply(event);
        drop(state);
        self.moved.send_replace(());
        if recovered {
            self.recovered.send_replace(());
        }
    }

    /// The watch stands again where it stood before, and nothing has changed meanwhile.
    pub(super) fn resumed(&self) {
        if self.state().trouble.take().is_some() {
            self.moved.send_replace(());
            self.recovered.send_replace(());
        }
    }

    pub(super) fn is_filled(&self) -> bool {
        self.state().filled
    }

    /// The watch stands still for this reason; it will be tried again.
    pub(super) fn fail(&self, trouble: String) {
        self.state().trouble = Some(trouble);
        self.moved.send_replace(());
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    /// Changes each time the watch delivers again after trouble.
    pub(super) fn recoveries(&self) -> watch::Receiver<()> {
        self.recovered.subscribe()
    }

    /// All changes from now on, in order, beginning with an addition for each object that there is.
    pub(super) fn subscribe(&self) -> mpsc::UnboundedReceiver<Change<K>> {
        self.state().subscribe()
    }

    /// Has `observer` told of every change from now on, beginning with an addition for each object that there is.
    pub(super) fn observe(&self, observer: Box<Observer<K>>) {
        self.state().observe(observer);
    }

    /// A write of ours succeeded and made `written` of the object.
    pub(super) fn expect_written(&self, written: &Entry<K>) {
        let mut state = self.state();
        let expectation = state.written(&written.resource_version);
        state.expect(&written.key, written.values.clone(), expectation, Instant::now());
    }

    /// Remembers `expectation` unless the cache meets it already.
    pub(super) fn expect(&self, key: &Key<K>, values: Vec<(&'static str, String)>, expectation: Expectation) {
        self.state().expect(key, values, expectation, Instant::now());
    }

    pub(super) async fn get(&self, key: &Key<K>, waits: bool) -> Result<Option<Arc<K>>, StoreError> {
        let scope = Scope::One(key);
        let found = self.read(&scope, waits, |state| state.get(key)).await?;
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
                // While there is no list yet, the feed is at it anyway.
                if self.state().filled {
                    self.stalled.notify_one();
                }
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

    /// Waits until a read has waited in vain: a watch that says nothing for so long is not to be believed.
    pub(super) async fn stalled(&self) {
        self.stalled.notified().await;
    }

    /// Waits until the first list is complete.
    pub(super) async fn filled(&self) {
        let mut moved = self.moved.subscribe();
        while !self.state().filled {
            if moved.changed().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
