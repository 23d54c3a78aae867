//! A server that lies to the controllers, for the rules that no decision can break by itself. Every other rule is broken
//! where it lives (`promotion/flaw.rs`).

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use konfidence_types::{VectorPromotion, annotation};
use kube::core::ResourceExt;

use super::step::Kind;
use crate::promotion::Phase;
use crate::store::{Key, Listed, MemoryStore, Object, ObjectRef, ObjectStore, Patch, Query, StoreError, Version};

/// What the server lies about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lie {
    #[default]
    None,
    /// P23: the Stage is written whatever version it has.
    StageWithoutVersion,
    /// P23: promotions are written whatever version they have.
    PromotionWithoutVersion,
    /// R7: the fence is written whatever version the Stage has.
    BlindFence,
    /// R6: a resumption looks live whether the promotion is in progress, and does not write it.
    AttemptIsARead,
    /// R1: own writes are laid over what the watch has delivered.
    Overlay,
    /// R10: names do not carry numbers.
    GeneratedNames,
    /// R11, R13: what should be read live comes from the cache.
    LiveReadsFromCache,
}

/// The lie, and what the server remembers for it. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Lying {
    lie: Lie,
    made: Arc<Mutex<usize>>,
}

impl Lying {
    pub(super) fn with(lie: Lie) -> Self {
        Self { lie, ..Self::default() }
    }

    pub(super) fn is(&self, lie: Lie) -> bool {
        self.lie == lie
    }

    pub(super) fn renamed<K: Object>(&self, object: &K) -> Option<K> {
        if !self.is(Lie::GeneratedNames) {
            return None;
        }
        let mut made = self.made.lock().unwrap();
        *made += 1;
        let mut renamed = object.clone();
        renamed.meta_mut().name = Some(format!("{}-{}", object.name_any(), *made));
        Some(renamed)
    }

    pub(super) async fn patch<K: Object>(
        &self,
        store: &MemoryStore,
        key: &Key<K>,
        patch: &Patch<K>,
    ) -> Option<Result<Arc<K>, StoreError>> {
        let annotations = &patch.merge["metadata"]["annotations"];
        let is_fence = !annotations[annotation::FENCED].is_null();
        let is_attempt = !annotations[annotation::ATTEMPT].is_null();
        let kind = Kind::of::<K>();
        match self.lie {
            Lie::StageWithoutVersion if kind == Some(Kind::Stage) => Some(unconditionally(store, key, patch).await),
            Lie::PromotionWithoutVersion if kind == Some(Kind::Promotion) => {
                Some(unconditionally(store, key, patch).await)
            }
            Lie::BlindFence if is_fence => Some(unconditionally(store, key, patch).await),
            Lie::AttemptIsARead if is_attempt && is_in_progress(store, key).await => {
                Some(store.get(key).await.map(|read| read.unwrap()))
            }
            _ => None,
        }
    }

    pub(super) async fn patch_status<K: Object>(
        &self,
        store: &MemoryStore,
        key: &Key<K>,
        patch: &Patch<K>,
    ) -> Option<Result<Arc<K>, StoreError>> {
        let lies = self.is(Lie::PromotionWithoutVersion) && Kind::of::<K>() == Some(Kind::Promotion);
        if lies { Some(unconditionally(store, key, patch).await) } else { None }
    }
}

async fn is_in_progress<K: Object>(store: &MemoryStore, key: &Key<K>) -> bool {
    let promotion = Key::<VectorPromotion>::new(key.namespace(), key.name());
    let read = ObjectStore::<VectorPromotion>::get(store, &promotion).await.unwrap();
    read.is_some_and(|read| Phase::of_promotion(&read) == Phase::InProgress)
}

/// What one controller wrote itself, by namespace and name.
pub(super) type Overlay = Arc<Mutex<BTreeMap<(String, String), Arc<dyn Any + Send + Sync>>>>;

/// Lays own writes over a list, as a cache that wants to be clever does.
pub(super) fn lay_over<K: Object>(own: &Overlay, query: &Query<K>, listed: &mut Listed<K>) {
    for ((namespace, name), object) in own.lock().unwrap().iter() {
        let Ok(object) = Arc::clone(object).downcast::<K>() else { continue };
        let json = serde_json::to_value(&*object).unwrap();
        let is_selected = query.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
            && query.index.as_ref().is_none_or(|(index, value)| {
                K::INDEXES.iter().any(|of| of.name == *index && (of.values)(&json).contains(value))
            });
        let place = (namespace.as_str(), name.as_str());
        let at = |item: &Arc<K>| (item.namespace().unwrap_or_default(), item.name_any());
        let version = |item: &K| item.resource_version().and_then(|text| text.parse::<u64>().ok());
        match listed.items.binary_search_by(|item| {
            let (a, b) = at(item);
            (a.as_str(), b.as_str()).cmp(&place)
        }) {
            Ok(found) if version(&listed.items[found]) < version(&object) => listed.items[found] = object,
            Err(free) if is_selected => listed.items.insert(free, object),
            _ => {}
        }
    }
}

/// Makes the write on whatever version is there.
async fn unconditionally<K: Object>(store: &MemoryStore, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
    let Some(object) = store.get(key).await? else {
        return Err(StoreError::NotFound { object: ObjectRef::named(key) });
    };
    let patch = Patch::new(Version::of(&*object), patch.merge.clone());
    if patch.merge.get("status").is_some() {
        store.patch_status(key, &patch).await
    } else {
        store.patch(key, &patch).await
    }
}
