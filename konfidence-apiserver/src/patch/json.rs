//! JSON patch (RFC 6902).

use json_patch::jsonptr::Pointer;
use json_patch::{AddOperation, Patch, PatchOperation};
use konfidence_sdk::store::engine::nesting;
use serde_json::Value;

use crate::http::body;
use crate::stack::DEEPEST;
use crate::status::{ApiError, ApiResult};

/// The real server takes at most so many operations.
const MOST_OPERATIONS: usize = 10_000;
/// What the copies of one patch may add, in bytes of JSON, as on the real server. Each copy may hold all copies before
/// it, so a patch of a few lines could fill any memory.
const MOST_COPIED: usize = 3 << 20;

/// Reads a patch; `strict`: its fields are looked at, too. An operation that does not exist, or lacks a part, is left to
/// [`apply`] to refuse, as on a real server.
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
        let (most, count) = (MOST_OPERATIONS, operations.len());
        return Err(ApiError::too_large(&format!(
            "The allowed maximum operations in a JSON patch is {most}, got {count}"
        )));
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
/// 422 when an operation does not fit the object, a test fails, or the copies are too large in sum.
pub(crate) fn apply(patch: Option<&Patch>, object: &mut Value) -> ApiResult<()> {
    let Some(patch) = patch else { return Err(ApiError::patch_failed()) };
    let mut next = object.clone();
    let mut copied = 0;
    for operation in &patch.0 {
        if let PatchOperation::Copy(copy) = operation {
            copied += next.pointer(copy.from.as_str()).map_or(0, |value| value.to_string().len());
            if copied > MOST_COPIED {
                return Err(ApiError::patch_failed());
            }
        }
        let operation = match operation {
            // The real server replaces what is not there, too, where there is a place for it.
            PatchOperation::Replace(replace) if has_place(&next, &replace.path) => {
                PatchOperation::Add(AddOperation { path: replace.path.clone(), value: replace.value.clone() })
            }
            other => other.clone(),
        };
        if deepest(&operation, &next) > DEEPEST + 1 {
            return Err(ApiError::patch_failed());
        }
        json_patch::patch(&mut next, &[operation]).map_err(|_| ApiError::patch_failed())?;
    }
    *object = next;
    Ok(())
}

/// How many levels there are where an operation has put its value. A value of one level more than may be is put together
/// by the real server, too, and refused as what it is; beyond that the patch fails.
fn deepest(operation: &PatchOperation, object: &Value) -> usize {
    let there = |path: &Pointer| object.pointer(path.as_str()).map_or(0, nesting);
    let (path, levels) = match operation {
        PatchOperation::Add(add) => (&add.path, nesting(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, nesting(&replace.value)),
        PatchOperation::Copy(copy) => (&copy.path, there(&copy.from)),
        PatchOperation::Move(moved) => (&moved.path, there(&moved.from)),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return 0,
    };
    path.tokens().count() + levels
}

/// Whether `path` is a field of an object that is there.
fn has_place(object: &Value, path: &Pointer) -> bool {
    path.parent().and_then(|parent| object.pointer(parent.as_str())).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copies_that_double_what_is_there_are_refused_before_they_fill_the_memory() {
        let doubling = |count: usize| {
            let copy = |number| json!({"op": "copy", "from": "/data", "path": format!("/data/{number}")});
            let copies = (0..count).map(copy).collect::<Vec<_>>();
            parse(Value::from(copies).to_string().as_bytes(), false).unwrap()
        };
        let object = json!({"data": {"a": "x".repeat(1000)}});
        let mut few = object.clone();
        assert!(apply(doubling(10).as_ref(), &mut few).is_ok());
        assert!(few.to_string().len() > 1_000_000);
        let mut many = object.clone();
        assert_eq!(apply(doubling(60).as_ref(), &mut many).unwrap_err().code, 422);
        assert_eq!(many, object);
    }
}
