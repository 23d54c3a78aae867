//! One key brought to rest: load, decide, apply, until a decision has nothing left to do.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{EventReason, VectorPromotion, VectorPromotionConfig};

use super::PromotionStore;
use super::apply::{Stopped, Written, apply};
use super::decide::decide;
use super::inbox::Inbox;
use super::make::requires_approval;
use super::setback::Setback;
use super::snapshot::{Snapshot, load};
use super::state::Phase;
use super::steps::Action;
use super::verify::{Verdict, verify};
use crate::clock::Clock;
use crate::event::{Event, EventSink, Severity};
use crate::plan::{Decision, Plan};
use crate::store::{Key, ObjectRef, StoreError};

/// So many decisions at most in one reconcile; a source that changes all the time must not hold the key for ever.
const ROUNDS: usize = 1024;
/// So many conflicts at most; then somebody else is busy with the same objects, and their change will wake us.
const CONFLICTS: usize = 8;
/// When to look again after that, in case it does not.
const CONTENDED: SignedDuration = SignedDuration::from_secs(1);
/// When to look again where a view is behind a live read, in case the watch event that brings it forward is lost.
const LAGGING: SignedDuration = SignedDuration::from_secs(5);

/// What a reconcile came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Look again at this instant, although nothing else changed. `None`: only when something changes.
    pub wake_up: Option<Timestamp>,
    /// Every write, in order.
    pub transitions: Vec<Transition>,
}

/// One write, for metrics and logs.
#[derive(Clone, Debug)]
pub struct Transition {
    /// What it meant.
    pub action: Action,
    /// The promotion after the write, where the step wrote one.
    pub promotion: Option<Arc<VectorPromotion>>,
}

/// Why a reconcile ended before its key was at rest, and how far it had come. What was written stands.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Interrupted {
    /// No conflict.
    #[source]
    pub error: StoreError,
    /// Every write before it, in order. Where there are some, the world has moved on, and the next try is the first one
    /// of whatever failed now: its back-off starts anew.
    pub transitions: Vec<Transition>,
}

impl From<Interrupted> for StoreError {
    fn from(interrupted: Interrupted) -> Self {
        interrupted.error
    }
}

/// Brings the config `key` and its promotions to rest.
///
/// Callers must obey one rule: never two calls for the same key at once in one process. Across processes safety needs
/// no such rule; every write is conditional. After the returned wake-up, and whenever an object changes that
/// `affected_by_config` and its siblings map to the key, it is to be called again.
///
/// # Errors
/// [`Interrupted`] by a [`StoreError`] that is no conflict: try again with a back-off.
///
/// # Example
/// ```
/// # use konfidence_sdk::{clock::Clock, event::NoEvents, promotion, store::{Key, StoreError}};
/// # use konfidence_types::VectorPromotionConfig;
/// async fn settle(store: &dyn promotion::PromotionStore, clock: &dyn Clock) -> Result<(), StoreError> {
///     let key: Key<VectorPromotionConfig> = Key::new("bakery", "menu-to-dev");
///     let outcome = promotion::reconcile(store, clock, &NoEvents, &promotion::Inbox::default(), &key).await?;
///     println!("{} writes, look again at {:?}", outcome.transitions.len(), outcome.wake_up);
///     Ok(())
/// }
/// ```
pub async fn reconcile<S: PromotionStore + ?Sized>(
    store: &S,
    clock: &dyn Clock,
    events: &dyn EventSink,
    inbox: &Inbox,
    key: &Key<VectorPromotionConfig>,
) -> Result<Outcome, Interrupted> {
    let now = clock.now();
    let mut pass = Pass::default();
    let rested = pass.run(store, now, events, inbox, key).await;
    pass.tell_what_is_live(events);
    let transitions = pass.transitions;
    match rested {
        Ok(wake_up) => Ok(Outcome { wake_up, transitions }),
        Err(error) => Err(Interrupted { error, transitions }),
    }
}

#[derive(Default)]
struct Pass {
    transitions: Vec<Transition>,
    setback: Option<Setback>,
    held: Vec<Held>,
}

