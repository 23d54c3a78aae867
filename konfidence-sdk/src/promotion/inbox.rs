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
    /// The newest view that fell out for want of room.
    lost: Option<u64>,
}

/// Up to where one config has taken the sightings of its source. It starts where the config first looked: what the
/// source held before anybody promoted from it is no candidate.
#[derive(Debug)]
struct Cursor {
    config: Option<String>,
    source: SourceKey,
    taken: Option<u64>,
}

/// What a config may still promote, besides what its source holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidates {
    /// Oldest first.
    pub(super) views: Vec<SourceView>,
    /// Some that were not taken yet fell out for want of room.
    pub(super) some_lost: bool,
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
            own.lost = own.views.pop_front().and_then(|oldest| ordinal(&oldest.version)).max(own.lost);
        }
    }

    /// What `source` held since `config` last took a vector of it, up to what is visible now. What is not newer than
    /// the newest member's source version is never given again, and a loss is told once.
    pub(super) fn candidates(
        &self,
        config: &VectorPromotionConfig,
        source: &SourceKey,
        present: Option<&SourceView>,
        newest_member: Option<u64>,
    ) -> Candidates {
        let present = present.and_then(|present| ordinal(&present.version));
        let mut contents = self.contents();
        let Contents { sources, cursors } = &mut *contents;
        let first = || Cursor {
            config: config.metadata.uid.clone(),
            source: source.clone(),
            taken: newest_member.or_else(|| Some(seen_since(config)).min(present)),
        };
        let cursor = cursors.entry(Key::of(config)).or_insert_with(first);
        if cursor.config != config.metadata.uid {
            *cursor = first();
        } else if cursor.source != *source {
            *cursor = Cursor { taken: newest_member.max(present), ..first() };
        }
        cursor.taken = cursor.taken.max(newest_member);
        let Some(own) = sources.get(source) else { return Candidates::default() };
        let some_lost = own.lost > cursor.taken;
        if some_lost {
            cursor.taken = own.lost;
        }
        let is_open = |view: &&SourceView| ordinal(&view.version) > cursor.taken && ordinal(&view.version) < present;
        Candidates { views: own.views.iter().filter(is_open).cloned().collect(), some_lost }
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

/// Since when a config that nobody looked at yet can have missed a vector: since it was made, which its version tells as
/// long as its status was not written. Versions of two kinds come from one counter in every server there is; where they
/// did not, a candidate more or less would be the worst.
fn seen_since(config: &VectorPromotionConfig) -> u64 {
    let initialised = config.status.as_ref().is_some_and(|status| status.sequence.is_some());
    let version = config.metadata.resource_version.as_deref().filter(|_| !initialised);
    version.and_then(|version| version.parse().ok()).unwrap_or(u64::MAX)
}
