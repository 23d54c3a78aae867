//! Questions that a client asks about itself: who am I, what may I do. Here everybody may do everything.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::user::User;
use crate::json::seconds;
use crate::resource::Resource;

/// The answer to a posted review.
pub(crate) fn answer(resource: &Resource, mut review: Value, user: &User, now: Timestamp) -> Value {
    review["apiVersion"] = resource.api_version().into();
    review["kind"] = resource.kind.clone().into();
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    if resource.kind == "SelfSubjectReview" {
        review["metadata"]["creationTimestamp"] = seconds(now).into();
    }
    review["status"] = match resource.kind.as_str() {
        "SelfSubjectReview" => json!({"userInfo": user.info()}),
        "SelfSubjectAccessReview" => {
            json!({"allowed": true, "reason": "this server is for development and allows everything"})
        }
        _ => json!({
            "incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }),
    };
    review
}
