//! The page that says what each rule of the promotion protocol prevents. The simulator's own tests write it.

use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult};

/// The test that compares the page, or writes it.
const TEST: &str = "sim::tests::flaws::page";

/// Writes the page, or with `check` fails when it is stale. With `search` the steps are looked for anew first.
pub(crate) fn run(root: &Path, check: bool, search: bool) -> TaskResult {
    if search {
        // Unoptimized it would take hours.
        cargo_test(root, "search", &["--release"])?;
    }
    cargo_test(root, if check { "check" } else { "write" }, &[])
}

fn cargo_test(root: &Path, what: &str, options: &[&str]) -> TaskResult {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--package", "konfidence-sdk", "--features", "sim", "--lib"])
        .args(options)
        .args([TEST, "--", "--nocapture"])
        .env("KONFIDENCE_FLAWS", what)
        .status()
        .map_err(|error| TaskError::new(format!("cargo test: {error}")))?;
    if status.success() { Ok(()) } else { Err(TaskError::new(format!("`cargo test {TEST}` failed"))) }
}
