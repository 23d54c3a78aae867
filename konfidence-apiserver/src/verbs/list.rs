//! Lists: selected, paged, as of a version.

use std::sync::Arc;

use konfidence_sdk::store::engine::{Document, EngineError, Listing};
use serde_json::Map;
use serde_json::Value;

use super::{engine_error, shape};
use crate::field::{FieldError, quoted};
use crate::http::Call;
use crate::http::accept::Form;
use crate::http::params::Params;
use crate::http::respond::Reply;
use crate::selector::Selection;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call) -> ApiResult<Reply> {
    let selected = select(call)?;
    let resource = &call.target.resource;
    if call.accept.form == Form::Whole
        && resource.custom
        && selected.objects.iter().all(|object| resource.shows_as_stored(object.json()))
    {
        return Ok(shape::stored_list(resource, selected.objects, selected.metadata));
    }
    let objects = selected.objects.iter().map(|object| resource.show(object.json()).into_owned()).collect();
    Ok(Reply::object(shape::many(call, objects, selected.metadata, api.clock.now())?))
}

/// What a list holds.
pub(super) struct Selected {
    pub(super) objects: Vec<Arc<Document>>,
    pub(super) metadata: Map<String, Value>,
}

/// One page of the objects that a request selects.
pub(super) fn select(call: &Call) -> ApiResult<Selected> {
    let (params, target) = (&call.params, &call.target);
    let selection = Selection::of(&target.resource, &params.label_selector, &params.field_selector)?;
    let (listing, after) = start(call)?;
    let mut left = listing
        .items
        .into_iter()
        .filter(|object| after.as_ref().is_none_or(|after| (object.namespace(), object.name()) > (&after.0, &after.1)));
    let selects = |object: &Arc<Document>| selection.matches(&target.resource, object.json());
    let mut metadata = Map::new();
    let mut objects: Vec<Arc<Document>> = Vec::new();
    if params.limit == 0 {
        objects.extend(left.filter(selects));
    } else {
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        objects.extend(left.by_ref().filter(selects).take(limit));
        // A page that is full goes on wherever anything follows, be it selected or not.
        let remaining = if objects.len() < limit { 0 } else { left.count() };
        if remaining > 0
            && let Some(last) = objects.last()
        {
            let place = (last.namespace().to_owned(), last.name().to_owned());
            metadata.insert("continue".into(), token::write(listing.revision, &place).into());
            // With a selector the real server does not know how many are left without looking at all of them.
            if selection.is_everything() {
                metadata.insert("remainingItemCount".into(), remaining.into());
            }
        }
    }
    metadata.insert("resourceVersion".into(), listing.revision.to_string().into());
    Ok(Selected { objects, metadata })
}

/// The objects at the version that is asked for, and the place after which this page begins.
fn start(call: &Call) -> ApiResult<(Listing, Option<(String, String)>)> {
    let (params, target) = (&call.params, &call.target);
    let collection = super::collection(&target.resource)?;
    let namespace = target.namespace.as_deref();
    check_options(params)?;
    let wanted = version(&params.resource_version)
        .map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
    if !params.continue_token.is_empty() {
        if wanted.is_some_and(|version| version > 0) {
            return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (revision, place) = token::read(&params.continue_token).map_err(|why| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        })?;
        let listing = collection.list_at(revision, namespace).map_err(|error| match error {
            EngineError::Expired { .. } | EngineError::Ahead { .. } => ApiError::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new \
                 list without the continue parameter, or use the continue token in this response to retrieve the \
                 remainder of the results. Continuing with the provided token results in an inconsistent list.",
            ),
            other => engine_error(&target.resource, "", other),
        })?;
        return Ok((listing, Some(place)));
    }
    let exact = match params.resource_version_match.as_str() {
        "" => params.limit > 0 && wanted.is_some_and(|version| version > 0),
        other => other == "Exact",
    };
    let wanted = wanted.unwrap_or_default();
    if exact {
        let listing = collection.list_at(wanted, namespace);
        return listing.map(|listing| (listing, None)).map_err(|error| engine_error(&target.resource, "", error));
    }
    let listing = collection.list_published(namespace);
    if wanted > listing.revision {
        return Err(ApiError::too_large_version(wanted, listing.revision));
    }
    Ok((listing, None))
}

/// Refuses options that make no sense together.
fn check_options(params: &Params) -> ApiResult<()> {
    let field = "resourceVersionMatch";
    let mut errors = Vec::new();
    let wanted = params.resource_version_match.as_str();
    if !wanted.is_empty() {
        if params.resource_version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(field, why));
        }
        if !params.continue_token.is_empty() {
            errors.push(FieldError::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(wanted, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""].map(str::to_owned);
            errors.push(FieldError::not_supported(field, wanted, &known));
        }
        if wanted == "Exact" && params.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(field, why));
        }
    }
    if params.send_initial_events.is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::bad_list_options(&errors)) }
}

/// A resourceVersion as a number; `None`: none is given.
///
/// # Errors
/// Why it is no number.
pub(super) fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let text = quoted(text);
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid syntax")
    })
}

/// Continue tokens: the version of the list and the last place shown, as JSON in base64. Opaque to clients.
mod token {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use crate::json::text;

    pub(super) fn write(revision: u64, place: &(String, String)) -> String {
        let start = format!("{}/{}", place.0, place.1);
        URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}).to_string())
    }

    pub(super) fn read(token: &str) -> Result<(u64, (String, String)), String> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
                format!("illegal base64 data at input byte {at}")
            }
            _ => format!("illegal base64 data at input byte {}", token.len().saturating_sub(1)),
        })?;
        if let Some(why) = crate::http::syntax::error(&bytes) {
            return Err(why);
        }
        let token: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let version = text(&token, "/v");
        if version != "meta.k8s.io/v1" {
            return Err(format!("server does not recognize this encoded version {version:?}"));
        }
        let (namespace, name) = text(&token, "/start").split_once('/').ok_or("incorrect encoded start key")?;
        let revision = token.get("rv").and_then(Value::as_u64).filter(|revision| *revision > 0);
        let revision = revision.ok_or("incorrect encoded start resourceVersion 0")?;
        Ok((revision, (namespace.to_owned(), name.to_owned())))
    }
}
