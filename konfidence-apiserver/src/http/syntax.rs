//! What is wrong with JSON, in the words of Go's decoder: clients show them to people, and some match on them.

/// Why `text` is no JSON; `None`: it is.
pub(crate) fn error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    let value = scanner.value().and_then(|()| {
        scanner.space();
        match scanner.peek() {
            None => Ok(()),
            Some(_) => Err(scanner.unexpected("after top-level value")),
        }
    });
    value.err()
}

/// Deeper than this Go's decoder does not go.
const DEPTH: usize = 10_000;

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// What is open at a place.
enum Open {
    Object,
    Array,
}

impl Scanner<'_> {
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

    /// A value with everything in it. Not recursive: what is open is kept on a stack of its own.
    fn value(&mut self) -> Result<(), String> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        self.key()?;
                        open.push(Open::Object);
                        deep(&open)?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(Open::Array);
                        deep(&open)?;
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.unexpected("looking for beginning of value")),
            }
            // A value has ended: so may what holds it.
            loop {
                let Some(innermost) = open.last() else { return Ok(()) };
                self.space();
                match (innermost, self.peek()) {
                    (Open::Object, Some(b',')) => {
                        self.at += 1;
                        self.space();
                        self.key()?;
                        break;
                    }
                    (Open::Array, Some(b',')) => {
                        self.at += 1;
                        break;
                    }
                    (Open::Object, Some(b'}')) | (Open::Array, Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    (Open::Object, _) => return Err(self.unexpected("after object key:value pair")),
                    (Open::Array, _) => return Err(self.unexpected("after array element")),
                }
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
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

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected(&format!("in literal {word} (expecting {})", quoted(expected))));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
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
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

fn deep(open: &[Open]) -> Result<(), String> {
    if open.len() > DEPTH { Err("exceeded max depth".to_owned()) } else { Ok(()) }
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
        for text in ["{}", "[]", r#" {"a": [1, -2.5e3, "x\u00e4", true, null, {}]} "#] {
            assert_eq!(error(text.as_bytes()), None, "{text}");
        }
    }
}
