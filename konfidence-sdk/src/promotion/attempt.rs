//! How often and when an execution was resumed: the annotation `konfidence.cloud/attempt: <n>@<RFC 3339>` (R6, P36).
//!
//! | attempt | not before |
//! |---|---|
//! | 1 (the first resumption) | at once |
//! | 2 | 8 s after the first |
//! | 3 | 16 s after the second |
//! | 4 and later | 30 s after the one before |
//!
//! It is stored, so that a decision knows it and noise on the object cannot make it spin; and it is an annotation, so
//! that writing it moves no transition time and no deadline.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{VectorPromotion, annotation};

/// The last resumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, from 1; 0: there was none.
    pub number: u32,
    /// When it was noted.
    pub at: Timestamp,
}

impl Attempt {
    /// The attempt that the promotion carries. One that does not parse counts as none.
    pub fn of(promotion: &VectorPromotion) -> Option<Self> {
        let text = promotion.metadata.annotations.as_ref()?.get(annotation::ATTEMPT)?;
        let (number, at) = text.split_once('@')?;
        Some(Self { number: number.parse().ok()?, at: at.parse().ok()? })
    }

    /// The earliest instant of the attempt after this one.
    pub fn next_not_before(self) -> Timestamp {
        let seconds = match self.number {
            0 => 0,
            1 => 8,
            2 => 16,
            _ => 30,
        };
        self.at.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(self.at)
    }

    /// Until when the attempt after this one has to wait at `now`; `None`: it is due. One that was noted in the future
    /// (by a clock that was ahead, or by hand) holds nothing up, unless it is as close as clocks may be apart.
    pub fn waits_until(self, now: Timestamp) -> Option<Timestamp> {
        let due = self.next_not_before();
        // Clocks of two controllers may be apart: up to a deadline's length is no mistake, or each would find the other's
        // attempt due at once, and both would spin.
        let is_believed = self.at.duration_since(now) <= SignedDuration::from_mins(5);
        (is_believed && now < due).then_some(due)
    }

    /// The attempt that follows `last`, made at `now`.
    pub fn following(last: Option<Self>, now: Timestamp) -> Self {
        Self { number: last.map_or(0, |last| last.number).saturating_add(1), at: now }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.number, self.at)
    }
}
