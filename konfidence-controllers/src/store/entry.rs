//! One object as the server sent it, looked at once.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use konfidence_sdk::store::{Key, Object, ObjectRef, Query, Unreadable};
use kube::Resource;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// What the server sent: the kind, or an object that does not parse as it.
pub type Content<K> = Result<Arc<K>, Arc<Unreadable>>;

/// An object in a cache: parsed on arrival and never again, with the values under which the kind's indexes find it.
#[derive(Clone, Debug)]
pub(super) struct Entry<K> {
    pub(super) key: Key<K>,
    pub(super) uid: String,
    pub(super) resource_version: String,
    /// Whether deletion has begun and waits for finalizers.
    pub(super) deleting: bool,
    pub(super) content: Content<K>,
    /// Index name and value.
    pub(super) values: Vec<(&'static str, String)>,
}

impl<K: Object> Entry<K> {
    pub(super) fn is_selected_by(&self, query: &Query<K>) -> bool {
        selects(query, self.key.namespace(), &self.values)
    }
}

/// Whether `query` selects an object in `namespace` that the indexes find under `values`.
pub(super) fn selects<K>(query: &Query<K>, namespace: &str, values: &[(&'static str, String)]) -> bool {
    query.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
        && query.index.as_ref().is_none_or(|(name, value)| values.iter().any(|(n, v)| n == name && v == value))
}

/// The values under which the kind's indexes find an object, read from its JSON.
pub(super) fn index_values<K: Object>(object: &Value) -> Vec<(&'static str, String)> {
    K::INDEXES.iter().flat_map(|index| (index.values)(object).into_iter().map(|value| (index.name, value))).collect()
}

/// A resourceVersion as the number that the API documents it to be; those of one kind are ordered.
pub(super) fn number(resource_version: &str) -> u64 {
    resource_version.parse().unwrap_or(0)
}

/// An object of kind `K` off the wire. Whatever `metadata` it has is enough: an object of a newer shape must neither
/// end a watch nor fail a list, so a failed parse is part of the value.
#[derive(Clone, Debug)]
pub(super) struct Received<K> {
    metadata: ObjectMeta,
    pub(super) entry: Arc<Entry<K>>,
}

impl<'de, K: Object> Deserialize<'de> for Received<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = Value::deserialize(deserializer)?;
        let Some(metadata) = raw.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Err(D::Error::custom("an object without metadata"));
        };
        // Half of a small object's bytes, and no decision reads them.
        metadata.remove("managedFields");
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, namespace) = (text("name"), text("namespace"));
        let (uid, resource_version) = (text("uid"), text("resourceVersion"));
        let deleting = metadata.contains_key("deletionTimestamp");
        let key = Key::new(namespace, name);
        let values = index_values::<K>(&raw);
        let content = match K::deserialize(&raw) {
            Ok(object) => Ok(Arc::new(object)),
            Err(error) => Err(Arc::new(Unreadable {
                object: ObjectRef { uid: uid.clone(), ..ObjectRef::named(&key) },
                message: error.to_string(),
                raw: Arc::new(raw),
            })),
        };
        // Only what the watcher itself looks at.
        let metadata = ObjectMeta {
            name: Some(key.name().to_owned()),
            resource_version: Some(resource_version.clone()),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, entry: Arc::new(Entry { key, uid, resource_version, deleting, content, values }) })
    }
}

impl<K: Object> Resource for Received<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
