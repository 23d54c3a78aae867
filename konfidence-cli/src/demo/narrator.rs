//! The voice of the demo.

use std::fmt::Display;
use std::time::Duration;

use crate::failure::Failure;

/// Prints what happens, and leaves time to read it.
pub(super) struct Narrator {
    pace: Duration,
    chapter: usize,
}

impl Narrator {
    /// A narrator that waits for `pace` after each chapter's title.
    pub(super) fn new(pace: Duration) -> Self {
        Self { pace, chapter: 0 }
    }

    /// The next chapter.
    pub(super) async fn chapter(&mut self, title: &str) {
        if self.chapter > 0 {
            tokio::time::sleep(self.pace).await;
        }
        self.chapter += 1;
        println!("\n{}. {title}", self.chapter);
    }

    /// Something that is so.
    pub(super) fn tell(&self, text: &str) {
        println!("{text}");
    }

    /// What somebody does, as they would do it at the command line.
    pub(super) async fn act(&self, command: &str) {
        println!("   $ {command}");
        tokio::time::sleep(self.pace / 2).await;
    }

    /// What a command printed.
    pub(super) fn quote(&self, output: impl Display) {
        for line in output.to_string().lines() {
            println!("     {line}");
        }
    }

    /// A check that held.
    pub(super) fn holds(&self, what: &str) {
        println!("   ok: {what}");
    }

    /// Checks that `found` is what the story says.
    pub(super) fn check<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        found: &T,
        expected: &T,
    ) -> Result<(), Failure> {
        if found == expected {
            self.holds(what);
            return Ok(());
        }
        Err(Failure::Other(format!("{what}: expected {expected:?}, found {found:?}")))
    }
}
