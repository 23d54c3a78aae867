//! What a cache has to show before it may be read again.
//!
//! After a write of our own the cache is older than what we know. A decision must not be made on it, nor on the cache
//! with our write laid over it (promotion-protocol R1): it waits until the watch has delivered the write. After a
//! conflict the cache is *known* to be behind for one object: reading it again at once would decide the same again,
//! and conflict again.

use konfidence_sdk::store::Version;
use tokio::time::Instant;

use super::entry::Entry;

/// What was learnt about one object that the watch has not delivered yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expectation {
    /// We wrote this version: the watch must have come to it, or a list begun after the write must have ended.
    Written { number: u64, lists: u64 },
    /// We deleted the object with this uid: it must be gone, or be on its way out.
    Deleted { uid: String },
    /// The server has another version than this one. A hint, not a promise: it ends at `until`.
    MovedPast { version: Version, until: Instant },
    /// The server has an object under this name. A hint, as above.
    Exists { until: Instant },
    /// The server has no object of this uid. A hint, as above.
    Gone { uid: String, until: Instant },
}

/// How far a cache has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The newest version that the watch delivered. One kind's changes arrive in order, so everything up to it did.
    pub(super) number: u64,
    /// Full lists begun.
    pub(super) lists_begun: u64,
    /// `lists_begun` as it was when the list that fills the cache now was begun.
    pub(super) list: u64,
}

impl Expectation {
    /// Whether a cache that has come to `progress`, and holds `entry` under the object's name, shows it.
    pub(super) fn is_met<K>(&self, entry: Option<&Entry<K>>, progress: Progress, now: Instant) -> bool {
        match self {
            Self::Written { number, lists } => progress.number >= *number || progress.list > *lists,
            Self::Deleted { uid } => entry.is_none_or(|entry| entry.uid != *uid || entry.deleting),
            Self::MovedPast { version, until } => {
                now >= *until
                    || entry.is_none_or(|entry| {
                        entry.uid != version.uid || entry.resource_version != version.resource_version
                    })
            }
            Self::Exists { until } => now >= *until || entry.is_some(),
            Self::Gone { uid, until } => now >= *until || entry.is_none_or(|entry| entry.uid != *uid),
        }
    }

    /// When it ends by itself.
    pub(super) fn until(&self) -> Option<Instant> {
        match self {
            Self::Written { .. } | Self::Deleted { .. } => None,
            Self::MovedPast { until, .. } | Self::Exists { until } | Self::Gone { until, .. } => Some(*until),
        }
    }
}
