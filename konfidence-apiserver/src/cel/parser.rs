//! The tree of an expression. Each node stands where a real server says that it stands: a selection at its dot, a call at
//! its parenthesis, an operator at its sign.

use super::lexer::{Kind, Token};

/// So deep at most: what is deeper is not looked at.
const MOST_LEVELS: usize = 200;

/// One node.
#[derive(Debug)]
pub(super) struct Expr<'a> {
    pub(super) at: usize,
    pub(super) node: Node<'a>,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Literal(Kind, &'a str),
    Name(&'a str),
    /// `of.field`, or `of.?field`.
    Select {
        of: Box<Expr<'a>>,
        field: &'a str,
        is_optional: bool,
    },
    /// `of[index]`, or `of[?index]`.
    Index {
        of: Box<Expr<'a>>,
        index: Box<Expr<'a>>,
        is_optional: bool,
    },
    /// A function, a method or a macro.
    Call {
        target: Option<Box<Expr<'a>>>,
        name: &'a str,
        args: Vec<Expr<'a>>,
    },
    /// An operator with one, two or three operands.
    Operator(&'a str, Vec<Expr<'a>>),
    List(Vec<Expr<'a>>),
    Map(Vec<(Expr<'a>, Expr<'a>)>),
}

/// The tree of these tokens; `None`: they make none that is understood.
pub(super) fn parse<'a>(tokens: &[Token<'a>]) -> Option<Expr<'a>> {
    let mut parser = Parser { tokens, next: 0, levels: 0 };
    let tree = parser.ternary()?;
    (parser.next == tokens.len()).then_some(tree)
}

struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    next: usize,
    levels: usize,
}

/// From the loosest to the tightest.
const BINARY: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<", "<=", ">", ">=", "in"], &["+", "-"], &["*", "/", "%"]];

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).copied()
    }

    /// Takes the next token if it is this one.
    fn take(&mut self, text: &str) -> Option<Token<'a>> {
        let token = self.peek().filter(|token| token.text == text && is_word(*token))?;
        self.next += 1;
        Some(token)
    }

    fn name(&mut self) -> Option<&'a str> {
        let token = self.peek().filter(|token| token.kind == Kind::Name)?;
        self.next += 1;
        Some(token.text)
    }

    fn ternary(&mut self) -> Option<Expr<'a>> {
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return None;
        }
        let condition = self.binary(0)?;
        let tree = match self.take("?") {
            None => condition,
            Some(token) => {
                let one = self.binary(0)?;
                self.take(":")?;
                let other = self.ternary()?;
                Expr { at: token.at, node: Node::Operator("_?_:_", vec![condition, one, other]) }
            }
        };
        self.levels -= 1;
        Some(tree)
    }

    fn binary(&mut self, level: usize) -> Option<Expr<'a>> {
        let Some(signs) = BINARY.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(token) = self.peek().filter(|token| is_word(*token) && signs.contains(&token.text)) {
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = Expr { at: token.at, node: Node::Operator(token.text, vec![left, right]) };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr<'a>> {
        let Some(token) = self.peek().filter(|token| token.kind == Kind::Sign && matches!(token.text, "!" | "-"))
        else {
            return self.member();
        };
        self.next += 1;
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return None;
        }
        let is_number = self.peek().is_some_and(|next| matches!(next.kind, Kind::Int | Kind::Double));
        let tree = if token.text == "-" && is_number {
            let number = self.member()?;
            Expr { at: token.at, ..number }
        } else {
            let of = self.unary()?;
            Expr { at: token.at, node: Node::Operator(if token.text == "!" { "!_" } else { "-_" }, vec![of]) }
        };
        self.levels -= 1;
        Some(tree)
    }

    fn member(&mut self) -> Option<Expr<'a>> {
        let mut tree = self.primary()?;
        loop {
            if let Some(dot) = self.take(".") {
                let is_optional = self.take("?").is_some();
                let field = self.name()?;
                tree = match self.take("(") {
                    Some(open) => {
                        let args = self.list(")")?;
                        Expr { at: open.at, node: Node::Call { target: Some(Box::new(tree)), name: field, args } }
                    }
                    None => Expr { at: dot.at, node: Node::Select { of: Box::new(tree), field, is_optional } },
                };
            } else if let Some(open) = self.take("[") {
                let is_optional = self.take("?").is_some();
                let index = Box::new(self.ternary()?);
                self.take("]")?;
                tree = Expr { at: open.at, node: Node::Index { of: Box::new(tree), index, is_optional } };
            } else {
                return Some(tree);
            }
        }
    }

    fn primary(&mut self) -> Option<Expr<'a>> {
        let token = self.peek()?;
        self.next += 1;
        let at = token.at;
        let node = match (token.kind, token.text) {
            (Kind::Name, "in") => return None,
            (Kind::Name, "true" | "false" | "null") => Node::Literal(Kind::Name, token.text),
            (Kind::Name, name) => match self.take("(") {
                Some(open) => {
                    let args = self.list(")")?;
                    return Some(Expr { at: open.at, node: Node::Call { target: None, name, args } });
                }
                None => Node::Name(name),
            },
            (Kind::Sign, "(") => {
                let inner = self.ternary()?;
                self.take(")")?;
                return Some(inner);
            }
            (Kind::Sign, "[") => Node::List(self.list("]")?),
            (Kind::Sign, "{") => Node::Map(self.entries()?),
            (Kind::Sign, _) => return None,
            (kind, text) => Node::Literal(kind, text),
        };
        Some(Expr { at, node })
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expr<'a>>> {
        let mut items = Vec::new();
        while self.take(end).is_none() {
            items.push(self.ternary()?);
            if self.take(",").is_none() {
                self.take(end)?;
                break;
            }
        }
        Some(items)
    }

    fn entries(&mut self) -> Option<Vec<(Expr<'a>, Expr<'a>)>> {
        let mut entries = Vec::new();
        while self.take("}").is_none() {
            let key = self.ternary()?;
            self.take(":")?;
            entries.push((key, self.ternary()?));
            if self.take(",").is_none() {
                self.take("}")?;
                break;
            }
        }
        Some(entries)
    }
}

/// Whether a token is no literal.
fn is_word(token: Token<'_>) -> bool {
    matches!(token.kind, Kind::Name | Kind::Sign)
}
