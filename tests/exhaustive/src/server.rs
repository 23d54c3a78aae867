//! The API server's part, as far as promotion can tell: conditional writes, versions, generations, the status apart.
//!
//! It has no finalizers, no deletion that takes time and no schema; who collects garbage is a person of the model. The
//! tests hold it against the memory store, write by write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use konfidence_sdk::store::{Key, Listed, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StoreError};
use serde_json::{Map, Value};

use crate::answer::{Answer, Request, Scope};
use crate::shelf::{Kind, Shelf, Stored, View};
use crate::unread;

/// Why a write did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    NotFound,
    AlreadyExists,
    Conflict,
    Invalid(String),
}

impl Refused {
    pub(crate) fn error<K: Object>(self, key: &Key<K>) -> StoreError {
        let object = ObjectRef::named(key);
        match self {
            Self::NotFound => StoreError::NotFound { object },
            Self::AlreadyExists => StoreError::AlreadyExists { object },
            Self::Conflict => StoreError::Conflict { object },
            Self::Invalid(message) => StoreError::Invalid { object, message, fields: Vec::new() },
        }
    }
}

/// What a write did.
#[derive(Clone)]
pub(crate) struct Effect {
    pub(crate) kind: Kind,
    pub(crate) before: Option<Arc<Stored>>,
    pub(crate) after: Option<Arc<Stored>>,
    /// The kind afterwards.
    pub(crate) shelf: Arc<Shelf>,
}

impl Effect {
    /// The object was so already; there is no new version.
    pub(crate) fn is_none(&self) -> bool {
        self.before.as_ref().map(|it| it.hash) == self.after.as_ref().map(|it| it.hash)
    }

    pub(crate) fn answer(&self) -> Answer {
        self.after.as_ref().map_or(Answer::Deleted, |after| Answer::Object(Arc::clone(&after.object)))
    }
}

/// Carries out one request on what stands in `live`.
pub(crate) fn carry_out(live: &View, request: &Request) -> Result<Effect, Refused> {
    match request {
        Request::Create { kind, object } => create(live, *kind, object.clone(), Scope::Main),
        Request::Patch { kind, namespace, name, expected, merge, scope } => {
            let current = live.of(*kind).get(namespace, name).ok_or(Refused::NotFound)?;
            if *expected != current.version {
                return Err(Refused::Conflict);
            }
            patch(live, *kind, current, merge, *scope)
        }
        Request::Delete { kind, namespace, name, precondition } => {
            let current = live.of(*kind).get(namespace, name).ok_or(Refused::NotFound)?;
            let differs = |expected: &Option<String>, found: &str| expected.as_deref().is_some_and(|it| it != found);
            if differs(&precondition.uid, current.uid())
                || differs(&precondition.resource_version, &current.version.resource_version)
            {
                return Err(Refused::Conflict);
            }
            let shelf = Arc::new(live.of(*kind).without(namespace, name));
            Ok(Effect { kind: *kind, before: Some(Arc::clone(current)), after: None, shelf })
        }
    }
}

/// Makes an object.
pub(crate) fn create(live: &View, kind: Kind, mut object: Value, scope: Scope) -> Result<Effect, Refused> {
    let shelf = live.of(kind);
    object["apiVersion"] = "konfidence.cloud/v1alpha1".into();
    object["kind"] = kind.name().into();
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    object["metadata"]["uid"] = shelf.next_uid(text("namespace"), text("name")).into();
    object["metadata"]["resourceVersion"] = "1".into();
    object["metadata"]["generation"] = 1.into();
    if scope == Scope::Main
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    let made = Arc::new(Stored::new(kind, object).map_err(Refused::Invalid)?);
    if shelf.get(&made.namespace, &made.name).is_some() {
        return Err(Refused::AlreadyExists);
    }
    Ok(Effect { kind, before: None, shelf: Arc::new(shelf.with(Arc::clone(&made))), after: Some(made) })
}

