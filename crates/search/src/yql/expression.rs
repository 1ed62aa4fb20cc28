//! Expressions: operators from the weakest to the strongest.

use super::error::Fault;
use super::lexer::{Lexer, Token};
use super::literal::Pairs;
use super::tree::{Comparison, Expr, Node};

/// A text that is being read.
pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
}

/// Words behind a value that Vespa's grammar has and its queries do not.
const REFUSED: [(&str, &str); 3] = [
    ("not", "an operator; write !(field in (...)) and the like, not behind a field"),
    ("is", "an operator; values that are missing are NaN or empty"),
    ("like", "an operator; write matches with a regular expression"),
];

impl Parser<'_> {
    /// Counts a node and gives it its place.
    pub(super) fn node(&mut self, at: usize, expr: Expr) -> Result<Node, Fault> {
        self.lexer.count()?;
        Ok(Node { at, annotations: Vec::new(), expr })
    }

    /// An expression, with annotations before it that hold for all of it.
    pub(super) fn expression(&mut self) -> Result<Node, Fault> {
        self.lexer.enter()?;
        let at = self.lexer.at;
        let annotations = match self.begins_annotations()? {
            true => self.annotations()?,
            false => Vec::new(),
        };
        let mut node = self.or()?;
        if !annotations.is_empty() {
            node = annotated(node, annotations, at);
        }
        self.lexer.leave();
        Ok(node)
    }

    /// Whether annotations are next: braces that nothing but an end follows are a map.
    fn begins_annotations(&mut self) -> Result<bool, Fault> {
        let is_old = self.lexer.is_sign("[") && self.lexer.following()? == Token::Sign("{");
        if !is_old && !self.lexer.is_sign("{") {
            return Ok(false);
        }
        let end = self.end_of_braces();
        let mut ahead = Lexer::new(self.lexer.text.get(end..).unwrap_or_default())
            .map_err(|fault| Fault { at: fault.at + end, ..fault })?;
        if is_old && !ahead.take_sign("]")? {
            return Ok(false);
        }
        Ok(!matches!(ahead.token, Token::End | Token::Sign(")" | "," | "]" | "}" | ";" | "|")))
    }

    /// The byte behind the brace that closes the one that is next.
    fn end_of_braces(&self) -> usize {
        let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
        let from = self.lexer.at;
        for (at, byte) in self.lexer.text.bytes().enumerate().skip(from) {
            match (quote, byte) {
                _ if is_escaped => is_escaped = false,
                (Some(_), b'\\') => is_escaped = true,
                (Some(open), byte) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'{') => depth += 1,
                (None, b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        self.lexer.text.len()
    }

    fn or(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        let first = self.and()?;
        if !self.lexer.is_word("or") {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.lexer.take_word("or")? {
            list.push(self.and()?);
        }
        self.node(at, Expr::Or(list))
    }

    fn and(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        let first = self.comparison()?;
        if !self.lexer.is_word("and") {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.lexer.take_word("and")? {
            list.push(self.comparison()?);
        }
        self.node(at, Expr::And(list))
    }

    fn comparison(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        let left = self.operand()?;
        let comparison = match self.lexer.token {
            Token::Sign("=") => Some(Comparison::Equal),
            Token::Sign("<") => Some(Comparison::Less),
            Token::Sign("<=") => Some(Comparison::LessOrEqual),
            Token::Sign(">") => Some(Comparison::Greater),
            Token::Sign(">=") => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        let expr = if let Some(comparison) = comparison {
            self.lexer.take()?;
            Expr::Compare(comparison, Box::new(left), Box::new(self.operand()?))
        } else if self.lexer.take_word("contains")? {
            Expr::Contains(Box::new(left), Box::new(self.operand()?))
        } else if self.lexer.take_word("matches")? {
            Expr::Matches(Box::new(left), Box::new(self.operand()?))
        } else if self.lexer.take_word("in")? {
            Expr::In(Box::new(left), self.values()?)
        } else if self.lexer.is_sign("!=") {
            return Err(self.lexer.fault("!= is no operator here; write !(a = b)"));
        } else {
            let refused = REFUSED.iter().find(|(word, _)| self.lexer.is_word(word));
            return match refused {
                Some((word, why)) => {
                    Err(self.lexer.fault(format!("{word} is not supported as {why}")))
                }
                None => Ok(left),
            };
        };
        self.node(at, expr)
    }

    /// `(value, ...)` behind `in`.
    fn values(&mut self) -> Result<Vec<Node>, Fault> {
        self.lexer.expect_sign("(")?;
        let mut list = Vec::new();
        loop {
            let at = self.lexer.at;
            let Some(value) = self.scalar()? else {
                return Err(self.lexer.unexpected("a number, text or parameter"));
            };
            list.push(self.node(at, value)?);
            if self.lexer.take_sign(")")? {
                return Ok(list);
            }
            self.comma(")")?;
        }
    }

    /// A value or a call with what is in front of it and behind it.
    fn operand(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        if self.lexer.is_sign("!") || self.lexer.is_sign("-") {
            let is_not = self.lexer.is_sign("!");
            self.lexer.take()?;
            self.lexer.enter()?;
            let inner = Box::new(self.value()?);
            self.lexer.leave();
            return self.node(at, if is_not { Expr::Not(inner) } else { Expr::Negate(inner) });
        }
        self.value()
    }

    fn value(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        let mut node = self.primary()?;
        while self.lexer.is_sign("[") {
            self.lexer.take()?;
            let place = self.expression()?;
            self.lexer.expect_sign("]")?;
            node = self.node(at, Expr::Index(Box::new(node), Box::new(place)))?;
        }
        if matches!(node.expr, Expr::Field(_)) && self.lexer.take_sign("{")? {
            let at_key = self.lexer.at;
            let Some(key) = self.scalar()? else {
                return Err(self.lexer.unexpected("the key of a map"));
            };
            let key = self.node(at_key, key)?;
            self.lexer.expect_sign("}")?;
            node = self.node(at, Expr::Entry(Box::new(node), Box::new(key)))?;
        }
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        if self.lexer.take_sign("(")? {
            let inner = self.expression()?;
            self.lexer.expect_sign(")")?;
            return Ok(inner);
        }
        if let Some(scalar) = self.scalar()? {
            return self.node(at, scalar);
        }
        if self.lexer.is_sign("[") || self.lexer.is_sign("{") {
            return self.constant();
        }
        let name = self.dotted("a value")?;
        if name.eq_ignore_ascii_case("null") {
            return self.node(at, Expr::Null);
        }
        if !self.lexer.take_sign("(")? {
            return self.node(at, Expr::Field(name));
        }
        let mut arguments = Vec::new();
        while !self.lexer.take_sign(")")? {
            if !arguments.is_empty() {
                self.comma(")")?;
            }
            arguments.push(self.expression()?);
        }
        self.node(at, Expr::Call(name, arguments))
    }
}

/// A node with annotations before it. Those that it has itself, within parentheses, go before the outer ones.
fn annotated(mut node: Node, annotations: Pairs, at: usize) -> Node {
    for (key, value) in annotations {
        if node.annotation(&key).is_none() {
            node.annotations.push((key, value));
        }
    }
    node.at = at;
    node
}
