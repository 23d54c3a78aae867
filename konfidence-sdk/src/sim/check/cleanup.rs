//! P43 to P46: what clean-up may delete, and what it must have deleted once the world is at rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{VectorPromotion, VectorPromotionConfig, annotation, condition, condition_type};
use kube::core::ResourceExt;

use super::rest::Flow;
use super::{Checker, Known, Violation, violates};
use crate::promotion::{Phase, conditions_of, controller_uid};
use crate::store::Key;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// From so many corrections on the next one waits an hour, and they count a little longer than that (P51).
const SLOWEST: u32 = 7;

impl Checker {
    /// A controller deletes this promotion. R14: its number is stored. P43, P44: the cap or its TTL is the reason, and
    /// nobody needs it for the audit trail.
    pub(super) fn check_deletion(&self, promotion: &VectorPromotion) -> Result<(), Violation> {
        let key = Key::of(promotion);
        let config_key = Key::new(key.namespace(), &promotion.spec.vector_promotion_config_name);
        let config = self.configs.get(&config_key).filter(|config| {
            config.metadata.uid.as_deref() == controller_uid(promotion) && config.metadata.deletion_timestamp.is_none()
        });
        if let Some(config) = config {
            let stored = config.status.as_ref().and_then(|status| status.sequence).unwrap_or(0);
            if stored < promotion.spec.sequence {
                let what = format!("{key} is cleaned up while the config's status says sequence {stored}");
                return violates("R14", what);
            }
        }
        let ran_out = expiry(promotion).is_some_and(|expiry| expiry <= self.latest());
        // Whoever has not seen yet that a config was made again knows no cap and no trail.
        if self.interrupted.contains(&config_key) {
            return Ok(());
        }
        let Some(cap) = self.caps.get(&config_key) else {
            return if ran_out { Ok(()) } else { violates("P44", format!("{key} is cleaned up before its TTL")) };
        };
        let place = |it: &VectorPromotion| (it.spec.sequence, it.uid());
        let own = self.ended(&config_key);
        let above: Vec<_> =
            own.iter().filter(|it| place(&it.promotion) > place(promotion)).map(|it| it.phase).collect();
        let below = own.iter().filter(|it| place(&it.promotion) < place(promotion)).map(|it| it.phase);
        let succeeded = Phase::of_promotion(promotion) == Phase::Succeeded;
        // The newest that succeeded is counted, however low it is.
        let trail_is_below = !succeeded
            && !above.contains(&Phase::Succeeded)
            && below.into_iter().any(|phase| phase == Phase::Succeeded);
        let counted = above.len() + usize::from(trail_is_below);
        let over_cap = u32::try_from(counted).is_ok_and(|counted| counted >= *cap);
        if !ran_out && !over_cap {
            let what = format!("{key} is cleaned up with {counted} finished ones before it and a cap of {cap}");
            return violates("P43", what);
        }
        let is_newest = above.is_empty() || succeeded && !above.contains(&Phase::Succeeded);
        // What nobody owns may be cleaned up by somebody who does not know its config yet.
        if *cap > 0 && is_newest && controller_uid(promotion).is_some() {
            return violates("P43", format!("{key} is cleaned up, and it is the newest that ended, or succeeded"));
        }
        Ok(())
    }

    /// Those of the config's name that have ended, gone or not.
    fn ended(&self, config: &Key<VectorPromotionConfig>) -> Vec<&Known> {
        let of_config = |known: &&Known| {
            known.promotion.spec.vector_promotion_config_name == config.name()
                && known.promotion.namespace().as_deref() == Some(config.namespace())
        };
        self.promotions.values().filter(of_config).filter(|known| known.phase.is_terminal()).collect()
    }

    /// The present instant of the clock that is furthest ahead.
    fn latest(&self) -> Timestamp {
        self.now.saturating_add(self.ahead).unwrap_or(self.now)
    }

