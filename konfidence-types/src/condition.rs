//! Conditions, as Kubernetes defines them: their types, and how one is found.

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The condition types that Konfidence writes on the kinds of this crate.
pub mod condition_type {
    /// Config: the references resolve. Landscape, Stage, `VectorTemplate`: the object is as its spec wants it.
    pub const READY: &str = "Ready";
    /// Promotion: the approval gate. Absent where no approval is required (P17).
    pub const APPROVED: &str = "Approved";
    /// Promotion: the result. Absent until it is started, blocked or ended.
    pub const SUCCEEDED: &str = "Succeeded";
    /// Landscape: the managed namespace exists and is ours.
    pub const NAMESPACE_READY: &str = "NamespaceReady";
    /// Stage: what its users get, whatever was asked for last (R64).
    pub const SERVING: &str = "Serving";
}

/// The condition of that type, if there is one. Conditions are a list-map by type, so there is at most one.
///
/// ```
/// use konfidence_types::{VectorPromotionStatus, condition, condition_type};
///
/// let status = VectorPromotionStatus::default();
/// assert!(condition(&status.conditions, condition_type::SUCCEEDED).is_none());
/// ```
pub fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}
