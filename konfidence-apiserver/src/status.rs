//! Errors as the API answers them: a `Status` object with a code, a reason and causes, worded as the real server words
//! them, because people and clients match on these words.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::field::{FieldError, FieldErrors};
use crate::resource::Resource;

/// A refusal, ready to be sent as a `v1.Status`.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    /// HTTP code.
    pub code: u16,
    /// `metav1.StatusReason`, for example `NotFound`.
    pub reason: &'static str,
    /// The sentence that a user reads.
    pub message: String,
    /// `details` of the status; empty: left out.
    pub details: Map<String, Value>,
    /// Seconds for `Retry-After`, where coming back makes sense.
    pub retry_after: Option<u32>,
    form: Form,
}

/// In which of the real server's layers a refusal is made: each has a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// By the resource.
    Resource,
    /// By what serves a group: details are there, and empty.
    Generic,
    /// By nobody: a line of text.
    Text,
}

/// What a handler gives back.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Map::new(), retry_after: None, form: Form::Resource }
    }

    fn generic(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { form: Form::Generic, ..Self::new(code, reason, message) }
    }

    /// The text that answers instead of a status.
    pub(crate) fn text(&self) -> Option<&str> {
        (self.form == Form::Text).then_some(&self.message)
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        if !name.is_empty() {
            self.details.insert("name".into(), name.into());
        }
        if !resource.group.is_empty() {
            self.details.insert("group".into(), resource.group.clone().into());
        }
        self.details.insert("kind".into(), resource.plural.clone().into());
        self
    }

    /// 404 for one object.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(resource, name)
    }

    /// 404 for a resource that a built-in group does not have.
    pub(crate) fn no_such_resource() -> Self {
        Self::generic(404, "NotFound", "the server could not find the requested resource")
    }

    /// 404 for a path that nobody serves.
    pub(crate) fn no_such_path() -> Self {
        Self { form: Form::Text, ..Self::new(404, "NotFound", "404 page not found\n") }
    }

    /// 409: the name is taken.
    ///
    /// The name may be that of an object that is on its way out.
    pub(crate) fn being_deleted(resource: &Resource, name: &str) -> Self {
        let mut error = Self::already_exists(resource, name);
        error.message = format!("object is being deleted: {}", error.message);
        error
    }

    /// 409: the name is taken.
    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified()))
            .about(resource, name)
    }

    /// 409: a write that is conditional on something that no longer holds.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409: the object moved on since it was read.
    pub(crate) fn stale(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 409 of a server-side apply: `causes` name the field and who owns it.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Value>) -> Self {
        let mut error = Self::new(409, "Conflict", message);
        error.details.insert("causes".into(), Value::Array(causes));
        error
    }

    /// 422 with every refused field.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &FieldErrors) -> Self {
        // What is refused twice is said once.
        let mut said = HashSet::new();
        let sentences = errors.iter().map(ToString::to_string);
        let sentences: Vec<String> = sentences.filter(|sentence| said.insert(sentence.clone())).collect();
        let all = match sentences.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut error = Self::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {all}"));
        if !name.is_empty() {
            error.details.insert("name".into(), name.into());
        }
        if !group.is_empty() {
            error.details.insert("group".into(), group.into());
        }
        if !kind.is_empty() {
            error.details.insert("kind".into(), kind.into());
        }
        error.details.insert("causes".into(), errors.iter().map(FieldError::cause).collect());
        error
    }

    /// 422 for what a list or a watch asks for.
    pub(crate) fn bad_list_options(errors: &FieldErrors) -> Self {
        Self::invalid("meta.k8s.io", "ListOptions", "", errors)
    }

    /// 422 for an update that does not say which state it replaces.
    pub(crate) fn unconditional(resource: &Resource, name: &str) -> Self {
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        Self::invalid(&resource.group, &resource.plural, name, &vec![error])
    }

    /// 422 for a patch that the object does not take.
    pub(crate) fn patch_failed() -> Self {
        Self::generic(422, "Invalid", "the server rejected our request due to an error in our request")
    }

    /// 415 for a patch of an unknown type.
    pub(crate) fn unknown_patch_type() -> Self {
        Self::generic(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// 409 of a delete that is meant for another state.
    pub(crate) fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let qualified = match resource.group.as_str() {
            "" => resource.kind.clone(),
            group => format!("{}.{group}", resource.kind),
        };
        let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
        let mut error = Self::new(409, "Conflict", message).about(resource, name);
        error.details.insert("kind".into(), resource.kind.clone().into());
        error
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403, for what no permission would allow (a terminating namespace, a protected one).
    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} \"{name}\" is forbidden: {why}", resource.qualified())
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403: nothing may be made in a namespace that is going away. Clients look for the cause, not for the words.
    pub(crate) fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = Self::forbidden(resource, name, &why);
        error.details.insert(
            "causes".into(),
            json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]),
        );
        error
    }

    /// 405.
    pub(crate) fn method_not_allowed(resource: Option<&Resource>, verb: &str) -> Self {
        match resource {
            Some(resource) => Self::new(
                405,
                "MethodNotAllowed",
                format!("{verb} is not supported on resources of kind \"{}\"", resource.qualified()),
            )
            .about(resource, ""),
            None => Self::generic(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            ),
        }
    }

    /// 406.
    pub(crate) fn not_acceptable(accepted: &str) -> Self {
        Self::new(406, "NotAcceptable", format!("only the following media types are accepted: {accepted}"))
    }

    /// 406 of a built-in group, which looks at the media type before it looks at anything else.
    pub(crate) fn no_representation(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Self::generic(406, "NotAcceptable", message)
    }

    /// 406 for a form that this answer cannot be made into.
    pub(crate) fn no_such_form(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// 410: the version asked for is no longer (or not yet) in the history that the server holds.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413.
    pub(crate) fn too_large(why: &str) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
    }

    /// 415.
    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 500.
    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// 503: nothing is written at the moment, and this was not.
    pub(crate) fn unavailable(why: impl fmt::Display) -> Self {
        let mut error = Self::new(503, "ServiceUnavailable", why.to_string());
        error.retry_after = Some(1);
        error
    }

    /// 500: it is not known whether a write is kept.
    pub(crate) fn unkept(why: impl fmt::Display) -> Self {
        Self::internal(format_args!("{why}; look before you try it again"))
    }

    /// 500 without a reason, for refusals that the real server does not class.
    pub(crate) fn untyped(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 504: the version asked for lies in the future.
    pub(crate) fn too_large_version(wanted: u64, current: u64) -> Self {
        let mut error =
            Self::new(504, "Timeout", format!("Timeout: Too large resource version: {wanted}, current: {current}"));
        error.details.insert(
            "causes".into(),
            json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]),
        );
        error.details.insert("retryAfterSeconds".into(), 1.into());
        error.retry_after = Some(1);
        error
    }

    /// 504: the client took too long over its body.
    pub(crate) fn late() -> Self {
        Self::generic(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
    }

    /// The body of the answer.
    pub(crate) fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_empty() || self.form == Form::Generic {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}

/// The `Status` that answers a delete that removed its object at once.
pub(crate) fn deleted(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = Map::new();
    details.insert("name".into(), name.into());
    if !resource.group.is_empty() {
        details.insert("group".into(), resource.group.clone().into());
    }
    details.insert("kind".into(), resource.plural.clone().into());
    details.insert("uid".into(), uid.into());
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
