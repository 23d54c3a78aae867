//! Drift, and the one promotion that it makes (P6 to P14, P18, P38, P51, P52; R10, R11, R13).
//!
//! | the source's vector | answer |
//! |---|---|
//! | is empty | nothing |
//! | is overruled by a person's newest promotion | nothing: held |
//! | is the target's | nothing |
//! | is pinned by the newest live promotion for this target | nothing |
//! | was rejected, and nothing newer for this target was made | nothing |
//! | failed last time | after a delay that doubles, 1 minute to 1 hour |
//! | was written by us and replaced by somebody else | once at once, then after such a delay |
//! | otherwise | a promotion, with the next number |

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{EventReason, MAX_SEQUENCE, Stage, VectorPromotion, VectorPromotionConfig, annotation};
use kube::core::ResourceExt;

use super::Deciding;
use super::member::Member;
use crate::event::{Event, Severity};
use crate::promotion::hold::Overrule;
use crate::promotion::make::{Making, promotion, requires_approval};
use crate::promotion::record::Records;
use crate::promotion::reference::Missing;
use crate::promotion::snapshot::{Snapshot, newest_source_version};
use crate::promotion::source::{SourceView, ordinal, source_version_of};
use crate::promotion::state::Phase;
use crate::promotion::steps::{Action, Write};
use crate::promotion::verify::Doubt;
use crate::store::ObjectRef;

/// What became of drift, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Creation {
    /// There is no config, or it is going.
    #[default]
    NoConfig,
    /// The number base is being stored first (R12).
    NotInitialised,
    /// `spec.suspend` is true (P14).
    Suspended,
    /// Target or source does not resolve.
    Unresolved(Missing),
    /// The source resolves and has no vector yet (P5).
    SourceEmpty,
    /// The target has the source's vector.
    NoDrift,
    /// The newest live promotion pins the source's vector already.
    Pinned {
        /// Its name.
        promotion: String,
    },
    /// A person rejected this vector (P18).
    Rejected {
        /// The rejected promotion.
        promotion: String,
    },
    /// A person put another vector in the way (P52).
    Held {
        /// The promotion that holds.
        promotion: String,
        /// Whom and what it overrules.
        overrules: Overrule,
    },
    /// The last execution failed (P38).
    Delayed {
        /// The failed promotion.
        promotion: String,
        /// Consecutive failures so far.
        failures: u32,
        /// When drift may make the next one.
        until: Timestamp,
    },
    /// Somebody else keeps writing the target (P51).
    Contested {
        /// Corrections so far.
        corrections: u32,
        /// When the next one may be made.
        until: Timestamp,
    },
    /// The views disagree with live reads; the watch will bring them forward (R11, R13).
    InDoubt,
    /// All sequences are used up.
    Exhausted,
    /// The next name is held by something that is not a member.
    NameTaken {
        /// The number that is handed out with it.
        sequence: i64,
    },
    /// A promotion is made.
    Make {
        /// It.
        promotion: Box<VectorPromotion>,
        /// Corrections by it and before it within the hour; above one, the target is contested.
        corrections: u32,
    },
}

/// So long a correction counts (P51).
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// How long after the n-th consecutive failure (n from 1): 1 minute, 2, 4, … at most 1 hour.
pub(crate) fn delay_after(times: u32) -> SignedDuration {
    let minutes = 1_i64.checked_shl(times.saturating_sub(1)).filter(|minutes| (1..=60).contains(minutes)).unwrap_or(60);
    SignedDuration::from_mins(minutes)
}

/// What every consideration of one vector looks at.
struct Case<'a> {
    config: &'a VectorPromotionConfig,
    target: &'a Stage,
    source: &'a SourceView,
}

