//! JSON, read as Go's decoder reads it: as deep, and with the same words for what is wrong, since clients show them to
//! people, and some match on them.

use serde_json::{Map, Value};

use crate::field::child;
use crate::stack::{DEEPEST, fitting};

/// Why `text` is no JSON; `None`: it is.
pub(crate) fn error(text: &[u8]) -> Option<String> {
    fitting(levels(text), || parse(text, |_| ()).err())
}

/// The value that `text` is; of a field that is named twice the last one counts. `met` is called for each field.
///
/// Not recursive: what is open is kept on a stack of its own. To drop the value takes a stack for its [`levels`].
///
/// # Errors
/// Why it is none.
pub(crate) fn parse(text: &[u8], met: impl FnMut(&Field<'_>)) -> Result<Value, String> {
    let mut scanner = Scanner { text, at: 0, met };
    let value = scanner.value()?;
    scanner.space();
    match scanner.peek() {
        None => Ok(value),
        Some(_) => Err(scanner.unexpected("after top-level value")),
    }
}

/// How deep a text is nested, if it is JSON; whatever it is, reading it takes no more levels. Those beyond what is read do
/// not count.
pub(crate) fn levels(text: &[u8]) -> usize {
    let (mut open, mut deepest, mut quoted) = (0_usize, 0, false);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => drop(bytes.next()),
            b'{' | b'[' if !quoted => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest.min(DEEPEST)
}

/// A field as it is met.
pub(crate) struct Field<'a> {
    open: &'a [Open],
    name: &'a str,
    /// Whether its object has had one of this name.
    pub(crate) twice: bool,
}

impl Field<'_> {
    /// How many objects and lists it is in.
    pub(crate) fn levels(&self) -> usize {
        self.open.len()
    }

    /// `spec.list[0].name`.
    pub(crate) fn path(&self) -> String {
        let Some((_, above)) = self.open.split_last() else { return self.name.to_owned() };
        let path = above.iter().fold(String::new(), |path, open| match open {
            Open::Object(_, key) => child(&path, key),
            Open::Array(items) => format!("{path}[{}]", items.len()),
        });
        child(&path, self.name)
    }
}

struct Scanner<'a, F> {
    text: &'a [u8],
    at: usize,
    met: F,
}

/// What is open at a place.
enum Open {
    /// With the field whose value comes next.
    Object(Map<String, Value>, String),
    Array(Vec<Value>),
}

impl<F: FnMut(&Field<'_>)> Scanner<'_, F> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The sentence for the byte at this place, or for there being none.
    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quoted(byte)),
        }
    }

    /// A value with everything in it.
    fn value(&mut self) -> Result<Value, String> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.space();
            let mut value = match self.peek() {
                Some(begin @ (b'{' | b'[')) => {
                    if open.len() >= DEEPEST {
                        return Err(self.unexpected("exceeded max depth"));
                    }
                    self.at += 1;
                    self.space();
                    match (begin, self.peek()) {
                        (b'{', Some(b'}')) => {
                            self.at += 1;
                            Value::Object(Map::new())
                        }
                        (b'[', Some(b']')) => {
                            self.at += 1;
                            Value::Array(Vec::new())
                        }
                        (b'{', _) => {
                            open.push(Open::Object(Map::new(), String::new()));
                            self.key(&mut open)?;
                            continue;
                        }
                        _ => {
                            open.push(Open::Array(Vec::new()));
                            continue;
                        }
                    }
                }
                Some(b'"') => Value::String(self.string()?),
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.unexpected("looking for beginning of value")),
            };
            // A value has ended: so may what holds it.
            loop {
                let Some(innermost) = open.last_mut() else { return Ok(value) };
                match innermost {
                    Open::Object(fields, key) => drop(fields.insert(std::mem::take(key), value)),
                    Open::Array(items) => items.push(value),
                }
                self.space();
                match (open.last_mut(), self.peek()) {
                    (Some(Open::Object(..)), Some(b',')) => {
                        self.at += 1;
                        self.space();
                        self.key(&mut open)?;
                        break;
                    }
                    (Some(Open::Array(_)), Some(b',')) => {
                        self.at += 1;
                        break;
                    }
                    (Some(Open::Object(fields, _)), Some(b'}')) => value = Value::Object(std::mem::take(fields)),
                    (Some(Open::Array(items)), Some(b']')) => value = Value::Array(std::mem::take(items)),
                    (Some(Open::Object(..)), _) => return Err(self.unexpected("after object key:value pair")),
                    _ => return Err(self.unexpected("after array element")),
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self, open: &mut [Open]) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        let name = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        let twice = matches!(open.last(), Some(Open::Object(fields, _)) if fields.contains_key(&name));
        (self.met)(&Field { open, name: &name, twice });
        if let Some(Open::Object(_, key)) = open.last_mut() {
            *key = name;
        }
        Ok(())
    }

    /// A text. What cannot be a letter is read as U+FFFD.
    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let begin = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let text = self.text.get(begin..self.at).unwrap_or_default();
                    self.at += 1;
                    let text = String::from_utf8_lossy(text);
                    return Ok(if escaped { unescaped(&text) } else { text.into_owned() });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return Err(self.unexpected("in \\u hexadecimal character escape"));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.unexpected("in string escape code")),
                    }
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected(&format!("in literal {word} (expecting {})", quoted(expected))));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.unexpected("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.unexpected("in exponent of numeric literal"));
            }
            self.digits();
        }
        // It is one, but may be too large.
        serde_json::from_slice(self.text.get(begin..self.at).unwrap_or_default()).map_err(|error| error.to_string())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

