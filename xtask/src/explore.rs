//! The exhaustive search: built with optimisation, because it runs for minutes.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult};

/// Runs the search with these arguments.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> TaskResult {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--release", "--package", "exhaustive", "--"])
        .args(arguments)
        .status()
        .map_err(|error| TaskError::new(format!("cargo run: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(TaskError::new("a statement does not hold, or the search did not run; what it printed tells"))
}
