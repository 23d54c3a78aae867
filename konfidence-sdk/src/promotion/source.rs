//! Sources of vectors, whatever their kind: a key, a version and the vector that they hold now (P5).
//!
//! The only place that knows which kinds of source there are. Another kind (an OCI tag, say) is another variant here.

use std::fmt;

use konfidence_types::{SourceKind, SourceRef, Stage, VectorPromotion, VectorTemplate, annotation};
use kube::core::ResourceExt;

use crate::store::{Key, Version};

/// Which object is the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKey {
    /// A template in the config's own namespace.
    Template(Key<VectorTemplate>),
    /// A Stage in a Landscape's managed namespace.
    Stage(Key<Stage>),
}

impl fmt::Display for SourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(key) => write!(f, "VectorTemplate {key}"),
            Self::Stage(key) => write!(f, "Stage {key}"),
        }
    }
}

/// A source as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceView {
    /// Which state of which object.
    pub version: Version,
    /// What it holds now; empty: nothing yet.
    pub vector: String,
}

impl SourceView {
    /// What a template holds: `status.latestVector`.
    pub fn of_template(template: &VectorTemplate) -> Self {
        let vector = template.status.as_ref().and_then(|status| status.latest_vector.clone()).unwrap_or_default();
        Self { version: Version::of(template), vector }
    }

    /// What a Stage holds: `spec.vector`.
    pub fn of_stage(stage: &Stage) -> Self {
        Self { version: Version::of(stage), vector: stage.spec.vector.clone() }
    }
}

/// Where the source of `reference` is looked up, given the managed namespace of its Landscape (if it names one).
pub(super) fn source_key(
    reference: &SourceRef,
    own_namespace: &str,
    managed_namespace: Option<&str>,
) -> Option<SourceKey> {
    match reference.kind {
        SourceKind::VectorTemplate => Some(SourceKey::Template(Key::new(own_namespace, &reference.name))),
        SourceKind::Stage => managed_namespace.map(|namespace| SourceKey::Stage(Key::new(namespace, &reference.name))),
    }
}

/// `<uid>/<resourceVersion>`: the state of the source that a promotion was made for (R13).
pub(super) fn version_text(version: &Version) -> String {
    format!("{}/{}", version.uid, version.resource_version)
}

/// The resourceVersion of the source that `promotion` was made for. `None`: hand-made, or older than this annotation.
pub(super) fn source_version_of(promotion: &VectorPromotion) -> Option<u64> {
    let (_, version) = promotion.annotations().get(annotation::SOURCE_VERSION)?.rsplit_once('/')?;
    version.parse().ok()
}

/// Versions of one kind compare as numbers (R13). A version that is no number compares with nothing.
pub(super) fn ordinal(version: &Version) -> Option<u64> {
    version.resource_version.parse().ok()
}
