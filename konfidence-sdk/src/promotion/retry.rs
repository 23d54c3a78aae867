//! Once more, at a person's word (P18, P38).

use std::sync::Arc;

use konfidence_types::{VectorPromotion, VectorPromotionConfig};

use super::PromotionStore;
use super::amend::live;
use super::manual::{Wish, make_next};
use super::refusal::{Refusal, named};
use super::snapshot::controller_uid;
use super::state::Phase;
use crate::event::EventSink;
use crate::store::Key;

/// Makes the config's next promotion of the same vector to the same target, after one that failed, was rejected or was
/// superseded. The gate is the config's present one. Emits `PromotionCreated` on the config. Answers the new promotion.
///
/// It comes at once, whatever delay drift would have to keep after failures, and it starts that count anew: a person
/// looked at it. Where its vector is not the source's present one, it holds against that one as
/// [`promote`](super::promote()) does. A retry of a superseded promotion takes a number above its successor's, and may
/// thus take the target back to an older vector: that is what was asked for.
///
/// # Errors
/// Without a write: [`PromotionNotFound`](Refusal::PromotionNotFound), [`Anonymous`](Refusal::Anonymous),
/// [`StillLive`](Refusal::StillLive), [`AlreadySucceeded`](Refusal::AlreadySucceeded),
/// [`ConfigNotFound`](Refusal::ConfigNotFound), [`ConfigDeleting`](Refusal::ConfigDeleting),
/// [`ForeignPromotion`](Refusal::ForeignPromotion), [`Suspended`](Refusal::Suspended),
/// [`NotInitialised`](Refusal::NotInitialised), [`Exhausted`](Refusal::Exhausted),
/// [`SourceUnreadable`](Refusal::SourceUnreadable). Else [`Store`](Refusal::Store); after one that gives no certain
/// answer, look before asking again: the promotion may have been made.
///
/// # Example
/// ```
/// use konfidence_sdk::promotion::{self, Inbox};
/// use konfidence_sdk::{event::NoEvents, store::{Key, MemoryStore, ObjectStore}};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// let spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", "dev"));
/// let mut config = VectorPromotionConfig::new("menu-to-dev", spec);
/// config.metadata.namespace = Some("bakery".into());
/// let config = Key::of(&*store.create(&config).await?);
/// promotion::reconcile(&store, &noon, &NoEvents, &Inbox::default(), &config).await?;
///
/// let first = Key::of(&*promotion::promote(&store, &NoEvents, &config, "bakery//menu:1", "anna").await?);
/// promotion::reject(&store, &noon, &NoEvents, &first, "bert", "no prices on it").await?;
/// let second = promotion::retry(&store, &NoEvents, &first, "anna").await?;
/// assert_eq!((second.spec.sequence, &*second.spec.vector), (2, "bakery//menu:1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn retry<S: PromotionStore + ?Sized>(
    store: &S,
    events: &dyn EventSink,
    key: &Key<VectorPromotion>,
    by: &str,
) -> Result<Arc<VectorPromotion>, Refusal> {
    let by = named(by, key)?;
    // Once ended it is never written again (P22), so this need not be read a second time.
    let ended = live(store, key, |promotion| Refusal::PromotionNotFound { promotion }).await?;
    match Phase::of_promotion(&ended) {
        Phase::Succeeded => return Err(Refusal::AlreadySucceeded { promotion: key.clone() }),
        phase if !phase.is_terminal() => {
            return Err(Refusal::StillLive { promotion: key.clone(), state: phase.state() });
        }
        _ => {}
    }
    let config: Key<VectorPromotionConfig> = Key::new(key.namespace(), &ended.spec.vector_promotion_config_name);
    let wish = Wish { vector: &ended.spec.vector, target: Some(&ended.spec.target), by };
    make_next(store, events, &config, &wish, |present| match controller_uid(&ended) {
        Some(owner) if present.metadata.uid.as_deref() != Some(owner) => {
            Err(Refusal::ForeignPromotion { promotion: key.clone(), config: config.clone() })
        }
        _ => Ok(()),
    })
    .await
}
