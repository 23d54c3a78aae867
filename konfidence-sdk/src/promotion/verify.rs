//! Doubts about what was read, and the live reads that settle them.
//!
//! Cached views of different kinds may be of different age. As long as they vouch for each other nothing is read live
//! (R11); else the decision answers with a [`Doubt`] alone, `reconcile` reads that part live, and decides again with
//! the [`Verdict`]. What a live read shows never replaces what the cache showed: if they differ, the decision waits
//! for the watch (R1).

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig};
use kube::core::ResourceExt;
use serde_json::Value;

use super::PromotionStore;
use super::snapshot::{Seen, Snapshot, controller_uid};
use super::source::{SourceKey, SourceView};
use super::state::conditions_of;
use crate::store::{BY_CONFIG, Key, Query, StoreError, Unreadable};

/// What a decision will not believe without a live read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// Another uid than the config's stands under its name: which config is there now? (R2)
    Owner,
    /// The config has no number base: which is the highest number that any promotion of its name holds? (R12)
    Initialise,
    /// The config's view is older than the one that the newest member was made under. (R13)
    Config,
    /// The source's view is older than the one that the newest member was made for. (R13)
    Source,
    /// The views do not vouch for each other: config, source, target, their Landscapes and promotions before a creation.
    /// (R11)
    Creation,
    /// The Stage of a promotion past its deadline looks absent: is it? (R7)
    Gone(Key<Stage>),
}

/// What the live read said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same as the view, in all that the decision reads.
    Agrees,
    /// Something else: the view is old; wait for the watch.
    Differs,
    /// The highest number that any promotion of the config's name holds ([`Doubt::Initialise`]).
    Highest(i64),
}

impl From<bool> for Verdict {
    fn from(agrees: bool) -> Self {
        if agrees { Self::Agrees } else { Self::Differs }
    }
}

/// Settles `doubt` about `snapshot` by live reads.
///
/// # Errors
/// Any [`StoreError`] of the reads.
pub async fn verify<S: PromotionStore + ?Sized>(
    store: &S,
    snapshot: &Snapshot,
    doubt: &Doubt,
) -> Result<Verdict, StoreError> {
    match doubt {
        Doubt::Owner => {
            Ok((config_uid(&Seen::get_live(store, &snapshot.key).await?) == config_uid(&snapshot.config)).into())
        }
        Doubt::Config => config_agrees(store, snapshot).await.map(Verdict::from),
        // The version too: a source that came back to an older vector (A, B, A) would give the next promotion the
        // older version, and then a view that shows B would be in no doubt any more (P13).
        Doubt::Source => source_agrees(store, snapshot, |view| view).await.map(Verdict::from),
        Doubt::Initialise => {
            let listed = store.list_live(&of_config(snapshot)).await?;
            let read = listed.items.iter().map(|promotion| promotion.spec.sequence);
            let raw = |unreadable: &Unreadable| unreadable.raw.pointer("/spec/sequence").and_then(Value::as_i64);
            Ok(Verdict::Highest(read.chain(listed.unreadable.iter().filter_map(raw)).max().unwrap_or(0)))
        }
        Doubt::Creation => {
            let agrees = config_agrees(store, snapshot).await?
                && source_agrees(store, snapshot, |view| (view.version.uid, view.vector)).await?
                && target_agrees(store, snapshot).await?
                && promotions_agree(store, snapshot).await?;
            Ok(agrees.into())
        }
        Doubt::Gone(stage) => Ok((Seen::get_live(store, stage).await? == Seen::Absent).into()),
    }
}

fn config_uid(seen: &Seen<VectorPromotionConfig>) -> Option<String> {
    match seen {
        Seen::Absent => None,
        Seen::Found(config) => config.uid(),
        Seen::Unreadable(unreadable) => Some(unreadable.object.uid.clone()),
    }
}

fn of_config(snapshot: &Snapshot) -> Query<VectorPromotion> {
    Query::within(snapshot.key.namespace()).by(BY_CONFIG, snapshot.key.name())
}

