//! `VectorPromotion`: the record of moving one vector to one Stage. What was approved cannot change afterwards.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;
use crate::{Condition, GoDuration, SourceRef, TargetRef, Time, schema};

/// Greatest sequence, 2^53-1: the greatest integer that every JSON reader keeps exact.
pub const MAX_SEQUENCE: i64 = 9_007_199_254_740_991;

vocabulary! {
    /// The states of a promotion, derived from its conditions. Stored as an open string.
    PromotionState {
        /// A gate is still closed.
        Waiting,
        /// Every gate has passed.
        Ready,
        /// Being executed.
        InProgress,
        /// Ready, but the target does not resolve.
        Blocked,
        /// Terminal: the vector was written.
        Succeeded,
        /// Terminal: it ended without that.
        Failed,
        /// Terminal: a newer promotion took its place.
        Superseded,
    }
}

/// Which vector goes where; all but the TTL is immutable.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "konfidence.cloud",
    version = "v1alpha1",
    kind = "VectorPromotion",
    namespaced,
    status = "VectorPromotionStatus",
    shortname = "vp",
    category = "konfidence",
    category = "kden",
    derive = "PartialEq",
    doc = "The record of moving one vector to one Stage: made for a VectorPromotionConfig, gated, executed once.",
    validation = (
        "!has(oldSelf.status) || !has(oldSelf.status.approval) || \
         (has(self.status) && has(self.status.approval) && self.status.approval == oldSelf.status.approval)",
        "status.approval is set at most once: it can be neither changed nor removed",
    ),
    validation = (
        "!has(oldSelf.status) || !has(oldSelf.status.rejection) || \
         (has(self.status) && has(self.status.rejection) && self.status.rejection == oldSelf.status.rejection)",
        "status.rejection is set at most once: it can be neither changed nor removed",
    ),
    selectable = ".spec.vectorPromotionConfigName",
    selectable = ".status.state",
    printcolumn(name = "Config", type_ = "string", json_path = ".spec.vectorPromotionConfigName"),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.source.name"),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.target.name"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Sequence", type_ = "integer", json_path = ".spec.sequence"),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Succeeded")].reason"#),
    printcolumn(name = "Vector", type_ = "string", json_path = ".spec.vector", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[cfg_attr(feature = "cel", kube(cel))]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
#[x_kube(validation = (
    "(has(self.requireApproval) && self.requireApproval) == (has(oldSelf.requireApproval) && oldSelf.requireApproval)",
    "requireApproval is immutable, also from true to absent",
))]
pub struct VectorPromotionSpec {
    /// Name of the `VectorPromotionConfig`. Immutable.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = ("self == oldSelf", "vectorPromotionConfigName is immutable"))]
    pub vector_promotion_config_name: String,
    /// The config's source when the promotion was made. Immutable.
    #[x_kube(validation = ("self == oldSelf", "source is immutable"))]
    pub source: SourceRef,
    /// The config's target when the promotion was made; the only one that its execution writes. Immutable.
    #[x_kube(validation = ("self == oldSelf", "target is immutable"))]
    pub target: TargetRef,
    /// The vector, `<repository>//<component>:<version>`; opaque here. Immutable.
    #[schemars(length(min = 1, max = 4096))]
    #[x_kube(validation = ("self == oldSelf", "vector is immutable"))]
    pub vector: String,
    /// Whether a person has to approve it. Immutable.
    #[serde(default)]
    pub require_approval: bool,
    /// The order among the promotions of a config, and nothing else orders them. Immutable.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991i64))]
    #[x_kube(validation = ("self == oldSelf", "sequence is immutable"))]
    pub sequence: i64,
    /// How long the promotion is kept after its end, as a Go duration (`24h`, `1h30m`). Absent: no limit in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_after_finished: Option<GoDuration>,
}

/// What was observed of a promotion.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct VectorPromotionStatus {
    /// `Approved` (where approval is required) and `Succeeded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Waiting, Ready, `InProgress`, Blocked, Succeeded, Failed or Superseded: the conditions in one word. Newer versions
    /// may write others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub state: Option<String>,
    /// The record of the approval; set at most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The record of the rejection; set at most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// The Stage that the execution writes: chosen by its start, removed by a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_stage_ref: Option<PromotedStageRef>,
    /// Name of the promotion that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub superseded_by: Option<String>,
}

/// Who approved, and when.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The person's identity as the caller gave it; opaque.
    #[schemars(length(min = 1, max = 1024))]
    pub approved_by: String,
    /// When, UTC, in whole seconds.
    pub approved_at: Time,
}

/// Who rejected, when and why.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    /// The person's identity as the caller gave it; opaque.
    #[schemars(length(min = 1, max = 1024))]
    pub rejected_by: String,
    /// When, UTC, in whole seconds.
    pub rejected_at: Time,
    /// Why, in the person's words; may be empty.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub reason: String,
}

/// The Stage that a promotion writes.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PromotedStageRef {
    /// API group of the Stage.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Kind: `Stage`.
    pub kind: String,
    /// Name of the Stage.
    pub name: String,
    /// Namespace of the Stage.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
