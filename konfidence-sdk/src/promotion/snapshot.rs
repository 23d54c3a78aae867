//! All that a decision reads, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use konfidence_types::{
    Landscape, SourceKind, SourceRef, Stage, TargetRef, VectorPromotion, VectorPromotionConfig, VectorTemplate,
};
use kube::core::ResourceExt;

use super::PromotionStore;
#[cfg(test)]
use super::flaw;
use super::inbox::Inbox;
use super::record::{Record, Records};
use super::reference::Missing;
use super::setback::Setback;
use super::source::{SourceKey, SourceView, source_key, source_version_of};
use super::state::Phase;
use super::verify::{Doubt, Verdict};
use crate::naming;
use crate::store::{BY_CONFIG, Key, Object, ObjectStore, Query, StoreError, Unreadable};

/// What a read of one name answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Seen<K> {
    /// There is none.
    #[default]
    Absent,
    /// There is one, and this is it.
    Found(Arc<K>),
    /// There is one, and it does not parse.
    Unreadable(Box<Unreadable>),
}

impl<K: Object> Seen<K> {
    /// Reads `key`, possibly from a cache.
    pub(super) async fn get<S: ObjectStore<K> + ?Sized>(store: &S, key: &Key<K>) -> Result<Self, StoreError> {
        Self::from_read(store.get(key).await)
    }

    /// Reads `key` live.
    pub(super) async fn get_live<S: ObjectStore<K> + ?Sized>(store: &S, key: &Key<K>) -> Result<Self, StoreError> {
        Self::from_read(store.get_live(key).await)
    }

    fn from_read(read: Result<Option<Arc<K>>, StoreError>) -> Result<Self, StoreError> {
        match read {
            Ok(Some(object)) => Ok(Self::Found(object)),
            Ok(None) => Ok(Self::Absent),
            Err(StoreError::Unreadable(unreadable)) => Ok(Self::Unreadable(unreadable)),
            Err(error) => Err(error),
        }
    }

    /// The object, deleting or not.
    pub fn found(&self) -> Option<&Arc<K>> {
        match self {
            Self::Found(object) => Some(object),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// The object, unless it is being deleted: a source, target or Landscape that is counts as absent.
    pub fn standing(&self) -> Option<&Arc<K>> {
        self.found().filter(|object| object.meta().deletion_timestamp.is_none())
    }
}

/// What one decision about one config reads. All live promotions of a config are decided together.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The unit of serialization: namespace and name of the config, whether or not it exists.
    pub key: Key<VectorPromotionConfig>,
    /// The config.
    pub config: Seen<VectorPromotionConfig>,
    /// Every promotion that names the config, in one prefix of their history (R1); members or not.
    pub promotions: Vec<Arc<VectorPromotion>>,
    /// Promotions that name the config and do not parse.
    pub unreadable: Vec<Unreadable>,
    /// Landscapes that the config or a live promotion refers to, by name; all in the config's namespace (P1).
    pub landscapes: BTreeMap<String, Seen<Landscape>>,
    /// The template that is the config's source, if its source is one.
    pub template: Seen<VectorTemplate>,
    /// Stages that the config or a live promotion refers to.
    pub stages: BTreeMap<Key<Stage>, Seen<Stage>>,
    /// What the source held while somebody was watching, after what the newest member was made for and before what it
    /// shows now, oldest first (P8).
    pub inbox: Vec<SourceView>,
    /// The source changed so fast that its oldest vectors fell out of the inbox before they were taken (P8).
    pub candidates_were_lost: bool,
    /// Whether a promotion holds the name of the next sequence, whichever config it names (R10).
    pub next_name_is_taken: bool,
    /// What live reads said of doubts that an earlier decision on this snapshot had.
    pub confirmed: BTreeMap<Doubt, Verdict>,
    /// What became of the last write to a Stage in this reconcile, if it failed.
    pub setback: Option<Setback>,
}

impl Snapshot {
    /// A snapshot of nothing, for building one by hand in tests.
    pub fn empty(key: Key<VectorPromotionConfig>) -> Self {
        Self {
            key,
            config: Seen::Absent,
            promotions: Vec::new(),
            unreadable: Vec::new(),
            landscapes: BTreeMap::new(),
            template: Seen::Absent,
            stages: BTreeMap::new(),
            inbox: Vec::new(),
            candidates_were_lost: false,
            next_name_is_taken: false,
            confirmed: BTreeMap::new(),
            setback: None,
        }
    }

