//! Questions that a client asks about itself and others: who is it, what may it do. Here everybody may do everything.

use serde_json::{Value, json};

use crate::apply;
use crate::http::Call;
use crate::json::seconds;
use crate::server::Api;
use crate::verbs;

/// The answer to a posted review.
pub(crate) fn answer(api: &Api, call: &Call, mut review: Value) -> Value {
    let resource = &call.target.resource;
    review["apiVersion"] = resource.api_version().into();
    review["kind"] = resource.kind.clone().into();
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    let now = api.clock.now();
    apply::track(&resource.nothing(), &mut review, &resource.ownership, &verbs::manager(call, false), now);
    review["status"] = match resource.kind.as_str() {
        "SelfSubjectReview" => {
            review["metadata"] = json!({"creationTimestamp": seconds(now)});
            json!({"userInfo": call.user.info()})
        }
        "TokenReview" => json!({"user": {}, "error": "invalid bearer token"}),
        "LocalSubjectAccessReview" | "SelfSubjectAccessReview" | "SubjectAccessReview" => json!({"allowed": true}),
        _ => json!({
            "incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }),
    };
    review
}
