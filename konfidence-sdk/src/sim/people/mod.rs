//! Everybody but the controllers: who makes the world, changes sources, approves, and edits what the API permits.
//!
//! A deed is one request on the present state. Whoever is late is told so by the server and tries again, which is the
//! same as being later.

use std::collections::BTreeSet;

use jiff::Timestamp;
use konfidence_types::{
    Landscape, SourceKind, SourceRef, Stage, TargetRef, VectorPromotion, VectorPromotionConfig, VectorTemplate,
    annotation,
};
use serde_json::{Value, json};

use super::server::Server;
use super::step::Deed;
use crate::naming::promotion_name;
use crate::promotion::Phase;
use crate::store::engine::{EngineError, Outcome, Scope};
use crate::store::{Key, MemoryStore, Object, Precondition};

/// What people hold on to an object with.
const HOLD: &str = "bakery.example/hold";

pub(super) struct People {
    configs: Vec<VectorPromotionConfig>,
    server: Server,
    /// How many vectors and hand-made promotions there were.
    vectors: usize,
    hand_made: usize,
}

impl People {
    pub(super) fn new(configs: Vec<VectorPromotionConfig>, server: Server) -> Self {
        Self { configs, server, vectors: 0, hand_made: 0 }
    }

    /// The flows: every config, and a name without one.
    pub(super) fn keys(&self) -> Vec<Key<VectorPromotionConfig>> {
        let loose = self.configs.first().map(|config| Key::new(Key::of(config).namespace(), "loose"));
        self.configs.iter().map(Key::of).chain(loose).collect()
    }

    /// Puts in place whatever the flows refer to and is not there, and the configs.
    pub(super) fn make_everything(&mut self) {
        self.make_references();
        for config in self.configs.clone() {
            insert::<VectorPromotionConfig>(self.store(), json!(config));
        }
    }

