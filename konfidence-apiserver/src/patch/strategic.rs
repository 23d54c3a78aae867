//! Strategic merge: a merge patch that knows which lists are merged by key, for the kinds that are built in.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::status::{ApiError, ApiResult};

/// Lists that are merged item by item, and the field that tells the items apart. `None`: the items are scalars.
const MERGED: &[(&str, Option<&str>)] =
    &[("ownerReferences", Some("uid")), ("finalizers", None), ("secrets", Some("name")), ("conditions", Some("type"))];

/// Merges `patch` into `object`.
///
/// # Errors
/// 400 for a directive that makes no sense.
pub(crate) fn apply(patch: &Value, object: &mut Value) -> ApiResult<()> {
    let (Value::Object(patch), Value::Object(fields)) = (patch, object) else {
        return Err(ApiError::bad_request("a strategic merge patch must be an object"));
    };
    merge(patch, fields)
}

fn merge(patch: &Map<String, Value>, fields: &mut Map<String, Value>) -> ApiResult<()> {
    match patch.get("$patch").map(|directive| directive.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            fields.clear();
            fields.extend(
                patch.iter().filter(|(name, _)| *name != "$patch").map(|(name, value)| (name.clone(), value.clone())),
            );
            return Ok(());
        }
        Some("delete") => {
            fields.clear();
            return Ok(());
        }
        Some(other) => {
            let map = in_go(&Value::Object(patch.clone()));
            return Err(ApiError::untyped(format!("unknown patch type: {other} in map: {map}")));
        }
    }
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        fields.retain(|name, _| kept.iter().any(|one| one.as_str() == Some(name)));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(present)), Value::Array(gone)) = (fields.get_mut(list), value) {
                present.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if name.starts_with('$') {
            continue;
        }
        let key = MERGED.iter().find(|(list, _)| list == name).map(|(_, key)| *key);
        match (value, fields.get_mut(name), key) {
            (Value::Null, _, _) => {
                fields.remove(name);
            }
            (Value::Object(patch), Some(Value::Object(below)), _) => merge(patch, below)?,
            (Value::Array(patch), Some(Value::Array(present)), Some(key)) => {
                let before = present.clone();
                merge_list(patch, present, key)?;
                *present = ordered(std::mem::take(present), patch, &before, key);
            }
            (Value::Object(patch), _, _) => {
                let mut below = Map::new();
                merge(patch, &mut below)?;
                fields.insert(name.clone(), Value::Object(below));
            }
            (value, _, _) => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
    for (name, order) in patch.iter().filter_map(|(name, value)| Some((name.strip_prefix("$setElementOrder/")?, value)))
    {
        let key = MERGED.iter().find(|(list, _)| *list == name).and_then(|(_, key)| *key);
        if let (Some(Value::Array(items)), Value::Array(order)) = (fields.get_mut(name), order) {
            let place = |item: &Value| {
                order.iter().position(|one| match key {
                    Some(key) => one.get(key) == item.get(key),
                    None => one == item,
                })
            };
            items.sort_by_key(|item| place(item).unwrap_or(usize::MAX));
        }
    }
    Ok(())
}

/// The order of a merged list: what the patch names in the patch's order, the rest in its own, and one of the rest
/// before one of the patch only where it was so before.
fn ordered(merged: Vec<Value>, patch: &[Value], before: &[Value], key: Option<&str>) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| {
        list.iter().position(|one| match key {
            Some(key) => one.get(key) == item.get(key),
            None => one == item,
        })
    };
    let (mut named, rest): (Vec<Value>, Vec<Value>) = merged.into_iter().partition(|item| place(patch, item).is_some());
    named.sort_by_key(|item| place(patch, item));
    let (mut named, mut rest) = (named.into_iter().peekable(), rest.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let first = match (rest.peek(), named.peek()) {
            (None, None) => return all,
            (Some(_), None) => rest.next(),
            (None, Some(_)) => named.next(),
            (Some(left), Some(right)) => match (place(before, left), place(before, right)) {
                (Some(left), Some(right)) if left < right => rest.next(),
                _ => named.next(),
            },
        };
        all.extend(first);
    }
}

/// A value as Go prints it.
pub(crate) fn in_go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(in_go).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{}", in_go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

fn merge_list(patch: &[Value], present: &mut Vec<Value>, key: Option<&str>) -> ApiResult<()> {
    let Some(key) = key else {
        // What the patch names comes first, in its order, unless the present order says otherwise.
        let place = |item: &Value| present.iter().position(|one| one == item);
        let mut left: VecDeque<Value> = present.iter().filter(|item| !patch.contains(item)).cloned().collect();
        let mut merged = Vec::with_capacity(present.len() + patch.len());
        for item in patch {
            while let Some(kept) = left.pop_front_if(|kept| place(item).is_some_and(|at| place(kept) < Some(at))) {
                merged.push(kept);
            }
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        merged.extend(left);
        *present = merged;
        return Ok(());
    };
    if patch.iter().any(|item| item.get("$patch").and_then(Value::as_str) == Some("replace") && item.get(key).is_none())
    {
        *present = patch.iter().filter(|item| item.get("$patch").is_none()).cloned().collect();
        return Ok(());
    }
    for item in patch {
        let Some(identity) = item.get(key) else {
            return Err(ApiError::bad_request(format!("map: {item} does not contain declared merge key: {key}")));
        };
        let found = present.iter().position(|one| one.get(key) == Some(identity));
        if item.get("$patch").and_then(Value::as_str) == Some("delete") {
            found.map(|at| present.remove(at));
            continue;
        }
        match (found.and_then(|at| present.get_mut(at)), item) {
            (Some(Value::Object(below)), Value::Object(item)) => merge(item, below)?,
            _ => present.push(item.clone()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keyed_lists_merge_and_the_rest_is_a_merge_patch() {
        let mut object = json!({"secrets": [{"name": "a", "x": 1}, {"name": "b"}], "data": {"k": "v", "gone": "x"}});
        let patch = json!({"secrets": [{"name": "a", "y": 2}, {"name": "b", "$patch": "delete"}, {"name": "c"}],
            "$setElementOrder/secrets": [{"name": "c"}, {"name": "a"}], "data": {"gone": null, "new": "1"}});
        apply(&patch, &mut object).expect("applies");
        assert_eq!(
            object,
            json!({"secrets": [{"name": "c"}, {"name": "a", "x": 1, "y": 2}], "data": {"k": "v", "new": "1"}})
        );
    }

    #[test]
    fn finalizers_merge_as_a_set_and_can_be_deleted_from() {
        let mut object = json!({"metadata": {"finalizers": ["a", "b"]}});
        let patch = json!({"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]}});
        apply(&patch, &mut object).expect("applies");
        assert_eq!(object, json!({"metadata": {"finalizers": ["c", "b"]}}));
    }
}