/// A text without its escapes, which are known to be whole.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('b') => plain.push('\u{8}'),
            Some('f') => plain.push('\u{c}'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some('u') => {
                let first = hexadecimal(letters.as_str());
                letters = letters.as_str().get(4..).unwrap_or_default().chars();
                // Half a letter counts only with the other half after it.
                let second = letters.as_str().strip_prefix("\\u").map(hexadecimal);
                let whole = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
                if (0xd800..0xdc00).contains(&first)
                    && let Some(whole) = whole
                {
                    plain.push(whole);
                    letters = letters.as_str().get(6..).unwrap_or_default().chars();
                } else {
                    plain.push(char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            // A quotation mark, a slash or a backslash.
            other => plain.extend(other),
        }
    }
    plain
}

/// The four digits at the beginning of a text.
fn hexadecimal(text: &str) -> u16 {
    text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

/// A byte as Go quotes a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => {
            let quoted = crate::field::quoted(&char::from(byte).to_string());
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_told_as_go_tells_it() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            (r#"{"a":"#, "unexpected end of JSON input"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{} trailing", "invalid character 't' after top-level value"),
            ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a": 1 "b"}"#, "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1.]", "invalid character ']' after decimal point in numeric literal"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
        ] {
            assert_eq!(error(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let nested = |levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
            assert_eq!(error(nested(10_000).as_bytes()), None);
            let begin = open.chars().next().expect("a bracket");
            let expected = format!("invalid character '{begin}' exceeded max depth");
            assert_eq!(error(nested(10_001).as_bytes()), Some(expected));
        }
        for text in ["{}", "[]", r#" {"a": [1, -2.5e3, "x\u00e4", true, null, {}]} "#] {
            assert_eq!(error(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_read_is_what_the_library_reads_and_half_letters_are_replaced() {
        for text in [
            r#"{"a": [1, -2.5e3, "x\u00e4\n\"\\\/", true, null, {}], "b": {"c": 18446744073709551615}, "": 1e-7}"#,
            "[]",
            "3",
            r#" ["\ud83c\udf70", "🍰"] "#,
        ] {
            let value = parse(text.as_bytes(), |_| ()).expect("parses");
            assert_eq!(value, serde_json::from_str::<Value>(text).expect("parses"), "{text}");
            assert_eq!(levels(text.as_bytes()), konfidence_sdk::store::engine::nesting(&value), "{text}");
        }
        let halves = parse(br#"["\ud83cx", "\udf70", "\ud83c\u0041"]"#, |_| ()).expect("parses");
        assert_eq!(halves, serde_json::json!(["\u{fffd}x", "\u{fffd}", "\u{fffd}A"]));
        assert_eq!(parse(b"\"\xff\"", |_| ()).expect("parses"), "\u{fffd}");
    }
}
