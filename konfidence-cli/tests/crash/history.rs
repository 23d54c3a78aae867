//! What writers have been told, and whether the server still says so.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::server::Api;
use crate::watcher::Seen;
use crate::writer::{Writer, counter};

/// A core kind, one of ours, one of the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Stage,
    Oven,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

/// What a writer asks for.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create(Value),
    Patch(Value),
    Status(Value),
    Delete,
}

/// What a writer knows of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    /// As it was acknowledged; `None`: it is not there.
    pub(crate) last: Option<Value>,
    /// The write that is not answered.
    pub(crate) flight: Option<Write>,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::ConfigMap, Self::Stage, Self::Oven];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::ConfigMap => "/api/v1/namespaces/default/configmaps",
            Self::Stage => "/apis/konfidence.cloud/v1alpha1/namespaces/default/stages",
            Self::Oven => "/apis/bakery.example/v1/namespaces/default/ovens",
        }
    }

    pub(crate) fn has_status(self) -> bool {
        self != Self::ConfigMap
    }

    /// The mark stands in two places, so that half a write shows.
    fn content(self, mark: &str) -> Value {
        match self {
            Self::ConfigMap => json!({"data": {"mark": mark, "again": mark}}),
            Self::Stage => json!({"spec": {"vector": mark}}),
            Self::Oven => json!({"spec": {"mark": mark, "again": mark}}),
        }
    }

    pub(crate) fn object(self, name: &str, mark: &str, finalizers: &Value) -> Value {
        let (version, kind) = match self {
            Self::ConfigMap => ("v1", "ConfigMap"),
            Self::Stage => ("konfidence.cloud/v1alpha1", "Stage"),
            Self::Oven => ("bakery.example/v1", "Oven"),
        };
        let metadata = json!({"name": name, "labels": {"mark": mark}, "finalizers": finalizers});
        merged(json!({"apiVersion": version, "kind": kind, "metadata": metadata}), &self.content(mark))
    }

    pub(crate) fn change(self, mark: &str, version: &Value) -> Value {
        merged(json!({"metadata": {"resourceVersion": version, "labels": {"mark": mark}}}), &self.content(mark))
    }
}

impl Write {
    pub(crate) fn request(&self, key: &Key) -> (&'static str, String, Option<Value>) {
        let (all, one) = (key.kind.path().to_owned(), format!("{}/{}", key.kind.path(), key.name));
        match self {
            Self::Create(object) => ("POST", all, Some(object.clone())),
            Self::Patch(patch) => ("PATCH", one, Some(patch.clone())),
            Self::Status(patch) => ("PATCH", format!("{one}/status"), Some(patch.clone())),
            Self::Delete => ("DELETE", one, None),
        }
    }

    /// Whether this write may have made `after` out of `before`.
    fn explains(&self, kind: Kind, before: Option<&Value>, after: Option<&Value>) -> bool {
        match (self, before, after) {
            (Self::Create(asked), None, Some(after)) => {
                content(after) == content(&settled(asked.clone(), after)) && generation(after) == first(kind)
            }
            (Self::Delete, Some(before), None) => !is_held(before),
            (Self::Delete, Some(before), Some(after)) => {
                is_held(before) && is_deleting(after) && content(before) == content(after)
            }
            // The last finalizer of a deleted object.
            (Self::Patch(_), Some(before), None) => is_deleting(before),
            (Self::Patch(patch), Some(before), Some(after)) => {
                let grown = generation(after) == generation(before).map(|generation| generation + 1);
                content(after) == content(&merged(before.clone(), patch))
                    && (grown || kind == Kind::ConfigMap)
                    && !is_deleting(before)
            }
            (Self::Status(patch), Some(before), Some(after)) => {
                content(after) == content(&merged(before.clone(), patch)) && generation(after) == generation(before)
            }
            _ => false,
        }
    }
}

impl Slot {
    /// The server has answered: what it says is checked at once, and is the truth from now on.
    pub(crate) fn acknowledge(&mut self, write: &Write, answer: Value) {
        let before = self.last.take();
        let gone = match write {
            Write::Delete => before.as_ref().is_some_and(|before| !is_held(before)),
            // The last finalizer of a deleted object.
            Write::Patch(_) => before.as_ref().is_some_and(is_deleting),
            Write::Create(_) | Write::Status(_) => false,
        };
        self.last = (!gone).then_some(answer);
        let held = matches!(write, Write::Delete).then_some(self.last.as_ref()).flatten();
        assert!(held.is_none_or(is_deleting), "{held:?}");
        self.flight = None;
    }
}

/// What holds over all runs.
#[derive(Default)]
pub(crate) struct Facts {
    /// The newest version that anybody was shown.
    pub(crate) newest: u64,
    /// Every uid there ever was, and whose.
    uids: BTreeMap<String, Key>,
    seen: Vec<Seen>,
    additions: u64,
}

impl Facts {
    /// Takes in what a watcher was shown before the server died.
    pub(crate) fn seen(&mut self, seen: Vec<Seen>) {
        self.newest = self.newest.max(seen.iter().map(|seen| seen.version).max().unwrap_or_default());
        self.seen = seen;
    }

