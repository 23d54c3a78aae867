//! What happened when, for people: who did what, and what waited for what.

use std::fmt;

use jiff::Timestamp;

/// One thing that happened, or that began to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in the world's time.
    pub at: Timestamp,
    /// A person, a flow that waits (the config's name), or `konfidence`.
    pub who: String,
    /// What, in a sentence without its subject.
    pub what: String,
}

/// Entries, oldest first. [`Display`](fmt::Display) prints a line for each, the instant (UTC) where it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    entries: Vec<Entry>,
}

impl Timeline {
    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn note(&mut self, at: Timestamp, who: impl Into<String>, what: impl Into<String>) {
        self.entries.push(Entry { at, who: who.into(), what: what.into() });
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.iter().map(|entry| entry.who.chars().count()).max().unwrap_or_default();
        let mut last = String::new();
        for Entry { at, who, what } in &self.entries {
            let at = at.strftime("%a %Y-%m-%d %H:%M:%S").to_string();
            let told = if at == last { "" } else { at.as_str() };
            writeln!(f, "{told:23}  {who:width$}  {what}")?;
            last = at;
        }
        Ok(())
    }
}
