//! One kind at one moment, and the five of them as a view.
//!
//! Versions are counted per object, not over the whole server: rules compare versions of one object only (R13), and so
//! two writes to different objects lead to the same present whichever comes first.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use konfidence_sdk::promotion::Phase;
use konfidence_sdk::store::{Object, Version};
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::unread;

/// The kinds that promotion reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// `VectorPromotion`.
    Promotion,
    /// `VectorPromotionConfig`.
    Config,
    /// `Stage`.
    Stage,
    /// `Landscape`.
    Landscape,
    /// `VectorTemplate`.
    Template,
}

impl Kind {
    /// All kinds, in the order of [`View`].
    pub(crate) const ALL: [Self; 5] = [Self::Promotion, Self::Config, Self::Stage, Self::Landscape, Self::Template];

    /// The kind of `K`; `None`: promotion does not read it.
    pub(crate) fn of<K: Object>() -> Option<Self> {
        let name = K::kind(&());
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// `VectorPromotion`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Promotion => "VectorPromotion",
            Self::Config => "VectorPromotionConfig",
            Self::Stage => "Stage",
            Self::Landscape => "Landscape",
            Self::Template => "VectorTemplate",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    fn parse(self, json: &Value) -> Result<Arc<dyn Any + Send + Sync>, String> {
        match self {
            Self::Promotion => parse::<VectorPromotion>(json),
            Self::Config => parse::<VectorPromotionConfig>(json),
            Self::Stage => parse::<Stage>(json),
            Self::Landscape => parse::<Landscape>(json),
            Self::Template => parse::<VectorTemplate>(json),
        }
    }
}

fn parse<K: DeserializeOwned + Send + Sync + 'static>(json: &Value) -> Result<Arc<dyn Any + Send + Sync>, String> {
    K::deserialize(json).map(|object| Arc::new(object) as _).map_err(|error| error.to_string())
}

/// One state of one object.
pub(crate) struct Stored {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) json: Value,
    pub(crate) object: Arc<dyn Any + Send + Sync>,
    /// A promotion that has not ended.
    pub(crate) is_live: bool,
    pub(crate) hash: u64,
    /// The same without its version and, of a Stage, the fence.
    pub(crate) content: u64,
}

impl Stored {
    pub(crate) fn new(kind: Kind, mut json: Value) -> Result<Self, String> {
        unread::erase(kind, &mut json);
        let text = |field: &str| json["metadata"][field].as_str().unwrap_or_default().to_owned();
        let object = kind.parse(&json)?;
        let mut content = json.clone();
        content["metadata"]["resourceVersion"] = Value::Null;
        if let Some(annotations) = content["metadata"]["annotations"].as_object_mut() {
            annotations.remove(annotation::FENCED);
        }
        let promotion = object.downcast_ref::<VectorPromotion>();
        Ok(Self {
            is_live: promotion.is_some_and(|promotion| !Phase::of_promotion(promotion).is_terminal()),
            namespace: text("namespace"),
            name: text("name"),
            version: Version { uid: text("uid"), resource_version: text("resourceVersion") },
            object,
            hash: hash_of(&json.to_string()),
            content: hash_of(&content.to_string()),
            json,
        })
    }

    pub(crate) fn uid(&self) -> &str {
        &self.version.uid
    }

    /// The object, if it is a `K`.
    pub(crate) fn parsed<K: Send + Sync + 'static>(&self) -> Option<Arc<K>> {
        Arc::clone(&self.object).downcast().ok()
    }
}

/// All objects of one kind at one moment.
pub(crate) struct Shelf {
    /// Ordered by namespace and name, as lists are.
    pub(crate) objects: Vec<Arc<Stored>>,
    /// How often an object of that name was deleted, by namespace and name: the next one's uid tells.
    deleted: BTreeMap<(String, String), u32>,
    /// Of the objects: what a view sees.
    pub(crate) hash: u64,
    /// Of what new objects will be called.
    pub(crate) names: u64,
}

impl Shelf {
    pub(crate) fn empty() -> Self {
        Self::new(Vec::new(), BTreeMap::new())
    }

    fn new(objects: Vec<Arc<Stored>>, deleted: BTreeMap<(String, String), u32>) -> Self {
        let hash = objects.iter().fold(0x5e1f, |hash, object| mix(hash, object.hash));
        let names = if deleted.is_empty() { 0 } else { hash_of(&deleted) };
        Self { objects, deleted, hash, names }
    }

    /// The uid of the next object of that name. It never comes again.
    pub(crate) fn next_uid(&self, namespace: &str, name: &str) -> String {
        let deleted = self.deleted.get(&(namespace.to_owned(), name.to_owned())).copied().unwrap_or_default();
        format!("{namespace}.{name}.{deleted}")
    }

    fn place(&self, namespace: &str, name: &str) -> Result<usize, usize> {
        self.objects
            .binary_search_by(|object| (object.namespace.as_str(), object.name.as_str()).cmp(&(namespace, name)))
    }

    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        self.place(namespace, name).ok().and_then(|at| self.objects.get(at))
    }

    /// The objects, parsed.
    pub(crate) fn all<K: Send + Sync + 'static>(&self) -> impl Iterator<Item = Arc<K>> {
        self.objects.iter().filter_map(|object| object.parsed())
    }

    /// This shelf after one more write, which put `object` where it belongs.
    pub(crate) fn with(&self, object: Arc<Stored>) -> Self {
        let mut objects = self.objects.clone();
        match self.place(&object.namespace, &object.name) {
            Ok(at) => {
                if let Some(place) = objects.get_mut(at) {
                    *place = object;
                }
            }
            Err(at) => objects.insert(at, object),
        }
        Self::new(objects, self.deleted.clone())
    }

    /// This shelf after one more write, which removed the object.
    pub(crate) fn without(&self, namespace: &str, name: &str) -> Self {
        let mut objects = self.objects.clone();
        if let Ok(at) = self.place(namespace, name) {
            objects.remove(at);
        }
        let mut deleted = self.deleted.clone();
        *deleted.entry((namespace.to_owned(), name.to_owned())).or_default() += 1;
        Self::new(objects, deleted)
    }
}

/// All kinds, each as it stood at some moment of its own.
#[derive(Clone)]
pub(crate) struct View(pub(crate) [Arc<Shelf>; 5]);

impl View {
    /// What the hash of a view begins with.
    pub(crate) const SEED: u64 = 0x71e3;

    pub(crate) fn empty() -> Self {
        Self(std::array::from_fn(|_| Arc::new(Shelf::empty())))
    }

    pub(crate) fn of(&self, kind: Kind) -> &Arc<Shelf> {
        &self.0[kind.index()]
    }

    pub(crate) fn hash(&self) -> u64 {
        self.0.iter().fold(Self::SEED, |hash, shelf| mix(hash, shelf.hash))
    }
}

/// The same in every run of one build.
pub(crate) fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// One hash that depends on both, in this order.
pub(crate) fn mix(one: u64, other: u64) -> u64 {
    let mut mixed = one.rotate_left(23) ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
