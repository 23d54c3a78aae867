//! Indexes, declared once per kind, and the queries that use them.

use std::marker::PhantomData;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use serde_json::Value;

use crate::naming::managed_namespace_stem;

/// A named index of a kind: from an object to the values under which it is found.
///
/// It reads the object's JSON, not the parsed kind, so that an object that does not parse is still found by whoever
/// has to be told about it.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Unique within the kind.
    pub name: &'static str,
    /// The values of one object; none: it is not in the index.
    pub values: fn(&Value) -> Vec<String>,
}

/// The indexes of a kind. Every store honours them; a query by an index that is not declared is a programming error
/// and answers [`StoreError::Invalid`](super::StoreError::Invalid).
pub trait Indexed {
    /// All indexes of the kind.
    const INDEXES: &'static [Index];
}

/// What to list: a namespace (or all of them) and, if wanted, one index and its value.
#[derive(Debug)]
pub struct Query<K> {
    /// `None`: all namespaces.
    pub namespace: Option<String>,
    /// Name of a declared index, and the value looked for.
    pub index: Option<(&'static str, String)>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Query<K> {
    /// All objects of the kind.
    pub fn all() -> Self {
        Self { namespace: None, index: None, kind: PhantomData }
    }

    /// All objects of the kind in `namespace`.
    pub fn within(namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::all() }
    }

    /// Narrows the query to objects that have `value` in the index `name`.
    #[must_use]
    pub fn by(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.index = Some((name, value.into()));
        self
    }
}

impl<K> Clone for Query<K> {
    fn clone(&self) -> Self {
        Self { namespace: self.namespace.clone(), index: self.index.clone(), kind: PhantomData }
    }
}

impl<K> PartialEq for Query<K> {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.index == other.index
    }
}

impl<K> Eq for Query<K> {}

/// As [`Value::pointer`], less its escapes and the copies that they take: indexes are read at every write.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').skip(1).try_fold(object, |value, field| value.get(field))
}

fn text(object: &Value, path: &str) -> Option<String> {
    at(object, path).and_then(Value::as_str).map(str::to_owned)
}

/// `landscape/name` of a Stage reference.
fn stage_reference(object: &Value, path: &str) -> Vec<String> {
    let Some(reference) = at(object, path) else { return Vec::new() };
    match (at(reference, "/kind").and_then(Value::as_str), text(reference, "/landscape"), text(reference, "/name")) {
        (Some("Stage"), Some(landscape), Some(name)) => vec![format!("{landscape}/{name}")],
        _ => Vec::new(),
    }
}

/// The Landscapes that a config or a promotion refers to.
fn landscapes(object: &Value) -> Vec<String> {
    let mut found: Vec<_> =
        ["/spec/source/landscape", "/spec/target/landscape"].iter().filter_map(|at| text(object, at)).collect();
    found.dedup();
    found
}

/// Promotions by `spec.vectorPromotionConfigName`.
pub const BY_CONFIG: &str = "config";
/// Configs by the name of the `VectorTemplate` that is their source.
pub const BY_SOURCE_TEMPLATE: &str = "source-template";
/// Configs by the Stage that is their source, as `landscape/name`.
pub const BY_SOURCE_STAGE: &str = "source-stage";
/// Configs and promotions by the Stage that is their target, as `landscape/name`.
pub const BY_TARGET_STAGE: &str = "target-stage";
/// Configs and promotions by every Landscape that they refer to.
pub const BY_LANDSCAPE: &str = "landscape";
/// Promotions by the Stage that their start stored, `status.promotedStageRef`, as `namespace/name`.
pub const BY_PROMOTED_STAGE: &str = "promoted-stage";
/// Landscapes by the namespace that they manage, `status.namespace`.
pub const BY_MANAGED_NAMESPACE: &str = "managed-namespace";
/// Landscapes by the namespace that they want (R60): the recorded one, else the one asked for, else the stem of the
/// derived name, since an index sees one object and the rest of that name depends on another.
pub const BY_WANTED_NAMESPACE: &str = "wanted-namespace";

impl Indexed for VectorPromotion {
    const INDEXES: &'static [Index] = &[
        Index {
            name: BY_CONFIG,
            values: |object| text(object, "/spec/vectorPromotionConfigName").into_iter().collect(),
        },
        Index { name: BY_TARGET_STAGE, values: |object| stage_reference(object, "/spec/target") },
        Index { name: BY_LANDSCAPE, values: landscapes },
        Index {
            name: BY_PROMOTED_STAGE,
            values: |object| match (
                text(object, "/status/promotedStageRef/namespace"),
                text(object, "/status/promotedStageRef/name"),
            ) {
                (Some(namespace), Some(name)) => vec![format!("{namespace}/{name}")],
                _ => Vec::new(),
            },
        },
    ];
}

impl Indexed for VectorPromotionConfig {
    const INDEXES: &'static [Index] = &[
        Index {
            name: BY_SOURCE_TEMPLATE,
            values: |object| match text(object, "/spec/source/kind").as_deref() {
                Some("VectorTemplate") => text(object, "/spec/source/name").into_iter().collect(),
                _ => Vec::new(),
            },
        },
        Index { name: BY_SOURCE_STAGE, values: |object| stage_reference(object, "/spec/source") },
        Index { name: BY_TARGET_STAGE, values: |object| stage_reference(object, "/spec/target") },
        Index { name: BY_LANDSCAPE, values: landscapes },
    ];
}

impl Indexed for Landscape {
    const INDEXES: &'static [Index] = &[
        Index { name: BY_MANAGED_NAMESPACE, values: |object| text(object, "/status/namespace").into_iter().collect() },
        Index {
            name: BY_WANTED_NAMESPACE,
            values: |object| {
                let filled = |at| text(object, at).filter(|value| !value.is_empty());
                filled("/status/namespace")
                    .or_else(|| filled("/spec/namespace"))
                    .or_else(|| text(object, "/metadata/name").map(|name| managed_namespace_stem(&name)))
                    .into_iter()
                    .collect()
            },
        },
    ];
}

impl Indexed for VectorTemplate {
    const INDEXES: &'static [Index] = &[];
}

impl Indexed for Stage {
    const INDEXES: &'static [Index] = &[];
}

impl Indexed for Namespace {
    const INDEXES: &'static [Index] = &[];
}
