//! The `format`s that a real server checks and JSON schema does not know, or knows otherwise.

use jsonschema::ValidationOptions;

/// The format as the validator calls it, if a real server checks it. All others only describe.
pub(super) fn checked(format: &str) -> Option<&str> {
    match format {
        "datetime" => Some("date-time"),
        "uri" | "email" | "hostname" | "ipv4" | "ipv6" | "cidr" | "mac" | "uuid" | "hexcolor" | "byte" | "date"
        | "duration" | "date-time" => Some(format),
        _ => None,
    }
}

/// Adds the formats to a validator's options.
pub(super) fn register(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options
        .with_format("duration", is_duration)
        .with_format("uuid", is_uuid)
        .with_format("byte", is_base64)
        .with_format("cidr", is_cidr)
        .with_format("mac", is_mac)
        .with_format("hexcolor", is_hex_color)
}

/// A Go duration (`1h30m`), or a count of a written-out unit (`2 days`).
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_spelled_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.bytes().any(|byte| byte.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let Some(unit) = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().find(|unit| {
            after
                .strip_prefix(**unit)
                .is_some_and(|next| next.is_empty() || next.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        }) else {
            return false;
        };
        rest = &after[unit.len()..];
    }
    true
}

fn is_spelled_duration(text: &str) -> bool {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let units = [
        "ns", "us", "ms", "s", "m", "h", "d", "w", "nano", "micro", "milli", "sec", "min", "hr", "hour", "day", "week",
        "wk",
    ];
    let unit = text[digits..].trim().to_lowercase();
    digits > 0 && units.iter().any(|known| unit == *known || unit == format!("{known}s"))
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<std::net::IpAddr>() else { return false };
    prefix.parse::<u8>().is_ok_and(|bits| bits <= if address.is_ipv4() { 32 } else { 128 })
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20)
        && parts.iter().all(|part| part.len() == 2 && u8::from_str_radix(part, 16).is_ok())
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos_or_spelled_out() {
        for good in ["24h", "1h30m", "1.5s", "0", "100ms", "2 days", "1d"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "h", "1", "24hours!", "1h x", "one day"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }

    #[test]
    fn bytes_are_base64() {
        assert!(is_base64("aGVsbG8="));
        assert!(!is_base64("aGVsbG8"));
        assert!(!is_base64("a?=="));
    }
}