/// Changes the part of `current` that `scope` covers.
pub(crate) fn patch(
    live: &View,
    kind: Kind,
    current: &Arc<Stored>,
    merge: &Value,
    scope: Scope,
) -> Result<Effect, Refused> {
    let mut wanted = current.json.clone();
    json_patch::merge(&mut wanted, merge);
    let none = Map::new();
    let old = current.json.as_object().unwrap_or(&none);
    let Some(new) = wanted.as_object_mut() else { return Err(Refused::Invalid("an object is needed".into())) };
    match scope {
        Scope::Status => {
            new.retain(|field, _| field == "status" || old.contains_key(field));
            new.extend(
                old.iter().filter(|(field, _)| *field != "status").map(|(it, value)| (it.clone(), value.clone())),
            );
        }
        Scope::Main => {
            new.remove("status");
            new.extend(old.get_key_value("status").map(|(it, value)| (it.clone(), value.clone())));
        }
        Scope::Whole => {}
    }
    for field in ["name", "namespace", "uid", "resourceVersion", "generation"] {
        wanted["metadata"][field] = current.json["metadata"][field].clone();
    }
    unread::erase(kind, &mut wanted);
    if wanted == current.json {
        let (before, after) = (Some(Arc::clone(current)), Some(Arc::clone(current)));
        return Ok(Effect { kind, before, after, shelf: Arc::clone(live.of(kind)) });
    }
    if wanted["spec"] != current.json["spec"] {
        let generation = current.json["metadata"]["generation"].as_i64().unwrap_or_default();
        wanted["metadata"]["generation"] = (generation + 1).into();
    }
    let shelf = live.of(kind);
    let version: u64 = current.version.resource_version.parse().unwrap_or_default();
    wanted["metadata"]["resourceVersion"] = (version + 1).to_string().into();
    let changed = Arc::new(Stored::new(kind, wanted).map_err(Refused::Invalid)?);
    let shelf = Arc::new(shelf.with(Arc::clone(&changed)));
    Ok(Effect { kind, before: Some(Arc::clone(current)), after: Some(changed), shelf })
}

/// A server to talk to: reads and writes the present. Whole plans and people's operations run on it.
pub(crate) struct Server(Mutex<Present>);

struct Present {
    live: View,
    effects: Vec<Effect>,
}

impl Present {
    fn take(&mut self, effect: Effect) {
        self.live.0[effect.kind.index()] = Arc::clone(&effect.shelf);
        self.effects.push(effect);
    }
}

