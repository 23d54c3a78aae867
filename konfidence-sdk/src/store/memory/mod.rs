//! The store in memory: typed objects over the [`engine`](super::engine).
//!
//! It behaves as a client of a Kubernetes API server sees one, without lag: uids, versions, generations, the status
//! apart, finalizers, the collection of objects whose owners are gone, watches. It does not validate against a kind's
//! schema, and a namespace is a name like any other: nothing is in its way, and deleting a `Namespace` object leaves
//! what lies in the namespace.

mod watch;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use kube::core::ClusterResourceScope;
use serde_json::Value;

use super::engine::{Collection, Document, Engine, EngineError, Listing, Options, ResourceType, Scope};
use super::{Key, Listed, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StoreError, Unreadable};
use crate::clock::{Clock, SystemClock};

/// Objects of any kinds in memory. Clones are the same store.
///
/// ```
/// use konfidence_sdk::store::{Key, MemoryStore, ObjectStore, Patch, StoreError, Version};
/// use konfidence_sdk::types::{Stage, StageSpec};
/// use serde_json::json;
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let mut stage = Stage::new("dev", StageSpec { vector: "bakery//menu:1".into() });
/// stage.metadata.namespace = Some("bakery-eu".into());
/// let made = store.create(&stage).await?;
///
/// let newer = Patch::new(Version::of(&*made), json!({"spec": {"vector": "bakery//menu:2"}}));
/// let patched = store.patch(&Key::of(&*made), &newer).await?;
/// assert_eq!(patched.spec.vector, "bakery//menu:2");
///
/// // The object has moved on: the same patch is decided on an old version now.
/// let again = store.patch(&Key::of(&*made), &newer).await;
/// assert!(matches!(again, Err(StoreError::Conflict { .. })));
/// # Ok::<(), StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    engine: Engine,
    /// Each kind is described to the engine once.
    collections: Arc<RwLock<BTreeMap<TypeId, Collection>>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store whose objects carry the machine's time.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store whose objects carry the time of `clock`.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self::over(Engine::new(Options::new(clock)))
    }

    /// The objects of an engine, seen by type. Several stores over one engine are one store.
    pub fn over(engine: Engine) -> Self {
        let store = Self { engine, collections: Arc::default() };
        // A reference to an owner of an unknown kind keeps its dependant alive for good, so the kinds that own each
        // other are known from the start.
        store.collection::<VectorTemplate>();
        store.collection::<VectorPromotionConfig>();
        store.collection::<VectorPromotion>();
        store.collection::<Landscape>();
        store.collection::<Stage>();
        store.collection::<Namespace>();
        store
    }

    /// The engine below: other kinds, other propagation, older states.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The objects of one kind as JSON.
    pub fn collection<K: Object>(&self) -> Collection {
        let kind = TypeId::of::<K>();
        if let Some(collection) = self.collections.read().unwrap_or_else(PoisonError::into_inner).get(&kind) {
            return collection.clone();
        }
        let collection = self.engine.collection(resource_type::<K>());
        collection.keep_indexes(K::INDEXES);
        let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
        collections.entry(kind).or_insert(collection).clone()
    }

    /// Puts an object in as it is, status included and whether or not it parses as `K`: what a newer version or a
    /// broken schema left behind. `apiVersion` and `kind` are filled in.
    ///
    /// # Errors
    /// As [`create`](ObjectStore::create).
    pub fn insert_raw<K: Object>(&self, mut object: Value) -> Result<Arc<Value>, StoreError> {
        if let Value::Object(fields) = &mut object {
            fields.entry("apiVersion").or_insert_with(|| K::api_version(&()).into());
            fields.entry("kind").or_insert_with(|| K::kind(&()).into());
        }
        let name = |field| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let key = Key::<K>::new(name("/metadata/namespace"), name("/metadata/name"));
        let written = self.collection::<K>().create(object, Scope::Whole).map_err(|error| refusal(&key, &error))?;
        Ok(Arc::new(written.object.json().clone()))
    }

    /// Changes the part of an object that `scope` covers, if it still has the patch's version.
    fn write<K: Object>(&self, key: &Key<K>, patch: &Patch<K>, scope: Scope) -> Result<Arc<K>, StoreError> {
        if patch.expected.resource_version.is_empty() {
            return Err(StoreError::Invalid {
                object: ObjectRef::named(key),
                message: "the patch names no resourceVersion: every patch is conditional on the version it was \
                          decided on"
                    .into(),
                fields: Vec::new(),
            });
        }
        let uid = Some(patch.expected.uid.clone()).filter(|uid| !uid.is_empty());
        let expected = Precondition { uid, resource_version: Some(patch.expected.resource_version.clone()) };
        let merged = |object: &Document| {
            let mut json = object.json().clone();
            json_patch::merge(&mut json, &patch.merge);
            Ok(json)
        };
        let written = self.collection::<K>().update(key.namespace(), key.name(), &expected, scope, merged);
        read(&written.map_err(|error| refusal(key, &error))?.object)
    }

    /// Nobody is told what a write came to before that is kept.
    async fn kept<K: Object>(&self, key: &Key<K>) -> Result<(), StoreError> {
        self.engine.committed().await.map_err(|error| refusal(key, &error))
    }

    fn select<K: Object>(&self, query: &Query<K>) -> Result<Listing, StoreError> {
        let namespace = query.namespace.as_deref();
        let collection = self.collection::<K>();
        match &query.index {
            None => Ok(collection.list_published(namespace)),
            Some((name, value)) => {
                collection.list_by(namespace, name, value).ok_or_else(|| undeclared::<K>(namespace, name))
            }
        }
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for MemoryStore {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.collection::<K>().get_published(key.namespace(), key.name()).map(|object| read(&object)).transpose()
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        Ok(listed(&self.select(query)?))
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.get(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.list(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        let key = Key::of(object);
        let json = serde_json::to_value(object).map_err(|error| StoreError::Invalid {
            object: ObjectRef::named(&key),
            message: format!("it cannot be written as JSON: {error}"),
            fields: Vec::new(),
        })?;
        let written = self.collection::<K>().create(json, Scope::Main);
        self.kept(&key).await?;
        read(&written.map_err(|error| refusal(&key, &error))?.object)
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let written = self.write(key, patch, Scope::Main);
        self.kept(key).await?;
        written
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let written = self.write(key, patch, Scope::Status);
        self.kept(key).await?;
        written
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        let deleted = self.collection::<K>().delete(key.namespace(), key.name(), precondition, None);
        self.kept(key).await?;
        deleted.map(|_| ()).map_err(|error| refusal(key, &error))
    }
}

/// What the engine has to know of `K`. Custom resources keep their status apart and count generations; of the core
/// kinds none counts them.
fn resource_type<K: Object>() -> ResourceType {
    let group = K::group(&());
    ResourceType {
        counts_generations: !group.is_empty(),
        group: group.into_owned().into(),
        version: K::version(&()).into_owned().into(),
        kind: K::kind(&()).into_owned().into(),
        plural: K::plural(&()).into_owned().into(),
        namespaced: TypeId::of::<K::Scope>() != TypeId::of::<ClusterResourceScope>(),
        status_subresource: true,
    }
}

pub(super) fn listed<K: Object>(listing: &Listing) -> Listed<K> {
    let mut listed = Listed {
        items: Vec::with_capacity(listing.items.len()),
        unreadable: Vec::new(),
        resource_version: listing.revision.to_string(),
    };
    for object in &listing.items {
        match parse(object) {
            Ok(object) => listed.items.push(object),
            Err(unreadable) => listed.unreadable.push(unreadable),
        }
    }
    listed
}

pub(super) fn read<K: Object>(object: &Document) -> Result<Arc<K>, StoreError> {
    parse(object).map_err(|unreadable| StoreError::Unreadable(Box::new(unreadable)))
}

fn parse<K: Object>(object: &Document) -> Result<Arc<K>, Unreadable> {
    object.parse().map_err(|message| Unreadable {
        object: ObjectRef {
            uid: object.uid().to_owned(),
            ..ObjectRef::named(&Key::<K>::new(object.namespace(), object.name()))
        },
        message: message.to_string(),
        raw: Arc::new(object.json().clone()),
    })
}

pub(super) fn undeclared<K: Object>(namespace: Option<&str>, index: &str) -> StoreError {
    StoreError::Invalid {
        object: ObjectRef::named(&Key::<K>::new(namespace.unwrap_or_default(), "")),
        message: format!("{} declares no index `{index}`", K::kind(&())),
        fields: Vec::new(),
    }
}

/// The engine's refusal in the words of the port.
pub(super) fn refusal<K: Object>(key: &Key<K>, error: &EngineError) -> StoreError {
    let object = ObjectRef::named(key);
    match error {
        EngineError::NotFound => StoreError::NotFound { object },
        EngineError::AlreadyExists => StoreError::AlreadyExists { object },
        EngineError::Conflict { .. } => StoreError::Conflict { object },
        EngineError::Expired { .. } | EngineError::Ahead { .. } => StoreError::Expired { object },
        EngineError::Unavailable { message } => {
            StoreError::Unavailable { object, message: message.clone(), source: None }
        }
        EngineError::Refused { fields } => {
            StoreError::Invalid { object, message: error.to_string(), fields: fields.clone() }
        }
    }
}
