//! `GoDuration` reads and prints what Go does. The expected values are those that Go 1.26 printed for these inputs.

use jiff::SignedDuration;
use konfidence_types::{GoDuration, ParseGoDurationError};
use proptest::prelude::*;

fn parse(text: &str) -> Result<GoDuration, ParseGoDurationError> {
    text.parse()
}

#[test]
fn reads_and_prints_like_go() {
    for (text, nanos, printed) in [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("-0s", 0, "0s"),
        ("+0", 0, "0s"),
        ("+1h", 3_600_000_000_000, "1h0m0s"),
        ("24h", 86_400_000_000_000, "24h0m0s"),
        ("1h30m", 5_400_000_000_000, "1h30m0s"),
        ("30m1h", 5_400_000_000_000, "1h30m0s"),
        ("1h0m0.000000001s", 3_600_000_000_001, "1h0m0.000000001s"),
        ("1.5s", 1_500_000_000, "1.5s"),
        ("1.s", 1_000_000_000, "1s"),
        (".5s", 500_000_000, "500ms"),
        ("007s", 7_000_000_000, "7s"),
        ("59.999999999s", 59_999_999_999, "59.999999999s"),
        ("60s", 60_000_000_000, "1m0s"),
        ("1ns", 1, "1ns"),
        ("999ns", 999, "999ns"),
        ("1us", 1_000, "1µs"),
        ("1\u{b5}s", 1_000, "1µs"),
        ("1\u{3bc}s", 1_000, "1µs"),
        ("1100ns", 1_100, "1.1µs"),
        ("2200us", 2_200_000, "2.2ms"),
        ("0.3333333333333333333h", 1_200_000_000_000, "20m0s"),
        ("0.100000000000000000000h", 360_000_000_000, "6m0s"),
        ("9007199254.740993ms", 9_007_199_254_740_993, "2501h59m59.254740993s"),
        ("9223372036s854775807ns", i64::MAX.unsigned_abs(), "2562047h47m16.854775807s"),
        // Go's sum wraps.
        ("9223372036854775808ns9223372036854775808ns", 0, "0s"),
    ] {
        let duration = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((duration.as_nanos(), duration.to_string().as_str()), (nanos, printed), "{text:?}");
    }
}

#[test]
fn says_what_is_wrong_and_what_to_write() {
    for (text, error) in [
        ("", r#"duration "" is not valid, write it like 24h, 1h30m or 1.5s"#),
        (".s", r#"duration ".s" is not valid, write it like 24h, 1h30m or 1.5s"#),
        ("--1h", r#"duration "--1h" is not valid, write it like 24h, 1h30m or 1.5s"#),
        ("90", r#"duration "90" lacks a unit, use one of ns, us, µs, ms, s, m, h"#),
        ("1d", r#"duration "1d" has the unknown unit "d", use one of ns, us, µs, ms, s, m, h"#),
        ("2562048h", r#"duration "2562048h" is too long, use at most 2562047h"#),
        ("9223372036s854775808ns", r#"duration "9223372036s854775808ns" is too long, use at most 2562047h"#),
        ("99999999999999999999s", r#"duration "99999999999999999999s" is too long, use at most 2562047h"#),
        ("-1h", r#"duration "-1h" is negative, use one of at least 0s"#),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), error);
    }
}

#[test]
fn stands_in_json_as_a_string() {
    let duration: GoDuration = serde_json::from_str("\"90m\"").unwrap();
    assert_eq!(serde_json::to_string(&duration).unwrap(), "\"1h30m0s\"");
    assert!(serde_json::from_str::<GoDuration>("90").is_err());
    assert!(serde_json::from_str::<GoDuration>("\"90\"").unwrap_err().to_string().contains("lacks a unit"));
}

#[test]
fn is_bounded_like_go() {
    assert_eq!(GoDuration::MAX.as_signed_duration(), SignedDuration::from_nanos(i64::MAX));
    assert_eq!(GoDuration::from_nanos(i64::MAX.unsigned_abs() + 1), None);
    assert_eq!(GoDuration::from_secs(u32::MAX).as_signed_duration(), SignedDuration::from_secs(4_294_967_295));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_back(nanos in 0..=i64::MAX.unsigned_abs()) {
        // Small values have forms of their own.
        for nanos in [nanos, nanos >> 30, nanos >> 44, nanos >> 54] {
            let duration = GoDuration::from_nanos(nanos).unwrap();
            prop_assert_eq!(parse(&duration.to_string()), Ok(duration));
        }
    }

    #[test]
    fn no_input_panics(text in "[-+]?([0-9]{0,25}(\\.[0-9]{0,25})?(h|m|s|ms|us|µs|ns|x)?){0,6}") {
        let _ = parse(&text);
    }
}