    /// Uid of the config that was read, also of one that is being deleted.
    pub fn owner(&self) -> Option<&str> {
        self.config.found().and_then(|config| config.metadata.uid.as_deref())
    }

    /// The members of the config: those that its uid owns and those without a controller owner (R2). Without a config,
    /// only the latter.
    pub fn members(&self) -> impl Iterator<Item = &Arc<VectorPromotion>> {
        self.promotions.iter().filter(|promotion| match controller_uid(promotion) {
            None => true,
            Some(uid) => self.owner() == Some(uid),
        })
    }

    /// The managed namespace of a Landscape.
    pub fn managed_namespace(&self, landscape: &str) -> Result<&str, Missing> {
        let key = Key::new(self.key.namespace(), landscape);
        match self.landscapes.get(landscape) {
            Some(Seen::Unreadable(unreadable)) => Err(Missing::Unreadable(unreadable.object.clone())),
            Some(seen) => match seen.standing() {
                None => Err(Missing::Landscape(key)),
                Some(landscape) => match landscape.status.as_ref().and_then(|status| status.namespace.as_deref()) {
                    None | Some("") => Err(Missing::ManagedNamespace(key)),
                    Some(namespace) => Ok(namespace),
                },
            },
            None => Err(Missing::Landscape(key)),
        }
    }

    /// The Stage that `target` means now.
    pub fn target_stage(&self, target: &TargetRef) -> Result<&Arc<Stage>, Missing> {
        let key = Key::new(self.managed_namespace(&target.landscape)?, &target.name);
        match self.stages.get(&key) {
            Some(Seen::Unreadable(unreadable)) => Err(Missing::Unreadable(unreadable.object.clone())),
            Some(seen) => seen.standing().ok_or(Missing::Stage(key)),
            None => Err(Missing::Stage(key)),
        }
    }

    /// Where the source is looked up.
    pub fn source_key(&self, source: &SourceRef) -> Result<SourceKey, Missing> {
        let managed = match (source.kind, source.landscape.as_deref()) {
            (SourceKind::Stage, Some(landscape)) => Some(self.managed_namespace(landscape)?),
            _ => None,
        };
        source_key(source, self.key.namespace(), managed)
            .ok_or_else(|| Missing::Landscape(Key::new(self.key.namespace(), "")))
    }

    /// The source as it stands.
    pub fn source(&self, source: &SourceRef) -> Result<SourceView, Missing> {
        match self.source_key(source)? {
            SourceKey::Template(key) => match &self.template {
                Seen::Unreadable(unreadable) => Err(Missing::Unreadable(unreadable.object.clone())),
                seen => seen
                    .standing()
                    .map(|template| SourceView::of_template(template))
                    .ok_or(Missing::SourceTemplate(key)),
            },
            SourceKey::Stage(key) => match self.stages.get(&key) {
                Some(Seen::Unreadable(unreadable)) => Err(Missing::Unreadable(unreadable.object.clone())),
                seen => seen
                    .and_then(Seen::standing)
                    .map(|stage| SourceView::of_stage(stage))
                    .ok_or(Missing::SourceStage(key)),
            },
        }
    }

    /// This config's record on `stage` (R8).
    pub fn record_on(&self, stage: &Stage) -> Option<Record> {
        Records::of(stage).of_config(self.key.name(), self.owner()).cloned()
    }

    /// The highest number known to be handed out: by members, by the config's status, by the target's record (R10).
    pub fn highest_sequence(&self) -> i64 {
        let config = self.config.found();
        let stored = config.and_then(|config| config.status.as_ref()).and_then(|status| status.sequence).unwrap_or(0);
        let recorded = config
            .and_then(|config| self.target_stage(&config.spec.target).ok())
            .and_then(|stage| self.record_on(stage))
            .map_or(0, |record| record.sequence);
        let members = self.members().map(|member| member.spec.sequence).max().unwrap_or(0);
        flawed!(HandMadeHoldNoNumber => return flaw::highest_owned(self));
        stored.max(recorded).max(members)
    }

