//! One served resource: a kind in one version, with everything that a request needs to know of it.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use konfidence_sdk::store::engine::Collection;
use serde_json::{Value, json};

use crate::builtin::schemas;
use crate::schema::{Schema, Structural};
use crate::stack::fitting;

/// A kind in one version.
pub(crate) struct Resource {
    /// Empty for the core group.
    pub group: String,
    /// `v1alpha1`.
    pub version: String,
    /// `VectorPromotion`.
    pub kind: String,
    /// `VectorPromotionList`.
    pub list_kind: String,
    /// `vectorpromotions`.
    pub plural: String,
    /// `vectorpromotion`.
    pub singular: String,
    /// What kubectl takes for the plural.
    pub short_names: Vec<String>,
    /// Names of groups of kinds (`all`, `kden`).
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether a custom resource definition made it; the real server treats the two sorts differently in places.
    pub custom: bool,
    /// Shape and rules of an object.
    pub schema: Arc<Schema>,
    /// Shape for field ownership: the schema's, with the metadata in it.
    pub ownership: Structural,
    /// What a table shows besides the name.
    pub columns: Vec<Column>,
    /// Whether `/status` is served.
    pub status: bool,
    /// Where `/scale` finds its numbers, if it is served.
    pub scale: Option<Scale>,
    /// Fields that a field selector may name besides `metadata.name` and `metadata.namespace`, as `spec.x`.
    pub selectable: Vec<String>,
    /// What may be done with it, in the order that discovery lists.
    pub verbs: &'static [&'static str],
    /// Warning of a deprecated version.
    pub deprecation: Option<String>,
    /// The objects; every version of a kind shares them. `None`: it is asked and answers, nothing is stored.
    pub collection: Option<Collection>,
    /// How the stored form and this version's differ.
    pub view: View,
    /// The revision at which it came to be, if the server saw it: nobody can watch it from before.
    pub begin: u64,
    /// In which shape objects are stored, for kinds whose shape may change while objects are there.
    pub storage: Option<Storage>,
}

/// The shape in which a custom resource is stored.
pub(crate) struct Storage {
    /// The storage version's schema.
    pub schema: Arc<Schema>,
    /// The storage version's `apiVersion`.
    pub api_version: String,
    /// What was written at this revision or before may have been written under another schema.
    pub since: u64,
}

/// How a served version differs from what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Only by its `apiVersion`.
    Same,
    /// `events.k8s.io/v1`: the stored core event with other names for some fields.
    Events,
}

/// A printer column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    /// Header.
    pub name: String,
    /// `string`, `integer`, `date`…
    pub kind: String,
    /// `name`, or empty.
    pub format: String,
    /// What it means.
    pub description: String,
    /// 0 is always shown; higher ones with `-o wide`.
    pub priority: i64,
    /// Where the value is.
    pub json_path: String,
}

/// The paths of the scale subresource, as dotted fields (`.spec.replicas`).
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// The wanted number.
    pub spec: String,
    /// The present number.
    pub status: String,
    /// A label selector as text.
    pub selector: Option<String>,
}

/// Verbs of a resource whose objects are stored.
pub(crate) const STORED: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Verbs of custom resources, in the order in which the real server lists them.
pub(crate) const CUSTOM: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Verbs of a resource of which there is nothing, and never will be.
pub(crate) const ABSENT: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Verbs of a resource that only answers.
pub(crate) const ASKED: &[&str] = &["create"];

/// The last one who holds it may be on any stack.
impl Drop for Resource {
    fn drop(&mut self) {
        fitting(self.schema.levels(), || drop(std::mem::take(&mut self.ownership)));
    }
}

impl Resource {
    /// `group/version`, or `v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `vectorpromotions.konfidence.cloud`, as errors name it.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether `metadata.generation` counts the changes of its objects.
    pub(crate) fn counts_generations(&self) -> bool {
        self.custom || self.kind == "CustomResourceDefinition"
    }

