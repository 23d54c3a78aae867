//! YAML answers, written as a real server's encoder writes them: which texts are quoted and how, where long lines are
//! broken, in which order keys come. Whoever keeps what a server answered in a file, and compares it, sees these.

use std::cmp::Ordering;
use std::fmt::Write;

use jiff::civil::Date;
use serde_json::{Map, Value};

/// Beyond this column a text is broken at its next space.
const WIDTH: usize = 80;

/// Longer keys are written on a line of their own.
const LONGEST_KEY: usize = 128;

/// A value as a YAML document.
pub(super) fn to_string(value: &Value) -> String {
    let mut writer = Writer { text: String::new(), column: 0 };
    match value {
        Value::Object(fields) if !fields.is_empty() => writer.mapping(fields, 0),
        Value::Array(items) if !items.is_empty() => writer.sequence(items, 0),
        scalar => {
            writer.scalar(scalar, 2);
            writer.end_line();
        }
    }
    writer.text
}

/// How a text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Writer {
    text: String,
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }

    fn end_line(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    fn indent(&mut self, indent: usize) {
        if self.column > 0 {
            self.end_line();
        }
        self.put(&" ".repeat(indent));
    }

    fn mapping(&mut self, fields: &Map<String, Value>, indent: usize) {
        let mut names: Vec<&String> = fields.keys().collect();
        names.sort_by(|a, b| natural(a, b));
        for (index, name) in names.into_iter().enumerate() {
            // The first key of an item of a list follows its dash.
            if index > 0 || self.column == 0 {
                self.indent(indent);
            }
            let style = style(name, true);
            if name.len() > LONGEST_KEY || name.contains('\n') {
                self.put("? ");
                self.styled(name, style, indent + 2, false);
                self.indent(indent);
            } else {
                self.styled(name, style, indent + 2, true);
            }
            self.put(":");
            let Some(value) = fields.get(name) else { continue };
            match value {
                Value::Object(below) if !below.is_empty() => {
                    self.end_line();
                    self.mapping(below, indent + 2);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.end_line();
                    // A list is not indented below its key.
                    self.sequence(items, indent);
                }
                scalar => {
                    self.put(" ");
                    self.scalar(scalar, indent + 2);
                    self.end_line();
                }
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || self.column == 0 {
                self.indent(indent);
            }
            self.put("- ");
            match item {
                Value::Object(below) if !below.is_empty() => self.mapping(below, indent + 2),
                Value::Array(items) if !items.is_empty() => self.sequence(items, indent + 2),
                scalar => {
                    self.scalar(scalar, indent + 2);
                    self.end_line();
                }
            }
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(number) => self.put(&float(number)),
                None => self.put(&number.to_string()),
            },
            Value::String(text) => self.styled(text, style(text, false), indent, false),
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
        }
    }

    /// A text. `key`: it is not broken.
    fn styled(&mut self, text: &str, style: Style, indent: usize, key: bool) {
        match style {
            Style::Plain => self.broken(text, indent, key, false),
            Style::Single => {
                self.put("'");
                self.broken(&text.replace('\'', "''"), indent, key, true);
                self.put("'");
            }
            Style::Double => self.double(text, indent, key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Text that goes on in the next line at a single space beyond the width.
    fn broken(&mut self, text: &str, indent: usize, key: bool, quoted: bool) {
        let letters: Vec<char> = text.chars().collect();
        let mut spaces = false;
        for (at, letter) in letters.iter().enumerate() {
            let next = letters.get(at + 1).copied();
            let inside = !quoted || (at > 0 && next.is_some());
            if *letter == ' ' && !key && !spaces && self.column > WIDTH && inside && next != Some(' ') {
                self.indent(indent);
            } else {
                self.put(letter.encode_utf8(&mut [0; 4]));
            }
            spaces = *letter == ' ';
        }
    }

    fn double(&mut self, text: &str, indent: usize, key: bool) {
        self.put("\"");
        let letters: Vec<char> = text.chars().collect();
        let mut spaces = false;
        for (at, letter) in letters.iter().enumerate() {
            let next = letters.get(at + 1).copied();
            if !is_printable(*letter) || matches!(letter, '"' | '\\' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}') {
                let escaped = escaped(*letter);
                self.put(&escaped);
                spaces = false;
            } else if *letter == ' ' && !key && !spaces && self.column > WIDTH && at > 0 && next.is_some() {
                self.indent(indent);
                if next == Some(' ') {
                    self.put("\\");
                }
                spaces = true;
            } else {
                self.put(letter.encode_utf8(&mut [0; 4]));
                spaces = *letter == ' ';
            }
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        if !text.ends_with('\n') {
            self.put("-");
        } else if text == "\n" || text.ends_with("\n\n") {
            self.put("+");
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.end_line();
            if !line.is_empty() {
                self.put(&" ".repeat(indent));
                self.put(line);
            }
        }
    }
}

/// How a text is written, decided as the encoder and the emitter of a real server do. `key`: of a mapping.
fn style(text: &str, key: bool) -> Style {
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
fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn escaped(letter: char) -> String {
    let short = match letter {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => letter,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(letter);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// A number with a fraction as Go's shortest form has it.
fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let mut text = digits.to_owned();
    // Writing to a string does not fail.
    let _ = write!(text, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    text
}

/// The order of keys: numbers in them by their value, letters after everything else.
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (Some(&left), Some(&right)) = (a.get(at), b.get(at)) else { return Ordering::Equal };
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left.cmp(&right),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number is no leading one.
    let zero = left == '0' || right == '0';
    let before = a.get(..at).unwrap_or_default().iter().rev().take_while(|digit| digit.is_numeric());
    let start = u64::from(zero && before.into_iter().any(|digit| *digit != '0'));
    let number = |text: &[char]| {
        let digits = text.get(at..).unwrap_or_default().iter().map_while(|digit| digit.to_digit(10));
        digits.fold((start, 0_usize), |(value, count), digit| {
            (value.wrapping_mul(10).wrapping_add(u64::from(digit)), count + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_quoted_where_they_would_be_read_as_something_else() {
        for (text, written) in [
            ("plain", "plain"),
            ("f:metadata", "f:metadata"),
            (".", "."),
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("12", "\"12\""),
            ("1e3", "\"1e3\""),
            ("0x1F", "\"0x1F\""),
            ("1:30", "\"1:30\""),
            ("2026-11-30T12:00:00Z", "\"2026-11-30T12:00:00Z\""),
            ("2026-11-30", "\"2026-11-30\""),
            ("2026-11", "2026-11"),
            ("a: b", "'a: b'"),
            ("it's: so", "'it''s: so'"),
            ("*", "'*'"),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("a #b", "'a #b'"),
            (" a", "' a'"),
            ("tab\tbed", "\"tab\\tbed\""),
            ("\u{1f600}", "\"\\U0001F600\""),
            ("\u{e9}", "\u{e9}"),
        ] {
            assert_eq!(to_string(&json!({"a": text})), format!("a: {written}\n"), "{text:?}");
        }
    }

    #[test]
    fn lists_are_not_indented_below_their_key_and_lines_keep_their_breaks() {
        let value = json!({"b": [{"x": 1, "y": [1, [2]]}, {}], "a": {"k2": null, "k10": 1.5, "k": "one\ntwo\n"}});
        let yaml = "a:\n  k: |\n    one\n    two\n  k2: null\n  k10: 1.5\nb:\n- x: 1\n  \"y\":\n  - 1\n  - - 2\n- {}\n";
        assert_eq!(to_string(&value), yaml);
    }

    #[test]
    fn long_texts_are_broken_at_a_space_beyond_the_eightieth_column() {
        let words = vec!["word"; 20].join(" ");
        let written = to_string(&json!({"a": words, "b": format!("{words}: x")}));
        let line = ["word"; 16].join(" ");
        let rest = ["word"; 4].join(" ");
        assert_eq!(written, format!("a: {line}\n  {rest}\nb: '{line}\n  {rest}: x'\n"));
    }

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        for (number, written) in [(1.5, "1.5"), (1e21, "1e+21"), (1_234_567.5, "1.2345675e+06"), (0.00001, "1e-05")] {
            assert_eq!(float(number), written);
        }
    }
}
