//! The steps of a plan: what is written, and what is told about it.
//!
//! A step is data: the [`Action`] says what it means in the domain's words, the [`Write`] is the conditional write
//! itself, the event is emitted after it. All three are made by the decision, so that a test can compare them.

use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig};

use super::setback::During;
use crate::event::Event;
use crate::store::{Key, Patch, Precondition, Version};

/// One conditional write.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it means.
    pub action: Action,
    /// Name of the promotion that it is about; of the config for [`Action::ReportReady`], [`Action::ReserveSequence`]
    /// and [`Action::WriteConfigStatus`].
    pub subject: String,
    /// The write.
    pub write: Write,
    /// Emitted after the write, in this order (P47).
    pub events: Vec<Event>,
}

/// What a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `Ready` and `observedGeneration` of the config; at first also its number base (R12).
    ReportReady,
    /// The next number is handed out although its name is held by something that is not ours (R10).
    ReserveSequence,
    /// A new promotion. Always the last step of its plan (R1).
    Create,
    /// `Approved=False/WaitingForApproval` (P17).
    AwaitApproval,
    /// `Succeeded=False/PromotionSuperseded` (P26).
    Supersede,
    /// `Succeeded=False/PromotionTargetUnresolved` (P32).
    Block,
    /// `Succeeded=False/PromotionRunning` and the Stage's reference (P34).
    Start,
    /// The Stage's reference for a promotion that an older version started (R9).
    StoreStage,
    /// The attempt annotation: a resumption, or a fence that failed (R6, P36).
    Attempt,
    /// The vector, the record and the promoted-by annotation in one patch of the Stage.
    WriteStage(During),
    /// `Succeeded=True/PromotionSucceeded`.
    Finish,
    /// The fence on the Stage (R7).
    Fence,
    /// `Succeeded=False/PromotionTimedOut` or `PromotionFailed`.
    Fail,
    /// The server's refusal of a fence, into the condition's message (P37).
    NoteRefusal,
    /// Sequence and mirrors of the config, when nothing is left to create or start (R14).
    WriteConfigStatus,
    /// Clean-up.
    Delete,
}

/// The write of a step. Versions are those that the snapshot read; `apply` puts in the version that an earlier step of
/// the same plan got back for the same object (P23).
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A new promotion.
    Create(Box<VectorPromotion>),
    /// Main object of a promotion.
    Promotion(Key<VectorPromotion>, Patch<VectorPromotion>),
    /// Status of a promotion.
    PromotionStatus(Key<VectorPromotion>, Patch<VectorPromotion>),
    /// Main object of a Stage.
    Stage {
        /// The Stage.
        key: Key<Stage>,
        /// What changes on it.
        patch: Patch<Stage>,
        /// The promotion on whose behalf.
        promotion: Key<VectorPromotion>,
        /// Its version as the snapshot read it.
        read: Version,
    },
    /// Status of the config.
    ConfigStatus(Key<VectorPromotionConfig>, Patch<VectorPromotionConfig>),
    /// A promotion goes.
    Delete(Key<VectorPromotion>, Precondition),
}
