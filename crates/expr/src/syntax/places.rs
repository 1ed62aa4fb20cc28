//! Places along dimensions: labels and indices, or expressions that give them.
//!
//! Vespa's containers read packages, and take every place for an expression that is no name, number or quoted text alone
//! (`searchlib/src/main/javacc/RankingExpressionParser.jj`, `dimensionValue`); its content nodes take what is not in
//! parentheses for a label as it stands (`eval/src/vespa/eval/eval/function.cpp`, `parse_tensor_peek`).
//! Here it is an expression where it can be one.

use super::ast::Place;
use super::parser::Parser;
use crate::error::Fault;
use crate::reader::is_name_byte;

impl Parser<'_> {
    /// What follows `{`: `x:label,y:(expression)}`, or a label or expression alone.
    pub(super) fn places(&mut self) -> Result<Vec<(Option<String>, Place)>, Fault> {
        let mut places = Vec::new();
        loop {
            let before = self.reader.at;
            let dimension = match self.reader.name() {
                Some(name) if self.reader.take(":") => Some(name.to_owned()),
                _ => {
                    self.reader.at = before;
                    None
                }
            };
            let is_alone = dimension.is_none();
            if is_alone && !places.is_empty() {
                return Err(self.reader.unexpected("a dimension and :"));
            }
            let place = self.place(b'}')?;
            places.push((dimension, place));
            if self.reader.take("}") {
                return Ok(places);
            }
            if is_alone {
                return Err(self.reader.unexpected("}"));
            }
            self.reader.expect(",").map_err(|_| self.reader.unexpected(", or }"))?;
        }
    }

    /// A label, or an expression.
    pub(super) fn place(&mut self, end: u8) -> Result<Place, Fault> {
        let is_index = end == b']';
        if let Some(label) = self.plain_label(end, is_index)? {
            return Ok(Place::Label(label));
        }
        if is_index || self.reader.peek() == b'(' {
            return self.expression().map(Place::Computed);
        }
        let (begin, depth, nodes) = (self.reader.at, self.depth, self.ast.nodes.len());
        let value = self.expression();
        let is_whole = value.is_ok() && [b',', end].contains(&self.reader.peek());
        let behind = self.reader.at;
        (self.reader.at, self.depth) = (begin, depth);
        let label = self.label(end).ok();
        match (value, label) {
            (Ok(value), label) if is_whole => {
                let label = label.filter(|_| self.reader.at == behind);
                self.reader.at = behind;
                Ok(Place::Either(label, value))
            }
            (_, Some(label)) => {
                self.ast.nodes.truncate(nodes);
                Ok(Place::Label(label))
            }
            (Err(fault), None) => Err(fault),
            (Ok(_), None) => {
                self.reader.at = behind;
                Err(self.reader.unexpected(", or }"))
            }
        }
    }

    /// A quoted label, or a name or number alone; only a number where an index stands.
    fn plain_label(&mut self, end: u8, is_index: bool) -> Result<Option<String>, Fault> {
        let before = self.reader.at;
        if let Some(text) = self.reader.quoted()? {
            return Ok(Some(text));
        }
        let rest = self.reader.rest();
        let sign = usize::from(rest.starts_with('-'));
        let is_part =
            |b: u8| if sign == 1 || is_index { b.is_ascii_digit() } else { is_name_byte(b) };
        let length = rest[sign..].bytes().take_while(|b| is_part(*b)).count();
        let (label, behind) = rest.split_at(sign + length);
        let next = behind.trim_ascii_start().as_bytes().first().copied().unwrap_or(0);
        if length == 0 || ![b',', end].contains(&next) {
            self.reader.at = before;
            return Ok(None);
        }
        self.reader.at += label.len();
        Ok(Some(label.to_owned()))
    }

    /// A label: quoted, or anything up to a comma, a colon or the closing sign.
    pub(super) fn label(&mut self, end: u8) -> Result<String, Fault> {
        if let Some(text) = self.reader.quoted()? {
            return Ok(text);
        }
        let rest = self.reader.rest();
        let is_end = |c: char| matches!(c, ',' | ':' | '{' | '(') || c == char::from(end);
        let label = rest[..rest.find(is_end).unwrap_or(rest.len())].trim_ascii_end();
        if label.is_empty() {
            return Err(self.reader.unexpected("a label"));
        }
        self.reader.at += label.len();
        Ok(label.to_owned())
    }
}
