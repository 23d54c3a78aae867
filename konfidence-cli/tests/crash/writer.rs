//! A writer: a few objects of its own, one request at a time, and what it has been told of each.

use std::collections::BTreeMap;

use konfidence_sdk::store::engine::seeded;
use serde_json::{Value, json};
use tokio::sync::watch::Sender;

use crate::history::{Key, Kind, Slot, Write};
use crate::server::{Answer, Api};

/// How many objects a writer has of each kind.
const NAMES: u64 = 4;
const COUNTER: &str = "/api/v1/namespaces/default/configmaps/counter";
const HOLD: &str = "bakery.example/hold";

/// One writer and its history.
pub(crate) struct Writer {
    number: u64,
    /// Counts all writes: each leaves its number in several places of the object.
    count: u64,
    pub(crate) objects: BTreeMap<Key, Slot>,
    /// How much it has added to the counter that all share.
    pub(crate) added: u64,
    /// Whether an addition is left unanswered.
    pub(crate) adding: bool,
    pub(crate) acknowledged: u64,
}

/// What there has to be before the first writer.
pub(crate) async fn found(api: &Api) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ovens.bakery.example"},
        "spec": {
            "group": "bakery.example", "scope": "Namespaced",
            "names": {"kind": "Oven", "plural": "ovens"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let counter = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counter"}, "data": {"n": "0"}});
    for (path, body) in [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition),
        ("/api/v1/namespaces/default/configmaps", counter),
    ] {
        assert!(matches!(api.send("POST", path, Some(&body)).await, Answer::Ok(_)), "{path}");
    }
}

impl Writer {
    pub(crate) fn new(number: u64) -> Self {
        let objects = BTreeMap::new();
        Self { number, count: 0, objects, added: 0, adding: false, acknowledged: 0 }
    }

    /// Writes until the server is gone.
    pub(crate) async fn run(mut self, api: Api, seed: u64, progress: Sender<u64>) -> Self {
        let mut chance = seeded(seed);
        while self.write(&api, &mut chance).await {
            progress.send_modify(|acknowledged| *acknowledged += 1);
        }
        self
    }

    /// One write. Whether the server has answered.
    async fn write(&mut self, api: &Api, chance: &mut impl FnMut() -> u64) -> bool {
        if chance().is_multiple_of(8) {
            return self.add(api).await;
        }
        self.count += 1;
        let kinds = Kind::ALL;
        let kind = kinds[usize::try_from(chance() % 3).expect("small")];
        let key = Key { kind, name: format!("w{}-{}", self.number, chance() % NAMES) };
        let write = self.choose(&key, chance);
        let (method, path, body) = write.request(&key);
        let slot = self.objects.entry(key.clone()).or_default();
        slot.flight = Some(write.clone());
        let answer = api.send(method, &path, body.as_ref()).await;
        match answer {
            Answer::Unknown => return false,
            Answer::Refused(code, message) => panic!("{method} {path} with {body:?}: {code} {message}"),
            Answer::Ok(object) => {
                slot.acknowledge(&write, object);
                self.acknowledged += 1;
            }
        }
        true
    }

    fn choose(&self, key: &Key, chance: &mut impl FnMut() -> u64) -> Write {
        let mark = format!("{}-{}", self.number, self.count);
        let Some(last) = self.objects.get(key).and_then(|slot| slot.last.as_ref()) else {
            let finalizers = if chance().is_multiple_of(4) { json!([HOLD]) } else { json!([]) };
            return Write::Create(key.kind.object(&key.name, &mark, &finalizers));
        };
        let version = last["metadata"]["resourceVersion"].clone();
        if last["metadata"]["deletionTimestamp"].is_string() {
            return Write::Patch(json!({"metadata": {"resourceVersion": version, "finalizers": null}}));
        }
        match chance() % 8 {
            0 | 1 => Write::Delete,
            2..=4 if key.kind.has_status() => Write::Status(json!({
                "metadata": {"resourceVersion": version},
                "status": {"vectorHistory": [format!("{mark}-a"), format!("{mark}-b")]},
            })),
            _ => Write::Patch(key.kind.change(&mark, &version)),
        }
    }

    /// Adds one to the counter that all writers share, if nobody is faster.
    async fn add(&mut self, api: &Api) -> bool {
        let read = match api.send("GET", COUNTER, None).await {
            Answer::Ok(counter) => counter,
            Answer::Refused(code, message) => panic!("GET {COUNTER}: {code} {message}"),
            Answer::Unknown => return false,
        };
        let next = count_of(&read) + 1;
        let version = &read["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "data": {"n": next.to_string()}});
        self.adding = true;
        match api.send("PATCH", COUNTER, Some(&patch)).await {
            Answer::Unknown => return false,
            Answer::Refused(409, _) => {}
            Answer::Refused(code, message) => panic!("PATCH {COUNTER}: {code} {message}"),
            Answer::Ok(_) => {
                self.added += 1;
                self.acknowledged += 1;
            }
        }
        self.adding = false;
        true
    }
}

/// What the shared counter says.
pub(crate) async fn counter(api: &Api) -> u64 {
    count_of(&api.get(COUNTER).await.expect("the counter is never deleted"))
}

fn count_of(counter: &Value) -> u64 {
    counter["data"]["n"].as_str().and_then(|text| text.parse().ok()).expect("a number")
}
