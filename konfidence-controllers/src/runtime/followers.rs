//! From a change of some object to the keys that it concerns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use konfidence_sdk::store::{Object, StoreError};
use tokio::task::JoinSet;
use tracing::warn;

use super::queue::{Queue, QueueKey};
use crate::store::{Content, KubeStore};

/// How long to wait before a change whose concern could not be found out is looked at again.
const PAUSE: Duration = Duration::from_secs(1);

/// Tasks that follow the changes of one kind each and ask a queue for whomever they concern.
pub struct Followers<'a, Q> {
    store: &'a KubeStore,
    queue: &'a Arc<Queue<Q>>,
    tasks: JoinSet<()>,
}

impl<'a, Q: QueueKey> Followers<'a, Q> {
    /// Followers of the changes that `store` sees.
    pub fn new(store: &'a KubeStore, queue: &'a Arc<Queue<Q>>) -> Self {
        Self { store, queue, tasks: JoinSet::new() }
    }

    /// Follows `K`. `concerned` tells whom an object concerns; it is asked for the object before the change and for the
    /// object after it, and reads the caches at a glance: what they do not show yet will be a change of its own.
    pub fn add<K, F, A>(&mut self, concerned: F)
    where
        K: Object,
        F: Fn(KubeStore, Content<K>) -> A + Send + 'static,
        A: Future<Output = Result<BTreeSet<Q>, StoreError>> + Send,
    {
        let (Some(mut changes), Some(mut recoveries)) = (self.store.changes::<K>(), self.store.recoveries::<K>())
        else {
            return;
        };
        let (store, queue) = (self.store.glance(), self.queue.clone());
        let recovering = queue.clone();
        self.tasks.spawn(async move {
            while recoveries.changed().await.is_ok() {
                recovering.retry_failed();
            }
        });
        self.tasks.spawn(async move {
            while let Some(change) = changes.recv().await {
                for side in change.before.into_iter().chain(change.after) {
                    loop {
                        match concerned(store.clone(), side.clone()).await {
                            Ok(keys) => {
                                for key in &keys {
                                    queue.add(key);
                                }
                                break;
                            }
                            Err(error) => {
                                warn!(%error, "whom a change concerns cannot be found out yet");
                                tokio::time::sleep(PAUSE).await;
                            }
                        }
                    }
                }
            }
        });
    }

    /// The tasks; they end with the set.
    pub fn tasks(self) -> JoinSet<()> {
        self.tasks
    }
}

/// The object, or one that has only its name: whom an object concerns that does not parse, its name has to tell.
pub fn readable<K: Object + Default>(content: Content<K>) -> Arc<K> {
    content.unwrap_or_else(|unreadable| {
        let mut object = K::default();
        object.meta_mut().name = Some(unreadable.object.name.clone());
        object.meta_mut().namespace =
            Some(unreadable.object.namespace.clone()).filter(|namespace| !namespace.is_empty());
        Arc::new(object)
    })
}
