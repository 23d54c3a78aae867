//! Builders that read like sentences, for the tests of this domain.

mod decisions;
mod flows;
mod loading;
mod storm;
mod table;
mod world;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Condition, LANDSCAPE_FINALIZER, Landscape};
use serde_json::{Value, json};

use super::{Reads, Rival, Snapshot, Step};
use crate::plan::{Decision, Plan};
use crate::store::Key;

/// The derived namespace of the Landscape `bakery/eu`, a worked example of R60.
const DERIVED: &str = "kden-l-eu-qzrh65pn";

fn at(second: i64) -> Timestamp {
    "2026-09-01T06:00:00Z".parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_secs(second)
}

fn from<K: serde::de::DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

/// The Landscape `bakery/eu` as a user makes it.
fn landscape() -> Landscape {
    from(json!({
        "metadata": { "namespace": "bakery", "name": "eu", "uid": "landscape", "resourceVersion": "1", "generation": 1 },
        "spec": { "displayName": "Europe" },
    }))
}

/// A namespace with the four labels of `bakery/eu`.
fn our_namespace(name: &str) -> Namespace {
    from(json!({ "metadata": { "name": name, "uid": "namespace", "resourceVersion": "7", "labels": our_labels() } }))
}

fn our_labels() -> Value {
    json!({
        "konfidence.cloud/managed-by": "landscape-controller",
        "konfidence.cloud/type": "landscape",
        "konfidence.cloud/landscape": "eu",
        "konfidence.cloud/project": "bakery",
    })
}

/// What a live read of `bakery/eu` without a namespace gives.
fn snapshot() -> Snapshot {
    Snapshot {
        landscape: Arc::new(landscape()),
        project: "bakery".into(),
        wanted: DERIVED.into(),
        namespace: None,
        rivals: Vec::new(),
        own_namespace: Some("konfidence-system".into()),
        reads: Reads::Live,
        refused: None,
    }
}

impl Snapshot {
    fn change(mut self, change: impl FnOnce(&mut Landscape)) -> Self {
        change(Arc::make_mut(&mut self.landscape));
        self
    }

    fn deleting(self) -> Self {
        self.finalized().change(|landscape| {
            landscape.metadata.deletion_timestamp = Some(from(json!("2026-09-01T05:00:00Z")));
        })
    }

    fn finalized(self) -> Self {
        self.change(|landscape| landscape.metadata.finalizers = Some(vec![LANDSCAPE_FINALIZER.into()]))
    }

    fn recorded(self) -> Self {
        let wanted = self.wanted.clone();
        self.change(|landscape| {
            landscape.status = Some(from(json!({ "namespace": wanted, "projectName": "bakery" })));
        })
    }

    fn wanting(mut self, wanted: &str) -> Self {
        self.wanted = wanted.into();
        self
    }

    fn with_namespace(mut self, change: impl FnOnce(&mut Namespace)) -> Self {
        let mut namespace = our_namespace(&self.wanted);
        change(&mut namespace);
        self.namespace = Some(Arc::new(namespace));
        self
    }

    fn with_rival(mut self, is_senior: bool, is_twin: bool) -> Self {
        self.rivals.push(Rival { key: Key::new("confectionery", "eu"), is_senior, is_twin });
        self
    }

    fn cached(mut self) -> Self {
        self.reads = Reads::Cached;
        self
    }

    /// The steps that are due at `second`.
    fn steps(&self, second: i64) -> Vec<Step> {
        match super::decide(self, at(second)) {
            Decision::Plan(Plan { steps, wake_up: None }) => steps,
            other => panic!("expected a plan without a wake-up, got {other:?}"),
        }
    }
}

fn ours(_: &mut Namespace) {}

fn terminating(namespace: &mut Namespace) {
    namespace.metadata.deletion_timestamp = Some(from(json!("2026-09-01T05:00:00Z")));
}

fn without_label(name: &'static str) -> impl FnOnce(&mut Namespace) {
    move |namespace| {
        namespace.metadata.labels.as_mut().unwrap().remove(&format!("konfidence.cloud/{name}")).unwrap();
    }
}

/// One word a step, as in the table of the module.
fn word(step: &Step) -> &'static str {
    match step {
        Step::AddFinalizer { .. } => "finalizer",
        Step::CreateNamespace { .. } => "create",
        Step::LabelNamespace { .. } => "label",
        Step::WriteStatus { .. } => "status",
        Step::DeleteNamespace { .. } => "delete",
        Step::RemoveFinalizer { .. } => "release",
    }
}

fn words(steps: &[Step]) -> Vec<&'static str> {
    steps.iter().map(word).collect()
}

/// The conditions that a plan writes.
fn conditions(steps: &[Step]) -> Vec<Condition> {
    let written = steps.iter().find_map(|step| match step {
        Step::WriteStatus { status, .. } => status.get("conditions").cloned(),
        _ => None,
    });
    written.map(from).unwrap_or_default()
}

/// `Ready=False/NamespaceConflict` and so on, as a plan writes it.
fn written(steps: &[Step]) -> Vec<String> {
    conditions(steps).iter().map(|c| format!("{}={}/{}", c.type_, c.status, c.reason)).collect()
}
