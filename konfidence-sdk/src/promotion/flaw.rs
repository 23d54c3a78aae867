//! Rules dropped on purpose, one at a time, so that tests can show what each of them prevents.
//!
//! A hook is one line at the very place where the rule lives; outside the tests of this crate it is nothing.
//!
//! ```text
//! flawed!(NoFloor => return None);             the rule is skipped
//! flawed!(FenceNamesNoVersion: value = uid);   or something else takes the value's place
//! ```
//!
//! The simulator's tests run every flaw and write down what it leads to: `docs/flaws.md`.

#[cfg(not(test))]
macro_rules! flawed {
    ($($hook:tt)*) => {};
}

#[cfg(test)]
macro_rules! flawed {
    ($($flaw:ident)|+ => $instead:expr) => {
        if $($crate::promotion::flaw::Flaw::$flaw.is_played())||+ {
            $instead;
        }
    };
    ($($flaw:ident)|+: $value:ident = $instead:expr) => {
        let $value = if $($crate::promotion::flaw::Flaw::$flaw.is_played())||+ { $instead } else { $value };
    };
}

#[cfg(test)]
pub(crate) use played::{Flaw, play};

#[cfg(test)]
pub(super) use played::{
    has_fence, highest_owned, highest_that_resolves, names, number_of_members, present_vector, supersede_last,
    swap_last_two,
};

#[cfg(test)]
mod played {
    use std::cell::Cell;

    use konfidence_types::{Stage, annotation};
    use kube::core::ResourceExt;
    use serde_json::{Value, json};

    use crate::promotion::decide::Deciding;
    use crate::promotion::decide::member::Member;
    use crate::promotion::snapshot::{Snapshot, controller_uid};
    use crate::promotion::steps::{Action, Step};

    /// Which rule is broken, and how.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Flaw {
        /// R2: another owner's uid raises no doubt.
        AnyOwnerIsCertain,
        /// R3: a lower promotion whose target resolves overtakes a higher one whose target does not.
        LowerOvertakesBlocked,
        /// R4: lower promotions are left alone.
        SupersedesNobody,
        /// R4: lower promotions are superseded after the start.
        SupersedesAfterStart,
        /// R4: something else starts while one is in progress.
        StartsBesideOneInProgress,
        /// R5: what was executed is no floor.
        NoFloor,
        /// R5: an equal number is above the floor.
        EqualIsAboveFloor,
        /// R6: a resumption does not write the promotion.
        NoAttempt,
        /// R6: a resumption looks for a fence on the Stage instead of writing the promotion.
        AsksTheFence,
        /// R7: no fence.
        NoFence,
        /// R7: the fence comes after the failure.
        FencesAfterFailing,
        /// R7: the fence's value does not name the version of the promotion.
        FenceNamesNoVersion,
        /// R7: a Stage that the view does not show is absent.
        BelievesInAbsence,
        /// R8: the deadline is looked at before the record.
        DeadlineFirst,
        /// R8: the name of the promotion on the Stage is evidence.
        NameIsEvidence,
        /// R9: an execution goes on at the Stage that resolves now.
        ResolvesAgain,
        /// R9: the start does not store its Stage.
        StartStoresNoStage,
        /// R10: a name that is taken is tried again.
        TakenNameIsTriedAgain,
        /// R10: hand-made promotions hold no numbers.
        HandMadeHoldNoNumber,
        /// R11(a): the Stage's record need not name the newest success.
        NoR11a,
        /// R11(a): a record that another config of this name left is none.
        ForeignRecordIsNone,
        /// R11(b): the numbers need not agree.
        NoR11b,
        /// R11(c): the newest member may be superseded.
        NoR11c,
        /// R12: nothing is stored before the first creation.
        NoNumberBase,
        /// R13: no view of the source is too old.
        AnySourceIsNew,
        /// R13: no view of the config is too old.
        AnyConfigIsNew,
        /// R14: clean-up does not wait for the number.
        CleansUpBeforeStoring,
        /// R14: the stored number follows the members down.
        NumberFalls,
        /// S4: the gate is not looked at.
        GateIsOpen,
        /// S4: the Stage gets what the source holds now.
        WritesPresentVector,
        /// S6: nobody resumes, and nobody retires.
        NobodyGoesOn,
    }

    thread_local! {
        static PLAYED: Cell<Option<Flaw>> = const { Cell::new(None) };
    }

    impl Flaw {
        pub(crate) fn is_played(self) -> bool {
            PLAYED.get() == Some(self)
        }
    }

    /// Lets `play` happen with this flaw in every decision of this thread.
    pub(crate) fn play<T>(flaw: Option<Flaw>, play: impl FnOnce() -> T) -> T {
        /// Also when an assertion in `play` fails: the thread may go on to another test.
        struct Restore(Option<Flaw>);
        impl Drop for Restore {
            fn drop(&mut self) {
                PLAYED.set(self.0);
            }
        }
        let _restore = Restore(PLAYED.replace(flaw));
        play()
    }

    pub(in crate::promotion) fn highest_that_resolves(deciding: &Deciding<'_>) -> Option<usize> {
        let resolves = |member: &Member| deciding.snapshot.target_stage(&member.stored.spec.target).is_ok();
        deciding.members.iter().rposition(|member| member.may_start() && resolves(member))
    }

    pub(in crate::promotion) fn supersede_last(steps: &mut [Step]) {
        steps.sort_by_key(|step| match step.action {
            Action::Start | Action::Create => 1,
            Action::Supersede => 2,
            Action::WriteStage(_) | Action::Finish => 3,
            _ => 0,
        });
    }

    pub(in crate::promotion) fn swap_last_two(steps: &mut [Step]) {
        if let [.., one, other] = steps {
            std::mem::swap(one, other);
        }
    }

    /// Whether the Stage carries a fence that names `member`, in whatever version.
    pub(in crate::promotion) fn has_fence(stage: &Stage, member: Option<&Member>) -> bool {
        let fence = stage.annotations().get(annotation::FENCED);
        fence.zip(member).is_some_and(|(fence, member)| fence.starts_with(member.uid()))
    }

    /// Whether the Stage names a promotion of `member`'s name as the last that wrote it.
    pub(in crate::promotion) fn names(stage: &Stage, member: &Member) -> bool {
        stage.annotations().get(annotation::PROMOTED_BY) == Some(&member.key().to_string())
    }

    pub(in crate::promotion) fn present_vector(deciding: &Deciding<'_>, member: &Member) -> Value {
        let source = deciding.config().and_then(|config| deciding.snapshot.source(&config.spec.source).ok());
        let present = source.map(|source| source.vector).filter(|vector| !vector.is_empty());
        json!(present.unwrap_or_else(|| member.vector().to_owned()))
    }

    pub(in crate::promotion) fn highest_owned(snapshot: &Snapshot) -> i64 {
        let owned = snapshot.members().filter(|promotion| controller_uid(promotion).is_some());
        owned.map(|promotion| promotion.spec.sequence).max().unwrap_or(0)
    }

    /// The number that the members show, if another one is stored.
    pub(in crate::promotion) fn number_of_members(deciding: &Deciding<'_>) -> Option<(String, Value)> {
        let highest = deciding.members.last().map_or(0, Member::sequence);
        let stored = deciding.config()?.status.as_ref().and_then(|status| status.sequence);
        (stored != Some(highest)).then(|| ("sequence".to_owned(), json!(highest)))
    }
}
