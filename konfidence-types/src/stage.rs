//! Stage: one place where exactly one vector of an application is wanted, and one serves.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Time, schema};

/// Longest name of a Stage, in characters: the id of a vector on it, a header value and a label, has to fit in 63.
pub const MAX_STAGE_NAME: usize = 49;

/// What a Stage is to run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "konfidence.cloud",
    version = "v1alpha1",
    kind = "Stage",
    namespaced,
    status = "StageStatus",
    shortname = "kst",
    category = "konfidence",
    category = "kden",
    derive = "PartialEq",
    derive = "Default",
    doc = "One place where a vector is deployed and served; lives in the namespace of a Landscape.",
    validation = ("size(self.metadata.name) <= 49", "stage name must be at most 49 characters"),
    validation = (
        "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "stage name must be a DNS label: lower-case letters, digits and '-', no dots",
    ),
    printcolumn(name = "Vector", type_ = "string", json_path = ".spec.vector"),
    printcolumn(name = "Active", type_ = "string", json_path = ".status.active.vectorDeployment"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Serving", type_ = "string", json_path = r#".status.conditions[?(@.type=="Serving")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[cfg_attr(feature = "cel", kube(cel))]
#[serde(rename_all = "camelCase")]
pub struct StageSpec {
    /// The vector that is wanted, `<repository>//<component>:<version>`; opaque here. Empty: none yet.
    #[schemars(length(max = 4096))]
    pub vector: String,
}

/// What was observed of a Stage.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct StageStatus {
    /// `Ready` (what was asked for) and `Serving` (what users get).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The `VectorDeployment` of the current generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_vector_deployment_ref: Option<VectorDeploymentRef>,
    /// The vectors activated last, newest first, at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector_history: Vec<String>,
    /// What the route has to say; enough to rebuild it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveRecord>,
    /// The activation that was refused last; removed by the next one that succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedActivation>,
}

/// A reference to a `VectorDeployment`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct VectorDeploymentRef {
    /// API group of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object: the vector id.
    pub name: String,
    /// Namespace of the object; absent: the Stage's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// The active record (routing.md, section 5): which vector the stage serves, and how.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct ActiveRecord {
    /// Name of the `StageVersion`.
    pub stage_version: String,
    /// Name of the `VectorDeployment`, which is the vector id.
    pub vector_deployment: String,
    /// The vector.
    pub vector: String,
    /// `metadata.generation` of the Stage that asked for it.
    #[schemars(range(min = 1))]
    pub stage_generation: i64,
    /// The rules of the route, sorted by name; none: nothing is exposed, and there is no route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub rules: Vec<RouteRule>,
    /// When it became active.
    pub activated_at: Time,
    /// `stageVersion` of the record before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// One exposed result: `/<name>` is served by a port of a Service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RouteRule {
    /// Name of the result, and its path element.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Component that the result belongs to.
    pub component: String,
    /// Name of the Service in the stage's namespace.
    #[schemars(length(min = 1, max = 63))]
    pub service: String,
    /// Port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// What happens to the path.
    #[serde(default)]
    pub rewrite: PathRewrite,
}

/// What happens to the path of a request before it reaches the Service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathRewrite {
    /// It stays.
    #[default]
    None,
    /// The path element of the result is taken off.
    Strip,
}

/// An activation that was refused.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RefusedActivation {
    /// uid of the `VectorActivation`.
    pub activation_uid: String,
    /// Why, as one word.
    pub reason: String,
}
