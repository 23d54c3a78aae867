//! Landscape: a namespace of its own in which the stages of one environment live.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{Condition, schema};

/// Held on a Landscape until its managed namespace is gone (R63).
pub const LANDSCAPE_FINALIZER: &str = "konfidence.cloud/landscape-finalizer";

/// Longest name of a Landscape, in characters: the name of its managed namespace, derived from it, has to fit in 63.
pub const MAX_LANDSCAPE_NAME: usize = 46;

/// What a Landscape is to be.
// The default lets an object without `spec`, legal under the public CRD, be read and written.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "konfidence.cloud",
    version = "v1alpha1",
    kind = "Landscape",
    namespaced,
    status = "LandscapeStatus",
    shortname = "kls",
    category = "konfidence",
    category = "kden",
    derive = "PartialEq",
    derive = "Default",
    doc = "An environment of a project: a namespace that Konfidence makes and owns, in which stages live.",
    validation = ("size(self.metadata.name) <= 46", "landscape name must be at most 46 characters"),
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Project", type_ = "string", json_path = ".status.projectName"),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".status.namespace"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[cfg_attr(feature = "cel", kube(cel))]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null, extend("default" = {}))]
// `namespace` is a reserved word of CEL: unescaped, some evaluators find no such field and let everything pass.
#[x_kube(validation = ("has(self.__namespace__) == has(oldSelf.__namespace__)", "namespace is immutable, set or unset"))]
pub struct LandscapeSpec {
    /// Name for people; changes nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub display_name: Option<String>,
    /// Name of the managed namespace. Unset: derived from the names of project and Landscape. Never set, changed or
    /// unset later, because everything in the namespace is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    #[x_kube(validation = ("self == oldSelf", "namespace is immutable, set or unset"))]
    pub namespace: Option<String>,
}

/// What was observed of a Landscape.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct LandscapeStatus {
    /// `Ready` and `NamespaceReady`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Name of the managed namespace, set once it is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
}