    /// An object before anybody wrote anything into it. A built-in kind has its parts from the start, so that nobody
    /// owns the bare places.
    pub(crate) fn nothing(&self) -> Value {
        let mut nothing = json!({"apiVersion": self.api_version(), "kind": self.kind, "metadata": {}});
        if self.custom {
            return nothing;
        }
        let parts = match self.kind.as_str() {
            "CustomResourceDefinition" => json!({
                "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": []},
                "status": {"conditions": [], "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []},
            }),
            _ => crate::builtin::always(self),
        };
        if let (Value::Object(nothing), Value::Object(parts)) = (&mut nothing, parts) {
            nothing.extend(parts);
        }
        nothing
    }

    /// The stored form of an object, as this version shows it. Mostly it is the same, and then it is not copied.
    pub(crate) fn show<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        if self.shows_as_stored(stored) { Cow::Borrowed(stored) } else { Cow::Owned(self.convert(stored)) }
    }

    /// Whether a custom resource was written in this version and under the present schema.
    pub(crate) fn shows_as_stored(&self, stored: &Value) -> bool {
        let is_present = self.storage.as_ref().is_none_or(|storage| {
            let written = crate::json::text(stored, "/metadata/resourceVersion").parse().unwrap_or(0_u64);
            written > storage.since && storage.api_version == self.api_version()
        });
        let text = |field: &str| stored.get(field).and_then(Value::as_str);
        self.custom
            && self.view == View::Same
            && is_present
            && text("kind") == Some(&self.kind)
            && text("apiVersion") == Some(&self.api_version())
    }

    fn convert(&self, stored: &Value) -> Value {
        let mut shown = match self.view {
            View::Same => stored.clone(),
            View::Events => crate::builtin::events::from_core(stored),
        };
        if self.group.is_empty()
            && self.kind == "Event"
            && let Value::Object(fields) = &mut shown
        {
            // What the type always writes.
            for (name, value) in [("eventTime", Value::Null), ("reportingComponent", "".into())] {
                fields.entry(name).or_insert(value);
            }
            fields.entry("reportingInstance").or_insert_with(|| "".into());
        }
        if let Some(storage) = &self.storage {
            let written = crate::json::text(stored, "/metadata/resourceVersion").parse().unwrap_or(0_u64);
            // Defaults that came later hold for what was stored before, and what no schema names any more is not shown.
            if written <= storage.since {
                storage.schema.prune(&mut shown);
                storage.schema.default(&mut shown);
            }
            if storage.api_version != self.api_version() {
                self.schema.prune(&mut shown);
            }
        }
        if let Value::Object(fields) = &mut shown {
            if fields.get("apiVersion").and_then(Value::as_str) != Some(&self.api_version()) {
                fields.insert("apiVersion".into(), self.api_version().into());
            }
            // These two end when they are empty, not after a time.
            if !self.custom
                && matches!(self.kind.as_str(), "Namespace" | "CustomResourceDefinition")
                && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
            {
                metadata.remove("deletionGracePeriodSeconds");
            }
            if fields.get("kind").and_then(Value::as_str) != Some(&self.kind) {
                fields.insert("kind".into(), self.kind.clone().into());
            }
        }
        shown
    }

    /// An object of this version, as it is stored.
    pub(crate) fn store(&self, mut shown: Value) -> Value {
        if let Some(storage) = self.storage.as_ref().filter(|storage| storage.api_version != self.api_version()) {
            storage.schema.prune(&mut shown);
            storage.schema.default(&mut shown);
        }
        match self.view {
            View::Same => shown,
            View::Events => crate::builtin::events::to_core(shown),
        }
    }
}

/// The shape of `metadata`, the same for every kind.
pub(crate) static METADATA: LazyLock<Arc<Schema>> = LazyLock::new(schemas::metadata);

/// The shape of an object for field ownership.
pub(crate) fn ownership(schema: &Structural) -> Structural {
    let mut whole = schema.clone();
    for name in ["apiVersion", "kind"] {
        let text = Structural { kind: Some("string".into()), ..Structural::default() };
        whole.properties.insert(name.to_owned(), text);
    }
    whole.properties.insert("metadata".to_owned(), METADATA.structure.clone());
    whole
}
