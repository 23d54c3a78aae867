//! What can happen in a world, one thing at a time.

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};

use crate::store::engine::Collection;
use crate::store::{Fault, MemoryStore, Object, StaleStore};

/// One thing that happens. Its `Debug` form is Rust, to be pasted into a test.
///
/// Controllers and flows are counted from 0; a flow is a config of the [`Scenario`](super::Scenario) in its order, and
/// the one after the last is a name without a config. A step that is not possible in the present state does nothing,
/// so that steps can be left out of a list and the rest still means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A controller takes the flow from its queue and begins to reconcile it.
    Begin {
        /// Which controller.
        controller: usize,
        /// Which flow.
        flow: usize,
    },
    /// The reconcile's next request to the store is carried out, and it goes on up to the one after.
    Turn {
        /// Which controller.
        controller: usize,
        /// Which flow.
        flow: usize,
        /// What goes wrong with the request.
        mishap: Option<Mishap>,
    },
    /// The reconcile makes all cached reads up to its next write or live read.
    Read {
        /// Which controller.
        controller: usize,
        /// Which flow.
        flow: usize,
    },
    /// The controller's view of a kind moves on by one change.
    Deliver {
        /// Which controller.
        controller: usize,
        /// Which kind.
        kind: Kind,
        /// Whether the flows that it touches are queued. If not, the event was lost on its way to the queue.
        told: bool,
    },
    /// A change that the controller's view of a kind has shown already is delivered once more.
    Repeat {
        /// Which controller.
        controller: usize,
        /// Which kind.
        kind: Kind,
        /// How many later changes it has seen since.
        back: usize,
    },
    /// The controller's view of a kind jumps to the present, as after a watch that had expired.
    Relist {
        /// Which controller.
        controller: usize,
        /// Which kind.
        kind: Kind,
    },
    /// A flow is queued for no reason: the slow resync.
    Stir {
        /// Which controller.
        controller: usize,
        /// Which flow.
        flow: usize,
    },
    /// The controller dies, between any two requests, and starts again with views that are so many changes old, in the
    /// order of [`Kind::ALL`].
    Crash {
        /// Which controller.
        controller: usize,
        /// Age of each view.
        ages: [u8; 5],
    },
    /// The controller stops, wherever it is.
    Pause {
        /// Which controller.
        controller: usize,
    },
    /// It goes on.
    Continue {
        /// Which controller.
        controller: usize,
    },
    /// Time passes until the next instant that a controller waits for.
    WakeUp,
    /// Time passes.
    Wait {
        /// So long, in seconds.
        seconds: u32,
    },
    /// The garbage collector runs.
    CollectGarbage,
    /// A person's operation goes on by one request.
    Say {
        /// Which person.
        person: usize,
        /// What goes wrong with the request.
        mishap: Option<Mishap>,
    },
    /// Somebody does something: makes an edit, or begins an operation.
    Deed {
        /// What.
        deed: Deed,
        /// With which flow.
        flow: usize,
        /// Which one, where there are several; counted around.
        pick: usize,
    },
    /// The faults stop: what is missing is put back, approvals are given, and so many controllers go on until nothing
    /// happens any more. Then liveness and the audit rules are checked.
    Settle {
        /// How many controllers are left.
        healthy: usize,
    },
}

impl Step {
    pub(super) fn controller(self) -> Option<usize> {
        match self {
            Self::Begin { controller, .. }
            | Self::Turn { controller, .. }
            | Self::Read { controller, .. }
            | Self::Deliver { controller, .. }
            | Self::Repeat { controller, .. }
            | Self::Relist { controller, .. }
            | Self::Stir { controller, .. }
            | Self::Crash { controller, .. }
            | Self::Pause { controller }
            | Self::Continue { controller } => Some(controller),
            _ => None,
        }
    }

    pub(super) fn flow(self) -> Option<usize> {
        match self {
            Self::Begin { flow, .. }
            | Self::Turn { flow, .. }
            | Self::Read { flow, .. }
            | Self::Stir { flow, .. }
            | Self::Deed { flow, .. } => Some(flow),
            _ => None,
        }
    }

