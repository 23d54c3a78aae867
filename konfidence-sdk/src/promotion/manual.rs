//! The next promotion at a person's word: what [`promote`](super::promote()) and [`retry`](super::retry()) share.
//!
//! Everything is read live, and the name is the lock (R10): when it is taken, the config is read again and the next
//! number is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use konfidence_types::{EventReason, MAX_SEQUENCE, TargetRef, VectorPromotion, VectorPromotionConfig, annotation};
use kube::core::ResourceExt;

use super::PromotionStore;
use super::amend::worth_another_look;
use super::hold::Overrule;
use super::inbox::Inbox;
use super::live::Live;
use super::make::{Making, promotion};
use super::reference::Missing;
use super::refusal::Refusal;
use super::snapshot::{Seen, Snapshot, load};
use crate::event::{Event, EventSink, Severity};
use crate::store::{Key, ObjectRef, StoreError};

/// What a person wants made.
pub(super) struct Wish<'a> {
    pub(super) vector: &'a str,
    /// `None`: the config's.
    pub(super) target: Option<&'a TargetRef>,
    pub(super) by: &'a str,
}

/// All that is to be known about `key`, read live.
pub(super) async fn view<S: PromotionStore + ?Sized>(
    store: &S,
    key: &Key<VectorPromotionConfig>,
) -> Result<(Snapshot, Arc<VectorPromotionConfig>), Refusal> {
    let mut snapshot = load(&Live(store), &Inbox::default(), key).await?;
    if let Some(unreadable) = snapshot.unreadable.pop() {
        // It may hold any number, or the hold itself.
        return Err(StoreError::Unreadable(Box::new(unreadable)).into());
    }
    match &snapshot.config {
        Seen::Absent => Err(Refusal::ConfigNotFound { config: key.clone() }),
        Seen::Unreadable(unreadable) => Err(StoreError::Unreadable(unreadable.clone()).into()),
        Seen::Found(config) => {
            let config = Arc::clone(config);
            Ok((snapshot, config))
        }
    }
}

/// Makes the next promotion of the config `key`, if `permits` agrees to what the config is now.
pub(super) async fn make_next<S: PromotionStore + ?Sized>(
    store: &S,
    events: &dyn EventSink,
    key: &Key<VectorPromotionConfig>,
    wish: &Wish<'_>,
    permits: impl Fn(&VectorPromotionConfig) -> Result<(), Refusal>,
) -> Result<Arc<VectorPromotion>, Refusal> {
    let mut taken = 0;
    let mut tries = 0;
    loop {
        let (snapshot, config) = view(store, key).await?;
        if config.metadata.deletion_timestamp.is_some() {
            return Err(Refusal::ConfigDeleting { config: key.clone() });
        }
        permits(&config)?;
        if config.spec.suspend == Some(true) {
            return Err(Refusal::Suspended { config: key.clone() });
        }
        if config.status.as_ref().and_then(|status| status.sequence).is_none() {
            return Err(Refusal::NotInitialised { config: key.clone() });
        }
        let sequence = snapshot.highest_sequence().max(taken).saturating_add(1);
        if sequence > MAX_SEQUENCE {
            return Err(Refusal::Exhausted { config: key.clone() });
        }
        match store.create(&next(&snapshot, &config, sequence, wish)?).await {
            Ok(made) => {
                events.emit(created(&config, &made, wish.by));
                return Ok(made);
            }
            // The number goes with the name, whoever holds it.
            Err(error) if worth_another_look(&error, &mut tries) => taken = sequence,
            Err(error) => return Err(error.into()),
        }
    }
}

fn next(
    snapshot: &Snapshot,
    config: &VectorPromotionConfig,
    sequence: i64,
    wish: &Wish<'_>,
) -> Result<VectorPromotion, Refusal> {
    let source = match snapshot.source(&config.spec.source) {
        Ok(source) => Some(source),
        Err(missing @ Missing::Unreadable(_)) => {
            return Err(Refusal::SourceUnreadable { config: snapshot.key.clone(), missing });
        }
        Err(_) => None,
    };
    // A source without a vector has nothing to overrule, and whatever it gets is new.
    let overruled =
        source.as_ref().map(|source| &source.vector).filter(|vector| !vector.is_empty() && **vector != *wish.vector);
    let annotations = overruled.map_or_else(BTreeMap::new, |vector| {
        let overrule = Overrule { vector: vector.clone(), by: wish.by.to_owned() };
        BTreeMap::from([(annotation::OVERRULES.to_owned(), overrule.text())])
    });
    let making = Making {
        sequence,
        vector: wish.vector.to_owned(),
        target: wish.target.unwrap_or(&config.spec.target).clone(),
        source_version: source.map(|source| source.version),
        annotations,
    };
    Ok(promotion(config, making))
}

fn created(config: &VectorPromotionConfig, made: &VectorPromotion, by: &str) -> Event {
    Event {
        regarding: ObjectRef::of(config),
        severity: Severity::Normal,
        reason: EventReason::PromotionCreated.as_str(),
        action: "Promote",
        note: format!("made promotion {} of vector {} for {by}", made.name_any(), made.spec.vector),
    }
}