/// The event of a creation or a start, told at rest if its promotion is still live then (P47).
struct Held {
    promotion: Option<String>,
    is_live: bool,
    event: Event,
}

impl Pass {
    async fn run<S: PromotionStore + ?Sized>(
        &mut self,
        store: &S,
        now: Timestamp,
        events: &dyn EventSink,
        inbox: &Inbox,
        key: &Key<VectorPromotionConfig>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let mut conflicts = 0;
        let mut doubts = 0;
        for _ in 0..ROUNDS {
            let mut snapshot = load(store, inbox, key).await?;
            warn_of_lost(&snapshot, events);
            snapshot.setback = self.setback.clone();
            let (plan, in_doubt) = settle(store, &mut snapshot, now).await?;
            if plan.steps.is_empty() {
                // A store without a cache agrees with itself the second time.
                if in_doubt && doubts == 0 {
                    doubts += 1;
                    continue;
                }
                let lagging = in_doubt.then(|| now.saturating_add(LAGGING).unwrap_or(now));
                return Ok(earlier(plan.wake_up, lagging));
            }
            let applied = apply(store, &plan).await;
            self.note(applied.written, events);
            match applied.stopped {
                None => {}
                Some(Stopped::Setback(setback)) => self.setback = Some(setback),
                Some(Stopped::Failed(error)) => return Err(error),
                Some(Stopped::Conflict) if conflicts < CONFLICTS => conflicts += 1,
                Some(Stopped::Conflict) => return Ok(Some(now.saturating_add(CONTENDED).unwrap_or(now))),
            }
        }
        Ok(Some(now))
    }

    fn note(&mut self, written: Vec<Written>, events: &dyn EventSink) {
        for Written { action, promotion, events: told } in written {
            if let Some(promotion) = &promotion {
                let is_live = !Phase::of_promotion(promotion).is_terminal();
                let own = self.held.iter_mut().filter(|held| held.promotion == promotion.metadata.uid);
                own.for_each(|held| held.is_live = is_live);
            }
            for event in told {
                if matches!(action, Action::Create | Action::Start) {
                    let uid = promotion.as_ref().and_then(|promotion| promotion.metadata.uid.clone());
                    self.held.push(Held { promotion: uid, is_live: true, event });
                } else {
                    events.emit(event);
                }
            }
            self.transitions.push(Transition { action, promotion });
        }
    }

    fn tell_what_is_live(&mut self, events: &dyn EventSink) {
        for held in self.held.drain(..) {
            if held.is_live || held.event.reason == EventReason::TargetContested.as_str() {
                events.emit(held.event);
            }
        }
    }
}

/// Decides, reading live what is in doubt, until there is a plan. Answers also whether a live read disagreed.
async fn settle<S: PromotionStore + ?Sized>(
    store: &S,
    snapshot: &mut Snapshot,
    now: Timestamp,
) -> Result<(Plan<super::steps::Step>, bool), StoreError> {
    loop {
        match decide(snapshot, now) {
            Decision::Plan(plan) => {
                let in_doubt = snapshot.confirmed.values().any(|verdict| *verdict == Verdict::Differs);
                return Ok((plan, in_doubt));
            }
            Decision::Verify(doubt) => {
                let verdict = verify(store, snapshot, &doubt).await?;
                snapshot.confirmed.insert(doubt, verdict);
            }
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// P8: what fell out of the inbox is lost as a candidate, and somebody should know.
fn warn_of_lost(snapshot: &Snapshot, events: &dyn EventSink) {
    let Some(config) = snapshot.config.standing().filter(|config| requires_approval(config)) else { return };
    if snapshot.candidates_were_lost {
        events.emit(Event {
            regarding: ObjectRef::of(&**config),
            severity: Severity::Warning,
            reason: EventReason::CandidatesDropped.as_str(),
            action: "Promote",
            note: format!(
                "{} changed faster than promotions could be made: its oldest vectors are no candidates",
                config.spec.source
            ),
        });
    }
}
