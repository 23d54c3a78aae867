//! `konfidence completion`: what shells need to complete commands and options.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::Cli;

/// Print the completion script of a shell
#[derive(Args)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    /// Runs the command.
    pub(crate) fn run(&self) {
        generate(self.shell, &mut Cli::command(), "konfidence", &mut io::stdout());
    }
}
