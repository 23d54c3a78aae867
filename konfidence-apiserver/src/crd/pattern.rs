//! The slips in regular expressions that people make, in the words of Go's parser.

/// Why a pattern is none; `None`: nothing of what is looked for.
pub(crate) fn misspelt(pattern: &str) -> Option<String> {
    let mut groups = 0_usize;
    // Whether there is something that an operator could repeat.
    let mut repeatable = false;
    let mut letters = pattern.char_indices();
    while let Some((at, letter)) = letters.next() {
        let rest = pattern.get(at..).unwrap_or_default();
        match letter {
            '\\' => {
                let Some((_, escaped)) = letters.next() else {
                    return Some("trailing backslash at end of expression: ``".to_owned());
                };
                if ('1'..='9').contains(&escaped) {
                    return Some(format!("invalid escape sequence: `\\{escaped}`"));
                }
                repeatable = true;
            }
            '[' => {
                let Some(length) = class(rest) else { return Some(format!("missing closing ]: `{rest}`")) };
                while letters.offset() < at + length && letters.next().is_some() {}
                repeatable = true;
            }
            '(' => {
                let behind = ["(?=", "(?!", "(?<=", "(?<!"].iter().find(|look| rest.starts_with(**look));
                if let Some(look) = behind {
                    let shown = look.get(..3).unwrap_or(look);
                    return Some(format!("invalid or unsupported Perl syntax: `{shown}`"));
                }
                if rest.starts_with("(?") {
                    letters.next();
                }
                groups += 1;
                repeatable = false;
            }
            ')' if groups == 0 => return Some(format!("unexpected ): `{pattern}`")),
            ')' => {
                groups -= 1;
                repeatable = true;
            }
            '|' => repeatable = false,
            '*' | '+' | '?' if !repeatable => {
                return Some(format!("missing argument to repetition operator: `{letter}`"));
            }
            _ => repeatable = true,
        }
    }
    (groups > 0).then(|| format!("missing closing ): `{pattern}`"))
}

/// How long the class of characters is that `text` begins with.
fn class(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    letters.next_if(|(_, letter)| *letter == '^');
    // The first one is a character, not the end.
    letters.next_if(|(_, letter)| *letter == ']');
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' if text.get(at..).unwrap_or_default().starts_with("[:") => {
                let end = text.get(at..).and_then(|named| named.find(":]"))? + at + 2;
                while letters.next_if(|(at, _)| *at < end).is_some() {}
            }
            ']' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::misspelt;

    #[test]
    fn slips_are_told_and_patterns_are_not() {
        for (pattern, why) in [
            ("[", "missing closing ]: `[`"),
            ("^[a-z", "missing closing ]: `[a-z`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("^(?!a)b", "invalid or unsupported Perl syntax: `(?!`"),
            ("(a)\\1", "invalid escape sequence: `\\1`"),
        ] {
            assert_eq!(misspelt(pattern).as_deref(), Some(why), "{pattern}");
        }
        for pattern in
            ["", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "[]a]", "[^]]", r"\d+(\.\d+)?", "(?:a|b)+?", "[[:alpha:]]x*"]
        {
            assert_eq!(misspelt(pattern), None, "{pattern}");
        }
    }
}
