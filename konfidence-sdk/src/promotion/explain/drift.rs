//! What becomes of the source's vector, in words.

use std::fmt;

use jiff::Timestamp;
use kube::core::ResourceExt;
use serde::Serialize;

use super::Case;
use crate::promotion::decide::Creation;
use crate::promotion::snapshot::{Seen, Snapshot};
use crate::promotion::verify::{Doubt, Verdict};
use crate::store::Unreadable;

/// What becomes of the source's vector, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Drift {
    /// There is no config.
    NoConfig,
    /// The config is being deleted.
    ConfigDeleting,
    /// An object of the config does not parse: nothing is done for it.
    Unreadable {
        /// `VectorPromotion bakery/menu-to-dev-3`.
        object: String,
        /// Why it does not parse.
        message: String,
    },
    /// The number base is being stored first.
    NotInitialised,
    /// `spec.suspend` is true.
    Suspended,
    /// Target or source does not resolve.
    Unresolved {
        /// What is missing where.
        missing: String,
    },
    /// The source has no vector yet.
    SourceEmpty,
    /// The target has the source's vector.
    NoDrift,
    /// A live promotion carries the source's vector already.
    Pinned {
        /// Its name.
        promotion: String,
    },
    /// A person rejected this vector.
    Rejected {
        /// The rejected promotion.
        promotion: String,
        /// Who rejected it, if that is on record.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A person put another vector in the way.
    Held {
        /// The promotion that holds.
        promotion: String,
        /// The person.
        by: String,
        /// The source's vector, which is held back.
        vector: String,
    },
    /// The last execution failed.
    Delayed {
        /// The failed promotion.
        promotion: String,
        /// Consecutive failures.
        failures: u32,
        /// When the next one is made.
        until: Timestamp,
    },
    /// Somebody else keeps writing the target.
    Contested {
        /// Corrections so far.
        corrections: u32,
        /// When the next one is made.
        until: Timestamp,
    },
    /// A live read showed something newer than the view.
    InDoubt,
    /// All sequences are used up.
    Exhausted,
    /// The next name is held by a promotion that is not the config's.
    NameTaken {
        /// The sequence that is skipped.
        sequence: i64,
    },
    /// A promotion is made.
    Make {
        /// Its name.
        promotion: String,
        /// Its vector.
        vector: String,
    },
}

impl Drift {
    /// The promotion because of which drift makes nothing.
    pub(super) fn because_of(&self) -> Option<&str> {
        match self {
            Self::Rejected { promotion, .. } | Self::Held { promotion, .. } | Self::Delayed { promotion, .. } => {
                Some(promotion)
            }
            _ => None,
        }
    }
}

/// What of the config does not parse.
pub(super) fn unreadable(snapshot: &Snapshot) -> Option<&Unreadable> {
    match &snapshot.config {
        Seen::Unreadable(config) => Some(config),
        _ => snapshot.unreadable.first(),
    }
}

impl Case<'_> {
    pub(super) fn drift(&self) -> Drift {
        let snapshot = self.deciding.snapshot;
        if let Some(unreadable) = unreadable(snapshot) {
            return Drift::Unreadable { object: unreadable.object.to_string(), message: unreadable.message.clone() };
        }
        if self.owner_is_another() {
            return Drift::InDoubt;
        }
        match &self.deciding.creation {
            Creation::NoConfig if snapshot.config.found().is_some() => Drift::ConfigDeleting,
            Creation::NoConfig => Drift::NoConfig,
            Creation::NotInitialised => Drift::NotInitialised,
            Creation::Suspended => Drift::Suspended,
            Creation::Unresolved(missing) => Drift::Unresolved { missing: missing.to_string() },
            Creation::SourceEmpty => Drift::SourceEmpty,
            Creation::NoDrift => Drift::NoDrift,
            Creation::Pinned { promotion } => Drift::Pinned { promotion: promotion.clone() },
            Creation::Rejected { promotion } => {
                Drift::Rejected { promotion: promotion.clone(), by: rejecter(snapshot, promotion) }
            }
            Creation::Held { promotion, overrules } => {
                Drift::Held { promotion: promotion.clone(), by: overrules.by.clone(), vector: overrules.vector.clone() }
            }
            Creation::Delayed { promotion, failures, until } => {
                Drift::Delayed { promotion: promotion.clone(), failures: *failures, until: *until }
            }
            Creation::Contested { corrections, until } => Drift::Contested { corrections: *corrections, until: *until },
            Creation::InDoubt => Drift::InDoubt,
            Creation::Exhausted => Drift::Exhausted,
            Creation::NameTaken { sequence } => Drift::NameTaken { sequence: *sequence },
            Creation::Make { promotion, .. } => {
                Drift::Make { promotion: promotion.name_any(), vector: promotion.spec.vector.clone() }
            }
        }
    }

    /// A live read showed another config under the name than the view.
    pub(super) fn owner_is_another(&self) -> bool {
        self.deciding.snapshot.confirmed.get(&Doubt::Owner) == Some(&Verdict::Differs)
    }
}

fn rejecter(snapshot: &Snapshot, name: &str) -> Option<String> {
    let rejected = snapshot.promotions.iter().find(|promotion| promotion.name_any() == name)?;
    Some(rejected.status.as_ref()?.rejection.as_ref()?.rejected_by.clone())
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfig => f.write_str("the config does not exist; only promotions made by hand take part"),
            Self::ConfigDeleting => f.write_str("the config is being deleted; nothing is created or started"),
            Self::Unreadable { object, message } => write!(
                f,
                "{object} does not parse ({message}); nothing is done until it is corrected or Konfidence is upgraded"
            ),
            Self::NotInitialised => f.write_str("the sequence that numbers count from is stored first"),
            Self::Suspended => f.write_str("suspended; nothing is created or started until it is resumed"),
            Self::Unresolved { missing } => write!(f, "{missing}; it heals by itself when that changes"),
            Self::SourceEmpty => f.write_str("the source has no vector yet"),
            Self::NoDrift => f.write_str("none; the target has the source's vector"),
            Self::Pinned { promotion } => write!(f, "{promotion} carries the source's vector"),
            Self::Rejected { promotion, by } => write!(
                f,
                "the source's vector was rejected with {promotion}{}; it comes back when somebody retries that, and a \
                 new vector comes by itself",
                by.as_ref().map_or_else(String::new, |by| format!(" by {by}"))
            ),
            Self::Held { promotion, by, vector } => write!(
                f,
                "held by {by} with {promotion} against vector {vector}, until it is released or the source has a new \
                 vector"
            ),
            Self::Delayed { promotion, failures, until } => {
                write!(f, "{promotion} failed, {}; the next one is made at {until}", times(*failures, "failure"))
            }
            Self::Contested { corrections, until } => write!(
                f,
                "somebody else writes the target too, {}; the next one is made at {until}",
                times(*corrections, "correction")
            ),
            Self::InDoubt => f.write_str("in doubt; the view is behind the API server and is waited for"),
            Self::Exhausted => f.write_str("all sequences are used up; use a config of another name"),
            Self::NameTaken { sequence } => {
                write!(
                    f,
                    "the name of sequence {sequence} is taken by a promotion that is not this config's; it is skipped"
                )
            }
            Self::Make { promotion, vector } => write!(f, "{promotion} is made for vector {vector}"),
        }
    }
}

fn times(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s in a row") }
}
