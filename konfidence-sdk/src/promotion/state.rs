//! The state of a promotion: a pure function of its conditions and `requireApproval` (specification, section 5).
//!
//! | `Succeeded` | phase | state shown | terminal |
//! |---|---|---|---|
//! | absent, gate open | `Ready` | `Ready` | no |
//! | absent, gate closed | `Waiting` | `Waiting` | no |
//! | `True` | `Succeeded` | `Succeeded` | yes |
//! | `False/PromotionRunning` | `InProgress` | `InProgress` | no |
//! | `False/PromotionTargetUnresolved` | `Blocked` | `Blocked` | no |
//! | `False/PromotionSuperseded` | `Superseded` | `Superseded` | yes |
//! | `False/PromotionTimedOut` | `TimedOut` | `Failed` | yes |
//! | `False/PromotionFailed` | `Refused` | `Failed` | yes |
//! | `False/PromotionRejected` | `Rejected` | `Failed` | yes |
//! | `False/` any other reason | `FailedOtherwise` | `Failed` | yes |
//! | `Unknown` | `Unknown` | `Failed` | no |
//!
//! A reason that a newer version wrote is thus shown as a failure and never guessed at.

use konfidence_types::{Condition, PromotionState, SucceededReason, VectorPromotion, condition, condition_type};

/// Where a promotion stands. Finer than [`PromotionState`], which is what the API shows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// A gate is closed.
    Waiting,
    /// Every gate has passed.
    Ready,
    /// Gates passed, and the target does not resolve.
    Blocked,
    /// `Succeeded=Unknown`: never executed on a guess, blocks nobody, superseded like any other.
    Unknown,
    /// Being executed.
    InProgress,
    /// The Stage was written.
    Succeeded,
    /// A newer one went first.
    Superseded,
    /// Past the deadline.
    TimedOut,
    /// The API server refused the Stage write for good.
    Refused,
    /// A person said no.
    Rejected,
    /// Ended for a reason that this version does not know.
    FailedOtherwise,
}

impl Phase {
    /// The phase that these conditions mean.
    pub fn of(conditions: &[Condition], require_approval: bool) -> Self {
        let Some(succeeded) = condition(conditions, condition_type::SUCCEEDED) else {
            return if gate_is_open(conditions, require_approval) { Self::Ready } else { Self::Waiting };
        };
        match (succeeded.status.as_str(), succeeded.reason.parse::<SucceededReason>()) {
            ("True", _) => Self::Succeeded,
            ("False", Ok(SucceededReason::PromotionRunning)) => Self::InProgress,
            ("False", Ok(SucceededReason::PromotionTargetUnresolved)) => Self::Blocked,
            ("False", Ok(SucceededReason::PromotionSuperseded)) => Self::Superseded,
            ("False", Ok(SucceededReason::PromotionTimedOut)) => Self::TimedOut,
            ("False", Ok(SucceededReason::PromotionFailed)) => Self::Refused,
            ("False", Ok(SucceededReason::PromotionRejected)) => Self::Rejected,
            ("False", _) => Self::FailedOtherwise,
            _ => Self::Unknown,
        }
    }

    /// The phase of a promotion as it is stored.
    pub fn of_promotion(promotion: &VectorPromotion) -> Self {
        Self::of(conditions_of(promotion), promotion.spec.require_approval)
    }

    /// What the API shows.
    pub fn state(self) -> PromotionState {
        match self {
            Self::Waiting => PromotionState::Waiting,
            Self::Ready => PromotionState::Ready,
            Self::Blocked => PromotionState::Blocked,
            Self::InProgress => PromotionState::InProgress,
            Self::Succeeded => PromotionState::Succeeded,
            Self::Superseded => PromotionState::Superseded,
            Self::Unknown | Self::TimedOut | Self::Refused | Self::Rejected | Self::FailedOtherwise => {
                PromotionState::Failed
            }
        }
    }

    /// Nothing is ever written to a promotion in such a phase again, except that it is deleted (P22).
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Waiting | Self::Ready | Self::Blocked | Self::Unknown | Self::InProgress)
    }

    /// Live, and not one of those that are never executed on a guess.
    pub fn may_yet_run(self) -> bool {
        !self.is_terminal() && self != Self::Unknown
    }

    /// A failure of the execution, which P38 delays; a rejection is a person's word and P18's.
    pub fn is_execution_failure(self) -> bool {
        matches!(self, Self::TimedOut | Self::Refused)
    }

    /// Whether an execution was begun, whatever came of it.
    pub fn was_started(self) -> bool {
        matches!(self, Self::InProgress | Self::Succeeded | Self::TimedOut | Self::Refused)
    }
}

/// The stored conditions of a promotion; none before the first status write.
pub fn conditions_of(promotion: &VectorPromotion) -> &[Condition] {
    promotion.status.as_ref().map_or(&[], |status| &status.conditions)
}

/// The approval gate: `Approved=True` alone opens it; `status.approval` is the record of who did.
pub fn gate_is_open(conditions: &[Condition], require_approval: bool) -> bool {
    !require_approval
        || condition(conditions, condition_type::APPROVED).is_some_and(|approved| approved.status == "True")
}
