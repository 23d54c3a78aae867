//! The rules: R60 to R63 as one pure function.

use std::collections::BTreeMap;

use jiff::Timestamp;
use konfidence_types::{Condition, LANDSCAPE_FINALIZER, LandscapeReason, condition, condition_type, label};
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::{Notice, Reads, Rival, Snapshot, Step};
use crate::condition::{Moves, merge, with};
use crate::plan::{Decision, Plan};
use crate::store::Version;

/// Value of the label `managed-by` on our namespaces (R61).
const MANAGER: &str = "landscape-controller";
/// Value of the label `type` on our namespaces (R61).
const TYPE: &str = "landscape";

/// What is to be done about a Landscape.
///
/// Cached reads only tell *that* something is to be done; what, is decided on live ones. Most of it cannot be undone: a
/// namespace that is deleted, a Landscape that is let go, a name that is made or recorded (R60 keeps it for good). And a
/// lagging cache beside a live read would have the status go to and fro until it catches up.
///
/// A plan never asks to be woken: whatever a Landscape waits for is an object, and
/// [`affected_by_namespace`](super::affected_by_namespace) leads from that object back to it (R62).
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<Step, Reads> {
    let steps = judge(snapshot, now).steps;
    if snapshot.reads == Reads::Cached && !steps.is_empty() {
        return Decision::Verify(Reads::Live);
    }
    Decision::Plan(Plan { steps, wake_up: None })
}

/// The reason that `Ready` is to carry, its message, and the way there.
pub(super) struct Judgement {
    pub(super) reason: LandscapeReason,
    pub(super) message: String,
    pub(super) steps: Vec<Step>,
}

pub(super) fn judge(snapshot: &Snapshot, now: Timestamp) -> Judgement {
    if snapshot.is_deleting() { judge_deleting(snapshot, now) } else { judge_living(snapshot, now) }
}

fn judge_living(snapshot: &Snapshot, now: Timestamp) -> Judgement {
    let wanted = &snapshot.wanted;
    let waits = |reason, message: String| {
        let steps = status_step(snapshot, reason, &message, now).into_iter().collect();
        Judgement { reason, message, steps }
    };
    let standing = standing(snapshot);
    if let Standing::Illegal(why) = standing {
        let message = format!(
            "namespace {wanted} cannot be a landscape's: {why}; \
             make the Landscape again with another spec.namespace"
        );
        return waits(LandscapeReason::InvalidNamespace, message);
    }
    if is_terminating(snapshot) {
        let message = format!("namespace {wanted} is being deleted; it is made again when it is gone");
        return waits(LandscapeReason::NamespaceTerminating, message);
    }
    let on_namespace = match (standing, &snapshot.refused) {
        (Standing::Foreign(why), _) => {
            let message = format!("namespace {wanted} is not this landscape's: {why}; it is left untouched");
            return waits(LandscapeReason::NamespaceConflict, message);
        }
        (Standing::Absent, Some(refusal)) => {
            let message = format!("namespace {wanted} cannot be made: {refusal}");
            return waits(LandscapeReason::NamespaceCreateFailed, message);
        }
        (Standing::Absent, None) => {
            Some(Step::CreateNamespace { name: wanted.clone(), labels: wanted_labels(snapshot) })
        }
        (Standing::Ours, _) => label_step(snapshot),
        (Standing::Illegal(_), _) => None,
    };
    let reason = LandscapeReason::LandscapeReconciled;
    let message = format!("namespace {wanted} of project {} is ready", snapshot.project);
    // The finalizer goes first: without it a Landscape deleted right now would leave its namespace behind.
    let finalizers = snapshot.landscape.finalizers();
    let finalizer = (!finalizers.iter().any(|other| other == LANDSCAPE_FINALIZER)).then(|| Step::AddFinalizer {
        finalizers: finalizers.iter().cloned().chain([LANDSCAPE_FINALIZER.to_owned()]).collect(),
    });
    let status = status_step(snapshot, reason, &message, now);
    Judgement { reason, message, steps: [finalizer, on_namespace, status].into_iter().flatten().collect() }
}

fn judge_deleting(snapshot: &Snapshot, now: Timestamp) -> Judgement {
    let wanted = &snapshot.wanted;
    let reason = LandscapeReason::Terminating;
    let (own, others): (Vec<_>, Vec<_>) =
        snapshot.landscape.finalizers().iter().cloned().partition(|finalizer| finalizer == LANDSCAPE_FINALIZER);
    if own.is_empty() {
        let message = format!("the landscape waits for other finalizers: {}", others.join(", "));
        return Judgement { reason, message, steps: Vec::new() };
    }
    let namespace = match (standing(snapshot), &snapshot.namespace) {
        (Standing::Ours, Some(namespace)) => namespace,
        (standing, _) => {
            let why = match standing {
                Standing::Illegal(why) => format!("cannot be a landscape's: {why}"),
                Standing::Foreign(why) => format!("is not this landscape's: {why}"),
                Standing::Absent | Standing::Ours => "is gone".to_owned(),
            };
            let message = format!("namespace {wanted} {why}; the landscape can go");
            return Judgement { reason, message, steps: vec![Step::RemoveFinalizer { finalizers: others }] };
        }
    };
    let message = format!("namespace {wanted} is being deleted with its landscape");
    let status = status_step(snapshot, reason, &message, now);
    let delete = (!is_terminating(snapshot))
        .then(|| Step::DeleteNamespace { name: wanted.clone(), version: Version::of(&**namespace) });
    Judgement { reason, message, steps: [status, delete].into_iter().flatten().collect() }
}