    /// The name of the next promotion to be made.
    pub fn next_name(&self) -> String {
        naming::promotion_name(self.key.name(), self.highest_sequence().saturating_add(1))
    }
}

/// Uid of the controller owner, if there is one.
pub fn controller_uid(promotion: &VectorPromotion) -> Option<&str> {
    promotion.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// Reads all that a decision about `key` needs.
///
/// # Errors
/// Any [`StoreError`] of the reads; an object that does not parse is part of the answer.
pub async fn load<S: PromotionStore + ?Sized>(
    store: &S,
    inbox: &Inbox,
    key: &Key<VectorPromotionConfig>,
) -> Result<Snapshot, StoreError> {
    let mut snapshot = Snapshot::empty(key.clone());
    snapshot.config = Seen::get(store, key).await?;
    if snapshot.config == Seen::Absent {
        inbox.forget(key);
    }
    let query: Query<VectorPromotion> = Query::within(key.namespace()).by(BY_CONFIG, key.name());
    let listed = store.list(&query).await?;
    snapshot.promotions = listed.items;
    snapshot.unreadable = listed.unreadable;

    for name in landscape_names(&snapshot) {
        let seen = Seen::get(store, &Key::<Landscape>::new(key.namespace(), &name)).await?;
        snapshot.landscapes.insert(name, seen);
    }
    for stage in stage_keys(&snapshot) {
        let seen = Seen::get(store, &stage).await?;
        snapshot.stages.insert(stage, seen);
    }
    if let Some(config) = snapshot.config.found().cloned() {
        if let Ok(source) = snapshot.source_key(&config.spec.source) {
            if let SourceKey::Template(template) = &source {
                snapshot.template = Seen::get(store, template).await?;
            }
            let present = snapshot.source(&config.spec.source).ok();
            let candidates =
                inbox.candidates(&config, &source, present.as_ref(), newest_source_version(&snapshot, &config));
            snapshot.inbox = candidates.views;
            snapshot.candidates_were_lost = candidates.some_lost;
        }
        let next: Key<VectorPromotion> = Key::new(key.namespace(), snapshot.next_name());
        snapshot.next_name_is_taken = Seen::get(store, &next).await? != Seen::Absent;
    }
    Ok(snapshot)
}

/// The version of the config's source that its newest member with this source was made for (R13).
pub(super) fn newest_source_version(snapshot: &Snapshot, config: &VectorPromotionConfig) -> Option<u64> {
    snapshot
        .members()
        .filter(|member| member.spec.source == config.spec.source)
        .max_by_key(|member| (member.spec.sequence, member.uid()))
        .and_then(|member| source_version_of(member))
}

/// The live promotions that name the config; only their references are looked up.
fn live(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<VectorPromotion>> {
    snapshot.members().filter(|promotion| !Phase::of_promotion(promotion).is_terminal())
}

fn landscape_names(snapshot: &Snapshot) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = live(snapshot).map(|promotion| promotion.spec.target.landscape.clone()).collect();
    if let Some(config) = snapshot.config.found() {
        names.insert(config.spec.target.landscape.clone());
        names.extend(config.spec.source.landscape.clone());
    }
    names
}

fn stage_keys(snapshot: &Snapshot) -> BTreeSet<Key<Stage>> {
    let stage_of = |target: &TargetRef| {
        snapshot.managed_namespace(&target.landscape).ok().map(|namespace| Key::new(namespace, &target.name))
    };
    let mut keys: BTreeSet<_> = live(snapshot).filter_map(|promotion| stage_of(&promotion.spec.target)).collect();
    keys.extend(live(snapshot).filter_map(|promotion| promoted_stage(promotion)));
    if let Some(config) = snapshot.config.found() {
        keys.extend(stage_of(&config.spec.target));
        if let Ok(SourceKey::Stage(source)) = snapshot.source_key(&config.spec.source) {
            keys.insert(source);
        }
    }
    keys
}

/// The Stage that the start stored (R9).
pub(super) fn promoted_stage(promotion: &VectorPromotion) -> Option<Key<Stage>> {
    let stored = promotion.status.as_ref()?.promoted_stage_ref.as_ref()?;
    Some(Key::new(&stored.namespace, &stored.name))
}
