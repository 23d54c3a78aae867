//! What has happened, in order, as far back as it is held.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Document, EngineError};

/// What a write did to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was made.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The revision that the write made.
    pub revision: u64,
    /// What it did.
    pub change: Change,
    /// The object afterwards; of a deleted object its last state, with the deletion's resourceVersion.
    pub object: Arc<Document>,
    /// The object before, if there was one: whoever watches a selection sees from it whether the object enters or
    /// leaves the selection.
    pub previous: Option<Arc<Document>>,
}

/// The events of one resource, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    events: VecDeque<Arc<Event>>,
    /// Revision of the newest event that was dropped.
    dropped: u64,
}

impl History {
    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.events.push_back(event);
    }

    /// Begins after `revision`: whatever was before it is not held.
    pub(super) fn begin(&mut self, revision: u64) {
        self.dropped = revision;
    }

    /// The revision of the oldest event held.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.events.front().map(|event| event.revision)
    }

    /// The revision of the event that `back` others have followed; of the oldest held, if there are not so many.
    pub(super) fn before(&self, back: usize) -> Option<u64> {
        let newest = self.events.len().checked_sub(1)?;
        self.events.get(newest.saturating_sub(back)).map(|event| event.revision)
    }

    /// Drops the oldest event.
    pub(super) fn drop_oldest(&mut self) -> Option<Arc<Event>> {
        let event = self.events.pop_front()?;
        self.dropped = event.revision;
        Some(event)
    }

    /// The events that readers have yet to see: those after the `published` revision, oldest first.
    pub(super) fn unseen(&self, published: u64) -> impl Iterator<Item = &Arc<Event>> {
        let first = self.events.partition_point(|event| event.revision <= published);
        self.events.range(first..)
    }

    /// The events after `revision`, oldest first.
    ///
    /// # Errors
    /// [`EngineError::Expired`] when some of them are gone.
    pub(super) fn after(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, EngineError> {
        if revision < self.dropped {
            return Err(EngineError::Expired { asked: revision, oldest: self.dropped });
        }
        let first = self.events.partition_point(|event| event.revision <= revision);
        Ok(self.events.range(first..))
    }
}