    /// Puts in place whatever the flows refer to and is not there. Sources get a vector.
    pub(super) fn make_references(&mut self) {
        let (mut landscapes, mut stages, mut templates) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for config in &self.configs {
            let namespace = Key::of(config).namespace().to_owned();
            let mut stage = |landscape: &str, name: &str| {
                landscapes.insert((namespace.clone(), landscape.to_owned()));
                stages.insert((managed(&namespace, landscape), name.to_owned()));
            };
            stage(&config.spec.target.landscape, &config.spec.target.name);
            match (&config.spec.source.kind, &config.spec.source.landscape) {
                (SourceKind::Stage, Some(landscape)) => stage(landscape, &config.spec.source.name),
                _ => {
                    templates.insert((namespace.clone(), config.spec.source.name.clone()));
                }
            }
        }
        for (namespace, name) in landscapes {
            let status = json!({"namespace": managed(&namespace, &name)});
            let landscape = json!({"metadata": {"namespace": namespace, "name": name}, "spec": {}, "status": status});
            insert::<Landscape>(self.store(), landscape);
        }
        for (namespace, name) in stages {
            insert::<Stage>(
                self.store(),
                json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"vector": ""}}),
            );
        }
        for (namespace, name) in templates {
            if self.store().collection::<VectorTemplate>().get(&namespace, &name).is_none() {
                let template = self.template(&namespace, &name);
                insert::<VectorTemplate>(self.store(), template);
            }
        }
    }

    fn template(&mut self, namespace: &str, name: &str) -> Value {
        json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"uploadTarget": "registry.bakery.example/menu", "components": []},
            "status": {"latestVector": self.new_vector()},
        })
    }

    /// Takes back what stands in the way of rest: holds, refusals, what is missing.
    pub(super) fn repair(&mut self) {
        self.server.refused().clear();
        release_all::<Stage>(self.store());
        release_all::<VectorPromotionConfig>(self.store());
        release_all::<VectorPromotion>(self.store());
        release_all::<Landscape>(self.store());
        self.make_references();
    }

    /// Approves the newest promotion of each flow that waits for it. Answers whether there was one.
    pub(super) fn approve_newest(&mut self, now: Timestamp) -> bool {
        let keys = self.keys();
        let mut approved = false;
        for key in keys {
            approved |= self.approve(&key, 0, now).is_some();
        }
        approved
    }

    fn store(&self) -> &MemoryStore {
        self.server.store()
    }

    fn new_vector(&mut self) -> String {
        self.vectors += 1;
        vector(self.vectors)
    }

    /// A new vector three times of four, else an earlier one.
    fn some_vector(&mut self, pick: usize) -> String {
        if !pick.is_multiple_of(4) || self.vectors == 0 {
            return self.new_vector();
        }
        vector(1 + (pick / 4) % self.vectors)
    }

    /// Does it, and tells it; `None`: there was nothing to do it with.
    #[allow(clippy::too_many_lines)]
    pub(super) fn act(&mut self, deed: Deed, flow: usize, pick: usize, now: Timestamp) -> Option<String> {
        let keys = self.keys();
        let key = keys.get(flow)?.clone();
        // The name without a config shares the references of the first flow.
        let config = self.configs.get(flow).or_else(|| self.configs.first())?.clone();
        let target = Self::stage_of(key.namespace(), &config.spec.target);
        match deed {
            Deed::Assemble => self.assemble(&config, pick),
            Deed::Approve => self.approve(&key, pick, now),
            Deed::Reject => self.reject(&key, pick, now),
            Deed::Suspend => {
                let mut told = "";
                let changed = change::<VectorPromotionConfig>(self.store(), &key, Scope::Main, |config| {
                    let suspended = config["spec"]["suspend"].as_bool().unwrap_or(false);
                    told = if suspended { "resumes" } else { "suspends" };
                    config["spec"]["suspend"] = json!(!suspended);
                });
                changed.then(|| format!("somebody {told} {key}"))
            }
            Deed::EditStage => {
                let vector = self.some_vector(pick);
                let changed = change::<Stage>(self.store(), &target, Scope::Main, |stage| {
                    stage["spec"]["vector"] = json!(vector);
                });
                changed.then(|| format!("somebody writes {vector} to Stage {target} by hand"))
            }
            Deed::ToggleStage => {
                let vector = if pick.is_multiple_of(3) { self.some_vector(pick / 3) } else { String::new() };
                toggle::<Stage>(self.store(), &target, || json!({"spec": {"vector": vector}}))
            }
            Deed::StripRecord => {
                let changed = change::<Stage>(self.store(), &target, Scope::Main, |stage| {
                    let annotations = stage.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
                    if let Some(annotations) = annotations {
                        annotations.remove(annotation::PROMOTIONS);
                    }
                });
                changed.then(|| format!("somebody removes the records from Stage {target}"))
            }
            Deed::TouchStage => {
                let (scope, part) =
                    if pick.is_multiple_of(2) { (Scope::Status, "status") } else { (Scope::Main, "metadata") };
                let changed = change::<Stage>(self.store(), &target, scope, |stage| {
                    if part == "status" {
                        stage["status"]["vectorHistory"] = json!([vector(pick)]);
                    } else {
                        stage["metadata"]["annotations"]["bakery.example/note"] = json!(pick.to_string());
                    }
                });
                changed.then(|| format!("somebody touches the {part} of Stage {target}"))
            }
            Deed::TouchPromotion => {
                let promotion = self.promotions(&key).into_iter().nth_around(pick)?;
                let name: Key<VectorPromotion> = Key::of(&*promotion);
                change::<VectorPromotion>(self.store(), &name, Scope::Main, |promotion| {
                    promotion["metadata"]["annotations"]["bakery.example/note"] = json!(pick.to_string());
                })
                .then(|| format!("somebody touches promotion {name}"))
            }
            Deed::DeletePromotion => {
                let promotion = self.promotions(&key).into_iter().nth_around(pick)?;
                delete(self.store(), &Key::<VectorPromotion>::of(&*promotion))
            }
            Deed::HandMake => self.hand_make(&key, &config, pick),
            Deed::ToggleConfig => {
                let made = json!(self.configs.get(flow)?);
                toggle::<VectorPromotionConfig>(self.store(), &key, || made)
            }
            Deed::Repoint => self.repoint(&key, flow, pick),
            Deed::Tune => {
                let keep = [0, 1, 2, 1000][pick % 4];
                let ttl = [Value::Null, json!("1m"), json!("10m")][(pick / 4) % 3].clone();
                let told = format!("somebody sets the cap of {key} to {keep} and its TTL to {ttl}");
                let changed = change::<VectorPromotionConfig>(self.store(), &key, Scope::Main, |config| {
                    config["spec"]["keepLastPromotions"] = json!(keep);
                    if let Some(spec) = config["spec"].as_object_mut() {
                        spec.remove("ttlAfterFinished");
                        if !ttl.is_null() {
                            spec.insert("ttlAfterFinished".into(), ttl);
                        }
                    }
                });
                changed.then_some(told)
            }
            Deed::ToggleLandscape => {
                let landscape = Key::new(key.namespace(), &config.spec.target.landscape);
                let status = json!({"namespace": managed(key.namespace(), landscape.name())});
                toggle::<Landscape>(self.store(), &landscape, || json!({"spec": {}, "status": status}))
            }
            Deed::ToggleTemplate => {
                let source = &config.spec.source;
                let template = Key::new(key.namespace(), &source.name);
                let made = self.template(template.namespace(), template.name());
                (source.kind == SourceKind::VectorTemplate)
                    .then(|| toggle::<VectorTemplate>(self.store(), &template, || made))?
            }
            Deed::Hold => match pick % 3 {
                0 => hold(self.store(), &target),
                1 => hold(self.store(), &key),
                _ => hold(self.store(), &Key::of(&*self.promotions(&key).into_iter().nth_around(pick / 3)?)),
            },
            Deed::Refuse => {
                let place = (target.namespace().to_owned(), target.name().to_owned());
                let mut refused = self.server.refused();
                if refused.remove(&place) {
                    return Some(format!("Stage {target} may be written again"));
                }
                refused.insert(place);
                Some(format!("from now on every write to Stage {target} is refused"))
            }
        }
    }

    fn stage_of(namespace: &str, target: &TargetRef) -> Key<Stage> {
        Key::new(managed(namespace, &target.landscape), &target.name)
    }

    fn assemble(&mut self, config: &VectorPromotionConfig, pick: usize) -> Option<String> {
        let namespace = Key::of(config).namespace().to_owned();
        let vector = self.some_vector(pick);
        let SourceRef { kind, name, landscape } = &config.spec.source;
        if let (SourceKind::Stage, Some(landscape)) = (kind, landscape) {
            let stage = Key::<Stage>::new(managed(&namespace, landscape), name);
            return change(self.store(), &stage, Scope::Main, |stage| stage["spec"]["vector"] = json!(vector))
                .then(|| format!("source Stage {stage} gets {vector}"));
        }
        let template = Key::<VectorTemplate>::new(namespace, name);
        change(self.store(), &template, Scope::Status, |template| template["status"]["latestVector"] = json!(vector))
            .then(|| format!("source VectorTemplate {template} gets {vector}"))
    }

    /// The promotions that name the flow, newest first.
    fn promotions(&self, key: &Key<VectorPromotionConfig>) -> Vec<std::sync::Arc<VectorPromotion>> {
        let listing = self.store().collection::<VectorPromotion>().list(Some(key.namespace()));
        let parsed = listing.items.iter().filter_map(|object| object.parse::<VectorPromotion>().ok());
        let mut own: Vec<_> =
            parsed.filter(|promotion| promotion.spec.vector_promotion_config_name == key.name()).collect();
        own.sort_by_key(|promotion| std::cmp::Reverse((promotion.spec.sequence, promotion.metadata.uid.clone())));
        own
    }

    fn approve(&mut self, key: &Key<VectorPromotionConfig>, pick: usize, now: Timestamp) -> Option<String> {
        let waiting = self
            .promotions(key)
            .into_iter()
            .filter(|it| Phase::of_promotion(it) == Phase::Waiting && it.metadata.deletion_timestamp.is_none());
        let promotion = Key::of(&*waiting.collect::<Vec<_>>().into_iter().nth_around(pick)?);
        let approved = condition("Approved", "True", "ManuallyApproved", "approved by head baker", now);
        change::<VectorPromotion>(self.store(), &promotion, Scope::Status, |promotion| {
            promotion["status"]["conditions"] = json!([approved]);
            promotion["status"]["approval"] = json!({"approvedBy": "head baker", "approvedAt": now});
            promotion["status"]["state"] = json!("Ready");
        })
        .then(|| format!("the head baker approves {promotion}"))
    }

    fn reject(&mut self, key: &Key<VectorPromotionConfig>, pick: usize, now: Timestamp) -> Option<String> {
        let pending = self
            .promotions(key)
            .into_iter()
            .filter(|it| matches!(Phase::of_promotion(it), Phase::Waiting | Phase::Ready | Phase::Blocked));
        let promotion = Key::of(&*pending.collect::<Vec<_>>().into_iter().nth_around(pick)?);
        let rejected = condition("Succeeded", "False", "PromotionRejected", "rejected by head baker: stale bread", now);
        change::<VectorPromotion>(self.store(), &promotion, Scope::Status, |promotion| {
            let conditions = promotion["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let others = conditions.into_iter().filter(|condition| condition["type"] != "Succeeded");
            promotion["status"]["conditions"] = others.chain([rejected]).collect();
            promotion["status"]["rejection"] =
                json!({"rejectedBy": "head baker", "rejectedAt": now, "reason": "stale bread"});
            promotion["status"]["state"] = json!("Failed");
        })
        .then(|| format!("the head baker rejects {promotion}"))
    }

    fn hand_make(
        &mut self,
        key: &Key<VectorPromotionConfig>,
        config: &VectorPromotionConfig,
        pick: usize,
    ) -> Option<String> {
        self.hand_made += 1;
        let highest = self.promotions(key).first().map_or(0, |promotion| promotion.spec.sequence);
        let sequence = [0, 1, (highest - 1).max(0), highest, highest + 1, highest + 3][pick % 6];
        let waits = (pick / 6).is_multiple_of(2);
        let name = match (pick / 12) % 3 {
            0 => promotion_name(key.name(), sequence),
            _ => format!("hand-{}", self.hand_made),
        };
        let of = if (pick / 36).is_multiple_of(6) { "loose" } else { key.name() };
        let vector = self.some_vector(pick / 36);
        let promotion = json!({
            "metadata": {"namespace": key.namespace(), "name": name},
            "spec": {
                "vectorPromotionConfigName": of, "source": config.spec.source, "target": config.spec.target,
                "vector": vector, "requireApproval": waits, "sequence": sequence,
            },
        });
        insert::<VectorPromotion>(self.store(), promotion).then(|| {
            let gate = if waits { "waits for approval" } else { "needs no approval" };
            format!("somebody makes promotion {name} of {vector} for {of}, sequence {sequence}, which {gate}")
        })
    }

    fn repoint(&mut self, key: &Key<VectorPromotionConfig>, flow: usize, pick: usize) -> Option<String> {
        let own = self.configs.get(flow)?.spec.clone();
        let next = self.configs.get((flow + 1) % self.configs.len())?.spec.clone();
        let source = if pick.is_multiple_of(2) { own.source } else { next.source };
        let target = if (pick / 2).is_multiple_of(2) { own.target } else { next.target };
        if source.landscape.as_ref() == Some(&target.landscape) && source.name == target.name {
            return None;
        }
        let told = format!("somebody points {key} from {source} to {target}");
        change::<VectorPromotionConfig>(self.store(), key, Scope::Main, |config| {
            config["spec"]["source"] = json!(source);
            config["spec"]["target"] = json!(target);
        })
        .then_some(told)
    }
}

