//! Mutating the decisions: is there a test for every comparison, every branch and every value?
//!
//! `docs/mutants.md` lists what no test notices, and why that is right.

use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult};

/// Where the rules live.
const FOLDER: &str = "konfidence-sdk/src/promotion/decide";
/// The tests that are run for each mutant: the statements one by one, and the scripts of the flaws.
const TESTS: [&str; 2] = ["promotion::", "sim::tests::flaws::rules"];

/// Runs cargo-mutants on these files of the folder, or on all of them.
pub(crate) fn run(root: &Path, files: &[String]) -> TaskResult {
    let files: Vec<String> = match files {
        [] => vec![format!("{FOLDER}/*.rs")],
        files => files.iter().map(|file| format!("{FOLDER}/{file}.rs")).collect(),
    };
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["mutants", "--package", "konfidence-sdk", "--features", "sim"]);
    for file in &files {
        command.args(["--file", file]);
    }
    let status = command
        .args(["--cargo-arg=--lib", "--baseline", "skip", "--timeout", "300", "--", "--"])
        .args(TESTS)
        .status()
        .map_err(|error| TaskError::new(format!("cargo mutants: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let remedy = "compare mutants.out/missed.txt with docs/mutants.md, or `cargo install cargo-mutants`";
    Err(TaskError::new(format!("some mutants were not noticed, or did not run: {remedy}")))
}
