//! Paths of fields, as the real server writes them: `spec.steps[0].name`.

use std::fmt;

use jsonschema::paths::{Location, LocationSegment};

use crate::field::child;

/// A JSON pointer as a field path.
pub(super) fn of(location: &Location) -> String {
    join(location)
}

/// Some segments of a pointer as a field path.
pub(super) fn join<'a>(segments: impl IntoIterator<Item = LocationSegment<'a>>) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            LocationSegment::Property(name) => path = child(&path, &name),
            LocationSegment::Index(index) => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}

/// Where a walk through a value is. It is written out only where something is to be said of it: all paths of a deep value
/// together are longer than the value by far.
pub(super) enum Place<'a> {
    /// At the value itself.
    Root,
    /// At a field.
    Field(&'a Place<'a>, &'a str),
    /// At an item of a list.
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Index(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

/// One step of a field path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

/// The steps of a field path. A map's key that holds a dot reads as several steps; such a path leads nowhere, and
/// whoever follows it finds nothing.
pub(super) fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !name.is_empty() {
            steps.push(Step::Field(name));
        }
        for index in indexes.split('[').filter_map(|one| one.strip_suffix(']')) {
            match index.parse() {
                Ok(index) => steps.push(Step::Index(index)),
                Err(_) => steps.push(Step::Field(index.trim_matches(['"', '\'']))),
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_back_step_by_step() {
        assert_eq!(
            steps("spec.steps[0][1].name"),
            [Step::Field("spec"), Step::Field("steps"), Step::Index(0), Step::Index(1), Step::Field("name")]
        );
    }
}
