//! Who may depend on what: the rules carry no network, and no domain knows another.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{TaskError, TaskResult};

/// Crates that talk to a network or drive one.
const NETWORK: [&str; 11] = [
    "axum",
    "h2",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "mio",
    "reqwest",
    "rustls",
    "socket2",
    "tower-http",
];

/// Packages whose whole tree is checked, with the features that are checked too.
const PURE: [(&str, &[&str]); 3] =
    [("konfidence-types", &["cel"]), ("konfidence-sdk", &["sim", "mock"]), ("embedded-tool", &[])];

/// Fails with every violation.
pub(crate) fn check(root: &Path) -> TaskResult {
    let mut violations = Vec::new();
    for (package, features) in PURE {
        for features in [&[], features] {
            violations.extend(network_in(package, &tree(root, package, features)?));
        }
    }
    violations.extend(imports_across(&root.join("konfidence-sdk/src"))?);
    if violations.is_empty() {
        println!("the layers are kept");
        return Ok(());
    }
    Err(TaskError::new(violations.join("\nerror: ")))
}

/// All normal dependencies of a package, one a line: name, version, features.
fn tree(root: &Path, package: &str, features: &[&str]) -> TaskResult<String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p} [{f}]"]);
    command.args(["--package", package, "--features", &features.join(",")]);
    let output = command.output().map_err(|error| TaskError::new(format!("cargo tree: {error}")))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(TaskError::new(format!("cargo tree of {package}: {}", told.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn network_in(package: &str, tree: &str) -> BTreeSet<String> {
    tree.lines()
        .filter_map(|line| {
            let name = line.split(' ').next()?;
            // The one thing that the rules may take from tokio is a lock.
            let is_more_than_locks = name == "tokio"
                && (package == "konfidence-types"
                    || features(line).any(|feature| !matches!(feature, "default" | "sync")));
            let is_network = NETWORK.contains(&name) || is_more_than_locks;
            is_network.then(|| format!("{package} must not depend on {line}"))
        })
        .collect()
}

/// The features in `name version [one,two]`.
fn features(line: &str) -> impl Iterator<Item = &str> {
    let list = line.rsplit_once('[').map_or("", |(_, list)| list);
    list.split(']').next().unwrap_or_default().split(',').filter(|feature| !feature.is_empty())
}

/// Every line of a domain that names another domain of the SDK.
fn imports_across(source: &Path) -> TaskResult<Vec<String>> {
    let domains: Vec<&str> = ["landscape", "pipeline", "promotion", "routing", "upgrade"]
        .into_iter()
        .filter(|name| source.join(name).is_dir())
        .collect();
    let mut violations = Vec::new();
    for domain in &domains {
        let mut folders = vec![source.join(domain)];
        while let Some(folder) = folders.pop() {
            let failed = |error: std::io::Error| TaskError::new(format!("{}: {error}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = fs::read_to_string(&path).map_err(failed)?;
                let others = domains.iter().filter(|other| *other != domain);
                violations.extend(others.filter(|other| names(&text, other)).map(|other| {
                    format!("{} names the domain {other}; domains share the kernel only", path.display())
                }));
            }
        }
    }
    violations.sort();
    Ok(violations)
}

/// Whether `text` names the module `domain` of its own crate, by path or in a braced import.
fn names(text: &str, domain: &str) -> bool {
    let is_word = |rest: &str| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let by_path = text.match_indices("crate::").any(|(at, found)| {
        let rest = &text[at + found.len()..];
        match rest.strip_prefix('{') {
            None => rest.strip_prefix(domain).is_some_and(is_word),
            Some(list) => {
                let list = list.split(';').next().unwrap_or_default();
                list.split([',', '{', '}']).any(|item| item.trim().strip_prefix(domain).is_some_and(is_word))
            }
        }
    });
    by_path || text.contains(&format!("konfidence_sdk::{domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_crates_are_found_and_tokios_locks_allowed() {
        let tree =
            "konfidence-sdk v0.1.0 (/x) []\nhyper v1.0.0 [http1]\ntokio v1.54.1 [default,sync]\nserde v1 [std]\n";
        assert_eq!(network_in("konfidence-sdk", tree).len(), 1);
        assert_eq!(network_in("konfidence-types", tree).len(), 2);
        assert_eq!(network_in("konfidence-sdk", "tokio v1.54.1 [net,sync]").len(), 1);
    }

    #[test]
    fn an_import_of_another_domain_is_found_however_it_is_written() {
        assert!(names("use crate::landscape::decide;", "landscape"));
        assert!(names("use crate::{clock::Clock, landscape};", "landscape"));
        assert!(names("/// See [`konfidence_sdk::landscape`].", "landscape"));
        assert!(!names("use konfidence_types::{Landscape, landscape};", "landscape"));
        assert!(!names("use crate::landscapes;", "landscape"));
        assert!(!names("use crate::{clock::Clock};\nlet landscape = 1;", "landscape"));
    }
}
