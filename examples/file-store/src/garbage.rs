//! What nobody owns any more goes, as a cluster's garbage collector has it.

use std::collections::BTreeSet;
use std::io;

use jiff::Timestamp;
use serde_json::Value;

use crate::disk::Locked;
use crate::object;

/// Deletes every object whose owners are all gone, and takes those that are gone out of the others, until nothing is
/// left to do. An owner of a kind that was never stored here may be elsewhere, and counts as there.
pub(crate) fn collect(disk: &mut Locked<'_>, now: Timestamp) -> io::Result<()> {
    loop {
        let all = disk.all()?;
        let present: BTreeSet<String> = all.iter().map(|(_, object)| object::text(object, "uid").to_owned()).collect();
        let mut changed = false;
        for (place, object) in all {
            let owners = object::list(&object, "ownerReferences");
            let left: Vec<Value> = owners.iter().filter(|owner| is_there(disk, &present, owner)).cloned().collect();
            if left.len() == owners.len() {
                continue;
            }
            let after =
                if left.is_empty() { object::deleted(&object, now) } else { Some(object::owned_by(&object, left)) };
            // One that its finalizers hold has been marked before.
            if after.as_ref() != Some(&object) {
                disk.commit(&place, Some(object), after)?;
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

fn is_there(disk: &Locked<'_>, present: &BTreeSet<String>, owner: &Value) -> bool {
    let field = |name: &str| owner[name].as_str().unwrap_or_default();
    let group = field("apiVersion").split_once('/').map_or("", |(group, _)| group);
    present.contains(field("uid")) || !disk.knows(&format!("{}.{group}", field("kind")))
}
