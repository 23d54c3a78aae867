//! Go's `time.ParseDuration`, for values that are not negative.
//!
//! The grammar is `[-+]?([0-9]*(\.[0-9]*)?[a-z]+)+`, or `0` without a unit. The arithmetic is Go's to the bit, so that
//! a value means the same nanoseconds to every reader of the object.

use super::ParseGoDurationError as Error;
use super::{HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND};

/// Go lets intermediate values reach 2^63, so that the least negative duration can be read.
const LIMIT: u64 = 1 << 63;

pub(super) fn parse(text: &str) -> Result<u64, Error> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(Error::Invalid(text.to_owned()));
    }
    let mut nanos: u64 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (part, after) = component(rest, text)?;
        // Two parts of 2^63 each wrap to nothing in Go, and so for the API server: they mean 0s to all who read them.
        nanos = nanos.wrapping_add(part);
        if nanos > LIMIT {
            return Err(Error::Overflow(text.to_owned()));
        }
        rest = after;
    }
    match (negative, nanos) {
        (_, 0) => Ok(0),
        (true, _) => Err(Error::Negative(text.to_owned())),
        (false, LIMIT) => Err(Error::Overflow(text.to_owned())),
        (false, _) => Ok(nanos),
    }
}

/// One number with its unit, in nanoseconds, and what follows it.
fn component<'a>(rest: &'a str, text: &str) -> Result<(u64, &'a str), Error> {
    let overflow = || Error::Overflow(text.to_owned());
    let (whole_digits, rest) = rest.split_at(digits(rest));
    let (fraction_digits, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole_digits.is_empty() && fraction_digits.is_empty() {
        return Err(Error::Invalid(text.to_owned()));
    }
    let whole = integer(whole_digits).ok_or_else(overflow)?;
    let (unit, rest) = rest.split_at(rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len()));
    let unit = match unit {
        "" => return Err(Error::MissingUnit(text.to_owned())),
        "ns" => 1,
        // U+00B5 is the micro sign, which Go prints, U+03BC the Greek letter, which keyboards give.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return Err(Error::UnknownUnit { duration: text.to_owned(), unit: unit.to_owned() }),
    };
    if whole > LIMIT / unit {
        return Err(overflow());
    }
    let nanos = whole * unit + fraction(fraction_digits, unit);
    if nanos > LIMIT { Err(overflow()) } else { Ok((nanos, rest)) }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn digit(byte: u8) -> u64 {
    u64::from(byte - b'0')
}

/// `None` above 2^63.
fn integer(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0, |value, byte| {
        if value > LIMIT / 10 { None } else { Some(value * 10 + digit(byte)).filter(|value| *value <= LIMIT) }
    })
}

/// Digits after the point as nanoseconds of that unit, truncated. Digits that no longer fit are dropped, as in Go.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes this in float64 and truncates; the value is below 3.6e12"
)]
fn fraction(digits: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale = 1.0_f64;
    for byte in digits.bytes() {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + digit(byte);
        if next > LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}
