//! Cases as files: requests as they go over the wire, with directives.
//!
//! ```text
//! === a stage is made                            a case; it gets a namespace of its own
//! POST ${stages}?fieldManager=anna               a request; `${name}` is a value that is known
//! content-type: application/yaml                 a header
//! @save version /metadata/resourceVersion        a directive
//!
//! metadata: {name: dev}                          the body, to the next request; YAML is sent as JSON
//! ```
//!
//! | directive | does |
//! |---|---|
//! | `@save NAME POINTER` | keeps a text of the answer under a name |
//! | `@until CODE` | asks again until the answer has this code |
//! | `@until POINTER JSON` | asks again until the answer holds this |
//! | `@repeat N` | sends the request N times with `${n}` counting from 1; the last answer is compared |
//! | `@quiet` | the answer is not compared |
//! | `@code` | only the code is compared |
//! | `@raw` | the body is sent as it is written |
//! | `@differs KEY` | the answers differ, for the reason that `docs/differences.md` gives under this key |

use std::path::Path;

use crate::Error;

/// A sequence of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it shows.
    pub title: String,
    /// Where it is written: file and line, or seed.
    pub place: String,
    /// In order.
    pub steps: Vec<Step>,
}

/// A request, and what is made of its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As written.
    pub body: String,
    /// Whether a body in YAML stays as it is.
    pub raw: bool,
    /// Names and JSON pointers.
    pub save: Vec<(String, String)>,
    /// What to wait for.
    pub until: Option<Until>,
    /// How often it is sent.
    pub repeat: usize,
    /// How much is compared.
    pub compare: Compare,
    /// The key of a difference that stays.
    pub differs: Option<String>,
}

/// What a step waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// A code.
    Code(u16),
    /// A JSON value at a pointer.
    Value(String, String),
}

/// How much of an answer is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// Code, headers, body.
    #[default]
    All,
    /// The code.
    Code,
    /// Nothing.
    Nothing,
}

/// Every case of every `.http` file of a directory, files by name.
///
/// # Errors
/// When a file cannot be read or makes no sense.
pub fn read(directory: &Path) -> Result<Vec<Case>, Error> {
    let failed = |source| Error::File { file: directory.display().to_string(), source };
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "http"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(|source| Error::File { file: file.clone(), source })?;
        cases.extend(parse(&file, &text)?);
    }
    Ok(cases)
}

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"];

/// The cases of one file.
///
/// # Errors
/// For a line that is neither a case, a request, a header, a directive nor a body.
pub fn parse(file: &str, text: &str) -> Result<Vec<Case>, Error> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_body = false;
    for (index, line) in text.lines().enumerate() {
        let failed = |why: &str| Error::Case { file: file.to_owned(), line: index + 1, why: why.to_owned() };
        if let Some(title) = line.strip_prefix("=== ") {
            let place = format!("{file}:{}", index + 1);
            cases.push(Case { title: title.trim().to_owned(), place, steps: Vec::new() });
            in_body = false;
            continue;
        }
        let Some(case) = cases.last_mut() else {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            return Err(failed("a case begins with `=== title`"));
        };
        if let Some((method, path)) = line.split_once(' ').filter(|(method, _)| METHODS.contains(method)) {
            let step = Step { method: method.to_owned(), path: path.trim().to_owned(), repeat: 1, ..Step::default() };
            case.steps.push(step);
            in_body = false;
            continue;
        }
        let Some(step) = case.steps.last_mut() else {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            return Err(failed("a case's first line is a request"));
        };
        if in_body {
            step.body.push_str(line);
            step.body.push('\n');
        } else if line.trim().is_empty() {
            in_body = true;
        } else if let Some(directive) = line.strip_prefix('@') {
            direct(step, directive).map_err(|why| failed(&why))?;
        } else if let Some((name, value)) = line.split_once(':') {
            step.headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
        } else if !line.starts_with('#') {
            return Err(failed("neither a header nor a directive; an empty line begins the body"));
        }
    }
    for step in cases.iter_mut().flat_map(|case| &mut case.steps) {
        step.body.truncate(step.body.trim_end().len());
    }
    Ok(cases)
}

fn direct(step: &mut Step, directive: &str) -> Result<(), String> {
    let mut words = directive.splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    match (word().as_str(), word(), word()) {
        ("save", name, pointer) if !pointer.is_empty() => step.save.push((name, pointer)),
        ("until", code, json) if json.is_empty() => {
            step.until = Some(Until::Code(code.parse().map_err(|_| format!("{code:?} is no code"))?));
        }
        ("until", pointer, json) => step.until = Some(Until::Value(pointer, json)),
        ("repeat", times, _) => step.repeat = times.parse().map_err(|_| format!("{times:?} is no number"))?,
        ("quiet", _, _) => step.compare = Compare::Nothing,
        ("code", _, _) => step.compare = Compare::Code,
        ("raw", _, _) => step.raw = true,
        ("differs", key, _) if !key.is_empty() => step.differs = Some(key),
        _ => return Err(format!("unknown directive @{directive}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let text =
            "=== one\nPOST /a?b=c\naccept: x\n@save v /m\n@until /p \"x\"\n\na: 1\nb: 2\n\nGET /b\n=== two\nGET /c\n";
        let cases = parse("f", text).expect("cases");
        assert_eq!((cases.len(), cases[0].steps.len()), (2, 2));
        let step = &cases[0].steps[0];
        assert_eq!((step.path.as_str(), step.body.as_str()), ("/a?b=c", "a: 1\nb: 2"));
        assert_eq!(step.headers, [("accept".to_owned(), "x".to_owned())]);
        assert_eq!(step.until, Some(Until::Value("/p".into(), "\"x\"".into())));
        assert!(parse("f", "=== x\nnonsense").is_err());
    }
}
