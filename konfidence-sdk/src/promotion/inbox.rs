//! The inbox: every vector that a source held while somebody was watching (P8).
//!
//! A work queue coalesces a burst of changes into one reconcile, which then sees the last vector only. Where a person
//! approves, each of them is a candidate. So whoever watches sources tells the inbox of every change *before* the
//! change becomes visible in cached reads, and `load` puts what it holds into the snapshot.
//!
//! ```text
//!   watch of sources --saw--> [v1@11, v2@12, v3@14] --sightings--> snapshot --> one promotion each, in this order
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use konfidence_types::{Stage, VectorPromotionConfig, VectorTemplate};

use super::source::{SourceKey, SourceView, ordinal};
use crate::store::Key;

/// At most so many sightings are held per source; beyond that the oldest go (P8).
pub(super) const CAPACITY: usize = 256;

/// Vectors seen per source, oldest first. Clones share one inbox. The default is empty, and stays empty where nobody
/// watches (a command-line tool, say): then only present vectors are known.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    sources: BTreeMap<SourceKey, Sightings>,
    cursors: BTreeMap<Key<VectorPromotionConfig>, Cursor>,
}

#[derive(Debug, Default)]
struct Sightings {
    views: VecDeque<SourceView>,
    dropped: u64,
}

/// Up to where one config has taken the sightings of its source. It starts where the config first looked: what the
/// source held before anybody promoted from it is no candidate.
#[derive(Debug)]
struct Cursor {
    config: Option<String>,
    source: SourceKey,
    taken: Option<u64>,
}

impl Inbox {
    /// Notes what a template holds.
    pub fn saw_template(&self, template: &VectorTemplate) {
        self.saw(SourceKey::Template(Key::of(template)), SourceView::of_template(template));
    }

    /// Notes what a Stage holds.
    pub fn saw_stage(&self, stage: &Stage) {
        self.saw(SourceKey::Stage(Key::of(stage)), SourceView::of_stage(stage));
    }

    /// Notes what a source holds. A vector equal to the last one noted adds nothing.
    pub fn saw(&self, source: SourceKey, view: SourceView) {
        if view.vector.is_empty() {
            return;
        }
        let mut contents = self.contents();
        let own = contents.sources.entry(source).or_default();
        if own.views.back().is_some_and(|last| last.vector == view.vector && last.version.uid == view.version.uid) {
            return;
        }
        own.views.push_back(view);
        if own.views.len() > CAPACITY {
            own.views.pop_front();
            own.dropped += 1;
        }
    }

    /// What `source` held since `config` last took a vector of it, up to what is visible now, oldest first. What is not
    /// newer than the newest member's source version is never given again.
    pub(super) fn candidates(
        &self,
        config: &VectorPromotionConfig,
        source: &SourceKey,
        present: Option<&SourceView>,
        newest_member: Option<u64>,
    ) -> Vec<SourceView> {
        let present = present.and_then(|present| ordinal(&present.version));
        let mut contents = self.contents();
        let Contents { sources, cursors } = &mut *contents;
        let first =
            || Cursor { config: config.metadata.uid.clone(), source: source.clone(), taken: newest_member.or(present) };
        let cursor = cursors.entry(Key::of(config)).or_insert_with(first);
        if cursor.config != config.metadata.uid || cursor.source != *source {
            *cursor = first();
        }
        cursor.taken = cursor.taken.max(newest_member);
        let views = sources.get(source).into_iter().flat_map(|own| &own.views);
        views
            .filter(|view| ordinal(&view.version) > cursor.taken && ordinal(&view.version) < present)
            .cloned()
            .collect()
    }

    /// How many sightings of `source` were lost to [`CAPACITY`] since this was last asked.
    pub(super) fn take_dropped(&self, source: &SourceKey) -> u64 {
        self.contents().sources.get_mut(source).map(|own| std::mem::take(&mut own.dropped)).unwrap_or_default()
    }

    /// Forgets how far a config that is gone had come.
    pub(super) fn forget(&self, config: &Key<VectorPromotionConfig>) {
        self.contents().cursors.remove(config);
    }

    /// Forgets a source that is gone.
    pub fn source_is_gone(&self, source: &SourceKey) {
        self.contents().sources.remove(source);
    }

    /// Empties the inbox: what was seen before taking leadership is somebody else's (P8).
    pub fn clear(&self) {
        *self.contents() = Contents::default();
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
