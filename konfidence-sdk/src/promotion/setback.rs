//! A write to a Stage that failed, carried from one decision of a reconcile to the next.
//!
//! A refusal is not stored anywhere until a decision has drawn the consequence from it, so it is part of what the next
//! decision reads. If the process dies in between, the next one resumes the execution and meets the refusal again.

/// What became of the last write to a Stage in this reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// Uid of the promotion that was being executed or retired.
    pub promotion: String,
    /// The version of the promotion that our own last write to it gave, or that the plan read.
    pub version: String,
    /// Which write failed.
    pub during: During,
    /// The server refused it for good; otherwise there was no certain answer and it is tried again.
    pub refused: bool,
    /// The server's own words.
    pub message: String,
}

/// Which write to a Stage failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum During {
    /// The vector's, in the plan that started the promotion: nobody else can have written for it yet.
    Start,
    /// The vector's, in a plan that resumed it: an earlier attempt may be under way.
    Resumption,
    /// The fence's.
    Retirement,
}