    /// The same with nothing that goes wrong, as far as it can be without.
    pub(super) fn unharmed(self) -> Self {
        match self {
            Self::Turn { controller, flow, .. } => Self::Turn { controller, flow, mishap: None },
            Self::Say { person, .. } => Self::Say { person, mishap: None },
            Self::Deliver { controller, kind, .. } => Self::Deliver { controller, kind, told: true },
            Self::Crash { controller, .. } => Self::Crash { controller, ages: [0; 5] },
            other => other,
        }
    }
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mishap {
    /// The error that the controller, or the person, sees.
    pub fault: Fault,
    /// Whether the request was carried out all the same.
    pub carried_out: bool,
}

/// What people do. All of it is permitted by the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    /// The flow's source gets another vector: mostly a new one, sometimes an earlier one.
    Assemble,
    /// It gets several, one right after the other.
    Burst,
    /// Its version moves, and it keeps its vector.
    TouchSource,
    /// A waiting promotion is approved.
    Approve,
    /// A promotion that is not yet in progress is rejected.
    Reject,
    /// A promotion that has ended is tried again.
    Retry,
    /// A vector is promoted by hand.
    Promote,
    /// A hold is released.
    Release,
    /// The config is suspended, or resumed.
    Suspend,
    /// Another vector is written into the target by hand.
    EditStage,
    /// The target is deleted, or made again.
    ToggleStage,
    /// The records of the machinery are removed from the target.
    StripRecord,
    /// The target's status and foreign annotations are written.
    TouchStage,
    /// A promotion gets a foreign annotation.
    TouchPromotion,
    /// A promotion's TTL changes.
    EditPromotion,
    /// A promotion is deleted.
    DeletePromotion,
    /// A promotion without owner is made by hand.
    HandMake,
    /// A promotion of another config is made by hand, under the name that the flow's next one would get.
    TakeName,
    /// The config is deleted, or made again under its name.
    ToggleConfig,
    /// The config's source and target become another flow's, or its own again.
    Repoint,
    /// The config's cap and TTL change.
    Tune,
    /// Whether the config's promotions need approval changes.
    Gate,
    /// The Landscape of the target is deleted, or made again.
    ToggleLandscape,
    /// The Landscape of the target manages another namespace, or none.
    MoveLandscape,
    /// The template that is the source is deleted, or made again.
    ToggleTemplate,
    /// A finalizer is put on config, target or a promotion, or taken off.
    Hold,
    /// The API server refuses every write to the target from now on, or no longer.
    Refuse,
    /// An object of the flow becomes one that does not parse, or one that does again.
    Spoil,
}

impl Deed {
    /// All deeds.
    pub const ALL: [Self; 28] = [
        Self::Assemble,
        Self::Burst,
        Self::TouchSource,
        Self::Approve,
        Self::Reject,
        Self::Retry,
        Self::Promote,
        Self::Release,
        Self::Suspend,
        Self::EditStage,
        Self::ToggleStage,
        Self::StripRecord,
        Self::TouchStage,
        Self::TouchPromotion,
        Self::EditPromotion,
        Self::DeletePromotion,
        Self::HandMake,
        Self::TakeName,
        Self::ToggleConfig,
        Self::Repoint,
        Self::Tune,
        Self::Gate,
        Self::ToggleLandscape,
        Self::MoveLandscape,
        Self::ToggleTemplate,
        Self::Hold,
        Self::Refuse,
        Self::Spoil,
    ];

    /// Whether it goes through a public operation, request by request; everything else is an edit.
    pub(super) fn is_operation(self) -> bool {
        matches!(self, Self::Approve | Self::Reject | Self::Retry | Self::Promote | Self::Release | Self::Suspend)
    }
}

/// The kinds that promotion reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `VectorPromotion`.
    Promotion,
    /// `VectorPromotionConfig`.
    Config,
    /// `Stage`.
    Stage,
    /// `Landscape`.
    Landscape,
    /// `VectorTemplate`.
    Template,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Promotion, Self::Config, Self::Stage, Self::Landscape, Self::Template];

    /// The kind of `K`, if it is one of promotion's.
    pub(super) fn of<K: Object>() -> Option<Self> {
        match K::kind(&()).as_ref() {
            "VectorPromotion" => Some(Self::Promotion),
            "VectorPromotionConfig" => Some(Self::Config),
            "Stage" => Some(Self::Stage),
            "Landscape" => Some(Self::Landscape),
            "VectorTemplate" => Some(Self::Template),
            _ => None,
        }
    }

    pub(super) fn collection(self, store: &MemoryStore) -> Collection {
        match self {
            Self::Promotion => store.collection::<VectorPromotion>(),
            Self::Config => store.collection::<VectorPromotionConfig>(),
            Self::Stage => store.collection::<Stage>(),
            Self::Landscape => store.collection::<Landscape>(),
            Self::Template => store.collection::<VectorTemplate>(),
        }
    }

    pub(super) fn position(self, cache: &StaleStore) -> u64 {
        match self {
            Self::Promotion => cache.position::<VectorPromotion>(),
            Self::Config => cache.position::<VectorPromotionConfig>(),
            Self::Stage => cache.position::<Stage>(),
            Self::Landscape => cache.position::<Landscape>(),
            Self::Template => cache.position::<VectorTemplate>(),
        }
    }

    pub(super) fn move_to(self, cache: &StaleStore, revision: u64) {
        match self {
            Self::Promotion => cache.move_to::<VectorPromotion>(revision),
            Self::Config => cache.move_to::<VectorPromotionConfig>(revision),
            Self::Stage => cache.move_to::<Stage>(revision),
            Self::Landscape => cache.move_to::<Landscape>(revision),
            Self::Template => cache.move_to::<VectorTemplate>(revision),
        }
    }
}
