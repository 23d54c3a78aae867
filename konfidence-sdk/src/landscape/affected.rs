//! Which Landscapes a changed object touches.
//!
//! A decision reads the Landscape, its parent namespace, the namespace that it wants, and other Landscapes with that
//! namespace on record. Each of these is found by **name**, so each change leads back by name, whatever labels the
//! object has: a foreign namespace that goes away carries none of ours, and the Landscape that waits for its name has
//! to hear of it all the same (R62: healed by watch, no timer). Labels would add nothing: whoever carries them under
//! another name is read by no decision.
//!
//! Call these after the change is in the cache that decisions read, for deletions with the object's last known state.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::Landscape;
use kube::ResourceExt;

use crate::naming::stem_of_managed_namespace;
use crate::store::{BY_WANTED_NAMESPACE, Key, ObjectStore, Query, StoreError};

/// The Landscapes to decide after `changed`, a Landscape, changed or went: itself, and those that want the namespace
/// that it has on record, because it may have taken it or let it go.
///
/// # Errors
/// Any error of the store's lists; ask again.
pub async fn affected_by_landscape<S: ObjectStore<Landscape> + ?Sized>(
    store: &S,
    changed: &Landscape,
) -> Result<BTreeSet<Key<Landscape>>, StoreError> {
    let mut keys = BTreeSet::from([Key::of(changed)]);
    if let Some(namespace) = changed.status.as_ref().and_then(|status| status.namespace.as_deref()) {
        keys.extend(claimants(store, namespace).await?);
    }
    Ok(keys)
}

/// The Landscapes to decide after `changed`, a namespace, was made, changed or went: those that want it, and those that
/// live in it and have no project on record yet, because its label names their project.
///
/// # Errors
/// Any error of the store's lists; ask again.
pub async fn affected_by_namespace<S: ObjectStore<Landscape> + ?Sized>(
    store: &S,
    changed: &Namespace,
) -> Result<BTreeSet<Key<Landscape>>, StoreError> {
    let name = changed.name_any();
    let mut keys = claimants(store, &name).await?;
    let children = store.list(&Query::within(name)).await?.items;
    let is_open = |child: &Landscape| {
        child.status.as_ref().and_then(|status| status.project_name.as_deref()).unwrap_or_default().is_empty()
    };
    keys.extend(children.iter().filter(|child| is_open(child)).map(|child| Key::of(&**child)));
    Ok(keys)
}

/// The Landscapes that want `namespace`, or may: of those that derive its name the index knows the stem alone, so their
/// namesakes of other projects come along and find nothing to do.
async fn claimants<S: ObjectStore<Landscape> + ?Sized>(
    store: &S,
    namespace: &str,
) -> Result<BTreeSet<Key<Landscape>>, StoreError> {
    let mut keys = BTreeSet::new();
    for value in [Some(namespace), stem_of_managed_namespace(namespace)].into_iter().flatten() {
        let listed = store.list(&Query::all().by(BY_WANTED_NAMESPACE, value)).await?;
        keys.extend(listed.items.iter().map(|landscape| Key::of(&**landscape)));
    }
    Ok(keys)
}
