//! Text to a script.

use super::operations::{ANALYSIS, OPERATIONS, SET_FLAGS, Takes, begins_step};
use super::tree::{Argument, Literal, Operation, Operator, Script, Statement, Step};
use crate::schema::reader::{Fault, Reader};

/// The most braces and parentheses within each other.
const MAX_DEPTH: usize = 32;

/// Reads a script: one statement up to the end of the line, or statements in braces.
pub(crate) fn read_script(reader: &mut Reader<'_>, is_line: bool) -> Result<Script, Fault> {
    let mut parser = Parser { reader, depth: 0 };
    if !is_line {
        return parser.script();
    }
    parser.reader.spaces();
    let place = parser.reader.here();
    let statements = vec![parser.statement()?];
    parser.reader.take(";");
    parser.reader.spaces();
    match parser.reader.byte() {
        None | Some(b'\n' | b'}') => Ok(Script { place, statements }),
        // Another element may follow on the line.
        Some(b) if b.is_ascii_alphabetic() => Ok(Script { place, statements }),
        _ => Err(parser.reader.unexpected("| or the end of the statement")),
    }
}

pub(super) struct Parser<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    /// Braces and parentheses that are open; within them a newline is a space.
    depth: usize,
}

impl Parser<'_, '_> {
    pub(super) fn skip(&mut self) {
        self.reader.skip(self.depth > 0);
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        self.skip();
        self.reader.take(sign)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        self.skip();
        self.reader.expect(sign, sign)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.skip();
        self.reader.byte()
    }

