//! Names of objects, parsed once at the edge.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::{Resource, ResourceExt};
use serde::{Serialize, de::DeserializeOwned};

use super::Indexed;

/// What a kind must be to live in a store. Blanket-implemented: implement [`Indexed`] and you have it.
pub trait Object:
    Resource<DynamicType = ()>
    + Indexed
    + Clone
    + fmt::Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = ()>
        + Indexed
        + Clone
        + fmt::Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The name of one object of kind `K`. A cluster-scoped object has the empty namespace.
pub struct Key<K> {
    namespace: String,
    name: String,
    kind: PhantomData<fn() -> K>,
}

impl<K> Key<K> {
    /// The object `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into(), kind: PhantomData }
    }

    /// The namespace; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<K: Resource> Key<K> {
    /// The key of an object that was read.
    pub fn of(object: &K) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }
}

impl Key<Namespace> {
    /// The key of a namespace, which itself lives in none.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self::new("", name)
    }
}

impl<K> Clone for Key<K> {
    fn clone(&self) -> Self {
        Self::new(self.namespace.clone(), self.name.clone())
    }
}
impl<K> PartialEq for Key<K> {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.name == other.name
    }
}
impl<K> Eq for Key<K> {}
impl<K> PartialOrd for Key<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Key<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.namespace, &self.name).cmp(&(&other.namespace, &other.name))
    }
}
impl<K> Hash for Key<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.namespace.hash(state);
        self.name.hash(state);
    }
}
impl<K> fmt::Display for Key<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}
impl<K> fmt::Debug for Key<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which object, in the API's own words; for errors and events.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// `konfidence.cloud/v1alpha1`.
    pub api_version: String,
    /// `VectorPromotion`.
    pub kind: String,
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Empty where only the name is known.
    pub uid: String,
}

impl ObjectRef {
    /// The object of kind `K` under `key`, uid unknown.
    pub fn named<K: Resource<DynamicType = ()>>(key: &Key<K>) -> Self {
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: key.namespace().into(),
            name: key.name().into(),
            uid: String::new(),
        }
    }

    /// An object that was read.
    pub fn of<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        Self { uid: object.uid().unwrap_or_default(), ..Self::named(&Key::of(object)) }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// The version of one object that a decision read: which object (uid) and which state of it (resourceVersion).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Which object; a re-created one has another.
    pub uid: String,
    /// Which state of it; opaque but for equality, except where one kind's versions are compared as numbers (R13).
    pub resource_version: String,
}

impl Version {
    /// The version that `object` carries.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self {
            uid: object.meta().uid.clone().unwrap_or_default(),
            resource_version: object.meta().resource_version.clone().unwrap_or_default(),
        }
    }
}