async fn config_agrees<S: PromotionStore + ?Sized>(store: &S, snapshot: &Snapshot) -> Result<bool, StoreError> {
    let reads = |config: &VectorPromotionConfig| {
        (
            config.metadata.uid.clone(),
            config.metadata.generation,
            config.metadata.deletion_timestamp.clone(),
            own_annotations(config),
            config.status.as_ref().and_then(|status| status.sequence),
        )
    };
    let live = Seen::get_live(store, &snapshot.key).await?;
    Ok(live.found().map(|config| reads(config)) == snapshot.config.found().map(|config| reads(config)))
}

async fn source_agrees<S: PromotionStore + ?Sized, T: PartialEq>(
    store: &S,
    snapshot: &Snapshot,
    reads: impl Fn(SourceView) -> T,
) -> Result<bool, StoreError> {
    let Some(config) = snapshot.config.found() else { return Ok(false) };
    if let Some(landscape) = &config.spec.source.landscape
        && !landscape_agrees(store, snapshot, landscape).await?
    {
        return Ok(false);
    }
    let live = match snapshot.source_key(&config.spec.source) {
        Err(_) => return Ok(false),
        Ok(SourceKey::Template(key)) => {
            Seen::get_live(store, &key).await?.standing().map(|template| SourceView::of_template(template))
        }
        Ok(SourceKey::Stage(key)) => {
            Seen::get_live(store, &key).await?.standing().map(|stage| SourceView::of_stage(stage))
        }
    };
    let viewed = snapshot.source(&config.spec.source).ok();
    Ok(live.map(&reads) == viewed.map(&reads))
}

async fn target_agrees<S: PromotionStore + ?Sized>(store: &S, snapshot: &Snapshot) -> Result<bool, StoreError> {
    let Some(config) = snapshot.config.found() else { return Ok(false) };
    let Ok(viewed) = snapshot.target_stage(&config.spec.target) else { return Ok(false) };
    if !landscape_agrees(store, snapshot, &config.spec.target.landscape).await? {
        return Ok(false);
    }
    let live = Seen::get_live(store, &Key::of(&**viewed)).await?;
    let reads = |stage: &Stage| (stage.uid(), stage.spec.vector.clone(), own_annotations(stage));
    Ok(live.standing().map(|stage| reads(stage)) == Some(reads(viewed)))
}

/// Which Stage is meant depends on the Landscape: an old view of one that was made again with another namespace finds
/// another Stage, which may well agree with itself, and a second promotion for one drift would be made (P13).
async fn landscape_agrees<S: PromotionStore + ?Sized>(
    store: &S,
    snapshot: &Snapshot,
    name: &str,
) -> Result<bool, StoreError> {
    fn managed(seen: &Seen<Landscape>) -> Option<&str> {
        seen.standing()?.status.as_ref()?.namespace.as_deref()
    }
    let live = Seen::get_live(store, &Key::<Landscape>::new(snapshot.key.namespace(), name)).await?;
    Ok(managed(&live) == snapshot.landscapes.get(name).and_then(managed))
}

async fn promotions_agree<S: PromotionStore + ?Sized>(store: &S, snapshot: &Snapshot) -> Result<bool, StoreError> {
    let reads = |promotion: &VectorPromotion| {
        (
            promotion.uid(),
            controller_uid(promotion).map(str::to_owned),
            promotion.metadata.deletion_timestamp.clone(),
            own_annotations(promotion),
            conditions_of(promotion).to_vec(),
        )
    };
    let live = store.list_live(&of_config(snapshot)).await?;
    Ok(live.unreadable.is_empty()
        && live.items.len() == snapshot.promotions.len()
        && live.items.iter().zip(&snapshot.promotions).all(|(live, viewed)| reads(live) == reads(viewed)))
}

/// Our own annotations; what others write on an object is no difference.
fn own_annotations<K: ResourceExt>(object: &K) -> Vec<(String, String)> {
    let own = object.annotations().iter().filter(|(name, _)| name.starts_with("konfidence.cloud/"));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}
