//! A person's word as one conditional write: read live, judge, write on the version that was judged; when somebody else
//! was quicker, read and judge again.

use std::sync::Arc;

use serde_json::Value;

use super::refusal::Refusal;
use crate::store::{Key, Object, ObjectStore, Patch, StoreError, Version};

/// So many conflicts are worth another look. The controllers write an object a handful of times in its life.
pub(super) const TRIES: usize = 16;

/// The live object, or what its absence means to the caller.
pub(super) async fn live<K: Object, S: ObjectStore<K> + ?Sized>(
    store: &S,
    key: &Key<K>,
    absent: impl Fn(Key<K>) -> Refusal,
) -> Result<Arc<K>, Refusal> {
    store.get_live(key).await?.ok_or_else(|| absent(key.clone()))
}

/// Which part of an object a patch is for.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// All but the status.
    Main,
    /// The status.
    Status,
}

/// Writes what `judge` makes of the live object: a merge patch, or `None` where nothing needs to change. Answers the
/// object as it then is, and whether it was written.
pub(super) async fn amend<K: Object, S: ObjectStore<K> + ?Sized>(
    store: &S,
    key: &Key<K>,
    part: Part,
    absent: impl Fn(Key<K>) -> Refusal,
    judge: impl Fn(&K) -> Result<Option<Value>, Refusal>,
) -> Result<(Arc<K>, bool), Refusal> {
    let mut tries = 0;
    loop {
        let read = live(store, key, &absent).await?;
        let Some(merge) = judge(&read)? else { return Ok((read, false)) };
        let patch = Patch::new(Version::of(&*read), merge);
        let written = match part {
            Part::Main => store.patch(key, &patch).await,
            Part::Status => store.patch_status(key, &patch).await,
        };
        match written {
            Ok(written) => return Ok((written, true)),
            Err(error) if worth_another_look(&error, &mut tries) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the world has moved on and `tries` allow to look again.
pub(super) fn worth_another_look(error: &StoreError, tries: &mut usize) -> bool {
    *tries += 1;
    error.is_conflict() && *tries < TRIES
}
