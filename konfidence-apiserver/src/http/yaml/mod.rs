//! YAML answers, written as a real server's encoder writes them: which texts are quoted and how, where long lines are
//! broken, in which order keys come. Whoever keeps what a server answered in a file, and compares it, sees these.

mod order;
mod style;

use std::fmt::Write;

use serde_json::{Map, Value};

use self::order::natural;
use self::style::{Style, is_printable, style};

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
