//! Which texts are quoted, and how: by what they would be read as if they were not, and by the letters in them.

use jiff::civil::Date;

/// How a text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// How a text is written, decided as the encoder and the emitter of a real server do. `key`: of a mapping.
pub(super) fn style(text: &str, key: bool) -> Style {
    let shape = Shape::of(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if is_a_word(text) {
        Style::Plain
    } else {
        Style::Double
    };
    let single = || if shape.single { Style::Single } else { Style::Double };
    match wanted {
        Style::Literal if key || !shape.block => Style::Double,
        Style::Plain if !shape.plain || (key && text.is_empty()) => single(),
        wanted => wanted,
    }
}

/// Which styles a text allows.
struct Shape {
    plain: bool,
    single: bool,
    block: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut breaks, mut break_space, mut space_break) = (false, false, false, false);
        let letters: Vec<char> = text.chars().collect();
        let mut before = None;
        for (at, letter) in letters.iter().copied().enumerate() {
            let ends = letters.get(at + 1).is_none_or(|next| matches!(next, ' ' | '\t' | '\n'));
            indicators |= match letter {
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => at == 0,
                '?' | '-' => at == 0 && ends,
                ':' => ends,
                '#' => before.is_none_or(|before| matches!(before, ' ' | '\t' | '\n')),
                _ => false,
            };
            special |= !is_printable(letter) || matches!(letter, '\u{2028}' | '\u{2029}');
            break_space |= letter == ' ' && before == Some('\n');
            space_break |= letter == '\n' && before == Some(' ');
            breaks |= letter == '\n';
            before = Some(letter);
        }
        let odd = text.starts_with([' ', '\n']) || text.ends_with([' ', '\n']);
        Self {
            plain: !(indicators || special || breaks || break_space || space_break || odd),
            single: !(special || break_space || space_break),
            block: !(special || space_break || text.ends_with(' ')),
        }
    }
}

/// Whether a text that is not quoted is read as the text that it is.
fn is_a_word(text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n",
        "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", ".nan", ".NaN", ".NAN", ".inf", ".Inf",
        ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
    ];
    !OTHERS.contains(&text) && !is_number(text) && !is_time(text)
}

/// In decimal, hexadecimal, octal, binary, or to the base of sixty, as YAML once had it.
fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain).to_ascii_lowercase();
    let of_base = |prefix: &str, base: u32| {
        let digits = unsigned.strip_prefix(prefix).unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
    };
    is_decimal(&unsigned) || of_base("0x", 16) || of_base("0o", 8) || of_base("0b", 2) || is_sexagesimal(text)
}

/// `5`, `5.`, `.5`, `5.5e-3`; in lower case.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let some = !whole.is_empty() || !fraction.is_empty();
    some && digits(whole) && digits(fraction) && !exponent.is_empty() && digits(exponent)
}

/// `1:30:00`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let below_sixty = |part: &&str| matches!(part.len(), 1 | 2) && part.parse::<u8>().is_ok_and(|part| part < 60);
    first.starts_with(|digit: char| digit.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && !rest.is_empty()
        && rest.iter().all(below_sixty)
}

/// A date, or a date with a time.
fn is_time(text: &str) -> bool {
    let number = |text: &str, longest: usize| (1..=longest).contains(&text.len()).then(|| text.parse::<i8>().ok())?;
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default()),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let mut part = || parts.next().unwrap_or_default();
    let (year, month, day) = (part(), part(), part());
    let date = || {
        let year = year.parse().ok().filter(|_| year.len() == 4)?;
        Date::new(year, number(month, 2)?, number(day, 2)?).ok()
    };
    if date().is_none() || time.is_empty() {
        return date().is_some();
    }
    let (clock, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => (time.get(1..at).unwrap_or_default(), time.get(at..).unwrap_or_default()),
        None => (time.get(1..).unwrap_or_default(), ""),
    };
    let mut parts = clock.splitn(3, ':');
    let mut part = || parts.next().unwrap_or_default();
    let (hour, minute, second) = (part(), part(), part());
    let second = second.split_once('.').map_or(second, |(second, _)| second);
    let below = |text: &str, limit: i8| number(text, 2).is_some_and(|number| number < limit);
    let zoned = zone == "Z" || zone.len() == 6 && zone.get(3..4) == Some(":");
    let fits = if time.starts_with(' ') { zone.is_empty() } else { zoned };
    fits && hour.len() == 2 && below(hour, 24) && below(minute, 60) && below(second, 60)
}

/// What the emitter writes as it is; what is none of it is escaped, and a text that holds it is quoted.
pub(super) fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}
