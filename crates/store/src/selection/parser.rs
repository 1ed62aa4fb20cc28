//! The text of a selection to its parts. From the loosest: `or`, `and`, `not`, comparisons, sums, products, what stands behind a dot.

use super::lexer::{Word, words};
use super::{Comparison, Function, IdPart, MAX_DEPTH, MAX_TEXT, Node, Pattern, Way};

/// The most operators and functions of values: they are evaluated one within the other.
const MAX_OPERATORS: usize = 1000;

/// The largest program that a regular expression may become, in bytes.
const MAX_REGEX: usize = 1 << 20;

/// Why a text is no selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selection, character {at}: {text}")]
pub struct SelectionError {
    /// The byte of the text, from 0.
    pub at: usize,
    /// What was found and what was expected.
    pub text: String,
}

impl SelectionError {
    pub(super) fn new(at: usize, text: impl Into<String>) -> SelectionError {
        SelectionError { at, text: text.into() }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, SelectionError> {
    if text.len() > MAX_TEXT {
        let text = format!("{} bytes, at most {MAX_TEXT} are possible", text.len());
        return Err(SelectionError::new(0, text));
    }
    let mut parser =
        Parser { words: words(text)?, next: 0, depth: 0, operators: 0, end: text.len() };
    let root = parser.or()?;
    match parser.words.get(parser.next) {
        None => Ok(root),
        Some(_) => Err(parser.expected("the end")),
    }
}

struct Parser {
    words: Vec<(usize, Word)>,
    next: usize,
    depth: usize,
    operators: usize,
    /// The length of the text.
    end: usize,
}

impl Parser {
    fn expected(&self, what: &str) -> SelectionError {
        let found = match self.words.get(self.next) {
            None => "the end".to_owned(),
            Some((_, Word::Name(name))) => name.clone(),
            Some((_, Word::Integer(number))) => number.to_string(),
            Some((_, Word::Number(number))) => number.to_string(),
            Some((_, Word::Text(text))) => format!("{text:?}"),
            Some((_, Word::Sign(sign))) => (*sign).to_owned(),
        };
        SelectionError::new(self.place(), format!("expected {what}, found {found:.40}"))
    }

    fn place(&self) -> usize {
        self.words.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn peek(&self) -> Option<&Word> {
        self.words.get(self.next).map(|(_, word)| word)
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Word::Sign(sign)) if *sign == wanted);
        self.next += usize::from(is_it);
        is_it
    }

    fn keyword(&mut self, wanted: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Word::Name(n)) if n.eq_ignore_ascii_case(wanted));
        self.next += usize::from(is_it);
        is_it
    }

    fn close(&mut self, sign: &str) -> Result<(), SelectionError> {
        if self.sign(sign) { Ok(()) } else { Err(self.expected(sign)) }
    }

    /// One level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Parser) -> Result<T, SelectionError>,
    ) -> Result<T, SelectionError> {
        if self.depth == MAX_DEPTH {
            let text = format!("selections nest at most {MAX_DEPTH} deep");
            return Err(SelectionError::new(self.place(), text));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Operands with operators between them, the first two joined first. That makes a tree as deep as there are operators.
    fn chain(
        &mut self,
        operand: fn(&mut Parser) -> Result<Node, SelectionError>,
        operators: &[(&str, char)],
    ) -> Result<Node, SelectionError> {
        let mut node = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.sign(sign)) {
            self.count()?;
            node = Node::Calculate(*operator, Box::new(node), Box::new(operand(self)?));
        }
        Ok(node)
    }

    /// One more operator or function.
    fn count(&mut self) -> Result<(), SelectionError> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let text = format!("more than {MAX_OPERATORS} operators and functions");
            return Err(SelectionError::new(self.place(), text));
        }
        Ok(())
    }

    fn or(&mut self) -> Result<Node, SelectionError> {
        let mut parts = vec![self.and()?];
        while self.keyword("or") {
            parts.push(self.and()?);
        }
        Ok(one_or(parts, Node::Or))
    }

    fn and(&mut self) -> Result<Node, SelectionError> {
        let mut parts = vec![self.not()?];
        while self.keyword("and") {
            parts.push(self.not()?);
        }
        Ok(one_or(parts, Node::And))
    }

    fn not(&mut self) -> Result<Node, SelectionError> {
        if self.keyword("not") {
            return self.nested(|p| Ok(Node::Not(Box::new(p.not()?))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, SelectionError> {
        let left = Box::new(self.sum()?);
        let comparison = match self.peek() {
            Some(Word::Sign("==")) => Comparison::Equal,
            Some(Word::Sign("=")) => return self.pattern(left, false),
            Some(Word::Sign("=~")) => return self.pattern(left, true),
            Some(Word::Sign("!=")) => Comparison::Unequal,
            Some(Word::Sign("<")) => Comparison::Less,
            Some(Word::Sign("<=")) => Comparison::LessOrEqual,
            Some(Word::Sign(">")) => Comparison::Greater,
            Some(Word::Sign(">=")) => Comparison::GreaterOrEqual,
            _ => return Ok(*left),
        };
        self.next += 1;
        Ok(Node::Compare(comparison, left, Box::new(self.sum()?)))
    }

    /// A glob behind `=`, a regular expression behind `=~`; what is no text is compared.
    fn pattern(&mut self, left: Box<Node>, is_regex: bool) -> Result<Node, SelectionError> {
        self.next += 1;
        let place = self.place();
        let Some(Word::Text(text)) = self.peek().cloned() else {
            if is_regex {
                return Err(self.expected("a regular expression as a text"));
            }
            return Ok(Node::Compare(Comparison::Equal, left, Box::new(self.sum()?)));
        };
        self.next += 1;
        if !is_regex {
            return Ok(Node::Matches(left, Pattern::Glob(text)));
        }
        let regex = regex::RegexBuilder::new(&text).size_limit(MAX_REGEX).build();
        let regex = regex.map_err(|_| {
            SelectionError::new(place, format!("expected a regular expression, found {text:.40}"))
        })?;
        Ok(Node::Matches(left, Pattern::Regex(Box::new(regex))))
    }

    fn sum(&mut self) -> Result<Node, SelectionError> {
        self.chain(Parser::product, &[("+", '+'), ("-", '-')])
    }

    fn product(&mut self) -> Result<Node, SelectionError> {
        self.chain(Parser::behind_dots, &[("*", '*'), ("/", '/'), ("%", '%')])
    }

    /// A value and the functions that are called of it.
    fn behind_dots(&mut self) -> Result<Node, SelectionError> {
        let mut node = self.value()?;
        while self.sign(".") {
            self.count()?;
            let function = self.function()?;
            node = Node::Call(function, Box::new(node));
        }
        Ok(node)
    }

    fn function(&mut self) -> Result<Function, SelectionError> {
        let function = match self.peek() {
            Some(Word::Name(name)) if name == "abs" => Function::Abs,
            Some(Word::Name(name)) if name == "hash" => Function::Hash,
            Some(Word::Name(name)) if name == "lowercase" => Function::Lowercase,
            _ => return Err(self.expected("abs(), hash() or lowercase()")),
        };
        self.next += 1;
        self.close("(")?;
        self.close(")")?;
        Ok(function)
    }

    fn value(&mut self) -> Result<Node, SelectionError> {
        let Some(word) = self.peek().cloned() else { return Err(self.expected("a value")) };
        self.next += 1;
        match word {
            Word::Integer(number) => Ok(Node::Integer(number)),
            Word::Number(number) => Ok(Node::Number(number)),
            Word::Text(text) => Ok(Node::Text(text)),
            Word::Sign("(") => {
                let inner = self.nested(Parser::or)?;
                self.close(")")?;
                Ok(inner)
            }
            Word::Sign("-") => self.nested(|p| {
                let zero = Box::new(Node::Integer(0));
                Ok(Node::Calculate('-', zero, Box::new(p.behind_dots()?)))
            }),
            Word::Name(name) => self.named(name),
            Word::Sign(_) => {
                self.next -= 1;
                Err(self.expected("a value"))
            }
        }
    }

    fn named(&mut self, name: String) -> Result<Node, SelectionError> {
        match name.to_ascii_lowercase().as_str() {
            "true" => return Ok(Node::Bool(true)),
            "false" => return Ok(Node::Bool(false)),
            "null" => return Ok(Node::Null),
            "now" => {
                self.close("(")?;
                self.close(")")?;
                return Ok(Node::Now);
            }
            "id" => return self.id(),
            _ => {}
        }
        if !self.sign(".") {
            return Ok(Node::Type(name));
        }
        let mut ways = vec![Way::Member(self.name()?)];
        loop {
            if ways.len() > MAX_DEPTH {
                return Err(self.expected("a shorter way into a field"));
            }
            if self.sign("{") {
                let key = match self.peek().cloned() {
                    Some(Word::Name(key) | Word::Text(key)) => key,
                    Some(Word::Integer(key)) => key.to_string(),
                    _ => return Err(self.expected("a key")),
                };
                self.next += 1;
                self.close("}")?;
                ways.push(Way::Key(key));
            } else if self.sign("[") {
                let Some(Word::Integer(place)) = self.peek().cloned() else {
                    return Err(self.expected("a place"));
                };
                let place = usize::try_from(place).map_err(|_| self.expected("a place"))?;
                self.next += 1;
                self.close("]")?;
                ways.push(Way::Place(place));
            } else if self.sign(".") {
                let is_call = matches!(self.words.get(self.next + 1), Some((_, Word::Sign("("))));
                if is_call {
                    // The function takes the dot itself.
                    self.next -= 1;
                    return Ok(Node::Field(name, ways));
                }
                ways.push(Way::Member(self.name()?));
            } else {
                return Ok(Node::Field(name, ways));
            }
        }
    }

    fn name(&mut self) -> Result<String, SelectionError> {
        let Some(Word::Name(name)) = self.peek().cloned() else {
            return Err(self.expected("the name of a field"));
        };
        self.next += 1;
        Ok(name)
    }

    fn id(&mut self) -> Result<Node, SelectionError> {
        let is_call = matches!(self.words.get(self.next + 2), Some((_, Word::Sign("("))));
        if is_call || !self.sign(".") {
            return Ok(Node::Id(IdPart::Whole));
        }
        let part = match self.peek() {
            Some(Word::Name(part)) => match part.as_str() {
                "namespace" => Some(IdPart::Namespace),
                "type" => Some(IdPart::Type),
                "user" => Some(IdPart::User),
                "group" => Some(IdPart::Group),
                "specific" => Some(IdPart::Specific),
                "bucket" => Some(IdPart::Bucket),
                _ => None,
            },
            _ => None,
        };
        let part = part.ok_or_else(|| {
            self.expected("one of namespace, type, user, group, specific and bucket")
        })?;
        self.next += 1;
        Ok(Node::Id(part))
    }
}

/// The only part, or all of them.
fn one_or(mut parts: Vec<Node>, all: fn(Vec<Node>) -> Node) -> Node {
    match parts.len() {
        1 => parts.remove(0),
        _ => all(parts),
    }
}
