//! Watching: a port of its own.

use std::sync::Arc;

use futures::stream::BoxStream;

use super::{Object, Query, StoreError, Unreadable};

/// One change of one object, in the order of the kind's history.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<K> {
    /// The object was made, or changed so that the query now selects it.
    Added(Arc<K>),
    /// The object changed.
    Modified(Arc<K>),
    /// The object is gone, or changed so that the query no longer selects it; its last known state.
    Deleted(Arc<K>),
    /// An object changed and does not parse; the watch goes on.
    Unreadable(Unreadable),
    /// Nothing changed up to this version.
    Bookmark {
        /// From here a later watch may start.
        resource_version: String,
    },
}

/// Changes as they happen. It ends after an error; [`StoreError::Expired`] means: list again.
pub type WatchStream<K> = BoxStream<'static, Result<WatchEvent<K>, StoreError>>;

/// A store that tells what changes.
#[async_trait::async_trait]
pub trait ObjectWatch<K: Object>: Send + Sync {
    /// Changes of the objects that `query` selects, after `from` (a resourceVersion that a list or a watch gave); with
    /// `None`, first an `Added` for each object there is, then the changes. An empty version and `0`, which no server
    /// answers, are taken as `None`.
    ///
    /// # Errors
    /// [`StoreError::Expired`] when the history after `from` is no longer held.
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError>;
}

#[async_trait::async_trait]
impl<K: Object, S: ObjectWatch<K> + ?Sized> ObjectWatch<K> for Arc<S> {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        (**self).watch(query, from).await
    }
}
