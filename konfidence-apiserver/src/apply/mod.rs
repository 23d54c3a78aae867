//! Who owns which field, and server-side apply.
//!
//! Every field of an object has owners, kept in `metadata.managedFields`. A plain write ([`track`]) makes its writer
//! the owner of what it changed and takes that away from everybody else. An apply ([`apply`]) says what one manager
//! wants: it becomes an owner of all that it says, may not change what somebody else owns (unless forced), and what it
//! said before and no longer says is removed if nobody else owns it.
//!
//! The laws, each with a property test: applying the same again changes nothing; a dropped field goes exactly when its
//! dropper was the only owner; a different value of an owned field is a conflict; two managers that apply parts of an
//! object yield the union of the parts.

mod compare;
mod fieldset;
mod managed;
mod merge;
mod shape;
#[cfg(test)]
mod tests;
mod typed;

pub(crate) use managed::Manager;
pub(crate) use typed::misfit;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::json::seconds;
use crate::schema::Structural;
use crate::status::ApiError;
use compare::compare;
use fieldset::{Element, FieldSet, print};
use managed::Managed;
use shape::{fields_of, with_named_parents, without};

/// kubectl's annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who owns, from the first apply on, what an object held before.
const BEFORE: &str = "before-first-apply";

/// Fields that the server keeps itself; nobody owns them.
const NOBODYS: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// A field that another manager owns and that an apply would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    manager: Manager,
    path: Vec<Element>,
}

/// Every conflict of one apply; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflicts(Vec<Conflict>);

impl From<Conflicts> for ApiError {
    fn from(Conflicts(conflicts): Conflicts) -> Self {
        let causes = conflicts.iter().map(|conflict| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", conflict.manager),
                "field": print(&conflict.path),
            })
        });
        let message = match conflicts.as_slice() {
            [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, print(&one.path)),
            many => {
                let mut lines = Vec::new();
                let mut named: Option<&Manager> = None;
                for conflict in many {
                    if named != Some(&conflict.manager) {
                        lines.push(format!("conflicts with {}:", conflict.manager));
                        named = Some(&conflict.manager);
                    }
                    lines.push(format!("- {}", print(&conflict.path)));
                }
                format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
            }
        };
        ApiError::apply_conflict(message, causes.collect())
    }
}

/// Notes in `new` that `manager` changed it from `live` (an empty object: it is new).
pub(crate) fn track(live: &Value, new: &mut Value, schema: &Structural, manager: &Manager, now: Timestamp) {
    let mut entries = Managed::of_write(live, new, !manager.subresource.is_empty());
    if entries.0.is_empty() && is_stored(live) {
        // Of an object without owners nobody becomes one by a plain write; the first apply asks who was there before.
        strip(new);
        return;
    }
    let live = bare(live);
    strip(new);
    let changes = compare(&live, new, schema);
    let taken = changes.modified.union(&changes.added);
    let lost = taken.union(&changes.removed);
    for entry in &mut entries.0 {
        entry.fields = entry.fields.difference(&lost);
    }
    entries.0.retain(|entry| !entry.fields.is_empty());
    let taken = taken.difference(&nobodys());
    if !taken.is_empty() {
        let before = entries.get(manager).map(|entry| entry.fields.clone()).unwrap_or_default();
        entries.set(manager, before.union(&taken), Some(seconds(now)));
        // A scale is another kind, and on the way from it and back the time gets lost.
        if manager.subresource == "scale" {
            entries.0.iter_mut().filter(|entry| entry.manager == *manager).for_each(|entry| entry.time = None);
        }
    }
    entries.write_to(new);
}

/// `live` after `manager` applied `config` to it.
///
/// # Errors
/// Every field of `config` that differs from what another manager owns, unless `force`.
pub(crate) fn apply(
    live: &Value,
    config: &Value,
    schema: &Structural,
    manager: &Manager,
    force: bool,
    now: Timestamp,
) -> Result<Value, Conflicts> {
    let applied = apply_once(live, config, schema, manager, force, now);
    // Somebody who used `kubectl apply` before and now uses it with `--server-side` is not in conflict with themselves:
    // what the old way noted as its own may be changed.
    match applied {
        Err(Conflicts(conflicts)) if manager.name == "kubectl" => {
            let own = last_applied_fields(live, schema);
            let others: Vec<Conflict> = conflicts.into_iter().filter(|one| !own.contains(&one.path)).collect();
            if others.is_empty() {
                apply_once(live, config, schema, manager, true, now).map(|new| note_last_applied(new, config))
            } else {
                Err(Conflicts(others))
            }
        }
        Ok(new) if manager.name == "kubectl" => Ok(note_last_applied(new, config)),
        other => other,
    }
}