    pub(super) fn open(&mut self, sign: &str) -> Result<(), Fault> {
        self.reader.blank();
        self.reader.expect(sign, sign)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} braces and parentheses within each other");
            return Err(Fault { at: self.reader.at, text });
        }
        Ok(())
    }

    pub(super) fn close(&mut self, sign: &str) -> Result<(), Fault> {
        self.expect(sign)?;
        self.depth -= 1;
        Ok(())
    }

    /// `{ statement; statement }`
    pub(super) fn script(&mut self) -> Result<Script, Fault> {
        self.reader.blank();
        let place = self.reader.here();
        self.open("{")?;
        let mut statements = Vec::new();
        loop {
            while self.take(";") {}
            if self.byte() == Some(b'}') {
                break;
            }
            statements.push(self.statement()?);
            if self.byte() != Some(b'}') && !self.take(";") {
                return Err(self.reader.unexpected("|, ; or }"));
            }
        }
        self.close("}")?;
        Ok(Script { place, statements })
    }

    /// `step | step`
    pub(super) fn statement(&mut self) -> Result<Statement, Fault> {
        let mut steps = vec![self.choice()?];
        loop {
            self.skip();
            if self.reader.rest().starts_with("||") || !self.reader.take("|") {
                return Ok(Statement { steps });
            }
            self.reader.blank();
            steps.push(self.choice()?);
        }
    }

    /// `a || b`
    pub(super) fn choice(&mut self) -> Result<Step, Fault> {
        let first = self.concat()?;
        if !self.take("||") {
            return Ok(first);
        }
        let place = first.place.clone();
        let mut steps = vec![first];
        loop {
            self.reader.blank();
            steps.push(self.concat()?);
            if !self.take("||") {
                return Ok(Step { place, operation: Operation::Choice(steps) });
            }
        }
    }

    /// `a . b`
    fn concat(&mut self) -> Result<Step, Fault> {
        let first = self.sum()?;
        if !self.take(".") {
            return Ok(first);
        }
        let place = first.place.clone();
        let mut steps = vec![first];
        loop {
            steps.push(self.sum()?);
            if !self.take(".") {
                return Ok(Step { place, operation: Operation::Concat(steps) });
            }
        }
    }

    fn sum(&mut self) -> Result<Step, Fault> {
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.operators(&signs, Self::product)
    }

    fn product(&mut self) -> Result<Step, Fault> {
        let signs =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.operators(&signs, Self::value)
    }

    fn operators(
        &mut self,
        signs: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Step, Fault>,
    ) -> Result<Step, Fault> {
        let mut left = operand(self)?;
        let mut count = 0;
        while let Some((_, operator)) = signs.iter().find(|(sign, _)| self.take(sign)) {
            let right = operand(self)?;
            let place = left.place.clone();
            let operation = Operation::Arithmetic(Box::new(left), *operator, Box::new(right));
            left = Step { place, operation };
            count += 1;
            // The tree leans to the left, and trees are dropped by recursion.
            if count > MAX_DEPTH {
                let text = format!("more than {MAX_DEPTH} sums or products in a row");
                return Err(Fault { at: self.reader.at, text });
            }
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Step, Fault> {
        self.skip();
        let place = self.reader.here();
        let operation = self.operation()?;
        Ok(Step { place, operation })
    }

    fn operation(&mut self) -> Result<Operation, Fault> {
        match self.byte() {
            Some(b'(') => {
                self.open("(")?;
                let statement = self.statement()?;
                self.close(")")?;
                return Ok(Operation::Group(statement));
            }
            Some(b'{') => return self.script().map(Operation::Script),
            _ => {}
        }
        if let Some(literal) = self.literal()? {
            return Ok(Operation::Literal(literal));
        }
        let Some(word) = self.reader.word() else {
            return Err(self.reader.unexpected("a step of indexing such as attribute"));
        };
        match word.value {
            "true" => return Ok(Operation::Literal(Literal::Bool(true))),
            "false" => return Ok(Operation::Literal(Literal::Bool(false))),
            "_" => return Ok(Operation::Value),
            "for_each" => {
                self.open("{")?;
                let statement = self.statement()?;
                self.take(";");
                self.close("}")?;
                return Ok(Operation::ForEach(statement));
            }
            "guard" => return self.script().map(Operation::Guard),
            "if" => return self.condition(),
            "switch" => return self.switch(),
            "select_input" => return self.select_input(),
            _ => {}
        }
        let known = OPERATIONS.iter().find(|(name, _)| *name == word.value);
        let Some((name, takes)) = known else {
            self.reader.at -= word.value.len();
            return Err(self.reader.unexpected("a step of indexing such as attribute"));
        };
        Ok(Operation::Call(name, self.arguments(*takes)?))
    }

    fn arguments(&mut self, takes: Takes) -> Result<Vec<Argument>, Fault> {
        let mut list = Vec::new();
        match takes {
            Takes::Nothing => {}
            Takes::MayField => list.extend(self.name()?.map(Argument::Name)),
            Takes::Name => match self.name()? {
                Some(name) => list.push(Argument::Name(name)),
                None => return Err(self.reader.unexpected("a name")),
            },
            Takes::Text => list.push(Argument::Literal(self.text()?)),
            Takes::Integers(count) => {
                for _ in 0..count {
                    list.push(Argument::Literal(self.integer()?));
                }
            }
            Takes::MayInteger if self.byte().is_none_or(|b| !b.is_ascii_digit()) => {}
            Takes::MayInteger => list.push(Argument::Literal(self.integer()?)),
            Takes::MayNumber => {
                self.skip();
                if let Some(number) = self.number() {
                    list.push(Argument::Literal(number));
                }
            }
            Takes::Component => loop {
                self.skip();
                if let Some(literal) = self.literal()? {
                    list.push(Argument::Literal(literal));
                } else if let Some(name) = self.name()? {
                    list.push(Argument::Name(name));
                } else {
                    break;
                }
            },
            Takes::Analysis => self.analysis(&mut list)?,
            Takes::SetFlags => {
                while let Some(flag) = self.one_of(&SET_FLAGS) {
                    list.push(Argument::Name(flag.to_owned()));
                }
            }
        }
        Ok(list)
    }

    /// `stem: "best" normalize`
    fn analysis(&mut self, list: &mut Vec<Argument>) -> Result<(), Fault> {
        let words = ANALYSIS.map(|(word, _)| word);
        while let Some(word) = self.one_of(&words) {
            let takes = ANALYSIS.iter().find(|(w, _)| *w == word).map(|(_, t)| *t);
            list.push(match takes {
                Some(Takes::Text) if self.take(":") => Argument::Setting(word, self.text()?),
                Some(Takes::Integers(_)) => {
                    self.expect(":")?;
                    Argument::Setting(word, self.integer()?)
                }
                _ => Argument::Name(word.to_owned()),
            });
        }
        Ok(())
    }

    /// One of some words, or nothing.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        self.skip();
        let before = self.reader.at;
        let word = self.reader.word().map_or("", |w| w.value);
        let found = words.iter().find(|w| **w == word).copied();
        if found.is_none() {
            self.reader.at = before;
        }
        found
    }

    /// The name of a field, variable or component; parts may have dots between them, a text may stand in quotes.
    pub(super) fn name(&mut self) -> Result<Option<String>, Fault> {
        self.skip();
        let before = self.reader.at;
        let dollar = if self.reader.take("$") { "$" } else { "" };
        if let Some(text) = self.reader.quoted()? {
            return Ok(Some(text.value.to_owned()));
        }
        let Some(first) = self.reader.word() else {
            self.reader.at = before;
            return Ok(None);
        };
        if first.value == "else" {
            self.reader.at = before;
            return Ok(None);
        }
        let mut name = format!("{dollar}{}", first.value);
        // A dot with spaces around it puts texts in a row.
        while self.reader.rest().starts_with('.') {
            let dot = self.reader.at;
            self.reader.at += 1;
            let is_part = self.reader.byte().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
            match self.reader.word() {
                Some(part) if is_part && !begins_step(part.value) => {
                    name.push('.');
                    name.push_str(part.value);
                }
                _ => {
                    self.reader.at = dot;
                    break;
                }
            }
        }
        Ok(Some(name))
    }
}
