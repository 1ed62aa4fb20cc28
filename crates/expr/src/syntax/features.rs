//! Values from outside: `name(arguments).output`.

use super::ast::{Argument, Expr, Feature, Id};
use super::parser::Parser;
use crate::error::Fault;
use crate::reader::Reader;

impl Parser<'_> {
    /// What follows the name of a value from outside.
    pub(super) fn feature(&mut self, name: &str, at: u32) -> Result<Id, Fault> {
        let mut arguments = None;
        if self.reader.take("(") {
            let mut list = Vec::new();
            while !self.reader.take(")") {
                if !list.is_empty() {
                    self.reader.expect(",").map_err(|_| self.reader.unexpected(", or )"))?;
                }
                list.push(self.argument()?);
            }
            arguments = Some(list);
        }
        let mut output = None;
        // A dot with a space before it would be no output.
        if self.reader.text.as_bytes().get(self.reader.at) == Some(&b'.') {
            self.reader.at += 1;
            let from = self.reader.at;
            let rest = &self.reader.text[from..];
            let is_part =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '-');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            // A minus belongs to an output only between letters: "a.b-c" is a difference as often as not, and
            // Vespa reads it as one.
            let end = rest[..end].find('-').unwrap_or(end);
            if end == 0 {
                return Err(self.reader.unexpected("the name of an output"));
            }
            self.reader.at += end;
            output = Some(rest[..end].to_owned());
        }
        let feature = Feature { name: name.to_owned(), arguments, output };
        Ok(self.push(at, Expr::Feature(feature)))
    }

    /// An argument of a feature: an expression if it can be one, else any text up to a comma or parenthesis.
    fn argument(&mut self) -> Result<Argument, Fault> {
        self.reader.rest();
        let (from, nodes) = (self.reader.at, self.ast.nodes.len());
        let (depth, lambdas) = (self.depth, self.lambdas);
        let mut expression = self.expression().ok();
        if !matches!(self.reader.peek(), b',' | b')') {
            expression = None;
        }
        if expression.is_none() {
            (self.reader.at, self.depth, self.lambdas) = (from, depth, lambdas);
            self.ast.nodes.truncate(nodes);
            self.skip_argument()?;
        }
        let text = self.reader.text[from..self.reader.at].trim_ascii();
        Ok(Argument { text: without_quotes(text), expression })
    }

    /// Goes to the comma or parenthesis that ends an argument.
    fn skip_argument(&mut self) -> Result<(), Fault> {
        let mut open = 0_usize;
        loop {
            match self.reader.peek() {
                0 => return Err(self.reader.unexpected(")")),
                b'"' | b'\'' => {
                    self.reader.quoted()?;
                    continue;
                }
                b'(' => open += 1,
                b')' if open == 0 => return Ok(()),
                b')' => open -= 1,
                b',' if open == 0 => return Ok(()),
                _ => {}
            }
            let rest = self.reader.rest();
            self.reader.at += rest.chars().next().map_or(0, char::len_utf8);
        }
    }
}

/// A quoted name or number without its quotes; any other text as it is.
fn without_quotes(text: &str) -> String {
    let mut reader = Reader { text, at: 0 };
    match reader.quoted() {
        Ok(Some(inner)) if reader.at == text.len() => {
            let is_plain =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '-');
            if !inner.is_empty() && inner.chars().all(is_plain) {
                inner
            } else {
                format!("{inner:?}")
            }
        }
        _ => text.to_owned(),
    }
}
