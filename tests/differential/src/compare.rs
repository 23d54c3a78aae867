//! Two runs of a case, side by side.

use serde_json::Value;
use similar::TextDiff;

use crate::case::{Case, Compare};

/// A step whose answers are not what is expected of them.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case's place.
    pub place: String,
    /// The case's title.
    pub title: String,
    /// Which step, from 1, and its request.
    pub step: String,
    /// The answers, line by line; empty: they are the same, and are said to differ.
    pub lines: String,
}

/// Every step whose answers differ without a reason, or do not although there is one.
pub fn compare(case: &Case, embedded: &[Value], real: &[Value]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let answer = |answers: &[Value]| match step.compare {
            Compare::All => answers.get(index).cloned().unwrap_or_default(),
            Compare::Code => answers.get(index).and_then(|one| one.get("code")).cloned().unwrap_or_default(),
            Compare::Nothing => Value::Null,
        };
        let (embedded, real) = (answer(embedded), answer(real));
        if (embedded == real) == step.differs.is_none() {
            continue;
        }
        differences.push(Difference {
            place: case.place.clone(),
            title: case.title.clone(),
            step: format!("{}: {} {}", index + 1, step.method, step.path),
            lines: if embedded == real { String::new() } else { lines(&embedded, &real) },
        });
    }
    differences
}

/// `-` the embedded server, `+` the real one.
fn lines(embedded: &Value, real: &Value) -> String {
    let text = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (embedded, real) = (text(embedded), text(real));
    let diff = TextDiff::from_lines(&embedded, &real);
    diff.unified_diff().context_radius(2).to_string()
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} {}\n  {}", self.place, self.title, self.step)?;
        if self.lines.is_empty() {
            return writeln!(f, "  the answers are the same; docs/differences.md says that they differ");
        }
        for line in self.lines.lines() {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}
