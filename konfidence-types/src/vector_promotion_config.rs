//! `VectorPromotionConfig`: a stage follows a source.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{Condition, GoDuration, SourceRef, TargetRef, schema};

/// How many finished promotions of a config are kept when it does not say.
pub const DEFAULT_KEEP_LAST_PROMOTIONS: i64 = 10;

/// What is promoted from where to where, and how.
// Columns read the object alone, and a config has no field with a vector: Vector shows the message of the acting
// promotion's `Succeeded`, which names it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "konfidence.cloud",
    version = "v1alpha1",
    kind = "VectorPromotionConfig",
    namespaced,
    status = "VectorPromotionConfigStatus",
    shortname = "vpc",
    category = "konfidence",
    category = "kden",
    derive = "PartialEq",
    doc = "Lets a Stage follow a source: each new vector of the source becomes a VectorPromotion to the target.",
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.source.name"),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.target.name"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(
        name = "Last",
        description = "Result of the acting promotion: the one in progress, else the newest with a result",
        type_ = "string",
        json_path = r#".status.lastPromotionConditions[?(@.type=="Succeeded")].reason"#
    ),
    printcolumn(
        name = "Vector",
        description = "Result of the acting promotion in words, which name its vector",
        type_ = "string",
        json_path = r#".status.lastPromotionConditions[?(@.type=="Succeeded")].message"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[cfg_attr(feature = "cel", kube(cel))]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
#[x_kube(validation = (
    "self.source.kind != 'Stage' || !has(self.source.landscape) || \
     self.source.landscape != self.target.landscape || self.source.name != self.target.name",
    "source must not be the target's own Stage",
))]
pub struct VectorPromotionConfigSpec {
    /// Where the vectors come from.
    pub source: SourceRef,
    /// The Stage that they go to.
    pub target: TargetRef,
    /// How long a finished promotion is kept after its end, as a Go duration (`24h`, `1h30m`). Copied into each
    /// promotion. Absent: no limit in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_after_finished: Option<GoDuration>,
    /// How many finished promotions are kept at most.
    #[serde(default = "default_keep_last_promotions")]
    #[schemars(range(min = 0))]
    pub keep_last_promotions: i64,
    /// Whether a person has to approve each promotion. Absent: for a Stage source yes, for a `VectorTemplate` no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_approval: Option<bool>,
    /// True: nothing is created or started for this config; what runs finishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

impl VectorPromotionConfigSpec {
    /// A config with nothing but its references set.
    ///
    /// ```
    /// use konfidence_types::{SourceRef, TargetRef, VectorPromotionConfigSpec};
    ///
    /// let spec = VectorPromotionConfigSpec::new(SourceRef::template("shop"), TargetRef::stage("eu", "dev"));
    /// assert_eq!(spec.require_approval, None);
    /// ```
    pub fn new(source: SourceRef, target: TargetRef) -> Self {
        Self {
            source,
            target,
            ttl_after_finished: None,
            keep_last_promotions: DEFAULT_KEEP_LAST_PROMOTIONS,
            require_approval: None,
            suspend: None,
        }
    }
}

fn default_keep_last_promotions() -> i64 {
    DEFAULT_KEEP_LAST_PROMOTIONS
}

/// What was observed of a config and its promotions.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct VectorPromotionConfigStatus {
    /// `Ready`: the references resolve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The sequence handed out last. Absent: the config is not initialised, and nothing is created for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub sequence: Option<i64>,
    /// Conditions of the acting promotion: the one in progress, else the newest with a result, else the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub last_promotion_conditions: Vec<Condition>,
    /// Conditions of the newest promotion that succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub last_successful_promotion_conditions: Vec<Condition>,
    /// `metadata.generation` that `Ready` was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