trait NthAround<T> {
    fn nth_around(self, pick: usize) -> Option<T>;
}

impl<T, I: ExactSizeIterator<Item = T>> NthAround<T> for I {
    fn nth_around(mut self, pick: usize) -> Option<T> {
        let count = self.len();
        self.nth(pick.checked_rem(count)?)
    }
}

fn vector(number: usize) -> String {
    format!("bakery//menu:{number}")
}

fn managed(namespace: &str, landscape: &str) -> String {
    format!("{namespace}-{landscape}")
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": seconds(now)})
}

/// Conditions carry whole seconds.
fn seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn insert<K: Object>(store: &MemoryStore, object: Value) -> bool {
    store.insert_raw::<K>(object).is_ok()
}

/// Changes what is there. Answers whether that made a difference.
fn change<K: Object>(store: &MemoryStore, key: &Key<K>, scope: Scope, change: impl FnOnce(&mut Value)) -> bool {
    let changed =
        store.collection::<K>().update(key.namespace(), key.name(), &Precondition::default(), scope, |object| {
            let mut object = object.json().clone();
            change(&mut object);
            Ok::<_, EngineError>(object)
        });
    changed.is_ok_and(|written| written.outcome != Outcome::Unchanged)
}

fn delete<K: Object>(store: &MemoryStore, key: &Key<K>) -> Option<String> {
    let deleted = store.collection::<K>().delete(key.namespace(), key.name(), &Precondition::default(), None).ok()?;
    match deleted.outcome {
        Outcome::Removed => Some(format!("somebody deletes {} {key}", K::kind(&()))),
        Outcome::Changed => Some(format!("somebody deletes {} {key}, which is held", K::kind(&()))),
        _ => None,
    }
}

fn toggle<K: Object>(store: &MemoryStore, key: &Key<K>, make: impl FnOnce() -> Value) -> Option<String> {
    if store.collection::<K>().get(key.namespace(), key.name()).is_some() {
        return delete(store, key);
    }
    let mut object = make();
    object["metadata"] = json!({"namespace": key.namespace(), "name": key.name()});
    insert::<K>(store, object).then(|| format!("somebody makes {} {key} again", K::kind(&())))
}

fn hold<K: Object>(store: &MemoryStore, key: &Key<K>) -> Option<String> {
    let mut told = "holds";
    let changed = change(store, key, Scope::Main, |object| {
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        object["metadata"]["finalizers"] = if held { json!([]) } else { json!([HOLD]) };
        told = if held { "lets go of" } else { "holds" };
    });
    changed.then(|| format!("somebody {told} {} {key}", K::kind(&())))
}

fn release_all<K: Object>(store: &MemoryStore) {
    for object in store.collection::<K>().list(None).items {
        let key = Key::<K>::new(object.namespace(), object.name());
        change(store, &key, Scope::Main, |object| {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("finalizers");
            }
        });
    }
}
