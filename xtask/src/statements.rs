//! The specification is the acceptance list: each of its statements is named by at least one test.
//!
//! Besides the specification (P, S, C) these are the rules of the promotion protocol (R) and the traces that each of them
//! prevents (T).
//!
//! A test names a statement in its own name (`p24_nothing_else_starts`, `s1_s2_hold_when_…`) or in the doc comment
//! right above it (`/// P24, P25`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{TaskError, TaskResult};

/// Letter of a family and its greatest number.
const FAMILIES: [(char, u32); 5] = [('P', 52), ('S', 6), ('C', 3), ('R', 14), ('T', 19)];
/// What came between two others.
const BETWEEN: &str = "T8B";

/// Fails with the list of statements that no test names.
pub(crate) fn check(root: &Path) -> TaskResult {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    visit(root, &mut |text| {
        for statement in in_text(text) {
            *named.entry(statement).or_default() += 1;
        }
    })?;
    let missing: Vec<String> = all().filter(|statement| !named.contains_key(statement)).collect();
    if !missing.is_empty() {
        return Err(TaskError::new(format!("no test names these statements: {}", missing.join(", "))));
    }
    println!("every statement is named by a test ({} statements)", all().count());
    Ok(())
}

fn all() -> impl Iterator<Item = String> {
    let numbered = |(letter, last)| (1..=last).map(move |number| format!("{letter}{number}"));
    FAMILIES.into_iter().flat_map(numbered).chain([BETWEEN.to_owned()])
}

/// Shows `look` every Rust file below `folder`, build output and hidden folders apart.
fn visit(folder: &Path, look: &mut dyn FnMut(&str)) -> TaskResult {
    let failed = |error: std::io::Error| TaskError::new(format!("{}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && name != "target" && name != "xtask" && !name.starts_with('.') {
            visit(&path, look)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&fs::read_to_string(&path).map_err(failed)?);
        }
    }
    Ok(())
}

/// The statements that the tests of one file name.
fn in_text(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut documented = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            documented.extend(words(doc));
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some(name) = function(line) {
            if is_test {
                found.append(&mut documented);
                found.extend(words(name));
            }
            (is_test, documented) = (false, BTreeSet::new());
        } else if !line.starts_with("//") {
            (is_test, documented) = (false, BTreeSet::new());
        }
    }
    found
}

/// The name of the function that the line begins.
fn function(line: &str) -> Option<&str> {
    let after = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    after.split('(').next()
}

/// The statements among the words of a name or a sentence.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter_map(|word| {
        let word = word.to_ascii_uppercase();
        all().find(|statement| *statement == word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        in_text(text).into_iter().collect()
    }

    #[test]
    fn statements_are_found_in_names_and_docs_of_tests_only() {
        assert_eq!(found("#[test]\nfn p24_p25_one_at_a_time() {}"), ["P24", "P25"]);
        assert_eq!(found("/// S1 and C3.\n#[tokio::test(start_paused = true)]\nasync fn name() {}"), ["C3", "S1"]);
        assert_eq!(found("#[test]\n// why\n#[should_panic]\nfn p1_x() {}"), ["P1"]);
        assert!(found("/// P24\nfn p24_is_no_test() {}").is_empty());
        assert_eq!(found("#[test]\nfn r14_t8b_t19() {}"), ["R14", "T19", "T8B"]);
        assert!(found("/// P24\nstruct NoTest;\n#[test]\nfn p99_p053_c4_r60_t20_unknown() {}").is_empty());
    }

    #[test]
    fn the_list_is_the_specifications() {
        let all: Vec<String> = all().collect();
        let at = |index: usize| all[index].as_str();
        assert_eq!((all.len(), at(0), at(51), at(60), at(74), at(94)), (95, "P1", "P52", "C3", "R14", "T8B"));
    }
}
