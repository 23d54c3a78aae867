//! `VectorTemplate`: the components of an application version, from which vectors are assembled (assembly.md).

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::vocabulary;
use crate::{Condition, GoDuration, SignaturePolicy, schema};

/// Greatest size of `spec.vectorConfig`, in bytes of JSON. CEL cannot look into free-form JSON, so assembly checks it.
pub const MAX_VECTOR_CONFIG_BYTES: usize = 256 * 1024;

/// What a vector is made of, where it goes, and whom it trusts.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "konfidence.cloud",
    version = "v1alpha1",
    kind = "VectorTemplate",
    namespaced,
    status = "VectorTemplateStatus",
    shortname = "vt",
    category = "konfidence",
    category = "kden",
    derive = "PartialEq",
    derive = "Default",
    doc = "The components of an application version; a new vector is assembled whenever one of them changes.",
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Upload-Target", type_ = "string", json_path = ".spec.uploadTarget"),
    printcolumn(name = "Latest-Vector", type_ = "string", json_path = ".status.latestVector"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[cfg_attr(feature = "cel", kube(cel))]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct VectorTemplateSpec {
    /// Where vectors are pushed: a reference without version and digest.
    #[schemars(length(min = 1, max = 1024))]
    pub upload_target: String,
    /// The components, each by a reference with a version, tag or digest.
    #[schemars(length(min = 1, max = 1024))]
    pub components: Vec<Component>,
    /// Another template of the namespace, whose latest vector gives the components that this one does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseRef>,
    /// How often the registry is looked at, as a Go duration. Absent: 1m. Below 10s counts as 10s, above 24h as 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_interval: Option<GoDuration>,
    /// Secrets with credentials and keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Signatures that every component has to carry. Absent: components are not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_artifacts: Option<SignaturePolicy>,
    /// Signatures that every vector that is read has to carry. Absent: vectors are not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_vector: Option<SignaturePolicy>,
    /// Signatures that the assembled vector gets. Absent: it is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_vector: Option<SignaturePolicy>,
    /// Configuration that travels with the vector, at most 256 KiB of JSON together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_config: Option<VectorConfig>,
    /// How long the components must not have changed before a vector is assembled, as a Go duration, at most 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = (
        "duration(self.replace('µ', 'u').replace('μ', 'u')) <= duration('10m')",
        "settle must be at most 10m",
    ))]
    pub settle: Option<GoDuration>,
    /// True: no check and no new vector; one that was begun is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// One component of a template.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct Component {
    /// Reference with a version, tag or digest.
    #[schemars(length(min = 1, max = 1024))]
    pub name: String,
    /// Name of the component in the vector, for plain references only. Absent: the last path element.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub as_: Option<String>,
}

/// A template that another one builds on.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BaseRef {
    /// Kind of the base: a `VectorTemplate`.
    #[serde(default)]
    pub kind: BaseKind,
    /// Name of the base, in the template's own namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The kinds that a template can build on.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BaseKind {
    /// Its published vector.
    #[default]
    VectorTemplate,
}

/// Where credentials and keys come from.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
#[x_kube(validation = ("has(self.ocm)", "credentials.ocm must be set: it is the only kind of credentials"))]
pub struct Credentials {
    /// Secrets that hold `.ocmconfig` or `.dockerconfigjson`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocm: Option<OcmCredentials>,
}

/// Secrets that hold `.ocmconfig` or `.dockerconfigjson`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OcmCredentials {
    /// The Secrets; together they form one set.
    #[schemars(length(min = 1, max = 16))]
    pub refs: Vec<SecretRef>,
}

/// A Secret of the template's own namespace.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Configuration that travels with the vector: any JSON.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VectorConfig {
    /// Feature flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_json")]
    pub features: Option<Value>,
    /// Authored configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_json")]
    pub authored: Option<Value>,
}

/// What was observed of a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct VectorTemplateStatus {
    /// `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The vector published last, as a whole reference: the upload target, `:` and a version. Absent until the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_vector: Option<String>,
    /// Digest of that vector's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_vector_digest: Option<String>,
    /// What that vector changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// `metadata.generation` that `Ready` was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What a vector changed against the one before it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct Changes {
    /// The vector before. Absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_vector: Option<String>,
    /// How many components were added.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub added: i64,
    /// How many components were removed.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub removed: i64,
    /// How many components were changed.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub changed: i64,
    /// Whether the configuration was changed.
    #[serde(default)]
    pub config_changed: bool,
    /// The first changes by component, at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub entries: Vec<ChangeEntry>,
}

/// The change of one component.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct ChangeEntry {
    /// Name of the component.
    pub name: String,
    /// A word of [`ChangeKind`]; newer versions may write others.
    pub change: String,
    /// Version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Version after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

vocabulary! {
    /// The changes of a component (A84). One with equal versions was rebuilt: its digest differs.
    ChangeKind {
        /// It is new.
        Added,
        /// It is gone.
        Removed,
        /// Version or digest differ.
        Changed,
    }
}
