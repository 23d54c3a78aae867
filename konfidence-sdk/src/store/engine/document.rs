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
    nesting: usize,
    parsed: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Document {
    pub(super) fn new(json: Value, revision: u64) -> Self {
        let Extent { size, nesting } = extent(&json);
        let (namespace, name) = (text(&json, "namespace").into(), text(&json, "name").into());
        Self { json, namespace, name, revision, size, nesting, parsed: OnceLock::new() }
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

    /// How deep it is nested: one level for the object, one more for each object or list in another. Whatever goes
    /// through it by calling itself (a copy, a comparison, serialization) needs a stack for as many levels.
    pub fn nesting(&self) -> usize {
        self.nesting
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
    /// Why the object does not parse as `K`; nested deeper than [`SHALLOW`] levels it does not, as it would not if it
    /// came over the wire.
    pub fn parse<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<K>, Arc<str>> {
        type Parsed<K> = Result<Arc<K>, Arc<str>>;
        let parse = || -> Parsed<K> {
            if self.nesting > SHALLOW {
                return Err(format!("it is nested {} levels deep, and {SHALLOW} are read", self.nesting).into());
            }
            K::deserialize(&self.json).map(Arc::new).map_err(|error| error.to_string().into())
        };
        match self.parsed.get_or_init(|| Box::new(parse())).downcast_ref::<Parsed<K>>() {
            Some(parsed) => parsed.clone(),
            // Somebody reads the same object as two Rust types: the first one keeps the place.
            None => parse(),
        }
    }
}

/// Values nested no deeper than this fit any thread's stack. It is the bound that `serde_json` has for what it parses.
pub const SHALLOW: usize = 128;

/// How deep a value is nested; 0 for a text, a number, `true`, `null`.
pub fn nesting(value: &Value) -> usize {
    extent(value).nesting
}

struct Extent {
    /// What a value takes besides the place that it stands in: a text its bytes, a field its name and a share of a tree.
    size: usize,
    nesting: usize,
}

/// Not recursive: the value may be deeper than the stack.
fn extent(value: &Value) -> Extent {
    const PLACE: usize = size_of::<Value>();
    const FIELD: usize = PLACE + size_of::<String>();
    let mut extent = Extent { size: 0, nesting: 0 };
    let mut left = vec![(value, 0)];
    while let Some((value, above)) = left.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => continue,
            Value::String(text) => {
                extent.size += text.len();
                continue;
            }
            Value::Array(items) => {
                extent.size += PLACE * items.len();
                left.extend(items.iter().map(|item| (item, above + 1)));
            }
            Value::Object(fields) => {
                extent.size += fields.keys().map(|name| FIELD + name.len()).sum::<usize>();
                left.extend(fields.values().map(|value| (value, above + 1)));
            }
        }
        extent.nesting = extent.nesting.max(above + 1);
    }
    extent
}

/// The last one who holds a state may be any thread, and to drop a value takes a stack as deep as the value.
impl Drop for Document {
    fn drop(&mut self) {
        if self.nesting <= SHALLOW {
            return;
        }
        let mut left = vec![self.json.take()];
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(fields) => left.extend(fields.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
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