fn apply_once(
    live: &Value,
    config: &Value,
    schema: &Structural,
    manager: &Manager,
    force: bool,
    now: Timestamp,
) -> Result<Value, Conflicts> {
    let mut live_bare = bare(live);
    let mut before = Managed::of(live);
    if before.0.is_empty() && is_stored(live) {
        let nothing = json!({"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {}});
        let earlier =
            Manager { name: BEFORE.to_owned(), applies: false, subresource: String::new(), ..manager.clone() };
        track(&nothing, &mut live_bare, schema, &earlier, now);
        before = Managed::of(&live_bare);
        strip(&mut live_bare);
    }
    let mut entries = before.clone();
    let last = entries.get(manager).map(|entry| entry.fields.clone()).unwrap_or_default();
    // What nobody owns counts as wanted until the merge is done: the name that a configuration always holds keeps the
    // metadata from going with its last owned field.
    let wanted = fields_of(config, schema);
    entries.set(manager, wanted.clone(), None);

    let merged = merge::merge(&live_bare, config, Some(schema));
    let mut new = prune(&merged, &entries, &last, schema);
    entries.set(manager, wanted.difference(&nobodys()), None);

    let changes = compare(&live_bare, &new, schema);
    let written = changes.modified.union(&changes.added);
    let mut conflicts = Vec::new();
    for entry in entries.0.iter_mut().filter(|entry| !Managed::is_same(&entry.manager, manager)) {
        let contested = entry.fields.intersection(&written);
        conflicts.extend(contested.paths().into_iter().map(|path| Conflict { manager: entry.manager.clone(), path }));
        entry.fields = entry.fields.difference(&contested).difference(&changes.removed);
    }
    if !force && !conflicts.is_empty() {
        // Stable: the paths of one manager stay in their order.
        conflicts.sort_by(|a, b| a.manager.order().cmp(&b.manager.order()));
        return Err(Conflicts(conflicts));
    }
    entries.0.retain(|entry| !entry.fields.is_empty());
    // The time of an entry is that of the last change of the object through it: taking part in what is there already
    // has none.
    if !changes.is_same() {
        let fields = entries.get(manager).map(|entry| entry.fields.clone()).unwrap_or_default();
        entries.set(manager, fields, Some(seconds(now)));
    }
    entries.write_to(&mut new);
    Ok(new)
}

/// `merged` without what the manager applied last time (`last`), not this time, and nobody owns now.
fn prune(merged: &Value, managed: &Managed, last: &FieldSet, schema: &Structural) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let named = |set: &FieldSet| with_named_parents(set, Some(schema));
    let cut = |set: &FieldSet| without(merged, set, Some(schema));
    let last = named(last);
    let all = named(&fields_of(merged, schema));
    let owned = managed.0.iter().fold(FieldSet::default(), |all, entry| all.union(&entry.fields));
    // First without all of it, then with what somebody owns, then with what never was the manager's to remove.
    let bare = named(&fields_of(&cut(&last), schema));
    let kept = cut(&all.difference(&bare.union(&named(&owned))));
    let kept = named(&fields_of(&kept, schema));
    cut(&all.difference(&kept).intersection(&last))
}

/// What kubectl's annotation of client-side apply says and the live object still has.
fn last_applied_fields(live: &Value, schema: &Structural) -> Vec<Vec<Element>> {
    let noted = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(noted) = noted else { return Vec::new() };
    let changes = compare(&bare(&noted), &bare(live), schema);
    let same = fields_of(&noted, schema).difference(&changes.modified).difference(&changes.removed);
    same.paths()
}

fn annotation(object: &Value) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()
}

/// Keeps kubectl's annotation true where it is there, so that going back to client-side apply loses nothing.
fn note_last_applied(mut new: Value, config: &Value) -> Value {
    if annotation(&new).is_some() {
        let mut config = config.clone();
        if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
        if let Some(annotations) = new.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.insert(LAST_APPLIED.to_owned(), format!("{config}\n").into());
        }
    }
    new
}

fn nobodys() -> FieldSet {
    let mut set = FieldSet::default();
    for path in NOBODYS {
        let path: Vec<Element> = path.iter().map(|name| Element::Field((*name).to_owned())).collect();
        set.insert(&path);
    }
    set
}

/// Whether an object is there already, and not about to be made.
fn is_stored(live: &Value) -> bool {
    live.pointer("/metadata/uid").is_some()
}

/// The object without its managed fields.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    strip(&mut object);
    object
}

fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}
