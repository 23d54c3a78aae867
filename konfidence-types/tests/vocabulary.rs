//! The words that this version writes.

use std::fmt::Display;
use std::str::FromStr;

use konfidence_types::{
    ApprovedReason, ChangeKind, EventReason, LandscapeReason, PromotionState, ReadyReason, ServingReason, SourceRef,
    StageReason, SucceededReason, TargetRef, UnknownWord, VectorTemplateReason,
};

fn assert_written_as_read<W: Copy + Display + FromStr<Err = UnknownWord> + Into<String> + PartialEq>(words: &[W]) {
    for word in words {
        assert!(word.to_string().parse::<W>().is_ok_and(|read| read == *word), "{word}");
        assert_eq!(Into::<String>::into(*word), word.to_string());
    }
}

#[test]
fn every_word_is_read_as_it_is_written() {
    assert_written_as_read(PromotionState::ALL);
    assert_written_as_read(SucceededReason::ALL);
    assert_written_as_read(ApprovedReason::ALL);
    assert_written_as_read(ReadyReason::ALL);
    assert_written_as_read(LandscapeReason::ALL);
    assert_written_as_read(StageReason::ALL);
    assert_written_as_read(ServingReason::ALL);
    assert_written_as_read(VectorTemplateReason::ALL);
    assert_written_as_read(EventReason::ALL);
    assert_written_as_read(ChangeKind::ALL);
}

#[test]
fn states_are_those_of_the_specification() {
    let states: Vec<_> = PromotionState::ALL.iter().map(|state| state.as_str()).collect();
    assert_eq!(states, ["Waiting", "Ready", "InProgress", "Blocked", "Succeeded", "Failed", "Superseded"]);
}

#[test]
fn p2_reasons_of_a_config() {
    let reasons: Vec<_> = ReadyReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let specified = ["TargetResolved", "LandscapeNotFound", "LandscapeNotReady", "StageNotFound", "SourceNotFound"];
    assert_eq!(reasons[..5], specified);
}

#[test]
fn a_word_of_a_newer_version_is_named_not_guessed() {
    let error = "Soaking".parse::<PromotionState>().unwrap_err();
    assert_eq!(error.to_string(), r#"PromotionState does not know "Soaking"; it may stem from a newer version"#);
    assert!("waiting".parse::<PromotionState>().is_err());
}

#[test]
fn references_print_as_people_say_them() {
    assert_eq!(SourceRef::stage("eu", "dev").to_string(), "Stage eu/dev");
    assert_eq!(SourceRef::template("shop").to_string(), "VectorTemplate shop");
    assert_eq!(TargetRef::stage("eu", "dev").to_string(), "Stage eu/dev");
}
