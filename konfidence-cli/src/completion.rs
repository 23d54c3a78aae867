//! `konfidence completion`: what shells need to complete commands and options.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::Cli;
use crate::failure::Failure;
use crate::format::say;

/// Print the completion script of a shell
#[derive(Args)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "konfidence", &mut script);
        say(String::from_utf8_lossy(&script).trim_end())
    }
}
