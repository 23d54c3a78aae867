//! The chapter shows the test as it is, and the test is as short as the chapter says.

const TEST: &str = include_str!("tasting.rs");
const CONTROLLER: &str = include_str!("../src/lib.rs");
const CHAPTER: &str = include_str!("../../../docs/testing.md");

#[test]
fn the_chapter_quotes_the_test_and_the_controller_as_they_are() {
    assert!(CHAPTER.contains(&format!("```rust\n{TEST}```")), "docs/testing.md shows another tests/tasting.rs");
    let kind = CONTROLLER.split("/// Runs the controller").next().unwrap_or_default();
    let kind = kind.split("\n\n").filter(|part| part.contains("struct Tasting")).collect::<Vec<_>>().join("\n\n");
    assert!(CHAPTER.contains(&format!("```rust\n{kind}\n```")), "docs/testing.md shows another kind:\n{kind}");
}

#[test]
fn the_test_is_shorter_than_fifty_lines() {
    assert!(TEST.lines().count() < 50, "{} lines", TEST.lines().count());
}
