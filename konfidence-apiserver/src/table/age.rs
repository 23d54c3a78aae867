//! Spans of time as kubectl shows them: two units while they are short, one when they are long.

use jiff::SignedDuration;

/// `5s`, `3m20s`, `47m`, `5h12m`, `30h`, `4d3h`, `40d`, `3y20d`.
pub(super) fn human(span: SignedDuration) -> String {
    let seconds = span.as_secs();
    // Clocks may disagree by a moment; more is no age.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    if seconds < 120 {
        return format!("{seconds}s");
    }
    let minutes = seconds / 60;
    if minutes < 10 {
        return two(minutes, "m", seconds % 60, "s");
    }
    if minutes < 180 {
        return format!("{minutes}m");
    }
    let hours = minutes / 60;
    if hours < 8 {
        return two(hours, "h", minutes % 60, "m");
    }
    if hours < 48 {
        return format!("{hours}h");
    }
    let days = hours / 24;
    if hours < 24 * 8 {
        return two(days, "d", hours % 24, "h");
    }
    if days < 365 * 2 {
        return format!("{days}d");
    }
    let years = days / 365;
    if days < 365 * 8 {
        return two(years, "y", days % 365, "d");
    }
    format!("{years}y")
}

fn two(first: i64, unit: &str, second: i64, smaller: &str) -> String {
    if second == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{second}{smaller}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_shows_them() {
        for (seconds, shown) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (201, "3m21s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (18_720, "5h12m"),
            (108_000, "30h"),
            (172_800, "2d"),
            (356_400, "4d3h"),
            (691_200, "8d"),
            (3_456_000, "40d"),
            (96_336_000, "3y20d"),
            (315_360_000, "10y"),
        ] {
            assert_eq!(human(SignedDuration::from_secs(seconds)), shown, "{seconds}");
        }
    }
}
