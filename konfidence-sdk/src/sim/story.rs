//! What happened, as a story: one line for each thing that matters.

use std::fmt;

use jiff::Timestamp;

/// Lines, oldest first; empty until the world is told to write it down.
#[derive(Clone, Debug, Default)]
pub struct Story {
    lines: Vec<String>,
    is_told: bool,
    now: Option<Timestamp>,
}

impl Story {
    pub(super) fn begin(&mut self) {
        self.is_told = true;
    }

    pub(super) fn now(&mut self, now: Timestamp) {
        self.now = Some(now);
    }

    pub(super) fn line(&mut self, line: impl FnOnce() -> String) {
        if self.is_told {
            let at = self.now.map(|now| now.strftime("%H:%M:%S").to_string()).unwrap_or_default();
            self.lines.push(format!("{at} {}", line()));
        }
    }

    /// What a write left behind, under the line of whoever made it.
    pub(super) fn effect(&mut self, effect: impl FnOnce() -> String) {
        if self.is_told {
            self.lines.push(format!("             {}", effect()));
        }
    }

    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
