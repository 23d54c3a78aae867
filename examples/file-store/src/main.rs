//! Promotes the next version of a menu on a store of plain files: `file-store [DIRECTORY]`.
//!
//! Run it again, or several times at once, on the same directory: each run assembles a newer menu, and the stage gets
//! what is newest.

use std::path::PathBuf;
use std::process::ExitCode;

use file_store::FileStore;
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::event::RecordedEvents;
use konfidence_sdk::promotion::{Inbox, reconcile};
use konfidence_sdk::store::{Key, Object, ObjectStore, Patch, StoreError, Version};
use konfidence_sdk::types::{Landscape, Stage, VectorPromotionConfig, VectorTemplate};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let directory = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("bakery"), PathBuf::from);
    match run(&directory).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(directory: &PathBuf) -> Result<(), Box<dyn std::error::Error>> {
    let store = FileStore::open(directory)?;
    found(&store).await?;
    let vector = assemble(&store).await?;
    let events = RecordedEvents::default();
    reconcile(&store, &SystemClock, &events, &Inbox::default(), &Key::new("bakery", "menu-to-dev")).await?;
    for event in events.take() {
        println!("{}: {}", event.reason, event.note);
    }
    let dev = store.get(&Key::<Stage>::new("bakery-eu", "dev")).await?;
    let carries = dev.map(|dev| dev.spec.vector.clone()).unwrap_or_default();
    println!("assembled {vector}; stage dev is to run {carries}; see {}", directory.display());
    Ok(())
}

/// The world, unless it is there from an earlier run.
async fn found(store: &FileStore) -> Result<(), StoreError> {
    let spec = json!({"uploadTarget": "registry.example/bakery//menu", "components": [{"name": "bread:1.4.0"}]});
    ensure::<VectorTemplate>(store, "bakery", "menu", spec).await?;
    ensure::<Landscape>(store, "bakery", "eu", json!({})).await?;
    ensure::<Stage>(store, "bakery-eu", "dev", json!({"vector": ""})).await?;
    let spec = json!({
        "source": {"kind": "VectorTemplate", "name": "menu"},
        "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
    });
    ensure::<VectorPromotionConfig>(store, "bakery", "menu-to-dev", spec).await?;
    // What the controller of Landscapes does in a cluster.
    let managed = |_: &Landscape| json!({"status": {"namespace": "bakery-eu"}});
    report(store, &Key::new("bakery", "eu"), managed).await
}

async fn ensure<K: Object>(store: &FileStore, namespace: &str, name: &str, spec: Value) -> Result<(), StoreError> {
    let object = json!({
        "apiVersion": K::api_version(&()), "kind": K::kind(&()),
        "metadata": {"namespace": namespace, "name": name}, "spec": spec,
    });
    let object = K::deserialize(&object).map_err(|error| StoreError::Invalid {
        object: konfidence_sdk::store::ObjectRef::named(&Key::<K>::new(namespace, name)),
        message: error.to_string(),
        fields: Vec::new(),
    })?;
    match store.create(&object).await {
        Ok(_) | Err(StoreError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The next version of the menu.
async fn assemble(store: &FileStore) -> Result<String, StoreError> {
    let key = Key::<VectorTemplate>::new("bakery", "menu");
    let next = |template: &VectorTemplate| {
        let latest = template.status.as_ref().and_then(|status| status.latest_vector.as_deref()).unwrap_or("0");
        let number: u32 = latest.rsplit(':').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        json!({"status": {"latestVector": format!("registry.example/bakery//menu:{}", number + 1)}})
    };
    report(store, &key, next).await?;
    let template = store.get(&key).await?;
    Ok(template.and_then(|template| template.status.as_ref()?.latest_vector.clone()).unwrap_or_default())
}

/// Writes a status that depends on the object, however often others write it meanwhile.
async fn report<K: Object>(store: &FileStore, key: &Key<K>, status: impl Fn(&K) -> Value) -> Result<(), StoreError> {
    while let Some(object) = store.get(key).await? {
        match store.patch_status(key, &Patch::new(Version::of(&*object), status(&object))).await {
            Err(StoreError::Conflict { .. }) => {}
            written => return written.map(drop),
        }
    }
    Ok(())
}