    /// Remembers the least cap that a config ever had: a view may be older than a change of it.
    pub(super) fn note_cap(&mut self, config: &VectorPromotionConfig) {
        let cap = u32::try_from(config.spec.keep_last_promotions).unwrap_or(0);
        self.caps.entry(Key::of(config)).and_modify(|least| *least = cap.min(*least)).or_insert(cap);
    }
}

impl Flow<'_> {
    /// P43, P44: at most as many are left as cap, TTL and audit trail allow, besides what a later decision needs.
    pub(super) fn check_clean_up(&self, now: Timestamp) -> Result<(), Violation> {
        let needed = self.needed(now);
        let trail = self.audit_trail();
        let ended = self.members.iter().enumerate().filter(|(_, (_, phase))| phase.is_terminal());
        let (mut counted, mut late) = (Vec::new(), None);
        for (at, (promotion, _)) in ended.filter(|(at, _)| !needed.contains(at)) {
            counted.push(promotion.name_any());
            if !trail.contains(&at) && expiry(promotion).is_some_and(|expiry| expiry <= now) {
                late = Some(promotion.name_any());
            }
        }
        if let Some(late) = late {
            return violates("P44", format!("{late} is still there, and its TTL has run out"));
        }
        let Some(config) = &self.config else { return Ok(()) };
        let cap = usize::try_from(config.spec.keep_last_promotions).unwrap_or(0);
        let most = if cap == 0 { 0 } else { cap.max(trail.len()) };
        if counted.len() > most {
            return violates("P43", format!("{} keeps {} with a cap of {cap}", self.key, counted.join(", ")));
        }
        Ok(())
    }

    /// The newest that ended and the newest that succeeded; none with a cap of 0, or without a config.
    fn audit_trail(&self) -> BTreeSet<usize> {
        if self.config.as_ref().is_none_or(|config| config.spec.keep_last_promotions == 0) {
            return BTreeSet::new();
        }
        let newest = |test: fn(Phase) -> bool| self.members.iter().rposition(|(_, phase)| test(*phase));
        newest(Phase::is_terminal).into_iter().chain(newest(|phase| phase == Phase::Succeeded)).collect()
    }

    /// What P18, P38 and P51 need is the newest for the config's target that was not superseded; what P52 needs holds.
    fn needed(&self, now: Timestamp) -> BTreeSet<usize> {
        let Some(config) = &self.config else { return BTreeSet::new() };
        let here = |promotion: &VectorPromotion| promotion.spec.target == config.spec.target;
        let last = self.members.iter().rposition(|(promotion, phase)| here(promotion) && *phase != Phase::Superseded);
        let last = last.filter(|at| {
            self.members.get(*at).is_some_and(|(promotion, phase)| match phase {
                Phase::Rejected | Phase::TimedOut | Phase::Refused => true,
                Phase::Succeeded => correction_counts(promotion, now),
                _ => false,
            })
        });
        let holding = self.members.len().checked_sub(1).filter(|_| self.holds(config));
        last.into_iter().chain(holding).collect()
    }
}

/// P51: a correction counts for an hour after its success.
fn correction_counts(promotion: &Arc<VectorPromotion>, now: Timestamp) -> bool {
    let text = promotion.annotations().get(annotation::CORRECTIONS);
    let corrections: u32 = text.and_then(|text| text.parse().ok()).unwrap_or(0);
    let longer = if corrections >= SLOWEST { SignedDuration::from_mins(5) } else { SignedDuration::ZERO };
    let until = ended_at(promotion).and_then(|ended| ended.saturating_add(HOUR + longer).ok());
    corrections > 0 && until.is_some_and(|until| now <= until)
}

fn ended_at(promotion: &VectorPromotion) -> Option<Timestamp> {
    condition(conditions_of(promotion), condition_type::SUCCEEDED).map(|succeeded| succeeded.last_transition_time.0)
}

/// When the TTL runs out.
fn expiry(promotion: &VectorPromotion) -> Option<Timestamp> {
    let ttl = promotion.spec.ttl_after_finished?;
    ended_at(promotion)?.saturating_add(ttl.as_signed_duration()).ok()
}
