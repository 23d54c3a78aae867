//! What a decision about one Landscape reads.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Landscape, label};
use kube::ResourceExt;

use super::{LandscapeStore, Settings};
use crate::naming::managed_namespace;
use crate::store::{BY_MANAGED_NAMESPACE, Key, Listed, Object, ObjectStore, Query, StoreError};

/// Where the reads of a snapshot come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Possibly from a cache: enough to find that nothing is to be done.
    Cached,
    /// From the server as it stands now: every write asks for it.
    Live,
}

/// Everything that [`decide`](super::decide) reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The Landscape, with the version that every write to it is conditional on.
    pub landscape: Arc<Landscape>,
    /// Name of its project (R60).
    pub project: String,
    /// Name of the namespace that it wants (R60).
    pub wanted: String,
    /// The namespace of that name, if there is one.
    pub namespace: Option<Arc<Namespace>>,
    /// Other Landscapes that live and have this namespace on record.
    pub rivals: Vec<Rival>,
    /// The controllers' own namespace, which no landscape may take.
    pub own_namespace: Option<String>,
    /// Where all this was read.
    pub reads: Reads,
    /// What the server answered when this reconcile tried to make the namespace and was refused for good.
    pub refused: Option<String>,
}

/// Another Landscape with the same namespace on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Which one.
    pub key: Key<Landscape>,
    /// Whether it goes before this one: the older of two, by name where they are of one second.
    pub is_senior: bool,
    /// Whether the labels of our namespace would be its labels too: it has the same name, in another namespace whose
    /// label names the same project.
    pub is_twin: bool,
}

impl Snapshot {
    /// Whether the Landscape is on its way out.
    pub fn is_deleting(&self) -> bool {
        self.landscape.metadata.deletion_timestamp.is_some()
    }

    /// The namespace on record, if R62 ever held.
    pub fn recorded_namespace(&self) -> Option<&str> {
        filled(self.landscape.status.as_ref().and_then(|status| status.namespace.as_deref()))
    }

    /// The project on record.
    pub fn recorded_project(&self) -> Option<&str> {
        filled(self.landscape.status.as_ref().and_then(|status| status.project_name.as_deref()))
    }
}

/// An empty field is as good as none.
fn filled(field: Option<&str>) -> Option<&str> {
    field.filter(|value| !value.is_empty())
}

/// Reads all that a decision about the Landscape `key` needs. `None`: there is no such Landscape.
///
/// # Errors
/// Any error of the store. A snapshot with a failed read is never decided on: an empty list after an error would look
/// like "nobody else uses this namespace".
pub async fn load<S: LandscapeStore + ?Sized>(
    store: &S,
    settings: &Settings,
    key: &Key<Landscape>,
    reads: Reads,
) -> Result<Option<Snapshot>, StoreError> {
    let Some(landscape) = get(store, key, reads).await? else { return Ok(None) };
    let status = landscape.status.as_ref();
    let project = match filled(status.and_then(|status| status.project_name.as_deref())) {
        Some(project) => project.to_owned(),
        None => project_of(store, key.namespace(), reads).await?,
    };
    let wanted = filled(status.and_then(|status| status.namespace.as_deref()))
        .or(filled(landscape.spec.namespace.as_deref()))
        .map_or_else(|| managed_namespace(&project, key.name()), str::to_owned);
    let namespace = get(store, &Key::cluster(&*wanted), reads).await?;
    let rivals = rivals(store, &landscape, &project, &wanted, reads).await?;
    let own_namespace = settings.own_namespace.clone();
    Ok(Some(Snapshot { landscape, project, wanted, namespace, rivals, own_namespace, reads, refused: None }))
}

/// The label of the parent namespace, else its own name, so that any namespace serves as a project (R60).
async fn project_of<S: LandscapeStore + ?Sized>(store: &S, parent: &str, reads: Reads) -> Result<String, StoreError> {
    let namespace: Option<Arc<Namespace>> = get(store, &Key::cluster(parent), reads).await?;
    let label = namespace.as_ref().and_then(|namespace| filled(namespace.labels().get(label::PROJECT).map(|s| &**s)));
    Ok(label.unwrap_or(parent).to_owned())
}

async fn rivals<S: LandscapeStore + ?Sized>(
    store: &S,
    landscape: &Landscape,
    project: &str,
    wanted: &str,
    reads: Reads,
) -> Result<Vec<Rival>, StoreError> {
    let query = Query::all().by(BY_MANAGED_NAMESPACE, wanted);
    let listed: Listed<Landscape> = match reads {
        Reads::Cached => store.list(&query).await?,
        Reads::Live => store.list_live(&query).await?,
    };
    let own = Key::of(landscape);
    let age = |other: &Landscape| (other.creation_timestamp(), Key::of(other));
    let living = listed.items.iter().filter(|other| other.metadata.deletion_timestamp.is_none());
    let readable = living.map(|other| {
        let recorded = other.status.as_ref().and_then(|status| status.project_name.as_deref());
        let key = Key::of(&**other);
        let is_twin = key.name() == own.name() && recorded == Some(project);
        Rival { key, is_senior: age(other) < age(landscape), is_twin }
    });
    // One that does not parse may be alive, older and a twin: never take its namespace away.
    let unreadable = listed.unreadable.iter().map(|other| {
        let key = Key::new(&*other.object.namespace, &*other.object.name);
        let is_twin = key.name() == own.name();
        Rival { key, is_senior: true, is_twin }
    });
    Ok(readable.chain(unreadable).filter(|rival| rival.key != own).collect())
}

async fn get<K, S>(store: &S, key: &Key<K>, reads: Reads) -> Result<Option<Arc<K>>, StoreError>
where
    K: Object,
    S: ObjectStore<K> + ?Sized,
{
    match reads {
        Reads::Cached => store.get(key).await,
        Reads::Live => store.get_live(key).await,
    }
}
