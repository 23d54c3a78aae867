//! JSON patch (RFC 6902).

use json_patch::Patch;
use serde_json::Value;

use crate::http::body;
use crate::status::{ApiError, ApiResult};

/// The real server takes at most so many operations.
const MOST_OPERATIONS: usize = 10_000;

/// Reads a patch.
///
/// # Errors
/// 400 when it is no JSON patch, 413 when it has too many operations.
pub(crate) fn parse(bytes: &[u8]) -> ApiResult<Patch> {
    let value = body::json(bytes)?.value;
    let patch: Patch = serde_json::from_value(value)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if patch.0.len() > MOST_OPERATIONS {
        return Err(ApiError::too_large(MOST_OPERATIONS));
    }
    Ok(patch)
}

/// Applies a patch; on an error the object is as before.
///
/// # Errors
/// 422 when an operation does not fit the object or a test fails.
pub(crate) fn apply(patch: &Patch, object: &mut Value) -> ApiResult<()> {
    json_patch::patch(object, patch).map_err(|error| {
        let mut refused = ApiError::bad_request("");
        refused.code = 422;
        refused.reason = "Invalid";
        refused.message = format!("the server rejected our request due to an error in our request: {error}");
        refused
    })
}
