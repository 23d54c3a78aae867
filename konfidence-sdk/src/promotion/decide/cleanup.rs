//! Clean-up: the cap and the TTL, last in the plan (P43 to P46).
//!
//! | terminal promotion | cap N ≥ 1 | cap 0 | TTL | no config |
//! |---|---|---|---|---|
//! | needed by P18, P38, P51 or P52 | kept, not counted | kept | kept | TTL |
//! | newest terminal, newest succeeded | kept, counted | deleted | kept (cap 0: deleted) | TTL |
//! | other | the N highest, those two counted | deleted | deleted when it runs out | TTL |
//!
//! Nothing above the stored number is deleted (R14): a number whose promotion is gone must still be known as used.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::VectorPromotionConfig;

use super::Deciding;
use super::member::Member;
use crate::promotion::state::Phase;
use crate::promotion::steps::{Action, Write};
use crate::store::Precondition;

impl Deciding<'_> {
    pub(super) fn clean_up(&mut self) {
        let config = self.config();
        if config.is_none() && self.snapshot.config.found().is_some() {
            return; // Garbage collection removes what a config leaves that is going (P45).
        }
        let kept = config.map_or_else(BTreeSet::new, |config| self.kept(config));
        let cap = config.map(|config| usize::try_from(config.spec.keep_last_promotions).unwrap_or(0));
        let settled_sequence = config.map(|_| self.settled_sequence());
        let mut surviving = kept.len();
        let mut deletions = Vec::new();
        let mut wake_ups = Vec::new();
        let exempt = config.map_or_else(BTreeSet::new, |config| self.needed(config));
        for (index, member) in self.members.iter().enumerate().rev() {
            let is_candidate = member.phase.is_terminal() && !member.is_deleting() && !exempt.contains(&index);
            if !is_candidate || settled_sequence.is_some_and(|settled| member.sequence() > settled) {
                continue;
            }
            if kept.contains(&index) {
                continue;
            }
            let over_cap = cap.is_some_and(|cap| surviving >= cap);
            match expiry(member) {
                _ if over_cap => deletions.push(index),
                Some(expiry) if expiry <= self.now => deletions.push(index),
                Some(expiry) => {
                    surviving += 1;
                    wake_ups.push(expiry);
                }
                None => surviving += 1,
            }
        }
        // What is kept only as long as it counts goes at the instant when it no longer does.
        let until = |index: &usize| self.members.get(*index).and_then(|member| self.counts_until(member));
        wake_ups.extend(exempt.difference(&kept).filter_map(until).filter_map(just_after));
        for at in wake_ups {
            self.plan.wake_at(at);
        }
        for index in deletions.into_iter().rev() {
            let Some(member) = self.members.get(index) else { continue };
            let write = Write::Delete(member.key(), Precondition::from(member.version()));
            let subject = member.name();
            self.push(Action::Delete, subject, write, Vec::new());
        }
    }

    /// The newest terminal and the newest succeeded promotion, so that an aggressive TTL or cap cannot erase the audit
    /// trail; with a cap of zero nothing is kept for that.
    fn kept(&self, config: &VectorPromotionConfig) -> BTreeSet<usize> {
        if config.spec.keep_last_promotions == 0 {
            return BTreeSet::new();
        }
        let newest = |test: fn(&Member) -> bool| self.members.iter().rposition(test);
        newest(|member| member.phase.is_terminal())
            .into_iter()
            .chain(newest(|member| member.phase == Phase::Succeeded))
            .collect()
    }

    /// What a later decision still has to know: a rejection (P18), a count of failures (P38) or of corrections (P51), a
    /// hold (P52). Only the newest promotion for the config's target can be any of these.
    fn needed(&self, config: &VectorPromotionConfig) -> BTreeSet<usize> {
        let for_target = |member: &Member| member.stored.spec.target == config.spec.target;
        let last = self.members.iter().rposition(|member| for_target(member) && member.phase != Phase::Superseded);
        let hold = self
            .hold(config)
            .and_then(|(holding, _)| self.members.iter().position(|member| member.uid() == holding.uid()));
        last.filter(|index| {
            self.members.get(*index).is_some_and(|member| match member.phase {
                Phase::Rejected | Phase::TimedOut | Phase::Refused => true,
                _ => self.counts_until(member).is_some(),
            })
        })
        .into_iter()
        .chain(hold)
        .collect()
    }
}

/// Times on the wire have whole seconds, and at the end of its hour a correction still counts.
fn just_after(instant: Timestamp) -> Option<Timestamp> {
    instant.checked_add(SignedDuration::from_secs(1)).ok()
}

/// When the TTL of a terminal promotion runs out.
fn expiry(member: &Member) -> Option<Timestamp> {
    let ttl = member.stored.spec.ttl_after_finished?;
    member.since()?.saturating_add(ttl.as_signed_duration()).ok()
}
