//! The decision: a pure function from what was read and the time to a plan.
//!
//! One file per family of rules, in the order in which they speak:
//!
//! ```text
//!   doubt    R2 R12       whose promotions are these? what is the number base?
//!   execute  P34-P37      go on with what is in progress: finish, resume, fence, fail
//!   sight    R5 P26 P7    supersede on sight what may never run; show what waits for approval
//!   drift    P6-P8 ...    make the next promotion; ends the plan
//!   choose   P24-P32      supersede the lower ones, start the next one, or block it
//!   config   P2 P40-P42   Ready first; sequence and mirrors when nothing is left to create or start
//!   cleanup  P43-P46      last
//! ```
//!
//! Each family reads the members as the steps before it leave them, and a step that fails ends the plan, so every
//! prefix is a legal state.

mod choose;
mod cleanup;
mod config;
mod doubt;
mod drift;
mod execute;
pub(crate) mod member;
mod sight;
mod write;

use jiff::Timestamp;
use konfidence_types::VectorPromotionConfig;

pub use drift::Creation;
pub(super) use drift::standing_hold;
pub(super) use execute::deadline;

use self::member::Member;
use super::snapshot::Snapshot;
use super::state::Phase;
use super::steps::Step;
use super::verify::Doubt;
use crate::plan::{Decision, Plan};

/// Decides what is to be done about one config and all its promotions at `now`.
///
/// Pure and total: the same snapshot and time give the same plan.
///
/// ```
/// use konfidence_sdk::plan::{Decision, Plan};
/// use konfidence_sdk::promotion::{Snapshot, decide};
/// use konfidence_sdk::store::Key;
///
/// let nothing = Snapshot::empty(Key::new("bakery", "menu-to-dev"));
/// let noon = "2026-03-01T12:00:00Z".parse().unwrap();
/// assert_eq!(decide(&nothing, noon), Decision::Plan(Plan::default()));
/// ```
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<Step, Doubt> {
    match Deciding::run(snapshot, now) {
        Ok(deciding) => Decision::Plan(deciding.plan),
        Err(doubt) => Decision::Verify(doubt),
    }
}

/// A decision in the making.
#[derive(Debug)]
pub(super) struct Deciding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    /// Members in ascending order, as the plan's steps so far leave them.
    pub(super) members: Vec<Member>,
    /// The highest number known to be handed out (R10).
    pub(super) highest_sequence: i64,
    pub(super) plan: Plan<Step>,
    /// What became of drift; also what `explain` tells.
    pub(super) creation: Creation,
    /// The view showed a promotion in progress: nothing starts (R4).
    pub(super) was_in_progress: bool,
    /// The number base that this plan stores, if the config had none (R12).
    pub(super) base: Option<i64>,
}

impl<'a> Deciding<'a> {
    /// A decision that has considered nothing yet.
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        let mut members: Vec<_> = snapshot.members().map(Member::new).collect();
        members.sort_by(|a, b| a.order().cmp(&b.order()));
        let was_in_progress = members.iter().any(|member| member.phase == Phase::InProgress);
        Self {
            snapshot,
            now,
            members,
            highest_sequence: snapshot.highest_sequence(),
            plan: Plan::default(),
            creation: Creation::default(),
            was_in_progress,
            base: None,
        }
    }

    /// Runs all families.
    pub(super) fn run(snapshot: &'a Snapshot, now: Timestamp) -> Result<Self, Doubt> {
        let mut deciding = Self::new(snapshot, now);
        if deciding.something_is_unreadable() {
            deciding.report_unreadable();
            return Ok(deciding);
        }
        if !deciding.owner_is_certain()? {
            return Ok(deciding);
        }
        deciding.base = deciding.initial_sequence()?;
        deciding.execute()?;
        deciding.supersede_on_sight();
        deciding.await_approval();
        deciding.creation = deciding.drift(deciding.base.is_none())?;
        deciding.report_ready();
        if deciding.create() {
            return Ok(deciding);
        }
        let all_started = deciding.start_next();
        let all_created = !matches!(deciding.creation, Creation::Make { .. } | Creation::NameTaken { .. });
        if all_started && all_created {
            flawed!(CleansUpBeforeStoring => deciding.clean_up());
            deciding.write_config_status();
            deciding.clean_up();
        }
        Ok(deciding)
    }

    /// The config, unless it is gone or going: one with a deletionTimestamp creates and starts nothing.
    pub(super) fn config(&self) -> Option<&'a VectorPromotionConfig> {
        self.snapshot.config.standing().map(|config| &**config)
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.config().is_some_and(|config| config.spec.suspend == Some(true))
    }

    /// The highest member of all.
    pub(super) fn newest(&self) -> Option<&Member> {
        self.members.last()
    }

    /// The highest member that the view shows live: what it pins needs no other. An unknown outcome pins nothing, nor
    /// does one that is going away, unless it is being executed.
    pub(super) fn newest_viewed_live(&self) -> Option<&Member> {
        self.members
            .iter()
            .rev()
            .find(|member| member.viewed == Phase::InProgress || (member.viewed.may_yet_run() && !member.is_deleting()))
    }

    /// The highest member that is live and not going away after the plan's steps so far.
    pub(super) fn newest_live(&self) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.phase.may_yet_run() && !member.is_deleting())
    }
}
