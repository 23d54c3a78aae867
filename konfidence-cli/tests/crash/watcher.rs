//! A watcher: what it is shown must never be undone, and from where it stood it can go on or is told to list again.

use futures::{AsyncBufReadExt, TryStreamExt};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::history::{Facts, Key, Kind, version};
use crate::server::{Answer, Api};

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: Key,
    pub(crate) version: u64,
}

/// Watches of every kind.
pub(crate) struct Watcher(Vec<JoinHandle<Vec<Seen>>>);

impl Watcher {
    /// Goes on from the newest version that was shown before the crash, and lists again if it is told to.
    pub(crate) fn start(api: &Api, facts: &Facts) -> Self {
        let from = facts.newest;
        Self(Kind::ALL.map(|kind| tokio::spawn(watch(api.clone(), kind, from))).into())
    }

    /// What was shown until the server died.
    pub(crate) async fn end(self) -> Vec<Seen> {
        let mut all = Vec::new();
        for watch in self.0 {
            all.extend(watch.await.expect("a watcher breaks no assertion"));
        }
        all
    }
}

async fn watch(api: Api, kind: Kind, from: u64) -> Vec<Seen> {
    let mut seen = Vec::new();
    if from > 0 && !follow(&api, kind, from, &mut seen).await {
        return seen;
    }
    let Answer::Ok(list) = api.send("GET", kind.path(), None).await else { return seen };
    assert!(!follow(&api, kind, version(&list), &mut seen).await, "a fresh version is not expired");
    seen
}

/// Whether it ended because the version is too old.
async fn follow(api: &Api, kind: Kind, from: u64, seen: &mut Vec<Seen>) -> bool {
    let path = format!("{}?watch=1&resourceVersion={from}", kind.path());
    let Some(stream) = api.watch(&path).await else { return false };
    let mut lines = Box::pin(stream).lines();
    let mut last = from;
    while let Ok(Some(line)) = lines.try_next().await {
        // The last line may be cut off by the crash.
        let Ok(event) = serde_json::from_str::<Value>(&line) else { return false };
        if event["type"] == "ERROR" {
            assert_eq!(event["object"]["code"], 410, "{event}");
            assert_eq!(last, from, "a watch that has begun is not cut off");
            return true;
        }
        let version = version(&event["object"]);
        assert!(version > last, "versions grow: {version} after {last}");
        last = version;
        let name = event["object"]["metadata"]["name"].as_str().expect("a name").to_owned();
        seen.push(Seen { key: Key { kind, name }, version });
    }
    false
}
