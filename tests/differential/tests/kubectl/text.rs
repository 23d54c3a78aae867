//! What a server chooses by itself, and what is random in kubectl, taken out of its outputs.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, and by what.
static REPLACED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        // Times that the cases write themselves lie beyond this decade.
        (r"202\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\w{3}, \d\d \w{3} 202\d \d\d:\d\d:\d\d \+0000", "TIME"),
        (r#"(resourceVersion\\*"?: ?\\*")\d+"#, "${1}VERSION"),
        (r"(Resource Version: +)\d+", "${1}VERSION"),
        (r"https?://127\.0\.0\.1:\d+", "SERVER"),
        (r#"("serverAddress":)"[^"]*""#, "${1}SERVER"),
        (r#"(storageVersionHash":)"[^"]*""#, "${1}HASH"),
        (r"/tmp/kubectl-edit-\d+\.yaml", "EDITED"),
        (r"/tmp/(LIVE|MERGED)-\d+", "${1}"),
        (r"(?m)^(diff|---|\+\+\+) (.*)\t.*$", "${1} ${2}"),
        (r"(?m)^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // Ages, and the width of the column that holds them.
        (r"(?m)(^|\s)\d+(s|m|m\d+s)(\s|$)", "${1}AGE${3}"),
        (r"(\S) {2,}", "${1}  "),
        (r"(?m) +$", ""),
    ]
    .map(|(pattern, by)| (Regex::new(pattern).expect("a constant pattern"), by))
    .into()
});

/// Lines whose order is that of a map in Go.
static UNORDERED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\* |  \.\S+: (expected|field not|duplicate))").expect("a constant pattern"));

/// Normalises the outputs of one case on one server.
pub(crate) struct Text {
    namespace: String,
    directory: String,
}

impl Text {
    pub(crate) fn new(namespace: &str, directory: &Path) -> Self {
        Self { namespace: namespace.to_owned(), directory: directory.display().to_string() }
    }

    /// An output as it is compared.
    pub(crate) fn normal(&self, output: &[u8]) -> String {
        let text = String::from_utf8_lossy(output);
        let mut text = text.replace(&self.directory, "DIR").replace(&self.namespace, "NAMESPACE");
        for (pattern, by) in REPLACED.iter() {
            text = pattern.replace_all(&text, *by).into_owned();
        }
        owners_in_order(&lines_in_order(&text))
    }
}

fn lines_in_order(text: &str) -> String {
    let mut ordered = String::new();
    let mut unordered: Vec<&str> = Vec::new();
    let flush = |ordered: &mut String, unordered: &mut Vec<&str>| {
        unordered.sort_unstable();
        ordered.extend(unordered.drain(..));
    };
    for line in text.split_inclusive('\n') {
        if UNORDERED.is_match(line) {
            unordered.push(line);
        } else {
            flush(&mut ordered, &mut unordered);
            ordered.push_str(line);
        }
    }
    flush(&mut ordered, &mut unordered);
    ordered
}

/// The managed fields of an object are in the order of their times, which are the same second or not as it happens.
fn owners_in_order(text: &str) -> String {
    let mut ordered = String::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        ordered.push_str(line);
        if line.trim() != "managedFields:" {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let (item, inside) = (format!("{indent}- "), format!("{indent}  "));
        let mut entries: Vec<String> = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(&item) || line.starts_with(&inside)) {
            if line.starts_with(&item) {
                entries.push(String::new());
            }
            entries.iter_mut().next_back().into_iter().for_each(|entry| entry.push_str(line));
        }
        entries.sort();
        ordered.extend(entries);
    }
    ordered
}
