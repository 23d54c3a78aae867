//! What came out.

use std::fmt;

use crate::store::StoreError;

/// Why a law was not found kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// It is broken: what was expected and what was seen.
    Broken(String),
    /// The subject does not offer what it takes to try it.
    NotApplicable(String),
}

impl From<StoreError> for Breach {
    /// An error that the law does not expect.
    fn from(error: StoreError) -> Self {
        Self::Broken(format!("unexpected error: {error}"))
    }
}

/// What a law says of a store.
pub type Verdict = Result<(), Breach>;

/// What came of trying one law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The store keeps it.
    Kept,
    /// The store breaks it; how that was seen.
    Broken(String),
    /// It could not be tried; why.
    NotApplicable(String),
}

impl Outcome {
    pub(super) fn of(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Kept,
            Err(Breach::Broken(how)) => Self::Broken(how),
            Err(Breach::NotApplicable(why)) => Self::NotApplicable(why),
        }
    }
}

/// The laws by name, each with its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they were tried.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// Whether no law is broken.
    pub fn is_kept(&self) -> bool {
        self.broken().is_empty()
    }

    /// The laws that are broken.
    pub fn broken(&self) -> Vec<&'static str> {
        self.having(|outcome| matches!(outcome, Outcome::Broken(_)))
    }

    /// The laws that could not be tried.
    pub fn not_applicable(&self) -> Vec<&'static str> {
        self.having(|outcome| matches!(outcome, Outcome::NotApplicable(_)))
    }

    fn having(&self, has: impl Fn(&Outcome) -> bool) -> Vec<&'static str> {
        self.outcomes.iter().filter(|(_, outcome)| has(outcome)).map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.outcomes {
            let name = name.replace('_', " ");
            match outcome {
                Outcome::Kept => writeln!(f, "kept     {name}")?,
                Outcome::Broken(how) => writeln!(f, "BROKEN   {name}\n         {how}")?,
                Outcome::NotApplicable(why) => writeln!(f, "skipped  {name}: {why}")?,
            }
        }
        Ok(())
    }
}
