//! Durations as Go writes and reads them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

mod parse;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A duration that is not negative, in nanoseconds, written like Go's `time.Duration`: `24h`, `1h30m`, `1.5s`.
///
/// Kubernetes objects hold durations in this form. [`FromStr`] accepts what Go's `time.ParseDuration` accepts, as long
/// as the value is not negative, and gives the same number of nanoseconds; [`fmt::Display`] prints what Go's
/// `Duration.String` prints. The greatest value is that of Go, 2^63-1 nanoseconds or about 292 years.
///
/// In a schema it is a string of at most 64 characters, without a sign, of at most 876000h (100 years): whatever the
/// API server accepts there, this type can read, and what it prints of it the API server accepts again.
///
/// ```
/// use konfidence_types::GoDuration;
///
/// let ttl: GoDuration = "90m".parse()?;
/// assert_eq!(ttl.to_string(), "1h30m0s");
/// assert_eq!(ttl.as_signed_duration(), jiff::SignedDuration::from_mins(90));
/// # Ok::<(), konfidence_types::ParseGoDurationError>(())
/// ```
// Invariant: at most `i64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(u64);

/// Why a string is no [`GoDuration`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseGoDurationError {
    /// Not of the grammar.
    #[error("duration {0:?} is not valid, write it like 24h, 1h30m or 1.5s")]
    Invalid(String),
    /// A number without a unit.
    #[error("duration {0:?} lacks a unit, use one of ns, us, µs, ms, s, m, h")]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("duration {duration:?} has the unknown unit {unit:?}, use one of ns, us, µs, ms, s, m, h")]
    UnknownUnit {
        /// The whole string.
        duration: String,
        /// The unit in it.
        unit: String,
    },
    /// More than 2^63-1 nanoseconds.
    #[error("duration {0:?} is too long, use at most 2562047h")]
    Overflow(String),
    /// Less than zero.
    #[error("duration {0:?} is negative, use one of at least 0s")]
    Negative(String),
}

impl GoDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// The greatest one, 2^63-1 nanoseconds.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// That many nanoseconds; `None` if there are more than 2^63-1.
    pub const fn from_nanos(nanos: u64) -> Option<Self> {
        if nanos > Self::MAX.0 { None } else { Some(Self(nanos)) }
    }

    /// That many seconds.
    ///
    /// ```
    /// # use konfidence_types::GoDuration;
    /// assert_eq!(GoDuration::from_secs(3600).to_string(), "1h0m0s");
    /// ```
    pub const fn from_secs(secs: u32) -> Self {
        // 2^32 seconds are less than half of the greatest value.
        Self(secs as u64 * SECOND)
    }

    /// The nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The same length of time, for arithmetic with timestamps.
    pub const fn as_signed_duration(self) -> SignedDuration {
        SignedDuration::from_nanos(self.0.cast_signed())
    }
}

impl FromStr for GoDuration {
    type Err = ParseGoDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::parse(text).map(Self)
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        match nanos {
            0 => f.write_str("0s"),
            1..MICROSECOND => write!(f, "{nanos}ns"),
            MICROSECOND..MILLISECOND => write!(f, "{}µs", Decimal { value: nanos, unit: MICROSECOND, places: 3 }),
            MILLISECOND..SECOND => write!(f, "{}ms", Decimal { value: nanos, unit: MILLISECOND, places: 6 }),
            _ => {
                if nanos >= HOUR {
                    write!(f, "{}h", nanos / HOUR)?;
                }
                if nanos >= MINUTE {
                    write!(f, "{}m", nanos % HOUR / MINUTE)?;
                }
                write!(f, "{}s", Decimal { value: nanos % MINUTE, unit: SECOND, places: 9 })
            }
        }
    }
}

/// A number of units with decimal places, trailing zeros dropped.
struct Decimal {
    value: u64,
    unit: u64,
    places: usize,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value / self.unit)?;
        let fraction = format!("{:0width$}", self.value % self.unit, width = self.places);
        match fraction.trim_end_matches('0') {
            "" => Ok(()),
            digits => write!(f, ".{digits}"),
        }
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The grammar without a sign. What it lets through can still be too long; that is the rule's part.
const PATTERN: &str = "^(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

// CEL's own conversion knows no micro sign everywhere, hence the replacement. A bound well below the overflow makes
// evaluators that saturate and those that fail agree.
const RULE: &str = "duration(self.replace('µ', 'u').replace('μ', 'u')) <= duration('876000h')";

impl JsonSchema for GoDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "pattern": PATTERN,
            "x-kubernetes-validations": [{
                "rule": RULE,
                "message": "duration must be at most 876000h",
            }],
        })
    }
}
