//! The query of a request, parsed once.

use http::{Method, Uri};
use serde_json::Value;

use crate::field::{FieldError, quoted};
use crate::status::{ApiError, ApiResult};

/// Everything that a query may say; what it does not say has the API's default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    /// Only objects with these labels.
    pub label_selector: String,
    /// Only objects with these fields.
    pub field_selector: String,
    /// The version to read, or to watch from.
    pub resource_version: String,
    /// How exactly `resource_version` is meant.
    pub resource_version_match: String,
    /// At most so many objects a page; 0: all.
    pub limit: u64,
    /// Where the next page begins.
    pub continue_token: String,
    /// Watch instead of list.
    pub watch: bool,
    /// The watch wants bookmarks.
    pub bookmarks: bool,
    /// The watch begins with the present objects.
    pub send_initial_events: Option<bool>,
    /// When a watch ends, in seconds.
    pub timeout_seconds: Option<u64>,
    /// Whether nothing is to be written.
    pub dry_run: bool,
    /// Who writes, for field ownership.
    pub field_manager: String,
    /// What becomes of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Whether an apply may take fields from other managers.
    pub force: Option<bool>,
    /// What a table holds of each object: `None`, `Metadata`, `Object`.
    pub include_object: String,
    /// Old spelling of propagation: `true` is `Orphan`.
    pub orphan_dependents: Option<bool>,
    /// What becomes of dependants.
    pub propagation_policy: String,
    /// Accepted and without effect: nothing here needs grace.
    pub grace_period_seconds: Option<i64>,
}

/// What becomes of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped, and a warning says so.
    #[default]
    Warn,
    /// They are refused.
    Strict,
}

impl Params {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// 400 for a value that is no number, 422 for a word that the method's options do not know.
    pub(crate) fn of(method: &Method, uri: &Uri) -> ApiResult<Self> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| ApiError::bad_request(format!("the query cannot be read: {error}")))?
            .0;
        let mut params = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "labelSelector" => params.label_selector = value,
                "fieldSelector" => params.field_selector = value,
                "resourceVersion" => params.resource_version = value,
                "resourceVersionMatch" => params.resource_version_match = value,
                "limit" => params.limit = number(&value)?.try_into().unwrap_or_default(),
                "continue" => params.continue_token = value,
                "watch" => params.watch = boolean(&value),
                "allowWatchBookmarks" => params.bookmarks = boolean(&value),
                "sendInitialEvents" => params.send_initial_events = Some(boolean(&value)),
                "timeoutSeconds" => params.timeout_seconds = number(&value)?.try_into().ok(),
                "dryRun" if value == "All" => params.dry_run = true,
                "dryRun" if value.is_empty() => {}
                "dryRun" => return Err(refused(method, unsupported_dry_run(&[value.into()]))),
                "fieldManager" => params.field_manager = value,
                "fieldValidation" => params.field_validation = validation(method, &value)?,
                "force" => params.force = Some(boolean(&value)),
                "includeObject" => params.include_object = value,
                "orphanDependents" => params.orphan_dependents = Some(boolean(&value)),
                "propagationPolicy" => params.propagation_policy = value,
                "gracePeriodSeconds" => {
                    params.grace_period_seconds = Some(number(&value)?);
                }
                _ => {}
            }
        }
        let unprintable = params.field_manager.char_indices().find(|(_, letter)| letter.is_control());
        if let Some((at, letter)) = unprintable {
            let why = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
            return Err(refused(method, FieldError::invalid("fieldManager", params.field_manager, why)));
        }
        if params.field_manager.len() > 128 {
            return Err(refused(method, FieldError::too_long("fieldManager", 128)));
        }
        Ok(params)
    }
}

fn boolean(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn number(value: &str) -> ApiResult<i64> {
    if value.is_empty() {
        return Ok(0);
    }
    value
        .parse()
        .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {}: invalid syntax", quoted(value))))
}

/// Of a dry run there is only one kind.
pub(crate) fn unsupported_dry_run(asked: &[Value]) -> FieldError {
    FieldError::not_supported("dryRun", asked.to_vec(), &["All".to_owned()])
}

/// The options of a method say no.
fn refused(method: &Method, error: FieldError) -> ApiError {
    let options = match *method {
        Method::POST => "CreateOptions",
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        Method::DELETE => "DeleteOptions",
        _ => "ListOptions",
    };
    ApiError::invalid("meta.k8s.io", options, "", &vec![error])
}

fn validation(method: &Method, value: &str) -> ApiResult<FieldValidation> {
    match value {
        "" | "Warn" => Ok(FieldValidation::Warn),
        "Ignore" => Ok(FieldValidation::Ignore),
        "Strict" => Ok(FieldValidation::Strict),
        other => {
            let known = ["", "Ignore", "Strict", "Warn"].map(str::to_owned);
            Err(refused(method, FieldError::not_supported("fieldValidation", other, &known)))
        }
    }
}
