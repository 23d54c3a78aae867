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
    let found = match &value {
        Value::Array(_) => None,
        Value::Null => Some("null"),
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Object(_) => Some("object"),
    };
    if let Some(found) = found {
        return Err(ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        )));
    }
    let patch: Patch = serde_json::from_value(value).map_err(|_| ApiError::unprocessable())?;
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
    json_patch::patch(object, patch).map_err(|_| ApiError::unprocessable())
}
