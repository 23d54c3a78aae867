use super::*;
use crate::store::MemoryStore;

struct InMemory;

#[async_trait]
impl Subject for InMemory {
    type Store = MemoryStore;

    async fn site(&self) -> Result<Site<MemoryStore>, StoreError> {
        Ok(Site { store: MemoryStore::new(), namespace: "bakery".into(), elsewhere: "annex".into() })
    }

    async fn forget_history(&self, store: &MemoryStore) -> bool {
        store.engine().compact(store.engine().revision());
        true
    }

    async fn raw_stage(&self, store: &MemoryStore, key: &Key<Stage>) -> Option<Value> {
        Some(store.collection::<Stage>().get(key.namespace(), key.name())?.json().clone())
    }
}

#[test]
fn the_store_in_memory_keeps_every_law() {
    let report = futures::executor::block_on(run(&InMemory));
    assert!(report.is_kept() && report.not_applicable().is_empty(), "{report}");
}
