//! The steps of a plan, and how they are written.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Landscape, LandscapeReason};
use kube::core::ObjectMeta;
use serde_json::{Map, Value, json};

use super::{LandscapeStore, Snapshot};
use crate::event::{Event, EventSink, Severity};
use crate::store::{Key, ObjectRef, ObjectStore, Patch, StoreError, Version};

/// One conditional write.
///
/// Steps on the Landscape are conditional on the version of the snapshot, or on the one that an earlier step of the
/// plan got back; steps on the namespace carry the version that the decision read.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Our finalizer joins the others: from here on the Landscape does not go without its namespace.
    AddFinalizer {
        /// The whole list, as it is to be.
        finalizers: Vec<String>,
    },
    /// Make the namespace; its name must be free.
    CreateNamespace {
        /// Its name.
        name: String,
        /// The labels that make it ours (R61).
        labels: BTreeMap<String, String>,
    },
    /// Repair labels of our namespace; those of others stay.
    LabelNamespace {
        /// Its name.
        name: String,
        /// The version that was read.
        version: Version,
        /// The labels that differ.
        labels: BTreeMap<String, String>,
    },
    /// Write what changes in the Landscape's status.
    WriteStatus {
        /// A merge patch of `status`.
        status: Map<String, Value>,
        /// The event that goes with the transition.
        notice: Option<Notice>,
    },
    /// Delete our namespace and with it everything in it.
    DeleteNamespace {
        /// Its name.
        name: String,
        /// The version that a live read gave.
        version: Version,
    },
    /// Let the Landscape go.
    RemoveFinalizer {
        /// The others, which stay.
        finalizers: Vec<String>,
    },
}

/// What a transition of the conditions tells people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The new reason of `Ready`.
    pub reason: LandscapeReason,
    /// The new message of `Ready`.
    pub note: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddFinalizer { .. } => f.write_str("add the finalizer"),
            Self::CreateNamespace { name, .. } => write!(f, "create namespace {name}"),
            Self::LabelNamespace { name, labels, .. } => {
                let labels: Vec<_> = labels.keys().map(String::as_str).collect();
                write!(f, "repair label {} of namespace {name}", labels.join(", "))
            }
            Self::WriteStatus { .. } => f.write_str("write the status"),
            Self::DeleteNamespace { name, .. } => write!(f, "delete namespace {name}"),
            Self::RemoveFinalizer { .. } => f.write_str("remove the finalizer"),
        }
    }
}

/// How far [`apply`] came.
#[derive(Debug)]
pub enum Applied {
    /// Every step is written.
    Whole,
    /// The world has moved on since the snapshot: decide again, on live reads.
    Overtaken,
    /// The server refuses to make the namespace for good: the status has to say so.
    Refused(StoreError),
}

/// Writes `steps` in order, each on the version that the decision read, and stops at the first that fails.
///
/// # Errors
/// Any error of the store but a conflict, which means that the decision has to be made again, and a refused
/// namespace, which is an answer.
pub async fn apply<S: LandscapeStore + ?Sized>(
    store: &S,
    events: &dyn EventSink,
    snapshot: &Snapshot,
    steps: &[Step],
) -> Result<Applied, StoreError> {
    let mut version = Version::of(&*snapshot.landscape);
    for step in steps {
        match write(store, snapshot, &version, step).await {
            Ok(next) => version = next.unwrap_or(version),
            Err(error) if error.is_conflict() => return Ok(Applied::Overtaken),
            Err(error) if error.is_refusal() && matches!(step, Step::CreateNamespace { .. }) => {
                return Ok(Applied::Refused(error));
            }
            Err(error) => return Err(error),
        }
        if let Some((severity, reason, note)) = told(step) {
            let regarding = ObjectRef::of(&*snapshot.landscape);
            events.emit(Event { regarding, severity, reason, action: "ManageNamespace", note });
        }
    }
    Ok(Applied::Whole)
}

/// Writes one step; answers the Landscape's new version where it has one.
async fn write<S: LandscapeStore + ?Sized>(
    store: &S,
    snapshot: &Snapshot,
    version: &Version,
    step: &Step,
) -> Result<Option<Version>, StoreError> {
    let landscape: Key<Landscape> = Key::of(&*snapshot.landscape);
    let of_landscape = |merge| Patch::<Landscape>::new(version.clone(), merge);
    match step {
        Step::AddFinalizer { finalizers } | Step::RemoveFinalizer { finalizers } => {
            let patch = of_landscape(json!({ "metadata": { "finalizers": finalizers } }));
            store.patch(&landscape, &patch).await.map(|written| Some(Version::of(&*written)))
        }
        Step::WriteStatus { status, .. } => {
            let patch = of_landscape(json!({ "status": status }));
            store.patch_status(&landscape, &patch).await.map(|written| Some(Version::of(&*written)))
        }
        Step::CreateNamespace { name, labels } => {
            let metadata =
                ObjectMeta { name: Some(name.clone()), labels: Some(labels.clone()), ..ObjectMeta::default() };
            store.create(&Namespace { metadata, ..Namespace::default() }).await.map(|_| None)
        }
        Step::LabelNamespace { name, version, labels } => {
            let patch = Patch::new(version.clone(), json!({ "metadata": { "labels": labels } }));
            ObjectStore::<Namespace>::patch(store, &Key::cluster(&**name), &patch).await.map(|_| None)
        }
        Step::DeleteNamespace { name, version } => {
            ObjectStore::<Namespace>::delete(store, &Key::cluster(&**name), &version.clone().into())
                .await
                .map(|()| None)
        }
    }
}

/// The event of a step, once it is written.
fn told(step: &Step) -> Option<(Severity, &'static str, String)> {
    match step {
        Step::CreateNamespace { name, .. } => {
            Some((Severity::Normal, "NamespaceCreated", format!("created namespace {name}")))
        }
        Step::LabelNamespace { .. } => Some((Severity::Normal, "NamespaceRepaired", format!("did {step}"))),
        Step::DeleteNamespace { name, .. } => {
            Some((Severity::Normal, "NamespaceDeleted", format!("deleted namespace {name}")))
        }
        Step::WriteStatus { notice: Some(Notice { reason, note }), .. } => {
            Some((Severity::Warning, reason.as_str(), note.clone()))
        }
        Step::WriteStatus { notice: None, .. } | Step::AddFinalizer { .. } | Step::RemoveFinalizer { .. } => None,
    }
}
