//! How objects are printed.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// Output formats that print whole objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// The object as JSON
    Json,
    /// The object as YAML
    Yaml,
}

impl ObjectFormat {
    /// Prints one object.
    pub(crate) fn print(self, object: &impl Serialize) -> Result<(), Failure> {
        match self {
            Self::Json => say(serde_json::to_string_pretty(object).map_err(Failure::other)?),
            Self::Yaml => say(serde_saphyr::to_string(object).map_err(Failure::other)?.trim_end()),
        }
    }
}

/// Writes a line to stdout. That somebody closed it, as `head` does, ends the command without a word.
pub(crate) fn say(text: impl Display) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::Other(format!("stdout: {error}")),
    })
}

/// Writes a line to stderr. Where nobody reads it the exit code still tells, so that it must not be lost in a panic.
pub(crate) fn complain(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Columns below upper-case headers, without lines, as kubectl prints them.
pub(crate) fn columns(headers: &[String], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(headers.iter().map(|header| header.to_uppercase()));
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_no_lines_and_no_trailing_blanks() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = columns(&row(["Name", "State"]), &[row(["menu-to-dev-1", "Succeeded"]), row(["x", ""])]);
        assert_eq!(text, "NAME            STATE\nmenu-to-dev-1   Succeeded\nx");
    }
}
