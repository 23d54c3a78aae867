//! Everything that has to hold before a change lands, in one command. Stops at the first thing that does not.

use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult, crds, generated, layering, rbac, statements};

/// Calls of cargo, the quick ones first.
const STEPS: [&[&str]; 11] = [
    &["fmt", "--all", "--check"],
    &["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"],
    &["doc", "--workspace", "--no-deps", "--all-features"],
    // Also without the features that everything else turns on: the crates that third parties build on.
    &["check", "--package", "konfidence-types", "--package", "konfidence-sdk"],
    &["test", "--workspace", "--all-features"],
    &["run", "--package", "embedded-tool"],
    &["run", "--package", "weekend"],
    &["run", "--package", "file-store"],
    &["run", "--package", "konfidence-cli", "--", "demo", "--pace", "0"],
    &["run", "--release", "--package", "worlds", "--", "--steps", "1000000"],
    &["run", "--release", "--package", "exhaustive"],
];

/// Runs everything.
pub(crate) fn run(root: &Path) -> TaskResult {
    layering::check(root)?;
    statements::check(root)?;
    generated::bring_up_to_date(&root.join("deploy/crds"), "crds", &crds::files, true)?;
    generated::bring_up_to_date(&root.join("deploy/rbac"), "rbac", &rbac::files, true)?;
    build_real_parts()?;
    for step in STEPS {
        let line = step.join(" ");
        println!("\n== cargo {line}");
        let status = Command::new(env!("CARGO"))
            .current_dir(root)
            .args(step)
            .env("RUSTDOCFLAGS", "--deny warnings")
            .status()
            .map_err(|error| TaskError::new(format!("cargo {line}: {error}")))?;
        if !status.success() {
            return Err(TaskError::new(format!("`cargo {line}` failed")));
        }
    }
    println!("\nall {} steps passed", STEPS.len());
    Ok(())
}

/// Ahead of the tests, so that none of them waits for a build of minutes.
fn build_real_parts() -> TaskResult {
    if real_apiserver::go_is_there() {
        println!("\n== the real API server");
        return real_apiserver::build().map(drop).map_err(|error| TaskError::new(error.to_string()));
    }
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        return Err(TaskError::new("no Go toolchain: the tests on a real API server cannot run; install Go 1.26"));
    }
    println!("\n== SKIPPED: no Go toolchain, so nothing runs on a real API server");
    Ok(())
}