impl Server {
    pub(crate) fn new(live: View) -> Self {
        Self(Mutex::new(Present { live, effects: Vec::new() }))
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn live(&self) -> View {
        self.present().live.clone()
    }

    /// What was written since the last call.
    pub(crate) fn take_effects(&self) -> Vec<Effect> {
        std::mem::take(&mut self.present().effects)
    }

    /// Takes over what was done on the present; a refusal changes nothing.
    pub(crate) fn put(&self, done: Result<Effect, Refused>) {
        if let Ok(effect) = done {
            self.present().take(effect);
        }
    }

    fn request(&self, request: &Request) -> Result<Answer, Refused> {
        let mut present = self.present();
        let effect = carry_out(&present.live, request)?;
        let answer = effect.answer();
        present.take(effect);
        Ok(answer)
    }

    fn ask<K: Object>(&self, key: &Key<K>, request: Option<Request>) -> Result<Option<Arc<K>>, StoreError> {
        let request = request.ok_or_else(|| Refused::NotFound.error(key))?;
        match self.request(&request).map_err(|refused| refused.error(key))? {
            Answer::Object(object) => Ok(object.downcast().ok()),
            Answer::Deleted | Answer::Refused(_) => Ok(None),
        }
    }

    fn written<K: Object>(&self, key: &Key<K>, request: Option<Request>) -> Result<Arc<K>, StoreError> {
        self.ask(key, request)?.ok_or_else(|| Refused::NotFound.error(key))
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for Server {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        Ok(get(&self.live(), key))
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(list(&self.live(), query))
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        Ok(get(&self.live(), key))
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(list(&self.live(), query))
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        self.written(&Key::of(object), Request::create(object))
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.written(key, Request::patch(key, patch, Scope::Main))
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.written(key, Request::patch(key, patch, Scope::Status))
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        self.ask(key, Request::delete(key, precondition)).map(|_| ())
    }
}

pub(crate) fn get<K: Object>(view: &View, key: &Key<K>) -> Option<Arc<K>> {
    view.of(Kind::of::<K>()?).get(key.namespace(), key.name())?.parsed()
}

pub(crate) fn list<K: Object>(view: &View, query: &Query<K>) -> Listed<K> {
    let Some(kind) = Kind::of::<K>() else { return Listed::default() };
    let shelf = view.of(kind);
    let is_selected = |object: &&Arc<Stored>| {
        let is_within = query.namespace.as_ref().is_none_or(|namespace| *namespace == object.namespace);
        is_within
            && query.index.as_ref().is_none_or(|(name, value)| {
                let index = K::INDEXES.iter().find(|index| index.name == *name);
                index.is_some_and(|index| (index.values)(&object.json).contains(value))
            })
    };
    let items = shelf.objects.iter().filter(is_selected).filter_map(|object| object.parsed()).collect();
    Listed { items, unreadable: Vec::new(), resource_version: String::new() }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use konfidence_sdk::store::{MemoryStore, Version};
    use konfidence_types::{VectorPromotion, VectorPromotionConfig, VectorPromotionConfigStatus};
    use serde_json::json;

    use super::*;
    use crate::scenario::{AUTO, config, promotion};

    /// What a store answers, without what it chooses itself.
    fn told<K: Object>(answer: Result<Arc<K>, StoreError>, last: &mut Option<Version>) -> String {
        match answer {
            Ok(object) => {
                let version = Version::of(&*object);
                let moved = if last.as_ref() == Some(&version) { "as it was" } else { "moved" };
                *last = Some(version);
                let mut json = serde_json::to_value(&*object).unwrap();
                for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
                    json["metadata"].as_object_mut().unwrap().remove(field);
                }
                format!("{moved}: {json}")
            }
            Err(StoreError::NotFound { .. }) => "not found".to_owned(),
            Err(StoreError::AlreadyExists { .. }) => "already exists".to_owned(),
            Err(StoreError::Conflict { .. }) => "conflict".to_owned(),
            Err(other) => other.to_string(),
        }
    }

    async fn transcript<S: ObjectStore<VectorPromotionConfig> + ObjectStore<VectorPromotion>>(
        store: &S,
    ) -> Vec<String> {
        let mut config = serde_json::from_value::<VectorPromotionConfig>(config(&AUTO)).unwrap();
        config.status = Some(VectorPromotionConfigStatus::default());
        let key = Key::of(&config);
        let (mut lines, mut last) = (Vec::new(), None);
        lines.push(told(store.create(&config).await, &mut last));
        let first = last.clone().unwrap();
        lines.push(told(store.create(&config).await, &mut last));
        let status =
            json!({"status": {"sequence": 3}, "spec": {"suspend": true}, "metadata": {"annotations": {"a": "b"}}});
        let main = json!({"status": {"sequence": 4}, "metadata": {"annotations": {"a": "b", "c": null}}});
        let spec = json!({"spec": {"suspend": true}, "metadata": {"annotations": {"a": null}}});
        for (merge, is_status) in [(&status, true), (&main, false), (&main, false), (&spec, false), (&status, true)] {
            let patch = Patch::new(last.clone().unwrap(), merge.clone());
            let answer =
                if is_status { store.patch_status(&key, &patch).await } else { store.patch(&key, &patch).await };
            lines.push(told(answer, &mut last));
        }
        lines.push(told(store.patch(&key, &Patch::new(first.clone(), main.clone())).await, &mut last));
        let stranger = Version { uid: "stranger".into(), ..last.clone().unwrap() };
        lines.push(told(store.patch(&key, &Patch::new(stranger, main.clone())).await, &mut last));
        for precondition in [first.into(), last.clone().unwrap().into(), Precondition::default()] {
            let deleted = ObjectStore::<VectorPromotionConfig>::delete(store, &key, &precondition).await;
            lines.push(told::<VectorPromotionConfig>(deleted.map(|()| Arc::new(config.clone())), &mut None));
        }
        lines.push(told(store.patch(&key, &Patch::new(last.clone().unwrap(), main)).await, &mut last));
        for (name, flow) in [("b", "one"), ("a", "one"), ("c", "two")] {
            let made = serde_json::from_value::<VectorPromotion>(promotion(name, flow, 1, "dev", false)).unwrap();
            store.create(&made).await.unwrap();
        }
        let query = Query::<VectorPromotion>::within("bakery").by(konfidence_sdk::store::BY_CONFIG, "one");
        let listed = store.list(&query).await.unwrap().items;
        lines.extend(listed.into_iter().map(|promotion| told(Ok(promotion), &mut None)));
        lines
    }

    #[test]
    fn p23_it_answers_writes_as_the_memory_store_does() {
        let own = block_on(transcript(&Server::new(View::empty())));
        assert_eq!(own, block_on(transcript(&MemoryStore::new())));
        assert_eq!(own.len(), 15, "{own:#?}");
    }
}
