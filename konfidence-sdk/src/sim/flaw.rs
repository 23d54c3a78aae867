//! The machinery broken on purpose, one rule at a time, without touching a decision: the server lies to the
//! controllers. Each flaw must make the checker find a violation, or the checker cannot fail.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use konfidence_types::annotation;
use kube::core::ResourceExt;
use serde_json::json;

use super::step::Kind;
use crate::store::{Key, Listed, MemoryStore, Object, ObjectStore, Patch, Query, StoreError, Version};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flaw {
    #[default]
    None,
    /// P23, T9: the Stage is written whatever version it has.
    StageWithoutVersion,
    /// P23: promotions are written whatever version they have.
    PromotionWithoutVersion,
    /// R7, T5: the fence is answered with success and never written.
    NoFence,
    /// R7, T6: the fence's value does not name the version of the promotion.
    FenceWithoutVersion,
    /// R7, T10: the fence is written whatever version the Stage has.
    BlindFence,
    /// R6, T7: a resumption does not write the promotion.
    NoAttempt,
    /// R4, T1: the lower promotions are superseded after the start.
    SupersedeAfterStart,
    /// R1, T2: own writes are laid over what the watch has delivered.
    Overlay,
    /// R10, T12: names do not carry numbers.
    GeneratedNames,
    /// R2, R11 to R13: what should be read live comes from the cache.
    LiveReadsFromCache,
}

/// The flaw, and what it holds back. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Flawed {
    flaw: Flaw,
    held: Arc<Mutex<Vec<(String, String, serde_json::Value)>>>,
    made: Arc<Mutex<usize>>,
}

impl Flawed {
    pub(super) fn with(flaw: Flaw) -> Self {
        Self { flaw, ..Self::default() }
    }

    pub(super) fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn release(&self) -> Vec<(String, String, serde_json::Value)> {
        std::mem::take(&mut *self.held.lock().unwrap())
    }

    pub(super) fn renamed<K: Object>(&self, object: &K) -> Option<K> {
        if !self.is(Flaw::GeneratedNames) {
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
        let fence = annotations[annotation::FENCED].as_str();
        let is_attempt = !annotations[annotation::ATTEMPT].is_null();
        let kind = Kind::of::<K>();
        match self.flaw {
            Flaw::StageWithoutVersion if kind == Some(Kind::Stage) => {
                Some(unconditionally(store, key, &patch.merge).await)
            }
            Flaw::PromotionWithoutVersion if kind == Some(Kind::Promotion) => {
                Some(unconditionally(store, key, &patch.merge).await)
            }
            Flaw::BlindFence if fence.is_some() => Some(unconditionally(store, key, &patch.merge).await),
            Flaw::NoFence if fence.is_some() => Some(untouched(store, key).await),
            Flaw::FenceWithoutVersion if fence.is_some() => {
                let uid = fence?.split('@').next().unwrap_or_default();
                let merge = json!({"metadata": {"annotations": {annotation::FENCED: uid}}});
                Some(store.patch(key, &Patch::new(patch.expected.clone(), merge)).await)
            }
            Flaw::NoAttempt if is_attempt => match store.get(key).await {
                // The answer is the version that was read, so that the rest of the plan goes on from it.
                Ok(Some(object)) => {
                    let mut read = (*object).clone();
                    read.meta_mut().resource_version = Some(patch.expected.resource_version.clone());
                    Some(Ok(Arc::new(read)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) async fn patch_status<K: Object>(
        &self,
        store: &MemoryStore,
        key: &Key<K>,
        patch: &Patch<K>,
    ) -> Option<Result<Arc<K>, StoreError>> {
        if self.is(Flaw::PromotionWithoutVersion) && Kind::of::<K>() == Some(Kind::Promotion) {
            return Some(unconditionally(store, key, &patch.merge).await);
        }
        if !self.is(Flaw::SupersedeAfterStart) {
            return None;
        }
        let conditions = patch.merge["status"]["conditions"].to_string();
        if conditions.contains("PromotionSuperseded") {
            let lower = (key.namespace().to_owned(), key.name().to_owned(), patch.merge.clone());
            self.held.lock().unwrap().push(lower);
            return Some(untouched(store, key).await);
        }
        if conditions.contains("PromotionRunning") {
            let started = store.patch_status(key, patch).await;
            for (namespace, name, merge) in self.release() {
                let lower = Key::<K>::new(namespace, name);
                let _ = unconditionally(store, &lower, &merge).await;
            }
            return Some(started);
        }
        None
    }
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

async fn unconditionally<K: Object>(
    store: &MemoryStore,
    key: &Key<K>,
    merge: &serde_json::Value,
) -> Result<Arc<K>, StoreError> {
    match store.get(key).await? {
        Some(object) => store.patch_status_or_main(key, Version::of(&*object), merge).await,
        None => Err(StoreError::NotFound { object: crate::store::ObjectRef::named(key) }),
    }
}

async fn untouched<K: Object>(store: &MemoryStore, key: &Key<K>) -> Result<Arc<K>, StoreError> {
    store.get(key).await?.ok_or_else(|| StoreError::NotFound { object: crate::store::ObjectRef::named(key) })
}

impl MemoryStore {
    async fn patch_status_or_main<K: Object>(
        &self,
        key: &Key<K>,
        version: Version,
        merge: &serde_json::Value,
    ) -> Result<Arc<K>, StoreError> {
        let patch = Patch::new(version, merge.clone());
        if merge.get("status").is_some() { self.patch_status(key, &patch).await } else { self.patch(key, &patch).await }
    }
}
