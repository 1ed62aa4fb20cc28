//! The grammar of expressions.

use super::ast::{Ast, Expr, Id, Lambda, Node};
use super::operators::{IN_PRIORITY, OPERATORS, Operator};
use super::{MAX_DEPTH, MAX_LAMBDAS, MAX_TEXT};
use crate::error::{Fault, Reason};
use crate::functions::{Fn1, Fn2};
use crate::reader::Reader;
use crate::types::{TensorType, read_type};

/// The tree of an expression.
pub(crate) fn parse(text: &str) -> Result<Ast, Fault> {
    if text.len() > MAX_TEXT {
        return Err(Fault { at: 0, reason: Reason::TooLong(text.len()) });
    }
    let mut parser =
        Parser { reader: Reader { text, at: 0 }, ast: Ast::default(), depth: 0, lambdas: 0 };
    parser.expression()?;
    match parser.reader.peek() {
        0 => Ok(parser.ast),
        _ => Err(parser.reader.unexpected("an operator or the end")),
    }
}

pub(super) struct Parser<'t> {
    pub(super) reader: Reader<'t>,
    pub(super) ast: Ast,
    pub(super) depth: usize,
    pub(super) lambdas: usize,
}

/// An operator or `in` that waits for what follows.
type Waiting = (Operator, u32);