    /// Compares every object with every history, right after a start.
    pub(crate) async fn check(&mut self, api: &Api, writers: &mut [Writer], kill: u64) {
        for writer in writers.iter() {
            let known = writer.objects.values().filter_map(|slot| slot.last.as_ref()).map(version);
            self.newest = self.newest.max(known.max().unwrap_or_default());
        }
        for kind in Kind::ALL {
            let Some(list) = api.get(kind.path()).await else { panic!("kill {kill}: {kind:?} is not served") };
            assert!(version(&list) >= self.newest, "kill {kill}: {} came after {}", version(&list), self.newest);
            let mut there: BTreeMap<String, Value> = objects(kind, &list);
            for (key, slot) in writers.iter_mut().flat_map(|writer| &mut writer.objects) {
                if key.kind == kind {
                    let now = there.remove(&key.name);
                    self.compare(key, slot, now, kill);
                }
            }
            there.retain(|name, _| name.starts_with('w'));
            assert_eq!(there, BTreeMap::new(), "kill {kill}: nobody has made these");
        }
        let (least, most) = (self.additions, self.additions + writers.iter().map(Writer::additions).sum::<u64>());
        let least = least + writers.iter().map(|writer| writer.added).sum::<u64>();
        let count = counter(api).await;
        assert!((least..=most).contains(&count), "kill {kill}: the counter says {count}, not {least} to {most}");
        self.additions = count;
        for writer in writers {
            (writer.added, writer.adding) = (0, false);
        }
    }

    fn compare(&mut self, key: &Key, slot: &mut Slot, now: Option<Value>, kill: u64) {
        let flight = slot.flight.take();
        let shown = self.seen.iter().filter(|seen| seen.key == *key).map(|seen| seen.version).max();
        if now == slot.last {
            let known = slot.last.as_ref().map(version);
            let undone = shown.filter(|shown| known.is_some_and(|known| *shown > known));
            assert_eq!(undone, None, "kill {kill}: a watch was shown what is undone: {key:?} {flight:?}");
        } else {
            let explained = flight.as_ref().is_some_and(|w| w.explains(key.kind, slot.last.as_ref(), now.as_ref()));
            assert!(explained, "kill {kill}: {key:?} was {:#?}, is {now:#?} after {flight:?}", slot.last);
            if let (Some(last), Some(now)) = (&slot.last, &now) {
                assert_eq!(last["metadata"]["uid"], now["metadata"]["uid"], "kill {kill}: {key:?}");
                assert!(version(now) > version(last), "kill {kill}: {key:?}");
            }
        }
        if let Some(now) = &now {
            assert!(now["metadata"]["managedFields"].is_array(), "kill {kill}: {now}");
            let uid = now["metadata"]["uid"].as_str().expect("a uid").to_owned();
            assert_eq!(self.uids.entry(uid).or_insert_with(|| key.clone()), key, "kill {kill}");
        }
        slot.last = now;
    }
}

impl Writer {
    /// How much it may have added since the last check.
    fn additions(&self) -> u64 {
        self.added + u64::from(self.adding)
    }
}

fn objects(kind: Kind, list: &Value) -> BTreeMap<String, Value> {
    let items = list["items"].as_array().expect("a list").iter().cloned();
    let named = items.map(|mut object| {
        // Items of core kinds do not repeat the kind of their list.
        if kind == Kind::ConfigMap {
            object["apiVersion"] = "v1".into();
            object["kind"] = "ConfigMap".into();
        }
        (object["metadata"]["name"].as_str().expect("a name").to_owned(), object)
    });
    named.collect()
}

pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a version")
}

fn generation(object: &Value) -> Option<u64> {
    object["metadata"]["generation"].as_u64()
}

fn first(kind: Kind) -> Option<u64> {
    (kind != Kind::ConfigMap).then_some(1)
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// An object as it would be stored: what the server adds comes from `stored`.
fn settled(mut object: Value, stored: &Value) -> Value {
    if let (Value::Object(asked), Value::Object(stored)) = (&mut object["metadata"], &stored["metadata"]) {
        asked.retain(|field, value| field != "finalizers" || *value != json!([]));
        for (field, value) in stored {
            if !["labels", "finalizers", "name"].contains(&field.as_str()) {
                asked.insert(field.clone(), value.clone());
            }
        }
    }
    object
}

/// Everything of an object but what the server counts for itself.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(metadata) = &mut object["metadata"] {
        let counted: BTreeSet<&str> =
            ["resourceVersion", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"]
                .into();
        metadata.retain(|field, _| !counted.contains(field.as_str()));
    }
    object
}

/// A merge patch by the book (RFC 7386).
fn merged(mut object: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    if !object.is_object() {
        object = json!({});
    }
    if let Value::Object(fields) = &mut object {
        for (name, value) in patch {
            if value.is_null() {
                fields.remove(name);
            } else {
                let before = fields.remove(name).unwrap_or_default();
                fields.insert(name.clone(), merged(before, value));
            }
        }
    }
    object
}
