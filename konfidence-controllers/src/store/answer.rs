//! What an answer of the API server means.

use std::time::Duration;

use konfidence_sdk::store::{FieldError, ObjectRef, StoreError};
use kube::core::Status;
use tokio::time::error::Elapsed;

/// The precise error for what the server, or the way to it, said about `object`.
///
/// Reasons decide before codes, because one code has several (409: taken, or moved on). What is not certainly a refusal
/// is [`StoreError::Unavailable`]: a promotion must not fail for good because a proxy was in the way.
pub(super) fn error(object: ObjectRef, error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) => status_error(object, *status),
        // The name or the body cannot even be sent; another try would not help.
        kube::Error::BuildRequest(error) => StoreError::Invalid { object, message: error.to_string(), fields: vec![] },
        other => StoreError::Unavailable { object, message: other.to_string(), source: Some(Box::new(other)) },
    }
}

pub(super) fn timed_out(object: ObjectRef, after: Duration, source: Elapsed) -> StoreError {
    let message = format!("the API server did not answer within {} s", after.as_secs());
    StoreError::Unavailable { object, message, source: Some(Box::new(source)) }
}

pub(super) fn status_error(object: ObjectRef, status: Status) -> StoreError {
    let message = status.message.clone();
    match (status.code, status.reason.as_str()) {
        (_, "AlreadyExists") => StoreError::AlreadyExists { object },
        (409, _) | (_, "Conflict") => StoreError::Conflict { object },
        (410, _) | (_, "Expired" | "Gone") => StoreError::Expired { object },
        (404, _) => not_found(object, status),
        (403, _) => StoreError::Forbidden { object, message },
        (422, _) if names_only_the_uid(&status) => StoreError::Conflict { object },
        (400 | 413 | 422, _) => StoreError::Invalid { object, message, fields: fields(&status) },
        _ => StoreError::Unavailable { object, message, source: Some(Box::new(kube::Error::Api(status.boxed()))) },
    }
}

/// Only an answer that names the object says that it is gone. A namespace that is gone, or a kind that is not served, is
/// no statement about the object: taking it for one would have a deleted CRD look like the deletion of everything, and a
/// create into a vanishing namespace look like a world that has moved on, to be decided again at once, for ever.
fn not_found(object: ObjectRef, status: Status) -> StoreError {
    let message = match &status.details {
        Some(details) if details.kind == "namespaces" && object.kind != "Namespace" => {
            format!("the namespace {} does not exist", details.name)
        }
        Some(details) if details.name == object.name => return StoreError::NotFound { object },
        _ => format!("the server does not serve {} {}; install its CRD", object.api_version, object.kind),
    };
    StoreError::Unavailable { object, message, source: Some(Box::new(kube::Error::Api(status.boxed()))) }
}

/// A write with the uid of a predecessor under the same name: some servers call it a conflict, some an invalid change
/// of an immutable field.
fn names_only_the_uid(status: &Status) -> bool {
    let fields = fields(status);
    !fields.is_empty() && fields.iter().all(|cause| cause.field == "metadata.uid")
}

fn fields(status: &Status) -> Vec<FieldError> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| FieldError { field: cause.field.clone(), message: cause.message.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use kube::core::response::{StatusCause, StatusDetails};

    use super::*;

    fn promotion() -> ObjectRef {
        ObjectRef {
            api_version: "konfidence.cloud/v1alpha1".into(),
            kind: "VectorPromotion".into(),
            namespace: "bakery".into(),
            name: "menu-1".into(),
            uid: String::new(),
        }
    }

    fn status(code: u16, reason: &str) -> Status {
        Status::failure("said the server", reason).with_code(code)
    }

    fn about(code: u16, reason: &str, kind: &str, name: &str, fields: &[&str]) -> Status {
        let causes = fields.iter().map(|field| StatusCause {
            reason: "FieldValueInvalid".into(),
            message: "no".into(),
            field: (*field).into(),
        });
        let details = StatusDetails {
            name: name.into(),
            group: String::new(),
            kind: kind.into(),
            uid: String::new(),
            causes: causes.collect(),
            retry_after_seconds: 0,
        };
        status(code, reason).with_details(details)
    }

    #[test]
    fn a_taken_name_is_not_a_conflict() {
        assert!(matches!(status_error(promotion(), status(409, "AlreadyExists")), StoreError::AlreadyExists { .. }));
        assert!(matches!(status_error(promotion(), status(409, "Conflict")), StoreError::Conflict { .. }));
        assert!(matches!(status_error(promotion(), status(409, "")), StoreError::Conflict { .. }));
    }

    #[test]
    fn an_immutable_uid_is_a_conflict_and_other_fields_are_invalid() {
        let uid = about(422, "Invalid", "vectorpromotions", "menu-1", &["metadata.uid"]);
        assert!(matches!(status_error(promotion(), uid), StoreError::Conflict { .. }));
        let both = about(422, "Invalid", "vectorpromotions", "menu-1", &["metadata.uid", "spec.vector"]);
        let StoreError::Invalid { fields, .. } = status_error(promotion(), both) else { panic!("not invalid") };
        assert_eq!(fields[1], FieldError { field: "spec.vector".into(), message: "no".into() });
    }

    #[test]
    fn a_kind_that_is_not_served_is_not_an_absent_object() {
        let gone = about(404, "NotFound", "vectorpromotions", "menu-1", &[]);
        assert!(matches!(status_error(promotion(), gone), StoreError::NotFound { .. }));
        let bare = Status::failure("404 page not found", "Failed to parse error data").with_code(404);
        assert!(matches!(status_error(promotion(), bare), StoreError::Unavailable { .. }));
        let unnamed = about(404, "NotFound", "", "", &[]);
        assert!(matches!(status_error(promotion(), unnamed), StoreError::Unavailable { .. }));
    }

    #[test]
    fn a_missing_namespace_is_named_and_is_no_reason_to_decide_again_at_once() {
        let namespace = about(404, "NotFound", "namespaces", "bakery", &[]);
        let error = status_error(promotion(), namespace);
        assert!(!error.is_conflict());
        assert!(error.to_string().contains("the namespace bakery does not exist"), "{error}");
    }

    #[test]
    fn what_may_pass_is_unavailable_and_what_may_not_is_a_refusal() {
        for code in [0, 401, 408, 429, 500, 502, 503, 504] {
            let error = status_error(promotion(), status(code, ""));
            assert!(matches!(error, StoreError::Unavailable { .. }), "{code}: {error}");
        }
        for code in [400, 403, 413, 422] {
            let error = status_error(promotion(), status(code, ""));
            assert!(error.is_refusal(), "{code}: {error}");
        }
        assert!(matches!(status_error(promotion(), status(410, "Expired")), StoreError::Expired { .. }));
    }
}