impl Parser<'_> {
    /// An expression with any operators.
    pub(super) fn expression(&mut self) -> Result<Id, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault { at: self.reader.at as u32, reason: Reason::TooDeep });
        }
        let (mut operands, mut waiting): (Vec<Id>, Vec<Waiting>) =
            (vec![self.operand()?], Vec::new());
        loop {
            self.reader.rest();
            let at = self.reader.at as u32;
            if self.reader.take_word("in") {
                self.settle(IN_PRIORITY, &mut operands, &mut waiting);
                let list = self.list_of_constants()?;
                if let Some(last) = operands.pop() {
                    operands.push(self.push(at, Expr::In(last, list)));
                }
            } else if let Some(operator) = self.operator() {
                self.settle(operator.priority, &mut operands, &mut waiting);
                waiting.push((operator, at));
                operands.push(self.operand()?);
            } else {
                break;
            }
        }
        self.settle(0, &mut operands, &mut waiting);
        self.depth -= 1;
        // The node of the whole expression must stand last, as the root of its tree.
        Ok(operands.pop().unwrap_or_default())
    }

    /// Joins the operands of all waiting operators that go before one of this priority.
    fn settle(&mut self, priority: u8, operands: &mut Vec<Id>, waiting: &mut Vec<Waiting>) {
        while let Some((operator, at)) = waiting.pop_if(|(o, _)| o.goes_before(priority)) {
            if let (Some(right), Some(left)) = (operands.pop(), operands.pop()) {
                operands.push(self.push(at, Expr::Binary(operator.function, left, right)));
            }
        }
    }

    fn operator(&mut self) -> Option<Operator> {
        let found = OPERATORS.iter().find(|(sign, _)| self.reader.take(sign));
        found.map(|(_, operator)| *operator)
    }

    /// Signs, a value, and places within it.
    fn operand(&mut self) -> Result<Id, Fault> {
        let mut signs = Vec::new();
        loop {
            self.reader.rest();
            let at = self.reader.at as u32;
            match self.reader.peek() {
                b'-' => signs.push((Fn1::Neg, at)),
                b'!' => signs.push((Fn1::Not, at)),
                _ => break,
            }
            self.reader.at += 1;
        }
        let mut value = self.value()?;
        loop {
            let at = self.reader.at as u32;
            if self.reader.take("{") {
                let places = self.places()?;
                value = self.push(at, Expr::Peek(value, places));
            } else if self.reader.take("[") {
                let place = self.place(b']')?;
                self.reader.expect("]")?;
                value = self.push(at, Expr::Peek(value, vec![(None, place)]));
            } else {
                break;
            }
        }
        for (sign, at) in signs.into_iter().rev() {
            value = match (sign, &mut self.ast.nodes[value].expr) {
                (Fn1::Neg, Expr::Number(number)) => {
                    *number = -*number;
                    value
                }
                _ => self.push(at, Expr::Unary(sign, value)),
            };
        }
        Ok(value)
    }

    fn value(&mut self) -> Result<Id, Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        if self.reader.take("(") {
            let value = self.expression()?;
            self.reader.expect(")")?;
            // So that "-(5)" stays a negation of a node of its own, and the root of a tree in parentheses is last.
            return Ok(value);
        }
        if let Some(number) = self.reader.number() {
            return Ok(self.push(at, Expr::Number(number)));
        }
        if let Some(text) = self.reader.quoted()? {
            return Ok(self.push(at, Expr::Number(text_number(&text))));
        }
        let before = self.reader.at;
        let Some(name) = self.reader.name() else {
            return Err(self.reader.unexpected("a value"));
        };
        match name {
            "true" => return Ok(self.push(at, Expr::Number(1.0))),
            "false" => return Ok(self.push(at, Expr::Number(0.0))),
            "tensor" => {
                self.reader.at = before;
                return self.tensor();
            }
            _ => {}
        }
        if self.reader.peek() == b'(' {
            if let Some(value) = self.call(name, at)? {
                return Ok(value);
            }
            return self.feature(name, at);
        }
        self.feature(name, at)
    }

    /// `[1,2,"three"]`.
    fn list_of_constants(&mut self) -> Result<Vec<f64>, Fault> {
        self.reader.expect("[")?;
        let mut list = Vec::new();
        while !self.reader.take("]") {
            if !list.is_empty() {
                self.reader.expect(",").map_err(|_| self.reader.unexpected(", or ]"))?;
            }
            if let Some(text) = self.reader.quoted()? {
                list.push(text_number(&text));
                continue;
            }
            let sign = if self.reader.take("-") { -1.0 } else { 1.0 };
            match self.reader.number() {
                Some(number) => list.push(sign * number),
                None => return Err(self.reader.unexpected("a number or a text in quotes")),
            }
        }
        Ok(list)
    }

    /// `f(x,y)(body)`, with this many parameters.
    pub(super) fn lambda(&mut self, count: usize) -> Result<Lambda, Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        if !self.reader.take_word("f") {
            return Err(self.reader.unexpected("a lambda such as f(x)(x+1)"));
        }
        self.reader.expect("(")?;
        let mut parameters: Vec<String> = Vec::new();
        while !self.reader.take(")") {
            if !parameters.is_empty() {
                self.reader.expect(",").map_err(|_| self.reader.unexpected(", or )"))?;
            }
            parameters.push(self.reader.expect_name("the name of a parameter")?);
        }
        if parameters.len() != count {
            let expected =
                if count == 1 { "a lambda of one parameter" } else { "a lambda of two parameters" };
            let found = parameters.len().to_string();
            let reason =
                Reason::Arguments { function: "this function".to_owned(), expected, found };
            return Err(Fault { at, reason });
        }
        self.reader.expect("(")?;
        let body = self.body()?;
        self.reader.expect(")")?;
        Ok(Lambda { parameters, body })
    }

    /// An expression as a tree of its own.
    pub(super) fn body(&mut self) -> Result<Ast, Fault> {
        self.lambdas += 1;
        if self.lambdas > MAX_LAMBDAS {
            return Err(Fault { at: self.reader.at as u32, reason: Reason::TooManyLambdas });
        }
        let outer = std::mem::take(&mut self.ast);
        let result = self.expression();
        self.lambdas -= 1;
        let body = std::mem::replace(&mut self.ast, outer);
        result.map(|_| body)
    }

    /// A type at this place.
    pub(super) fn kind(&mut self) -> Result<TensorType, Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        read_type(&mut self.reader).map_err(|error| Fault {
            at: at.max(self.reader.at as u32),
            reason: Reason::Type { function: "tensor".to_owned(), error },
        })
    }

    pub(super) fn push(&mut self, at: u32, expr: Expr) -> Id {
        self.ast.nodes.push(Node { at, expr });
        self.ast.nodes.len() - 1
    }

    pub(super) fn binary(&mut self, at: u32, function: Fn2, left: Id, right: Id) -> Id {
        self.push(at, Expr::Binary(function, left, right))
    }
}

/// A text as the number that expressions know it by: the bits of its 64-bit XXH3, made finite (Vespa,
/// `eval/src/vespa/eval/eval/string_stuff.h` calls `vespalib::hash2d`).
#[must_use]
pub fn text_number(text: &str) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let mut bits = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    if bits & EXPONENT == EXPONENT {
        bits &= 0xffef_ffff_ffff_ffff;
    }
    f64::from_bits(bits)
}
