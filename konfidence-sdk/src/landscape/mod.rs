//! Landscapes: a namespace that Konfidence makes and owns, for the stages of one environment.
//!
//! A Landscape in a project's namespace wants one namespace: the one that it names, or one whose name is derived from
//! project and Landscape. This domain makes it, proves by labels that it is ours, keeps those labels, records its name
//! in `status.namespace` for the domains that look Stages up there, and deletes it with the Landscape. Whatever stands
//! in the way is told in two conditions and heals when it goes away, by watch ([`affected_by_namespace`]).
//!
//! The source of the rules is routing.md, section 10 (R60 to R63). The unit of serialization is the Landscape.
//!
//! # Transitions
//!
//! Steps in the order in which they are written; each only where it changes something. `illegal`: R60 forbids the
//! target. `foreign`: its labels do not prove that it is ours, or another Landscape has it on record. A test compares
//! this table with the code.
//!
//! | Landscape | namespace | steps | reason of `Ready` |
//! |---|---|---|---|
//! | living | illegal | status | `InvalidNamespace` |
//! | living | absent | finalizer, create, status | `LandscapeReconciled` |
//! | living | absent, creation refused | status | `NamespaceCreateFailed` |
//! | living | foreign | status | `NamespaceConflict` |
//! | living | foreign, terminating | status | `NamespaceTerminating` |
//! | living | ours | finalizer, status | `LandscapeReconciled` |
//! | living | ours, label drifted | finalizer, label, status | `LandscapeReconciled` |
//! | living | ours, terminating | status | `NamespaceTerminating` |
//! | deleting | illegal | release | |
//! | deleting | absent | release | |
//! | deleting | foreign | release | |
//! | deleting | foreign, terminating | release | |
//! | deleting | ours | status, delete | `Terminating` |
//! | deleting | ours, label drifted | status, delete | `Terminating` |
//! | deleting | ours, terminating | status | `Terminating` |
//! | deleting, without our finalizer | any | | |
//!
//! Every write is decided on live reads and conditional on what they gave; cached reads are for finding that nothing is
//! to be done, which is nearly always.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::Landscape;

use crate::access::{Access, Verb};
use crate::clock::Clock;
use crate::event::EventSink;
use crate::plan::Decision;
use crate::store::{Key, ObjectRef, ObjectStore, StoreError};

mod affected;
mod decide;
mod explain;
#[cfg(any(test, feature = "mock"))]
mod overlay;
mod snapshot;
mod steps;
#[cfg(test)]
mod tests;

pub use affected::{affected_by_landscape, affected_by_namespace};
pub use decide::decide;
pub use explain::{Explanation, explain};
#[cfg(any(test, feature = "mock"))]
pub use overlay::LandscapeOverlay;
pub use snapshot::{Reads, Rival, Snapshot, load};
pub use steps::{Applied, Notice, Step, apply};

/// The kinds that this domain reads and writes.
pub trait LandscapeStore: ObjectStore<Landscape> + ObjectStore<Namespace> {}

impl<S: ObjectStore<Landscape> + ObjectStore<Namespace> + ?Sized> LandscapeStore for S {}

/// What this domain asks of the API server, no more and no less.
pub const ACCESS: &[Access] = &[
    Access {
        group: konfidence_types::GROUP,
        resource: "landscapes",
        verbs: &[Verb::Get, Verb::List, Verb::Watch, Verb::Patch],
    },
    Access { group: konfidence_types::GROUP, resource: "landscapes/status", verbs: &[Verb::Patch] },
    Access {
        group: "",
        resource: "namespaces",
        verbs: &[Verb::Get, Verb::List, Verb::Watch, Verb::Create, Verb::Patch, Verb::Delete],
    },
];

/// What this domain has to be told about where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The namespace that the controllers run in, which no Landscape may own (R60). `None`: they run in none.
    pub own_namespace: Option<String>,
}

/// How a reconcile ended: at rest until an object changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When to look again although nothing changed. Landscapes never ask for it (R62).
    pub wake_up: Option<Timestamp>,
}

/// Decisions in one reconcile. A whole life takes four; the rest is for conflicts.
const MAX_PASSES: usize = 16;

/// Brings the Landscape `key` to rest: decides and writes until nothing is left to do.
///
/// Callers must obey one rule: never two calls for the same key at once in one process. Call it again whenever an
/// object changes that [`affected_by_landscape`] or [`affected_by_namespace`] maps to the key, and after an error with a
/// back-off.
///
/// # Errors
/// A [`StoreError`]. A refusal to make the namespace is told by the conditions first. [`StoreError::Conflict`] only when
/// somebody else keeps writing the same objects; otherwise a conflict just means a new decision, on live reads.
///
/// # Example
/// ```
/// # use konfidence_sdk::{clock::Clock, event::NoEvents, landscape::{self, Settings}, store::StoreError};
/// use konfidence_sdk::store::{Key, MemoryStore, ObjectStore};
/// use konfidence_sdk::types::{Landscape, LandscapeSpec};
///
/// # futures::executor::block_on(async {
/// let (store, noon): (_, jiff::Timestamp) = (MemoryStore::new(), "2026-09-01T12:00:00Z".parse().unwrap());
/// let mut eu = Landscape::new("eu", LandscapeSpec::default());
/// eu.metadata.namespace = Some("bakery".into());
/// let key = Key::of(&eu);
/// store.create(&eu).await?;
///
/// landscape::reconcile(&store, &noon, &NoEvents, &Settings::default(), &key).await?;
///
/// let status = store.get(&key).await?.and_then(|eu| eu.status.clone()).unwrap_or_default();
/// assert_eq!(status.namespace.as_deref(), Some("kden-l-eu-qzrh65pn"));
/// # Ok::<(), StoreError>(())
/// # }).unwrap();
/// ```
pub async fn reconcile<S: LandscapeStore + ?Sized>(
    store: &S,
    clock: &dyn Clock,
    events: &dyn EventSink,
    settings: &Settings,
    key: &Key<Landscape>,
) -> Result<Outcome, StoreError> {
    let now = clock.now();
    let mut reads = Reads::Cached;
    let mut refusal: Option<StoreError> = None;
    for _ in 0..MAX_PASSES {
        let Some(mut snapshot) = load(store, settings, key, reads).await? else { return Ok(Outcome::default()) };
        snapshot.refused = refusal.as_ref().map(StoreError::to_string);
        let plan = match decide(&snapshot, now) {
            Decision::Plan(plan) => plan,
            Decision::Verify(wanted) => {
                reads = wanted;
                continue;
            }
        };
        if plan.steps.is_empty() {
            // The condition tells people; the error brings the next try, as no watch tells of a changed quota or role.
            return match refusal {
                Some(refusal) if snapshot.namespace.is_none() => Err(refusal),
                _ => Ok(Outcome { wake_up: plan.wake_up }),
            };
        }
        reads = match apply(store, events, &snapshot, &plan.steps).await? {
            Applied::Whole => Reads::Cached,
            Applied::Overtaken => Reads::Live,
            Applied::Refused(error) => {
                refusal = Some(error);
                Reads::Live
            }
        };
    }
    Err(StoreError::Conflict { object: ObjectRef::named(key) })
}
