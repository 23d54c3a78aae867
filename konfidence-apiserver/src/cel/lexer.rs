//! Tokens and where they begin, in bytes.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Sign,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) text: &'a str,
}

const SIGNS: [&str; 6] = ["&&", "||", "==", "!=", "<=", ">="];

/// The tokens of `source`; `None`: a quote does not end.
pub(super) fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next()?;
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (kind, length) = if let Some((kind, length)) = quoted(rest) {
            (kind, length?)
        } else if first.is_ascii_digit() {
            number(rest)
        } else if is_of_name(first) {
            (Kind::Name, rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len()))
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign, sign.len())
        } else {
            (Kind::Sign, first.len_utf8())
        };
        tokens.push(Token { kind, at, text: rest.get(..length)? });
        at += length;
    }
    Some(tokens)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The quoted text that `rest` begins with, and how long it is; the inner `None`: it does not end.
fn quoted(rest: &str) -> Option<(Kind, Option<usize>)> {
    let prefix = rest.find(|letter: char| !matches!(letter, 'r' | 'R' | 'b' | 'B')).filter(|length| *length <= 2)?;
    let (before, from) = rest.split_at(prefix);
    let quote = from.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
    let triple = quote.to_string().repeat(3);
    let end = if from.starts_with(&triple) { triple } else { quote.to_string() };
    let is_raw = before.contains(['r', 'R']);
    let kind = if before.contains(['b', 'B']) { Kind::Bytes } else { Kind::String };
    let mut at = end.len();
    while let Some(more) = from.get(at..) {
        if more.starts_with(&end) {
            return Some((kind, Some(prefix + at + end.len())));
        }
        let Some(letter) = more.chars().next() else { break };
        at += letter.len_utf8();
        if letter == '\\' && !is_raw {
            at += from.get(at..).and_then(|after| after.chars().next()).map_or(0, char::len_utf8);
        }
    }
    Some((kind, None))
}

fn number(rest: &str) -> (Kind, usize) {
    let digits = |from: usize| {
        let after = rest.get(from..).unwrap_or_default();
        from + after.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(after.len())
    };
    let decimals = |from: usize| {
        let after = rest.get(from..).unwrap_or_default();
        from + after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len())
    };
    let is_at = |at: usize, letters: &[char]| rest.get(at..).is_some_and(|after| after.starts_with(letters));
    if rest.starts_with("0x") || rest.starts_with("0X") {
        let end = digits(2);
        return if is_at(end, &['u', 'U']) { (Kind::Uint, end + 1) } else { (Kind::Int, end) };
    }
    let mut end = decimals(0);
    if is_at(end, &['u', 'U']) {
        return (Kind::Uint, end + 1);
    }
    let mut kind = Kind::Int;
    if is_at(end, &['.']) && decimals(end + 1) > end + 1 {
        (kind, end) = (Kind::Double, decimals(end + 1));
    }
    if is_at(end, &['e', 'E']) {
        let sign = usize::from(is_at(end + 1, &['+', '-']));
        if decimals(end + 1 + sign) > end + 1 + sign {
            (kind, end) = (Kind::Double, decimals(end + 1 + sign));
        }
    }
    (kind, end)
}
