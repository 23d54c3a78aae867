//! A tool of one's own that embeds the rules of promotion: one store, one config, one call.
//!
//! There is no cluster and no network crate below this program; `cargo tree -p embedded-tool` shows it.

use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::event::RecordedEvents;
use konfidence_sdk::promotion::{Inbox, reconcile};
use konfidence_sdk::store::{Key, MemoryStore, ObjectStore, StoreError};
use konfidence_sdk::types::{Landscape, Stage, VectorPromotionConfig, VectorTemplate};
use serde_json::json;

const VECTOR: &str = "registry.example/bakery//menu:1.4.0";

fn main() -> Result<(), StoreError> {
    let promoted = futures::executor::block_on(promote())?;
    assert_eq!(promoted.as_deref(), Some(VECTOR), "the stage follows the template");
    Ok(())
}

/// Puts the world into a store, has the rules bring it to rest, and answers what the stage is to run then.
async fn promote() -> Result<Option<String>, StoreError> {
    let (store, events) = (MemoryStore::new(), RecordedEvents::default());
    store.insert_raw::<VectorTemplate>(json!({
        "metadata": {"namespace": "bakery", "name": "menu"},
        "spec": {"uploadTarget": "registry.example/bakery//menu", "components": [{"name": "bread:1.4.0"}]},
        "status": {"latestVector": VECTOR},
    }))?;
    store.insert_raw::<Landscape>(json!({
        "metadata": {"namespace": "bakery", "name": "eu"}, "spec": {}, "status": {"namespace": "bakery-eu"},
    }))?;
    store.insert_raw::<Stage>(json!({
        "metadata": {"namespace": "bakery-eu", "name": "dev"}, "spec": {"vector": ""},
    }))?;
    store.insert_raw::<VectorPromotionConfig>(json!({
        "metadata": {"namespace": "bakery", "name": "menu-to-dev"},
        "spec": {
            "source": {"kind": "VectorTemplate", "name": "menu"},
            "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
        },
    }))?;

    reconcile(&store, &SystemClock, &events, &Inbox::default(), &Key::new("bakery", "menu-to-dev")).await?;
    for event in events.take() {
        println!("{}: {}", event.reason, event.note);
    }
    let stage: Option<_> = ObjectStore::<Stage>::get(&store, &Key::new("bakery-eu", "dev")).await?;
    Ok(stage.map(|stage| stage.spec.vector.clone()))
}
