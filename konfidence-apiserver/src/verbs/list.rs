//! Lists: selected, paged, as of a version.

use std::sync::Arc;

use konfidence_sdk::store::engine::{Document, EngineError, Listing};
use serde_json::{Map, Value};

use super::{engine_error, shape};
use crate::field::FieldError;
use crate::http::Call;
use crate::http::respond::Reply;
use crate::selector::Selection;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call) -> ApiResult<Reply> {
    let selected = select(call)?;
    let objects = selected.objects.iter().map(|object| call.target.resource.show(object.json())).collect();
    Ok(Reply::object(shape::many(call, objects, &Value::Object(selected.metadata), api.clock.now())))
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
        .filter(|object| after.as_ref().is_none_or(|after| (object.namespace(), object.name()) > (&after.0, &after.1)))
        .filter(|object| selection.matches(&target.resource, object.json()));
    let mut metadata = Map::new();
    if target.resource.custom {
        metadata.insert("continue".into(), "".into());
    }
    let mut objects: Vec<Arc<Document>> = Vec::new();
    if params.limit == 0 {
        objects.extend(left);
    } else {
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        objects.extend(left.by_ref().take(limit));
        let remaining = left.count();
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
    let wanted = version(&params.resource_version)?;
    if !params.continue_token.is_empty() {
        if wanted.is_some_and(|version| version > 0) {
            return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (revision, place) = token::read(&params.continue_token)
            .ok_or_else(|| ApiError::bad_request("continue key is not valid: it was not made by this server"))?;
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
    let exact = match (params.resource_version_match.as_str(), wanted) {
        ("", wanted) => params.limit > 0 && wanted.is_some_and(|version| version > 0),
        ("Exact", Some(version)) if version > 0 => true,
        ("NotOlderThan", Some(_)) => false,
        ("Exact" | "NotOlderThan", _) => {
            return Err(ApiError::bad_list_options(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )));
        }
        (other, _) => {
            let known = ["Exact", "NotOlderThan", ""].map(str::to_owned);
            return Err(ApiError::bad_list_options(FieldError::not_supported("resourceVersionMatch", other, &known)));
        }
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

/// A resourceVersion as a number; `None`: none is given.
pub(super) fn version(text: &str) -> ApiResult<Option<u64>> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        ApiError::bad_request(format!("invalid resource version: strconv.ParseUint: parsing {text:?}: invalid syntax"))
    })
}

/// Continue tokens: the version of the list and the last place shown, opaque to clients.
mod token {
    use std::fmt::Write;

    pub(super) fn write(revision: u64, place: &(String, String)) -> String {
        let plain = format!("{revision}/{}/{}", place.0, place.1);
        plain.bytes().fold(String::with_capacity(plain.len() * 2), |mut hex, byte| {
            // Writing into a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    pub(super) fn read(token: &str) -> Option<(u64, (String, String))> {
        if !token.is_ascii() || !token.len().is_multiple_of(2) {
            return None;
        }
        let bytes: Option<Vec<u8>> =
            (0..token.len()).step_by(2).map(|at| u8::from_str_radix(token.get(at..at + 2)?, 16).ok()).collect();
        let plain = String::from_utf8(bytes?).ok()?;
        let mut parts = plain.splitn(3, '/');
        let revision = parts.next()?.parse().ok()?;
        Some((revision, (parts.next()?.to_owned(), parts.next()?.to_owned())))
    }
}
