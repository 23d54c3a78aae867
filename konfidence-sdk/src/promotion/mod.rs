//! Vector promotion: from "the source has something new" to "the target carries it", one at a time, in order.
//!
//! ```text
//!                 drift                 gate opens              its turn             Stage written
//!   (nothing) ----------> Waiting ----------------> Ready --------------> InProgress -------------> Succeeded
//!                            |                      |   ^                     |
//!                            |                      v   |                     +--> Failed (timed out, refused)
//!                            |                     Blocked  (no target)
//!                            |                      |
//!                            +------> Superseded <--+     rejected: Waiting, Ready, Blocked --> Failed
//! ```
//!
//! All promotions of one config are decided together ([`decide()`]), one decision at a time; different configs run side
//! by side. There is no lock and no lease: the order is reached by conditional writes alone.
//!
//! * Whoever starts a promotion has first superseded every lower live one on the version that chose it, so the lower
//!   promotion is the lock of "at most one in progress" (S1).
//! * Whoever executes writes the promotion between viewing the Stage and writing it; whoever retires fences the Stage
//!   between viewing the promotion and failing it. Whichever comes second fails (S2, S5).
//! * A promotion's name carries its number, so the name is the lock of creating (P13).
//!
//! # People
//!
//! People take part through [`approve()`], [`reject()`], [`retry()`], [`promote()`], [`release()`], [`suspend()`] and
//! [`resume()`]. Each reads live, judges, and makes one conditional write, or answers a [`Refusal`] and has written
//! nothing. [`explain()`] tells what a config waits for, from the decision itself.
//!
//! # Transitions
//!
//! | from | to | step | rule |
//! |---|---|---|---|
//! | – | Waiting, Ready | `Create` | P7 |
//! | Waiting | Waiting | `AwaitApproval` | P17 |
//! | Waiting | Ready | `approve` | P15 |
//! | Waiting, Ready, Blocked, Unknown | Superseded | `Supersede` | P26, R5 |
//! | Ready | Blocked | `Block` | P32 |
//! | Ready, Blocked | InProgress | `Start` | P34 |
//! | InProgress | InProgress | `StoreStage`, `Attempt`, `WriteStage`, `Fence`, `NoteRefusal` | P35, P37 |
//! | InProgress | Succeeded | `Finish` | P34 |
//! | InProgress | TimedOut, Refused | `Fail` | P36, P37 |
//! | Waiting, Ready, Blocked | Rejected | `reject` | P18 |
//! | terminal | gone | `Delete` | P43, P44 |

#[macro_use]
pub(crate) mod flaw;

mod affected;
mod amend;
mod apply;
mod approve;
mod attempt;
mod decide;
mod explain;
mod hold;
mod inbox;
mod live;
mod make;
mod manual;
#[cfg(any(test, feature = "mock"))]
mod overlay;
mod promote;
mod reconcile;
mod record;
mod reference;
mod refusal;
mod reject;
mod release;
mod retry;
mod setback;
mod snapshot;
mod source;
mod state;
mod steps;
mod suspend;
mod verify;

#[cfg(test)]
mod tests;

pub use affected::{
    Keys, affected_by_config, affected_by_landscape, affected_by_promotion, affected_by_stage, affected_by_template,
};
pub use apply::{Applied, Stopped, Written, apply};
pub use approve::approve;
pub use attempt::Attempt;
pub use decide::{Creation, decide};
pub use explain::{
    Drift, Ended, Execution, Explanation, Flow, NextStep, Place, PromotionExplanation, Wait, explain, explain_promotion,
};
pub use hold::Overrule;
pub use inbox::Inbox;
pub use make::requires_approval;
#[cfg(any(test, feature = "mock"))]
pub use overlay::PromotionOverlay;
pub use promote::promote;
pub use reconcile::{Interrupted, Outcome, Transition, reconcile};
pub use record::{Record, Records};
pub use reference::Missing;
pub use refusal::Refusal;
pub use reject::reject;
pub use release::release;
pub use retry::retry;
pub use setback::{During, Setback};
pub use snapshot::{Seen, Snapshot, controller_uid, load};
pub use source::{SourceKey, SourceView};
pub use state::{Phase, conditions_of, gate_is_open};
pub use steps::{Action, Step, Write};
pub use suspend::{Suspension, resume, suspend};
pub use verify::{Doubt, Verdict, verify};

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};

use crate::access::{Access, Verb};
use crate::store::ObjectStore;

/// The kinds that this domain reads and writes.
pub trait PromotionStore:
    ObjectStore<VectorPromotion>
    + ObjectStore<VectorPromotionConfig>
    + ObjectStore<Stage>
    + ObjectStore<Landscape>
    + ObjectStore<VectorTemplate>
{
}

impl<S> PromotionStore for S where
    S: ObjectStore<VectorPromotion>
        + ObjectStore<VectorPromotionConfig>
        + ObjectStore<Stage>
        + ObjectStore<Landscape>
        + ObjectStore<VectorTemplate>
        + ?Sized
{
}

/// What [`reconcile()`] asks of the API server, no more and no less.
pub const ACCESS: &[Access] = &[
    Access {
        group: konfidence_types::GROUP,
        resource: "vectorpromotions",
        verbs: &[Verb::List, Verb::Watch, Verb::Create, Verb::Patch, Verb::Delete],
    },
    Access { group: konfidence_types::GROUP, resource: "vectorpromotions/status", verbs: &[Verb::Patch] },
    Access {
        group: konfidence_types::GROUP,
        resource: "vectorpromotionconfigs",
        verbs: &[Verb::Get, Verb::List, Verb::Watch],
    },
    Access { group: konfidence_types::GROUP, resource: "vectorpromotionconfigs/status", verbs: &[Verb::Patch] },
    Access {
        group: konfidence_types::GROUP,
        resource: "stages",
        verbs: &[Verb::Get, Verb::List, Verb::Watch, Verb::Patch],
    },
    Access { group: konfidence_types::GROUP, resource: "landscapes", verbs: &[Verb::Get, Verb::List, Verb::Watch] },
    Access {
        group: konfidence_types::GROUP,
        resource: "vectortemplates",
        verbs: &[Verb::Get, Verb::List, Verb::Watch],
    },
];
