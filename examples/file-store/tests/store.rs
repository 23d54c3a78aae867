//! The laws of a store, and what files add to them: restarts, other processes, crashes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use file_store::FileStore;
use konfidence_sdk::store::conformance::{self, Site, Subject};
use konfidence_sdk::store::{Key, ObjectStore, Patch, Query, StoreError, Version};
use konfidence_sdk::types::{Stage, StageSpec, VectorPromotion};
use serde_json::{Value, json};

struct OnFiles(tempfile::TempDir);

#[async_trait]
impl Subject for OnFiles {
    type Store = FileStore;

    async fn site(&self) -> Result<Site<FileStore>, StoreError> {
        let directory = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        let store = FileStore::open(directory).unwrap();
        Ok(Site { store, namespace: "bakery".into(), elsewhere: "annex".into() })
    }

    async fn pause(&self) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    async fn forget_history(&self, store: &FileStore) -> bool {
        store.forget_history().is_ok()
    }

    async fn raw_stage(&self, store: &FileStore, key: &Key<Stage>) -> Option<Value> {
        // Any store of the directory shows the same file; this one keeps what the kind does not know.
        let stage: Result<Option<Arc<Raw>>, _> = store.get(&Key::new(key.namespace(), key.name())).await;
        Some(serde_json::to_value(&*stage.ok()??).unwrap())
    }
}

/// A Stage of which nothing is known.
type Raw = raw::Stage;

mod raw {
    use konfidence_sdk::store::{Index, Indexed};
    use kube::core::{NamespaceResourceScope, ObjectMeta, Resource};
    use serde::{Deserialize, Serialize};
    use serde_json::{Map, Value};
    use std::borrow::Cow;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Stage {
        metadata: ObjectMeta,
        #[serde(flatten)]
        rest: Map<String, Value>,
    }

    impl Resource for Stage {
        type DynamicType = ();
        type Scope = NamespaceResourceScope;

        fn kind((): &()) -> Cow<'_, str> {
            "Stage".into()
        }
        fn group((): &()) -> Cow<'_, str> {
            "konfidence.cloud".into()
        }
        fn version((): &()) -> Cow<'_, str> {
            "v1alpha1".into()
        }
        fn plural((): &()) -> Cow<'_, str> {
            "stages".into()
        }
        fn meta(&self) -> &ObjectMeta {
            &self.metadata
        }
        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.metadata
        }
    }

    impl Indexed for Stage {
        const INDEXES: &'static [Index] = &[];
    }
}

#[tokio::test]
async fn a_store_of_files_keeps_every_law() {
    let report = conformance::run(&OnFiles(tempfile::tempdir().unwrap())).await;
    assert!(report.is_kept() && report.not_applicable().is_empty(), "{report}");
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn dev() -> Key<Stage> {
    Key::new("bakery-eu", "dev")
}

async fn with_a_stage(directory: &Path) -> (FileStore, Arc<Stage>) {
    let store = FileStore::open(directory).unwrap();
    let mut stage = Stage::new("dev", StageSpec { vector: "0".into() });
    stage.metadata.namespace = Some("bakery-eu".into());
    let made = store.create(&stage).await.unwrap();
    (store, made)
}

fn wants(stage: &Stage, vector: &str) -> Patch<Stage> {
    Patch::new(Version::of(stage), json!({"spec": {"vector": vector}}))
}

#[tokio::test]
async fn versions_grow_across_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let (store, made) = with_a_stage(directory.path()).await;
    drop(store);
    let store = FileStore::open(directory.path()).unwrap();
    let patched = store.patch(&dev(), &wants(&made, "1")).await.unwrap();
    let number = |stage: &Stage| Version::of(stage).resource_version.parse::<u64>().unwrap();
    assert!(number(&patched) > number(&made));
}

/// Each has a store of its own: what holds between threads then holds between processes.
#[test]
fn of_many_who_count_up_at_once_nobody_loses_a_step() {
    let directory = tempfile::tempdir().unwrap();
    block_on(with_a_stage(directory.path()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                block_on(async {
                    let store = FileStore::open(directory.path()).unwrap();
                    for _ in 0..25 {
                        loop {
                            let stage = store.get(&dev()).await.unwrap().unwrap();
                            let next = stage.spec.vector.parse::<u32>().unwrap() + 1;
                            match store.patch(&dev(), &wants(&stage, &next.to_string())).await {
                                Err(StoreError::Conflict { .. }) => {}
                                written => break drop(written.unwrap()),
                            }
                        }
                    }
                });
            });
        }
    });
    let store = FileStore::open(directory.path()).unwrap();
    let stage = block_on(store.get(&dev())).unwrap().unwrap();
    assert_eq!((stage.spec.vector.as_str(), stage.metadata.generation), ("100", Some(101)));
}

#[tokio::test]
async fn processes_that_promote_at_once_make_no_promotion_twice() {
    let directory = tempfile::tempdir().unwrap();
    let run = || Command::new(env!("CARGO_BIN_EXE_file-store")).arg(directory.path()).spawn().unwrap();
    let running: Vec<_> = (0..4).map(|_| run()).collect();
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    assert!(run().wait().unwrap().success());
    let store = FileStore::open(directory.path()).unwrap();
    let stage = store.get(&dev()).await.unwrap().unwrap();
    assert_eq!(stage.spec.vector, "registry.example/bakery//menu:5");
    let promotions = store.list(&Query::<VectorPromotion>::within("bakery")).await.unwrap().items;
    let vectors: BTreeSet<_> = promotions.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(vectors.len(), promotions.len(), "{vectors:?}");
}

#[tokio::test]
async fn a_crash_between_the_change_and_the_object_is_made_good() {
    let directory = tempfile::tempdir().unwrap();
    let (store, made) = with_a_stage(directory.path()).await;
    let file = directory.path().join("objects/Stage.konfidence.cloud/bakery-eu/dev.json");
    let revision = directory.path().join("revision");
    let before = (fs::read(&file).unwrap(), fs::read(&revision).unwrap());
    let patched = store.patch(&dev(), &wants(&made, "1")).await.unwrap();
    fs::write(&file, before.0).unwrap();
    fs::write(&revision, before.1).unwrap();
    fs::write(file.with_extension("unfinished"), "{").unwrap();

    let store = FileStore::open(directory.path()).unwrap();
    assert_eq!(store.get(&dev()).await.unwrap().unwrap(), patched);
    assert_eq!(store.list(&Query::within("bakery-eu")).await.unwrap().items.as_slice(), std::slice::from_ref(&patched));
    store.patch(&dev(), &wants(&patched, "2")).await.unwrap();
}
