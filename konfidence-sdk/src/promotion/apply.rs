//! Making a plan's writes, in order, until one does not go through.

use std::collections::BTreeMap;
use std::sync::Arc;

use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig};
use kube::core::Resource;

use super::PromotionStore;
use super::setback::{During, Setback};
use super::steps::{Action, Step, Write};
use crate::event::Event;
use crate::plan::Plan;
use crate::store::{Key, ObjectStore, Patch, Precondition, StoreError, Version};

/// How far a plan came.
#[derive(Debug)]
pub struct Applied {
    /// Each step that was written, with the promotion as it stands after it (where the step wrote one).
    pub written: Vec<Written>,
    /// Why the rest was not; `None`: the whole plan was written.
    pub stopped: Option<Stopped>,
}

/// One step that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it meant.
    pub action: Action,
    /// The promotion after the write.
    pub promotion: Option<Arc<VectorPromotion>>,
    /// What is to be told about it.
    pub events: Vec<Event>,
}

/// Why a plan stopped.
#[derive(Debug)]
pub enum Stopped {
    /// The world has moved on: decide again.
    Conflict,
    /// A write to a Stage failed: decide again, knowing that.
    Setback(Setback),
    /// Any other error; the work queue tries again.
    Failed(StoreError),
}

/// The versions that the plan's own writes gave: a later step on the same object is conditional on them (P23).
#[derive(Default)]
struct Versions {
    promotions: BTreeMap<Key<VectorPromotion>, Version>,
    configs: BTreeMap<Key<VectorPromotionConfig>, Version>,
}

/// Makes the writes of `plan` in order and stops at the first that does not go through. Emits nothing.
pub async fn apply<S: PromotionStore + ?Sized>(store: &S, plan: &Plan<Step>) -> Applied {
    let mut applied = Applied { written: Vec::new(), stopped: None };
    let mut versions = Versions::default();
    for step in &plan.steps {
        match write(store, step, &mut versions).await {
            Ok(promotion) => {
                applied.written.push(Written { action: step.action, promotion, events: step.events.clone() });
            }
            Err(stopped) => {
                applied.stopped = Some(stopped);
                break;
            }
        }
    }
    applied
}

async fn write<S: PromotionStore + ?Sized>(
    store: &S,
    step: &Step,
    versions: &mut Versions,
) -> Result<Option<Arc<VectorPromotion>>, Stopped> {
    match &step.write {
        Write::Create(promotion) => store.create(&**promotion).await.map(Some).map_err(stopped),
        Write::Promotion(key, patch) => {
            let patch = following(patch, versions.promotions.get(key));
            let written = store.patch(key, &patch).await.map_err(stopped)?;
            versions.promotions.insert(key.clone(), Version::of(&*written));
            Ok(Some(written))
        }
        Write::PromotionStatus(key, patch) => {
            let patch = following(patch, versions.promotions.get(key));
            let written = store.patch_status(key, &patch).await.map_err(stopped)?;
            versions.promotions.insert(key.clone(), Version::of(&*written));
            Ok(Some(written))
        }
        Write::ConfigStatus(key, patch) => {
            let patch = following(patch, versions.configs.get(key));
            match store.patch_status(key, &patch).await {
                Ok(written) => {
                    versions.configs.insert(key.clone(), Version::of(&*written));
                }
                // It does not parse, which is what was just written into its condition.
                Err(StoreError::Unreadable(_)) => {}
                Err(error) => return Err(stopped(error)),
            }
            Ok(None)
        }
        Write::Stage { key, patch, promotion, read } => {
            let version = versions.promotions.get(promotion).unwrap_or(read);
            write_stage(store, key, patch, step.action, version).await.map(|()| None)
        }
        Write::Delete(key, precondition) => {
            let precondition =
                versions.promotions.get(key).cloned().map_or_else(|| precondition.clone(), Precondition::from);
            match ObjectStore::<VectorPromotion>::delete(store, key, &precondition).await {
                Ok(()) | Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(stopped(error)),
            }
        }
    }
}

/// A Stage that refuses, or gives no certain answer, is something that the next decision has to know.
async fn write_stage<S: PromotionStore + ?Sized>(
    store: &S,
    key: &Key<Stage>,
    patch: &Patch<Stage>,
    action: Action,
    promotion: &Version,
) -> Result<(), Stopped> {
    let during = match action {
        Action::WriteStage(during) => during,
        _ => During::Retirement,
    };
    let setback = |refused, message: String| {
        Stopped::Setback(Setback {
            promotion: promotion.uid.clone(),
            version: promotion.resource_version.clone(),
            during,
            refused,
            message,
        })
    };
    match store.patch(key, patch).await {
        Ok(_) => Ok(()),
        Err(StoreError::Invalid { message, .. } | StoreError::Forbidden { message, .. }) => Err(setback(true, message)),
        Err(StoreError::Unavailable { message, .. }) => Err(setback(false, message)),
        Err(error) => Err(stopped(error)),
    }
}

fn following<K: Resource>(patch: &Patch<K>, own: Option<&Version>) -> Patch<K> {
    own.map_or_else(|| patch.clone(), |own| Patch::new(own.clone(), patch.merge.clone()))
}

fn stopped(error: StoreError) -> Stopped {
    if error.is_conflict() { Stopped::Conflict } else { Stopped::Failed(error) }
}
