//! Why a person's word is not taken: each reason is a variant of its own, names the object and says what to do.
//!
//! A refused operation has written nothing.

use std::fmt;

use jiff::Timestamp;
use konfidence_types::{Approval, PromotionState, VectorPromotion, VectorPromotionConfig};

use super::reference::Missing;
use super::state::{Phase, conditions_of};
use crate::store::{Key, StoreError};

/// Why [`approve`](super::approve()), [`reject`](super::reject()), [`retry`](super::retry()),
/// [`promote`](super::promote()), [`release`](super::release()), [`suspend`](super::suspend()) or
/// [`resume`](super::resume()) did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such promotion.
    #[error("promotion {promotion} does not exist: check name and namespace; a finished one may have been cleaned up")]
    PromotionNotFound {
        /// As it was asked for.
        promotion: Key<VectorPromotion>,
    },
    /// There is no such config; promotions are made for one.
    #[error("config {config} does not exist: create it, or check name and namespace")]
    ConfigNotFound {
        /// As it was asked for, or as the promotion names it.
        config: Key<VectorPromotionConfig>,
    },
    /// The empty name of a person.
    #[error("nobody is named who decides about {object}: name the person")]
    Anonymous {
        /// The promotion or the config, as `namespace/name`.
        object: String,
    },
    /// The empty vector.
    #[error("no vector is named to be promoted by config {config}: name one, <repository>//<component>:<version>")]
    NoVector {
        /// The config.
        config: Key<VectorPromotionConfig>,
    },
    /// The promotion has a deletionTimestamp: nothing will be done with it any more.
    #[error("promotion {promotion} is being deleted: decide about another one, or promote its vector anew")]
    Deleting {
        /// Which.
        promotion: Key<VectorPromotion>,
    },
    /// The config has a deletionTimestamp: nothing is made for it any more.
    #[error("config {config} is being deleted: wait until it is gone, and create it anew")]
    ConfigDeleting {
        /// Which.
        config: Key<VectorPromotionConfig>,
    },
    /// A newer promotion took its place; that is final (P29).
    #[error("promotion {promotion} is superseded by {}: {}", by.as_deref().unwrap_or("a newer promotion"), SUPERSEDED)]
    Superseded {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// Its successor's name, if it is known.
        by: Option<String>,
    },
    /// It has ended in another way, or its result is unknown, which is never acted upon.
    #[error("promotion {promotion} is {state} already ({reason}: {message}): {}", after(*state))]
    Finished {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// `Succeeded` or `Failed`.
        state: PromotionState,
        /// Reason of its condition `Succeeded`.
        reason: String,
        /// Message of its condition `Succeeded`.
        message: String,
    },
    /// It starts without anybody's approval.
    #[error("promotion {promotion} needs no approval: it starts by itself when it is its turn")]
    ApprovalNotRequired {
        /// Which.
        promotion: Key<VectorPromotion>,
    },
    /// It was approved before, by whatever client.
    #[error("promotion {promotion} is approved already{}: it starts when it is its turn", granted(approval.as_ref()))]
    AlreadyApproved {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// Who did, and when. `None`: the gate was opened without a record.
        approval: Option<Approval>,
    },
    /// It is being executed, and from there is no way but to its end (P28).
    #[error("promotion {promotion} is being executed: it finishes, or times out at {deadline}")]
    InProgress {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// When it is retired at the latest that its Stage accepts the fence.
        deadline: Timestamp,
    },
    /// It has not ended, so that there is nothing to try again.
    #[error("promotion {promotion} is still {state}: let it end, or reject it first")]
    StillLive {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// Its state.
        state: PromotionState,
    },
    /// It reached its aim, so that there is nothing to try again.
    #[error("promotion {promotion} has succeeded: to bring its vector back later, promote that vector")]
    AlreadySucceeded {
        /// Which.
        promotion: Key<VectorPromotion>,
    },
    /// It belongs to an earlier config of that name, with which the present one has nothing in common (P12).
    #[error("promotion {promotion} belongs to an earlier config of the name {}: promote its vector by the present one", config.name())]
    ForeignPromotion {
        /// Which.
        promotion: Key<VectorPromotion>,
        /// The config that has the name now.
        config: Key<VectorPromotionConfig>,
    },
    /// `spec.suspend` is true: nothing is made for the config.
    #[error("config {config} is suspended: resume it first")]
    Suspended {
        /// Which.
        config: Key<VectorPromotionConfig>,
    },
    /// The config has no number base yet (R12).
    #[error("config {config} has no sequence yet: the promotion controller sets it at once, see that it runs")]
    NotInitialised {
        /// Which.
        config: Key<VectorPromotionConfig>,
    },
    /// All sequences are used up.
    #[error("config {config} has used up all sequence numbers: use a config of another name")]
    Exhausted {
        /// Which.
        config: Key<VectorPromotionConfig>,
    },
    /// The source cannot be read, so that nobody knows what is being overruled.
    #[error("the source of config {config} cannot be read: {missing}")]
    SourceUnreadable {
        /// Which.
        config: Key<VectorPromotionConfig>,
        /// What stands in the way.
        missing: Missing,
    },
    /// No promotion of the config holds against its source.
    #[error("nothing is held by config {config}: {why}; drift is followed without a release")]
    NothingHeld {
        /// Which.
        config: Key<VectorPromotionConfig>,
        /// Why nothing is held.
        why: String,
    },
    /// The store's own error. A conflict here means that the object kept changing while it was tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const SUPERSEDED: &str = "that is final; decide about a newer one, or retry it to make a new one of its vector";

fn after(state: PromotionState) -> &'static str {
    if state == PromotionState::Succeeded {
        "nothing is left to decide"
    } else {
        "that is final; retry it to make a new one of its vector"
    }
}

fn granted(approval: Option<&Approval>) -> String {
    approval.map_or_else(String::new, |approval| format!(" by {} at {}", approval.approved_by, approval.approved_at.0))
}

/// A person's name as it is recorded.
pub(super) fn named<'a>(person: &'a str, object: &dyn fmt::Display) -> Result<&'a str, Refusal> {
    let person = person.trim();
    if person.is_empty() { Err(Refusal::Anonymous { object: object.to_string() }) } else { Ok(person) }
}

/// The phase of a promotion that a person may still decide about.
pub(super) fn undecided(promotion: &VectorPromotion) -> Result<Phase, Refusal> {
    let phase = Phase::of_promotion(promotion);
    match phase {
        Phase::Superseded => {
            let by = promotion.status.as_ref().and_then(|status| status.superseded_by.clone());
            Err(Refusal::Superseded { promotion: Key::of(promotion), by })
        }
        phase if phase.is_terminal() || phase == Phase::Unknown => {
            let succeeded =
                konfidence_types::condition(conditions_of(promotion), konfidence_types::condition_type::SUCCEEDED);
            Err(Refusal::Finished {
                promotion: Key::of(promotion),
                state: phase.state(),
                reason: succeeded.map_or_else(String::new, |succeeded| succeeded.reason.clone()),
                message: succeeded.map_or_else(String::new, |succeeded| succeeded.message.clone()),
            })
        }
        _ if promotion.metadata.deletion_timestamp.is_some() => {
            Err(Refusal::Deleting { promotion: Key::of(promotion) })
        }
        phase => Ok(phase),
    }
}
