//! What the API server accepts as a duration, this crate reads, and what it writes of it the API server accepts again.

use konfidence_types::GoDuration;
use proptest::prelude::*;

use crate::admission::{assert_refused, create};
use crate::example::{config, set};

fn refusals(duration: &str) -> Vec<String> {
    create(&set(config(), "/spec/ttlAfterFinished", duration))
}

#[test]
fn a_duration_that_does_not_parse_is_refused_by_the_schema() {
    for bad in [
        "", " ", "s", "1", "1.5", ".", ".s", "1.2.3s", "1x", "1d", "1w", "1H", "1S", "1 h", " 1h", "1h ", "1h\n",
        "1e3s", "inf", "infs", "nans", "1h-1m", "--1h", "0x1s", "1_000s", "1,5s", "PT1H", "3 days", "١s", "1ss", "1hh",
        "1.s.", "1h1",
    ] {
        assert!(bad.parse::<GoDuration>().is_err(), "{bad:?} parses");
        assert_refused(&config(), &set(config(), "/spec/ttlAfterFinished", bad), "spec.ttlAfterFinished");
    }
}

#[test]
fn a_duration_above_100_years_is_refused_with_the_bound() {
    for bad in [
        "876000h1ns",
        "2562047h47m16.854775808s",
        "2562048h",
        "9223372036854775808ns",
        "18446744073709551616ns",
        "99999999999999999999h",
        "999999h999999h",
        "2562047h2562047h2562047h2562047h",
    ] {
        let words = "spec.ttlAfterFinished: duration must be at most 876000h";
        assert_refused(&config(), &set(config(), "/spec/ttlAfterFinished", bad), words);
    }
    assert_eq!(refusals("876000h"), [""; 0]);
}

#[test]
fn a_signed_duration_is_refused_though_go_reads_it() {
    for signed in ["-1h", "+1h", "-0s", "+0"] {
        assert_refused(&config(), &set(config(), "/spec/ttlAfterFinished", signed), "spec.ttlAfterFinished");
    }
}

#[test]
fn every_form_of_go_is_accepted() {
    for good in [
        "0",
        "0s",
        "24h",
        "1h30m",
        "1.5s",
        "1.s",
        ".5s",
        "1ns",
        "1us",
        "1µs",
        "1μs",
        "1.5µs",
        "1ms",
        "1m",
        "30m1h",
        "1h1h",
        "007s",
        "0.000000000000000000000000000000000001h",
    ] {
        assert_eq!(refusals(good), [""; 0], "{good:?}");
        assert_eq!(refusals(&good.parse::<GoDuration>().unwrap().to_string()), [""; 0], "{good:?}");
    }
}

/// Strings near the grammar: numbers of all sizes, all units and some that are none, signs, blanks, repetitions.
fn hostile() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        "[0-9]{1,3}",
        "[0-9]{1,22}",
        "[0-9]{0,3}\\.[0-9]{0,3}",
        "[0-9]{1,9}\\.[0-9]{0,25}",
        Just(String::new()),
    ];
    let unit = prop_oneof![
        8 => prop::sample::select(vec!["h", "m", "s", "ms", "us", "µs", "μs", "ns"]),
        1 => prop::sample::select(vec!["", "d", "S", "hm", "-", "+", " ", "e3s", ".", "\n", "\u{0}"]),
    ];
    let parts = prop::collection::vec((number, unit).prop_map(|(number, unit)| number + unit), 0..8);
    let sign = prop_oneof![9 => Just(""), 1 => prop::sample::select(vec!["-", "+", " ", "--"])];
    prop_oneof![
        9 => (sign, parts).prop_map(|(sign, parts)| sign.to_owned() + &parts.concat()),
        1 => "\\PC{0,80}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_schema_accepts_is_read_and_written_back(text in hostile()) {
        if refusals(&text).is_empty() {
            let duration: GoDuration = text.parse().map_err(|error| TestCaseError::fail(format!("{error}")))?;
            prop_assert_eq!(refusals(&duration.to_string()), [""; 0]);
        }
    }

    #[test]
    fn what_is_written_is_accepted_up_to_the_bound(nanos in 0..=876_000 * 3_600_000_000_000_u64) {
        let duration = GoDuration::from_nanos(nanos).unwrap();
        prop_assert_eq!(refusals(&duration.to_string()), [""; 0]);
    }
}
