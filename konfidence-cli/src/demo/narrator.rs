//! The voice of the demo.

use std::fmt::{Debug, Display};
use std::time::Duration;

use crate::failure::Failure;
use crate::format::say;

/// Tells what happens, and leaves time to read it.
pub(super) struct Narrator {
    pace: Duration,
    chapter: usize,
}

impl Narrator {
    /// A narrator that waits for `pace` before each chapter.
    pub(super) fn new(pace: Duration) -> Self {
        Self { pace, chapter: 0 }
    }

    /// The next chapter.
    pub(super) async fn chapter(&mut self, title: &str) -> Result<(), Failure> {
        if self.chapter > 0 {
            tokio::time::sleep(self.pace).await;
        }
        self.chapter += 1;
        say(format!("\n{}. {title}", self.chapter))
    }

    /// The last words: what was shown, and what to do next.
    pub(super) fn end(&self, lines: &[&str]) -> Result<(), Failure> {
        say(format!("\nAll {} chapters ended as they should.", self.chapter))?;
        lines.iter().try_for_each(say)
    }

    /// What somebody does, as they would do it at the command line.
    pub(super) async fn act(&self, command: &str) -> Result<(), Failure> {
        say(format!("   $ {command}"))?;
        tokio::time::sleep(self.pace / 2).await;
        Ok(())
    }
}

/// What a command printed.
pub(super) fn quote(output: impl Display) -> Result<(), Failure> {
    output.to_string().lines().try_for_each(|line| say(format!("     {line}")))
}

/// A check that held.
pub(super) fn holds(what: &str) -> Result<(), Failure> {
    say(format!("   ok: {what}"))
}

/// Checks that `found` is what the story says.
pub(super) fn check<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), Failure> {
    if found == expected {
        return holds(what);
    }
    Err(Failure::Other(format!("{what}: expected {expected:?}, found {found:?}")))
}
