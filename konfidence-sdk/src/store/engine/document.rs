//! One state of one object.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::metadata::text;

/// One state of one object, immutable once it is in the engine. It remembers its parsed form, so that a thousand reads
/// of the same state parse it once.
pub struct Document {
    json: Value,
    /// Read at every look-up in an older state.
    namespace: Box<str>,
    name: Box<str>,
    revision: u64,
    size: usize,
    parsed: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Document {
    pub(super) fn new(json: Value, revision: u64) -> Self {
        let size = size(&json);
        let (namespace, name) = (text(&json, "namespace").into(), text(&json, "name").into());
        Self { json, namespace, name, revision, size, parsed: OnceLock::new() }
    }

    /// The whole object.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The revision of the write that made this state; `metadata.resourceVersion` as a number.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// About how much memory it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        text(&self.json, "uid")
    }

    /// `metadata.resourceVersion`.
    pub fn resource_version(&self) -> &str {
        text(&self.json, "resourceVersion")
    }

    /// The object as `K`. Every caller gets the same `Arc`.
    ///
    /// # Errors
    /// Why the object does not parse as `K`.
    pub fn parse<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<K>, Arc<str>> {
        type Parsed<K> = Result<Arc<K>, Arc<str>>;
        let parse =
            || -> Parsed<K> { K::deserialize(&self.json).map(Arc::new).map_err(|error| error.to_string().into()) };
        match self.parsed.get_or_init(|| Box::new(parse())).downcast_ref::<Parsed<K>>() {
            Some(parsed) => parsed.clone(),
            // Somebody reads the same object as two Rust types: the first one keeps the place.
            None => parse(),
        }
    }
}

/// What a value takes besides the place that it stands in: a text its bytes, a field its name and a share of a tree.
fn size(value: &Value) -> usize {
    const PLACE: usize = size_of::<Value>();
    const FIELD: usize = PLACE + size_of::<String>();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| PLACE + size(item)).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| FIELD + name.len() + size(value)).sum(),
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.json.fmt(f)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}
