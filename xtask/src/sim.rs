//! Random worlds, in a program of its own that is built with optimizations.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult};

/// Builds it and runs it with these arguments.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> TaskResult {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--release", "--package", "worlds", "--"])
        .args(arguments)
        .status()
        .map_err(|error| TaskError::new(format!("cargo run --package worlds: {error}")))?;
    if status.success() { Ok(()) } else { Err(TaskError::new("a world failed, or the arguments are wrong: see above")) }
}
