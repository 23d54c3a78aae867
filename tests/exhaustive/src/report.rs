//! What the searches came to, as a table for people.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use crate::check::Numbers;
use crate::run::Found;

/// Where the table stands in a page.
const BEGIN: &str = "<!-- the table: written by `cargo xtask explore --page` -->\n";
const END: &str = "<!-- the end of the table -->\n";

/// The whole table, in Markdown.
pub fn table(found: &[Found]) -> String {
    let mut table = String::from(
        "| scenario | world | views | P13 | S6 | states | steps | depth | complete | decisions | seconds |\n\
         |---|---|---|---|---|---:|---:|---:|---|---:|---:|\n",
    );
    for found in found {
        // Writing into a String cannot fail.
        let _ = writeln!(table, "{}", row(found));
    }
    table
}

/// One line of it.
pub fn row(found: &Found) -> String {
    let scenario = &found.scenario;
    let views = scenario.old.map_or_else(|| "any".to_owned(), |old| format!("≤ {old} old"));
    let numbers = match scenario.numbers {
        Numbers::Exact => "exact",
        Numbers::Harmless => "no harm",
        Numbers::Free => "-",
    };
    let rest = thousands(found.rested);
    let complete = match (&found.violation, found.is_complete) {
        (Some(_), _) => "**violated**",
        (None, true) => "yes",
        (None, false) => "no",
    };
    format!(
        "| {} | {} | {views} | {numbers} | {rest} | {} | {} | {} | {complete} | {} | {:.1} |",
        scenario.name,
        scenario.about,
        thousands(found.states),
        thousands(found.transitions),
        found.depth,
        thousands(found.decisions),
        found.took.as_secs_f64(),
    )
}

/// `1,234,567`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Puts the table between the marks of a page.
///
/// # Errors
/// The page cannot be read or written, or has no marks.
pub fn into_page(page: &Path, table: &str) -> io::Result<()> {
    let text = fs::read_to_string(page)?;
    let no_marks = || io::Error::other("the page has no marks for the table");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(no_marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(no_marks)?;
    fs::write(page, format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(thousands).each_ref().map(|it| &**it)
        );
    }
}
