//! A person's yes (P15, P16): the one entry point that opens the approval gate, and no other gate (P20).

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_types::{Approval, ApprovedReason, EventReason, Time, VectorPromotion, condition, condition_type};
use serde_json::{Value, json};

use super::PromotionStore;
use super::amend::{Part, amend};
use super::refusal::{Refusal, named, undecided};
use super::state::{Phase, conditions_of, gate_is_open};
use crate::clock::Clock;
use crate::condition::{Moves, merge, to_the_second, with};
use crate::event::{Event, EventSink, Severity};
use crate::store::{Key, ObjectRef};

/// Approves a promotion: `Approved=True/ManuallyApproved`, the record of who and when, and the derived state, in one
/// conditional status write. Emits `PromotionApproved` after it. Answers the promotion as it then is.
///
/// What is approved is what the promotion says: vector, source and target are immutable, and its execution reads
/// nothing else (P19). Order, superseding and target resolution still apply. Whether `approver` may approve is the
/// caller's question; who they are is recorded as given.
///
/// A conflict with the controller or another approver is settled on a fresh live read, so the caller sees success or a
/// refusal, and of two approvers at once exactly one succeeds.
///
/// # Errors
/// Without a write: [`PromotionNotFound`](Refusal::PromotionNotFound), [`Anonymous`](Refusal::Anonymous),
/// [`Superseded`](Refusal::Superseded), [`Finished`](Refusal::Finished), [`Deleting`](Refusal::Deleting),
/// [`ApprovalNotRequired`](Refusal::ApprovalNotRequired), [`AlreadyApproved`](Refusal::AlreadyApproved). Else
/// [`Store`](Refusal::Store); after one that gives no certain answer, ask again: if it did happen, that is refused as
/// approved already.
///
/// # Example
/// ```
/// use konfidence_sdk::promotion::{self, Refusal};
/// use konfidence_sdk::{event::NoEvents, store::{Key, MemoryStore, ObjectStore}};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotion, VectorPromotionSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// let mut waiting = VectorPromotion::new("menu-to-test-1", VectorPromotionSpec {
///     vector_promotion_config_name: "menu-to-test".into(),
///     source: SourceRef::stage("eu", "dev"),
///     target: TargetRef::stage("eu", "test"),
///     vector: "bakery//menu:1".into(),
///     require_approval: true,
///     sequence: 1,
///     ttl_after_finished: None,
/// });
/// waiting.metadata.namespace = Some("bakery".into());
/// let key = Key::of(&*store.create(&waiting).await?);
///
/// let approved = promotion::approve(&store, &noon, &NoEvents, &key, "anna").await?;
/// assert_eq!(approved.status.as_ref().unwrap().state.as_deref(), Some("Ready"));
///
/// let again = promotion::approve(&store, &noon, &NoEvents, &key, "bert").await;
/// assert!(matches!(again, Err(Refusal::AlreadyApproved { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn approve<S: PromotionStore + ?Sized>(
    store: &S,
    clock: &dyn Clock,
    events: &dyn EventSink,
    key: &Key<VectorPromotion>,
    approver: &str,
) -> Result<Arc<VectorPromotion>, Refusal> {
    let approver = named(approver, key)?;
    let now = clock.now();
    let absent = |promotion| Refusal::PromotionNotFound { promotion };
    let judge = |promotion: &VectorPromotion| grant(promotion, approver, now).map(Some);
    let (granted, _) = amend(store, key, Part::Status, absent, judge).await?;
    events.emit(Event {
        regarding: ObjectRef::of(&*granted),
        severity: Severity::Normal,
        reason: EventReason::PromotionApproved.as_str(),
        action: "Approve",
        note: format!("vector {} is approved by {approver}", granted.spec.vector),
    });
    Ok(granted)
}

/// The status that approves `promotion`.
fn grant(promotion: &VectorPromotion, approver: &str, now: Timestamp) -> Result<Value, Refusal> {
    undecided(promotion)?;
    if !promotion.spec.require_approval {
        return Err(Refusal::ApprovalNotRequired { promotion: Key::of(promotion) });
    }
    let before = conditions_of(promotion);
    if gate_is_open(before, true) {
        let approval = promotion.status.as_ref().and_then(|status| status.approval.clone());
        return Err(Refusal::AlreadyApproved { promotion: Key::of(promotion), approval });
    }
    let opened = merge(
        condition(before, condition_type::APPROVED),
        condition_type::APPROVED,
        ("True", ApprovedReason::ManuallyApproved.as_str()),
        format!("vector {} is approved by {approver}", promotion.spec.vector),
        promotion.metadata.generation,
        Moves::OnReason,
        now,
    );
    let conditions = with(before, opened);
    let approval = Approval { approved_by: approver.to_owned(), approved_at: Time(to_the_second(now)) };
    let state = Phase::of(&conditions, true).state().as_str();
    Ok(json!({"status": {"conditions": conditions, "approval": approval, "state": state}}))
}
