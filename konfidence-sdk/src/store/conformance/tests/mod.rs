//! The suite against the store in memory, and against stores each of which breaks one law.

mod broken;

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
        forget(store)
    }

    async fn raw_stage(&self, store: &MemoryStore, key: &Key<Stage>) -> Option<Value> {
        raw(store, key)
    }
}

fn forget(store: &MemoryStore) -> bool {
    store.engine().compact(store.engine().revision());
    true
}

fn raw(store: &MemoryStore, key: &Key<Stage>) -> Option<Value> {
    Some(store.collection::<Stage>().get(key.namespace(), key.name())?.json().clone())
}

#[test]
fn the_store_in_memory_keeps_every_law() {
    let report = futures::executor::block_on(run(&InMemory));
    assert!(report.is_kept() && report.not_applicable().is_empty(), "{report}");
}

#[test]
fn a_report_names_the_law_that_is_broken() {
    let report = Report {
        outcomes: vec![
            ("bread_is_sliced", Outcome::Kept),
            ("bread_is_fresh", Outcome::Broken("it is of yesterday".into())),
            ("bread_is_cheap", Outcome::NotApplicable("nobody pays".into())),
        ],
    };
    assert_eq!((report.broken(), report.not_applicable()), (vec!["bread_is_fresh"], vec!["bread_is_cheap"]));
    let text = report.to_string();
    assert!(text.contains("BROKEN   bread is fresh\n         it is of yesterday"), "{text}");
}
