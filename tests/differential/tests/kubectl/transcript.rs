//! Case files: sessions of a shell, with the files that they use.
//!
//! `## title` begins a case, `@ name` a file (up to the next line that begins so or with `$`), `$ command` is run by the
//! shell in a directory of its own with its own namespace. `$? command` is one whose outputs differ for a reason that
//! `docs/differences.md` tells.

use std::fmt;
use std::fs;
use std::path::Path;

/// A session.
pub(crate) struct Case {
    /// The file's name without its ending.
    pub(crate) file: String,
    /// What it is about.
    pub(crate) title: String,
    /// In their order.
    pub(crate) steps: Vec<Step>,
}

/// What a session does next.
pub(crate) enum Step {
    /// Writes a file.
    File { name: String, content: String },
    /// Runs a command.
    Run { command: String, differs: bool },
}

impl Case {
    /// A namespace of its own.
    pub(crate) fn namespace(&self, run: &str) -> String {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let name: String = format!("{}-{}", self.file, self.title).chars().map(letter).take(48).collect();
        format!("{}-{run}", name.trim_matches('-'))
    }

    /// How long it takes, compared with other cases: a command that waits counts for ten.
    pub(crate) fn weight(&self) -> usize {
        const WAITS: &[&str] = &["sleep", "timeout", "wait", "delete ns", "cascade"];
        let weigh = |step: &Step| match step {
            Step::Run { command, .. } if WAITS.iter().any(|word| command.contains(word)) => 10,
            Step::Run { .. } => 1,
            Step::File { .. } => 0,
        };
        self.steps.iter().map(weigh).sum()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.title)
    }
}

/// The cases of every file in a directory.
pub(crate) fn read(directory: &Path) -> Vec<Case> {
    let mut files: Vec<_> = fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "cases"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for path in files {
        let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
        for line in fs::read_to_string(&path).expect("text").lines() {
            if let Some(title) = line.strip_prefix("## ") {
                cases.push(Case { file: file.clone(), title: title.to_owned(), steps: Vec::new() });
                continue;
            }
            let Some(case) = cases.last_mut().filter(|case| case.file == file) else { continue };
            if let Some(name) = line.strip_prefix("@ ") {
                case.steps.push(Step::File { name: name.to_owned(), content: String::new() });
            } else if let Some(command) = line.strip_prefix("$ ") {
                case.steps.push(Step::Run { command: command.to_owned(), differs: false });
            } else if let Some(command) = line.strip_prefix("$? ") {
                case.steps.push(Step::Run { command: command.to_owned(), differs: true });
            } else if let Some(Step::File { content, .. }) = case.steps.last_mut() {
                content.push_str(line);
                content.push('\n');
            }
        }
    }
    cases
}
