//! Measurements: they need a release build, so they are programs of their own.

use std::path::Path;
use std::process::Command;

use clap::ValueEnum;

use crate::{TaskError, TaskResult};

/// What is measured.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// The embedded API server beside a real one
    Apiserver,
}

/// Builds and runs the measurement.
pub(crate) fn run(root: &Path, subject: Subject) -> TaskResult {
    let package = match subject {
        Subject::Apiserver => "bench",
    };
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--release", "--package", package])
        .status()
        .map_err(|error| TaskError::new(format!("cargo: {error}")))?;
    if status.success() { Ok(()) } else { Err(TaskError::new(format!("the measurement `{package}` failed"))) }
}