impl Deciding<'_> {
    /// Decides about drift; writes nothing yet.
    pub(super) fn drift(&self, initialised: bool) -> Result<Creation, Doubt> {
        let Some(config) = self.config() else { return Ok(Creation::NoConfig) };
        if !initialised {
            return Ok(Creation::NotInitialised);
        }
        if self.is_suspended() {
            return Ok(Creation::Suspended);
        }
        let target = match self.snapshot.target_stage(&config.spec.target) {
            Ok(target) => target,
            Err(missing) => return Ok(Creation::Unresolved(missing)),
        };
        let source = match self.snapshot.source(&config.spec.source) {
            Ok(source) => source,
            Err(missing) => return Ok(Creation::Unresolved(missing)),
        };
        if requires_approval(config) {
            // Each vector that the source held is a candidate, in the order of the changes (P8).
            for sighting in &self.snapshot.inbox {
                let case = Case { config, target, source: sighting };
                if let made @ (Creation::Make { .. } | Creation::NameTaken { .. } | Creation::InDoubt) =
                    self.consider(&case)?
                {
                    return Ok(made);
                }
            }
        }
        self.consider(&Case { config, target, source: &source })
    }

    fn consider(&self, case: &Case<'_>) -> Result<Creation, Doubt> {
        let Case { config, target, source } = *case;
        if source.vector.is_empty() {
            return Ok(Creation::SourceEmpty);
        }
        // Also while the target still has that vector: who asks is told before the promotion is executed.
        if let Some((holding, overrules)) = self.hold(config).filter(|(_, overrules)| overrules.vector == source.vector)
        {
            return Ok(Creation::Held { promotion: holding.name(), overrules });
        }
        if source.vector == target.spec.vector {
            return Ok(Creation::NoDrift);
        }
        let wanted = &config.spec.target;
        if let Some(newest) = self.newest_viewed_live()
            && newest.vector() == source.vector
            && newest.stored.spec.target == *wanted
        {
            return Ok(Creation::Pinned { promotion: newest.name() });
        }
        let newest_here = self.members.iter().rev().find(|member| member.stored.spec.target == *wanted);
        if let Some(rejected) =
            newest_here.filter(|newest| newest.viewed == Phase::Rejected && newest.vector() == source.vector)
        {
            return Ok(Creation::Rejected { promotion: rejected.name() });
        }
        let mut annotations = BTreeMap::new();
        let last = self
            .members
            .iter()
            .rev()
            .find(|member| member.stored.spec.target == *wanted && member.viewed != Phase::Superseded)
            .filter(|member| member.vector() == source.vector);
        if let Some(failed) = last.filter(|last| last.viewed.is_execution_failure()) {
            let failures = failed.count(annotation::FAILURES).saturating_add(1);
            let until = after(failed.since().unwrap_or(self.now), delay_after(failures));
            if self.now < until {
                return Ok(Creation::Delayed { promotion: failed.name(), failures, until });
            }
            annotations.insert(annotation::FAILURES.to_owned(), failures.to_string());
        }
        let mut corrections = 0;
        if !requires_approval(config) && self.was_replaced(target, source, last) {
            corrections = match self.next_correction(last) {
                Ok(corrections) => corrections,
                Err((corrections, until)) => return Ok(Creation::Contested { corrections, until }),
            };
            annotations.insert(annotation::CORRECTIONS.to_owned(), corrections.to_string());
        }
        let sequence = self.highest_sequence.saturating_add(1);
        if sequence > MAX_SEQUENCE {
            return Ok(Creation::Exhausted);
        }
        let is_old = self.config_is_old(config) && !self.settled(Doubt::Config)?;
        if is_old || (self.source_is_old(config) && !self.settled(Doubt::Source)?) {
            return Ok(Creation::InDoubt);
        }
        if !self.views_vouch_for_each_other(config, target) && !self.settled(Doubt::Creation)? {
            return Ok(Creation::InDoubt);
        }
        let name_is_taken = self.snapshot.next_name_is_taken;
        flawed!(TakenNameIsTriedAgain: name_is_taken = false);
        if name_is_taken {
            return Ok(Creation::NameTaken { sequence });
        }
        let making = Making {
            sequence,
            vector: source.vector.clone(),
            target: wanted.clone(),
            source_version: Some(source.version.clone()),
            annotations,
        };
        Ok(Creation::Make { promotion: Box::new(promotion(config, making)), corrections })
    }

    /// The promotion that holds against the source, and what it overrules: the newest of all that ever were, live or
    /// started, and not released (P52).
    pub(super) fn hold(&self, config: &VectorPromotionConfig) -> Option<(&Member, Overrule)> {
        let newest = self.newest()?;
        let released = config.annotations().get(annotation::RELEASED).is_some_and(|uid| uid == newest.uid());
        let stands = !newest.viewed.is_terminal() || newest.viewed.was_started();
        let is_last = newest.sequence() >= self.highest_sequence;
        Overrule::of(&newest.stored).filter(|_| stands && is_last && !released).map(|overrules| (newest, overrules))
    }

    /// We wrote this very vector, and the Stage has another: somebody else wrote it (P51). An edit may have taken the
    /// record along, with the annotations or the whole Stage; then the success tells, or that numbers were handed out
    /// and nothing is left of their promotions.
    fn was_replaced(&self, target: &Stage, source: &SourceView, last: Option<&Member>) -> bool {
        match self.snapshot.record_on(target) {
            Some(record) if !record.vector.is_empty() => record.vector == source.vector,
            Some(_) => last.is_some_and(|last| last.viewed == Phase::Succeeded),
            None => last.map_or_else(|| self.nothing_is_left(), |last| last.viewed == Phase::Succeeded),
        }
    }

    /// Numbers were handed out, and clean-up left none of the promotions that ended. One of ours that is live tells that
    /// the source has moved on since: then a person's first edit is still to come.
    fn nothing_is_left(&self) -> bool {
        let is_told = |member: &Member| member.viewed.is_terminal() || source_version_of(&member.stored).is_some();
        self.highest_sequence > 0 && !self.members.iter().any(is_told)
    }

    /// Until when the corrections that `member` carries count.
    pub(super) fn counts_until(&self, member: &Member) -> Option<Timestamp> {
        let counts = member.phase == Phase::Succeeded && member.count(annotation::CORRECTIONS) > 0;
        let until = member.since().map(|since| lapses_at(since, member.count(annotation::CORRECTIONS)));
        until.filter(|until| counts && self.now <= *until)
    }

    /// The number of the correction that is due now, or how many there were and when the next one is due.
    fn next_correction(&self, last: Option<&Member>) -> Result<u32, (u32, Timestamp)> {
        let Some(last) = last.filter(|last| last.viewed == Phase::Succeeded) else { return Ok(1) };
        let corrections = last.count(annotation::CORRECTIONS);
        let since = last.since().unwrap_or(self.now);
        if corrections == 0 || self.now > lapses_at(since, corrections) {
            return Ok(1);
        }
        let until = after(since, delay_after(corrections));
        if self.now < until { Err((corrections, until)) } else { Ok(corrections.saturating_add(1)) }
    }

    /// R13: an older view of the config than the newest member was made under.
    fn config_is_old(&self, config: &VectorPromotionConfig) -> bool {
        flawed!(AnyConfigIsNew => return false);
        let made_under =
            self.newest().and_then(|newest| newest.stored.annotations().get(annotation::CONFIG_GENERATION));
        let made_under: Option<i64> = made_under.and_then(|text| text.parse().ok());
        made_under.is_some_and(|made_under| config.metadata.generation.is_some_and(|viewed| viewed < made_under))
    }

    /// R13: an older view of the source than the newest member was made for.
    fn source_is_old(&self, config: &VectorPromotionConfig) -> bool {
        flawed!(AnySourceIsNew => return false);
        let viewed = self.snapshot.source(&config.spec.source).ok().and_then(|source| ordinal(&source.version));
        let made_for = newest_source_version(self.snapshot, config);
        viewed.is_some_and(|viewed| made_for.is_some_and(|made_for| viewed < made_for))
    }

    /// R11: the Stage's record names the newest succeeded member for that target; neither the config's number nor the
    /// record is above the members'; the newest member is not superseded. Else one of the views is behind another, and
    /// a second promotion for one drift would be made (P13, trace T13).
    fn views_vouch_for_each_other(&self, config: &VectorPromotionConfig, target: &Stage) -> bool {
        let succeeded = self
            .members
            .iter()
            .rev()
            .find(|member| member.stored.spec.target == config.spec.target && member.viewed == Phase::Succeeded);
        // Whoever owned it: a config of this name that is gone may have seen more of the source than this view shows.
        let record = Records::of(target).named(self.snapshot.key.name()).cloned();
        flawed!(ForeignRecordIsNone: record = self.snapshot.record_on(target));
        let record_agrees = record.as_ref().map(|record| record.promotion.as_str()) == succeeded.map(Member::uid);
        let highest_member = self.members.last().map_or(0, Member::sequence);
        let numbers_agree = self.highest_sequence <= highest_member;
        let newest_stands = self.newest().is_none_or(|newest| newest.viewed != Phase::Superseded);
        flawed!(NoR11a: record_agrees = true);
        flawed!(NoR11b: numbers_agree = true);
        flawed!(NoR11c: newest_stands = true);
        record_agrees && numbers_agree && newest_stands
    }

    /// Puts the creation into the plan, if there is one and no start comes first. Answers whether the plan ends here.
    pub(super) fn create(&mut self) -> bool {
        if self.starts_first() {
            return false;
        }
        match self.creation.clone() {
            Creation::Make { promotion, corrections } => {
                let events = self.created_events(&promotion, corrections);
                let subject = promotion.name_any();
                self.push(Action::Create, subject, Write::Create(promotion), events);
                true
            }
            Creation::NameTaken { sequence } => {
                self.reserve_sequence(sequence);
                true
            }
            Creation::Delayed { until, .. } | Creation::Contested { until, .. } => {
                self.plan.wake_at(until);
                false
            }
            _ => false,
        }
    }

    /// On the config: the creation, and before it, for a further correction within the hour, that the target is
    /// contested.
    fn created_events(&self, promotion: &VectorPromotion, corrections: u32) -> Vec<Event> {
        let Some(config) = self.config() else { return Vec::new() };
        let vector = &promotion.spec.vector;
        let event = |reason: EventReason, severity, note| Event {
            regarding: ObjectRef::of(config),
            severity,
            reason: reason.as_str(),
            action: "Promote",
            note,
        };
        let contested = (corrections > 1).then(|| {
            let note = format!(
                "{} is written by somebody else too; correction {corrections} within the hour puts vector {vector} back",
                promotion.spec.target
            );
            event(EventReason::TargetContested, Severity::Warning, note)
        });
        let note = format!("made promotion {} of vector {vector}", promotion.name_any());
        contested.into_iter().chain([event(EventReason::PromotionCreated, Severity::Normal, note)]).collect()
    }
}

/// A promotion that holds against the source's vector, as long as the source has that vector.
pub(in crate::promotion) struct Hold {
    pub(in crate::promotion) name: String,
    pub(in crate::promotion) uid: String,
    pub(in crate::promotion) overrules: Overrule,
}

/// The hold that stands, whether or not the config is suspended.
pub(in crate::promotion) fn standing_hold(snapshot: &Snapshot) -> Option<Hold> {
    // Which hold stands does not depend on the time.
    let deciding = Deciding::new(snapshot, Timestamp::UNIX_EPOCH);
    let (holding, overrules) = deciding.hold(deciding.config()?)?;
    Some(Hold { name: holding.name(), uid: holding.uid().to_owned(), overrules })
}

/// When corrections no longer count: an hour after the last. Where that hour is what the next one waits for, a little
/// later, or every late wake-up would start the count anew and the contest go on at its fastest.
fn lapses_at(since: Timestamp, corrections: u32) -> Timestamp {
    let until = after(since, HOUR);
    if delay_after(corrections) < HOUR { until } else { after(until, SignedDuration::from_mins(5)) }
}

fn after(instant: Timestamp, wait: SignedDuration) -> Timestamp {
    instant.saturating_add(wait).unwrap_or(Timestamp::MAX)
}