/// How the wanted namespace stands to the Landscape.
enum Standing {
    /// No Landscape may own it.
    Illegal(&'static str),
    /// There is none.
    Absent,
    /// It is somebody else's.
    Foreign(String),
    /// It is this Landscape's.
    Ours,
}

fn standing(snapshot: &Snapshot) -> Standing {
    if let Some(why) = illegal(snapshot) {
        return Standing::Illegal(why);
    }
    // Who has the namespace on record goes before who has not, and the older one where both have.
    let claims = snapshot.recorded_namespace().is_some();
    let precedes = |rival: &&Rival| !claims || rival.is_senior;
    let held_by = |rival: &Rival| Standing::Foreign(format!("Landscape {} has it on record", rival.key));
    let Some(namespace) = &snapshot.namespace else {
        return snapshot.rivals.iter().find(precedes).map_or(Standing::Absent, held_by);
    };
    // Three labels are the proof (R62). `type` is not one of them: it alone can drift and be repaired.
    let labels = namespace.labels();
    let proof = [label::MANAGED_BY, label::LANDSCAPE, label::PROJECT];
    let wanted = wanted_labels(snapshot);
    let lacking: Vec<_> = proof
        .into_iter()
        .filter(|name| labels.get(*name) != wanted.get(*name))
        .map(|name| {
            let value = wanted.get(name).map(String::as_str).unwrap_or_default();
            labels.get(name).map_or_else(
                || format!("label {name} is absent, {value} is ours"),
                |other| format!("label {name} is {other}, {value} is ours"),
            )
        })
        .collect();
    if !lacking.is_empty() {
        return Standing::Foreign(lacking.join("; "));
    }
    // The labels do not tell twins apart. A deleting one takes the namespace from nobody.
    let twin = snapshot.rivals.iter().find(|rival| rival.is_twin && (snapshot.is_deleting() || precedes(rival)));
    twin.map_or(Standing::Ours, held_by)
}

/// Exactly the targets that R60 names.
fn illegal(snapshot: &Snapshot) -> Option<&'static str> {
    let wanted = &*snapshot.wanted;
    match wanted {
        "default" => Some("it is the cluster's default namespace"),
        _ if wanted.starts_with("kube-") => Some("it belongs to Kubernetes"),
        _ if Some(wanted) == snapshot.landscape.namespace().as_deref() => Some("it is the project's own namespace"),
        _ if Some(wanted) == snapshot.own_namespace.as_deref() => Some("the controllers run in it"),
        _ => None,
    }
}

fn is_terminating(snapshot: &Snapshot) -> bool {
    snapshot.namespace.as_ref().is_some_and(|namespace| {
        let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref());
        namespace.metadata.deletion_timestamp.is_some() || phase == Some("Terminating")
    })
}

fn wanted_labels(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let labels = [
        (label::MANAGED_BY, MANAGER.to_owned()),
        (label::TYPE, TYPE.to_owned()),
        (label::LANDSCAPE, snapshot.landscape.name_any()),
        (label::PROJECT, snapshot.project.clone()),
    ];
    labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The labels of our namespace that drifted.
fn label_step(snapshot: &Snapshot) -> Option<Step> {
    let namespace = snapshot.namespace.as_ref()?;
    let mut labels = wanted_labels(snapshot);
    labels.retain(|name, value| namespace.labels().get(name) != Some(value));
    let version = Version::of(&**namespace);
    (!labels.is_empty()).then(|| Step::LabelNamespace { name: snapshot.wanted.clone(), version, labels })
}

/// The write that gives `Ready` this reason, and `NamespaceReady` what follows from it; none where nothing changes.
///
/// Once R62 holds it records namespace and project as well: both are kept from then on, whatever becomes of the labels
/// that they were derived from.
fn status_step(snapshot: &Snapshot, reason: LandscapeReason, message: &str, now: Timestamp) -> Option<Step> {
    let is_ready = reason == LandscapeReason::LandscapeReconciled;
    let of_namespace = match reason {
        LandscapeReason::LandscapeReconciled => LandscapeReason::NamespaceReconciled,
        LandscapeReason::Terminating => LandscapeReason::NamespaceTerminating,
        other => other,
    };
    let before = snapshot.landscape.status.as_ref().map(|status| &*status.conditions).unwrap_or_default();
    let generation = snapshot.landscape.metadata.generation;
    let verdict = if is_ready { "True" } else { "False" };
    let of_type = |type_, reason: LandscapeReason| -> Condition {
        let verdict = (verdict, reason.as_str());
        merge(condition(before, type_), type_, verdict, message, generation, Moves::OnReason, now)
    };
    let after = with(before, of_type(condition_type::READY, reason));
    let after = with(&after, of_type(condition_type::NAMESPACE_READY, of_namespace));

    let mut status = Map::new();
    if after != before {
        status.insert("conditions".to_owned(), json!(after));
    }
    if is_ready && snapshot.recorded_namespace() != Some(&snapshot.wanted) {
        status.insert("namespace".to_owned(), Value::from(&*snapshot.wanted));
    }
    if is_ready && snapshot.recorded_project() != Some(&snapshot.project) {
        status.insert("projectName".to_owned(), Value::from(&*snapshot.project));
    }
    let is_news = condition(before, condition_type::READY).is_none_or(|before| before.reason != reason.as_str());
    let notice = (is_news && wants_attention(reason)).then(|| Notice { reason, note: message.to_owned() });
    (!status.is_empty()).then_some(Step::WriteStatus { status, notice })
}

/// What does not pass by itself.
fn wants_attention(reason: LandscapeReason) -> bool {
    match reason {
        LandscapeReason::InvalidNamespace
        | LandscapeReason::NamespaceConflict
        | LandscapeReason::NamespaceCreateFailed => true,
        LandscapeReason::LandscapeReconciled
        | LandscapeReason::NamespaceReconciled
        | LandscapeReason::NamespaceTerminating
        | LandscapeReason::Terminating => false,
    }
}
