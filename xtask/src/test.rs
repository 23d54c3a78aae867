//! Everything that has to hold before a change lands, in one command. Stops at the first thing that does not.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{TaskError, TaskResult, crds, generated, layering, rbac, statements};

/// Calls of cargo, the quick ones first.
const STEPS: [&[&str]; 10] = [
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
    // In one build: each by itself has other features, and everything below would be built twice.
    &["build", "--release", "--package", "worlds", "--package", "exhaustive"],
];

/// Programs of that build, and what they are given.
const SEARCHES: [(&str, &[&str]); 2] = [("worlds", &["--steps", "1000000"]), ("exhaustive", &[])];

/// Runs everything.
pub(crate) fn run(root: &Path) -> TaskResult {
    layering::check(root)?;
    statements::check(root)?;
    generated::bring_up_to_date(&root.join("deploy/crds"), "crds", &crds::files, true)?;
    generated::bring_up_to_date(&root.join("deploy/rbac"), "rbac", &rbac::files, true)?;
    build_real_parts()?;
    for step in STEPS {
        pass(&format!("cargo {}", step.join(" ")), Command::new(env!("CARGO")).current_dir(root).args(step))?;
    }
    for (program, arguments) in SEARCHES {
        pass(&format!("{program} {}", arguments.join(" ")), Command::new(released(program)?).args(arguments))?;
    }
    println!("\nall {} steps passed", STEPS.len() + SEARCHES.len());
    Ok(())
}

fn pass(line: &str, command: &mut Command) -> TaskResult {
    let line = line.trim_end();
    println!("\n== {line}");
    let status = command.env("RUSTDOCFLAGS", "--deny warnings").status();
    let status = status.map_err(|error| TaskError::new(format!("{line}: {error}")))?;
    if status.success() { Ok(()) } else { Err(TaskError::new(format!("`{line}` failed"))) }
}

/// A program of the release build; it is beside the folder that this one was built into.
fn released(program: &str) -> TaskResult<PathBuf> {
    let here = std::env::current_exe().map_err(|error| TaskError::new(format!("this program's own path: {error}")))?;
    let target = here.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    Ok(target.join("release").join(program).with_extension(std::env::consts::EXE_EXTENSION))
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
