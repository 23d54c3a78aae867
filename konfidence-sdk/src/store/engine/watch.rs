//! Watching: a cursor into the shared history.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::collection::is_in;
use super::state::State;
use super::{Collection, EngineError, Event};

/// How many events a watch takes from the history under one lock.
const BATCH: usize = 256;

/// A cursor into the history of one resource. A slow reader costs nothing and holds nobody up; one that falls behind
/// the held history gets [`EngineError::Expired`] and ends.
pub struct Watch {
    collection: Collection,
    namespace: Option<String>,
    /// All events up to here are in `batch` or have been handed out.
    position: u64,
    batch: VecDeque<Arc<Event>>,
    number: u64,
    ended: bool,
}

impl Watch {
    pub(super) fn new(collection: Collection, namespace: Option<String>, from: u64, number: u64) -> Self {
        Self { collection, namespace, position: from, batch: VecDeque::new(), number, ended: false }
    }

    /// The next event if it has happened already.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when the reader has fallen behind the held history; the watch is over then.
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, EngineError> {
        if self.batch.is_empty() {
            let collection = self.collection.clone();
            collection.engine.read(|state| self.fill(state))?;
        }
        Ok(self.batch.pop_front())
    }

    /// The published revision if everything up to it has been handed out: what a bookmark may say.
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    pub fn progress(&mut self) -> Result<Option<u64>, EngineError> {
        if self.batch.is_empty() {
            let collection = self.collection.clone();
            collection.engine.read(|state| self.fill(state))?;
        }
        Ok(self.batch.is_empty().then_some(self.position))
    }

    /// Takes what has happened since the position.
    fn fill(&mut self, state: &State) -> Result<(), EngineError> {
        let events = state.events(self.collection.number, self.position).inspect_err(|_| self.ended = true)?;
        let namespace = self.namespace.as_deref();
        self.batch.extend(events.filter(|event| is_in(event, namespace)).take(BATCH).cloned());
        self.position = match self.batch.back() {
            Some(last) if self.batch.len() >= BATCH => last.revision,
            // Who began at a write that is not published yet is ahead of it.
            _ => self.position.max(state.published),
        };
        Ok(())
    }
}

impl Stream for Watch {
    type Item = Result<Arc<Event>, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let watch = &mut *self;
        if watch.ended {
            return Poll::Ready(None);
        }
        if watch.batch.is_empty() {
            let collection = watch.collection.clone();
            let filled = collection.engine.with_state(|state| {
                watch.fill(state)?;
                if watch.batch.is_empty() {
                    // Under the same lock: no event can happen between looking and waiting.
                    let waiting = &mut state.contents[watch.collection.number].waiting;
                    waiting.insert(watch.number, context.waker().clone());
                }
                Ok(())
            });
            if let Err(error) = filled {
                return Poll::Ready(Some(Err(error)));
            }
        }
        watch.batch.pop_front().map_or(Poll::Pending, |event| Poll::Ready(Some(Ok(event))))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let number = self.number;
        self.collection.engine.with_state(|state| {
            state.contents[self.collection.number].waiting.remove(&number);
        });
    }
}
