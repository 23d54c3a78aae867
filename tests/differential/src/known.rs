//! The differences that stay, as `docs/differences.md` lists them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Error;
use crate::case::Case;

/// The keys of the differences that the documentation explains: its headings in code style.
///
/// # Errors
/// When the page cannot be read.
pub fn explained() -> Result<BTreeSet<String>, Error> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let page =
        std::fs::read_to_string(&file).map_err(|source| Error::File { file: file.display().to_string(), source })?;
    Ok(keys(&page))
}

fn keys(page: &str) -> BTreeSet<String> {
    page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).map(str::to_owned).collect()
}

/// The keys that cases name.
pub fn named(cases: &[Case]) -> BTreeSet<String> {
    cases.iter().flat_map(|case| &case.steps).filter_map(|step| step.differs.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_headings_in_code_style() {
        let page = "# Title\n\n### `one-thing`\n\nwhy\n\n### not this\n";
        assert_eq!(keys(page), BTreeSet::from(["one-thing".to_owned()]));
    }
}
