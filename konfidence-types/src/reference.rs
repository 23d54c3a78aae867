//! References from a promotion flow to what it reads and what it writes. They name objects of one project: no field
//! can name another project's (P1).

use std::fmt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;

/// The kinds that have a vector to promote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SourceKind {
    /// Its `status.latestVector`; resolved in the namespace of the config.
    VectorTemplate,
    /// Its `spec.vector`; resolved in the namespace of a Landscape.
    Stage,
}

/// The kinds that a promotion can write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TargetKind {
    /// Its `spec.vector`; resolved in the namespace of a Landscape.
    Stage,
}

/// Where the vector comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
#[x_kube(validation = (
    "(self.kind == 'Stage') == has(self.landscape)",
    "landscape must be set exactly when kind is Stage",
))]
pub struct SourceRef {
    /// Kind of the source: a `VectorTemplate` (its latest vector) or a `Stage` (the vector that it wants).
    pub kind: SourceKind,
    /// Name of the source.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the Landscape whose namespace holds the Stage: an object in the config's own namespace. Set exactly
    /// when `kind` is `Stage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub landscape: Option<String>,
}

impl SourceRef {
    /// A `VectorTemplate` of the config's namespace.
    ///
    /// ```
    /// # use konfidence_types::SourceRef;
    /// assert_eq!(SourceRef::template("shop").to_string(), "VectorTemplate shop");
    /// ```
    pub fn template(name: impl Into<String>) -> Self {
        Self { kind: SourceKind::VectorTemplate, name: name.into(), landscape: None }
    }

    /// A Stage in the namespace of a Landscape.
    ///
    /// ```
    /// # use konfidence_types::SourceRef;
    /// assert_eq!(SourceRef::stage("eu", "dev").to_string(), "Stage eu/dev");
    /// ```
    pub fn stage(landscape: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: SourceKind::Stage, name: name.into(), landscape: Some(landscape.into()) }
    }
}

/// Where the vector goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// Kind of the target: a `Stage`.
    pub kind: TargetKind,
    /// Name of the Stage.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the Landscape whose namespace holds the Stage: an object in the config's own namespace.
    #[schemars(length(min = 1, max = 63))]
    pub landscape: String,
}

impl TargetRef {
    /// A Stage in the namespace of a Landscape.
    ///
    /// ```
    /// # use konfidence_types::TargetRef;
    /// assert_eq!(TargetRef::stage("eu", "dev").to_string(), "Stage eu/dev");
    /// ```
    pub fn stage(landscape: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: TargetKind::Stage, name: name.into(), landscape: landscape.into() }
    }
}

impl SourceKind {
    /// The kind as it is written in an object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VectorTemplate => "VectorTemplate",
            Self::Stage => "Stage",
        }
    }
}

impl TargetKind {
    /// The kind as it is written in an object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stage => "Stage",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `Stage eu/dev`, `VectorTemplate shop`.
impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.landscape {
            Some(landscape) => write!(f, "{} {landscape}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// `Stage eu/dev`.
impl fmt::Display for TargetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.landscape, self.name)
    }
}
