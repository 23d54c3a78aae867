//! JSON patch (RFC 6902).

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use crate::http::body;
use crate::status::{ApiError, ApiResult};

/// The real server takes at most so many operations.
const MOST_OPERATIONS: usize = 10_000;

/// Reads a patch; `strict`: its fields are looked at, too. An operation that does not exist, or lacks a part, is left to [`apply`] to refuse, as on a real server.
///
/// # Errors
/// 400 when it is no list of operations, 413 when it has too many of them.
pub(crate) fn parse(bytes: &[u8], strict: bool) -> ApiResult<Option<Patch>> {
    let refused = |why: String| ApiError::bad_request(format!("error decoding patch: {why}"));
    let value = body::json(bytes).map_err(refused)?.value;
    let Value::Array(operations) = &value else {
        let kind = match &value {
            Value::Bool(_) => "bool",
            Value::Object(_) => "object",
            other => crate::schema::kind_of(other),
        };
        // Only who looks for unknown fields reads the operations before they are applied.
        return Err(if strict {
            refused(format!("json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"))
        } else {
            ApiError::bad_request(format!("json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"))
        });
    };
    if operations.len() > MOST_OPERATIONS {
        return Err(ApiError::too_large(MOST_OPERATIONS));
    }
    let mut value = value;
    for operation in value.as_array_mut().into_iter().flatten() {
        for name in ["path", "from"] {
            if let Some(Value::String(path)) = operation.get_mut(name) {
                rooted(path);
            }
        }
    }
    Ok(serde_json::from_value(value).ok())
}

/// What stands before the first slash of a path is nothing to the real server.
fn rooted(path: &mut String) {
    if let Some(at) = path.find('/') {
        path.drain(..at);
    }
}

/// Whether a patch writes into the metadata.
pub(crate) fn touches_metadata(patch: &Patch) -> bool {
    patch.0.iter().any(|operation| operation.path().as_str().starts_with("/metadata/"))
}

/// Applies a patch; on an error the object is as before.
///
/// # Errors
/// 422 when an operation does not fit the object or a test fails.
pub(crate) fn apply(patch: Option<&Patch>, object: &mut Value) -> ApiResult<()> {
    let Some(patch) = patch else { return Err(ApiError::patch_failed()) };
    let mut next = object.clone();
    for operation in &patch.0 {
        let operation = match operation {
            // The real server replaces what is not there, too, where there is a place for it.
            PatchOperation::Replace(replace) if has_place(&next, &replace.path) => {
                PatchOperation::Add(AddOperation { path: replace.path.clone(), value: replace.value.clone() })
            }
            other => other.clone(),
        };
        json_patch::patch(&mut next, &[operation]).map_err(|_| ApiError::patch_failed())?;
    }
    *object = next;
    Ok(())
}

/// Whether `path` is a field of an object that is there.
fn has_place(object: &Value, path: &json_patch::jsonptr::Pointer) -> bool {
    path.parent().and_then(|parent| object.pointer(parent.as_str())).is_some_and(Value::is_object)
}
