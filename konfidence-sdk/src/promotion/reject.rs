//! A person's no (P18).

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_types::{EventReason, Rejection, SucceededReason, Time, VectorPromotion, condition, condition_type};
use serde_json::{Value, json};

use super::PromotionStore;
use super::amend::{Part, amend};
use super::decide::deadline;
use super::refusal::{Refusal, named, undecided};
use super::state::{Phase, conditions_of};
use crate::clock::Clock;
use crate::condition::{Moves, merge, to_the_second, with};
use crate::event::{Event, EventSink, Severity};
use crate::store::{Key, ObjectRef};

/// Ends a waiting, ready or blocked promotion: `status.rejection`, `Succeeded=False/PromotionRejected` and the derived
/// state `Failed`, in one conditional status write. Emits `PromotionRejected` after it. Answers the promotion as it
/// then is.
///
/// While the rejected promotion is the newest of its config for that target, drift does not bring the same vector
/// back; [`retry`](super::retry()) does. `reason` is told to everybody and may be empty.
///
/// # Errors
/// Without a write: [`PromotionNotFound`](Refusal::PromotionNotFound), [`Anonymous`](Refusal::Anonymous),
/// [`Superseded`](Refusal::Superseded), [`Finished`](Refusal::Finished), [`Deleting`](Refusal::Deleting),
/// [`InProgress`](Refusal::InProgress). Else [`Store`](Refusal::Store).
///
/// # Example
/// ```
/// use konfidence_sdk::promotion;
/// use konfidence_sdk::{event::NoEvents, store::{Key, MemoryStore, ObjectStore}};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotion, VectorPromotionSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// let mut ready = VectorPromotion::new("menu-to-dev-1", VectorPromotionSpec {
///     vector_promotion_config_name: "menu-to-dev".into(),
///     source: SourceRef::template("menu"),
///     target: TargetRef::stage("eu", "dev"),
///     vector: "bakery//menu:1".into(),
///     require_approval: false,
///     sequence: 1,
///     ttl_after_finished: None,
/// });
/// ready.metadata.namespace = Some("bakery".into());
/// let key = Key::of(&*store.create(&ready).await?);
///
/// let rejected = promotion::reject(&store, &noon, &NoEvents, &key, "anna", "no prices on it").await?;
/// assert_eq!(rejected.status.as_ref().unwrap().state.as_deref(), Some("Failed"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn reject<S: PromotionStore + ?Sized>(
    store: &S,
    clock: &dyn Clock,
    events: &dyn EventSink,
    key: &Key<VectorPromotion>,
    rejecter: &str,
    reason: &str,
) -> Result<Arc<VectorPromotion>, Refusal> {
    let rejecter = named(rejecter, key)?;
    let now = clock.now();
    let absent = |promotion| Refusal::PromotionNotFound { promotion };
    let judge = |promotion: &VectorPromotion| denial(promotion, rejecter, reason, now).map(Some);
    let (denied, _) = amend(store, key, Part::Status, absent, judge).await?;
    events.emit(Event {
        regarding: ObjectRef::of(&*denied),
        severity: Severity::Normal,
        reason: EventReason::PromotionRejected.as_str(),
        action: "Reject",
        note: sentence(&denied, rejecter, reason),
    });
    Ok(denied)
}

/// The status that rejects `promotion`.
fn denial(promotion: &VectorPromotion, rejecter: &str, reason: &str, now: Timestamp) -> Result<Value, Refusal> {
    let before = conditions_of(promotion);
    let succeeded = condition(before, condition_type::SUCCEEDED);
    if undecided(promotion)? == Phase::InProgress {
        let since = succeeded.map_or(now, |running| running.last_transition_time.0);
        return Err(Refusal::InProgress { promotion: Key::of(promotion), deadline: deadline(since) });
    }
    let ended = merge(
        succeeded,
        condition_type::SUCCEEDED,
        ("False", SucceededReason::PromotionRejected.as_str()),
        sentence(promotion, rejecter, reason),
        promotion.metadata.generation,
        Moves::OnReason,
        now,
    );
    let conditions = with(before, ended);
    let state = Phase::of(&conditions, promotion.spec.require_approval).state().as_str();
    let rejection = Rejection {
        rejected_by: rejecter.to_owned(),
        rejected_at: Time(to_the_second(now)),
        reason: reason.to_owned(),
    };
    Ok(json!({"status": {"conditions": conditions, "rejection": rejection, "state": state}}))
}

/// Who and why.
fn sentence(promotion: &VectorPromotion, rejecter: &str, reason: &str) -> String {
    let vector = &promotion.spec.vector;
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("vector {vector} is rejected by {rejecter}{why}")
}
