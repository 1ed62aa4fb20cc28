//! Literals to tensors, for what clients send: numbers only, where the literals of expressions have expressions in their cells.
//!
//! ```text
//! literal = [ type ":" ] ( number | hexadecimal | brackets | "{" [ entry { "," entry } ] "}" )
//! entry   = "{" [ place { "," place } ] "}" ":" number | label ":" ( number | brackets | hexadecimal | "{" entries "}" )
//! place   = dimension ":" label
//! ```

use std::borrow::Cow;

use super::sizes::Sizes;
use crate::codec::json::JsonError;
use crate::codec::json::blocks::Blocks;
use crate::reader::{Reader, is_name_byte};
use crate::types::{MAX_DIMENSIONS, TensorType, parse_type};
use crate::value::{Number, Value};

/// Why a text is no literal of the type.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LiteralError {
    /// Something else stands at a place.
    #[error("expected {expected} at byte {at}, found {found}")]
    Unexpected {
        /// What should stand there.
        expected: String,
        /// Where, counted from 0.
        at: usize,
        /// What does, shortened.
        found: String,
    },
    /// The literal names another type.
    #[error("expected a {expected}, found a {found}")]
    Type {
        /// The type that is read.
        expected: TensorType,
        /// That of the literal, shortened.
        found: String,
    },
    /// Cells that do not make a value of the type.
    #[error(transparent)]
    Cells(#[from] JsonError),
}

/// A tensor of this type from a literal, with or without its type before it. Cells become those of the type; sizes that the type
/// leaves open are those of the literal, as are those of dense tensors whose cells are not all written, which are 0.
///
/// # Errors
/// When the text is no literal, or one of another type.
pub fn from_literal(kind: &TensorType, text: &str) -> Result<Value, LiteralError> {
    let mut reader = Literal { reader: Reader { text, at: 0 }, most: MAX_DIMENSIONS };
    let kind = reader.kind(kind)?;
    let begin = reader.reader.at;
    let kind = match kind.is_bound() {
        true => kind,
        false => {
            let mut sizes = Sizes::new(&kind);
            reader.cells(&kind, &mut |part| sizes.part(part))?;
            reader.reader.at = begin;
            sizes.finish()?
        }
    };
    let mut blocks = Blocks::new(&kind);
    reader.cells(&kind, &mut |part| place(&kind, part, &mut blocks))?;
    if reader.reader.peek() != 0 || !reader.reader.rest().is_empty() {
        return Err(reader.unexpected("the end"));
    }
    Ok(blocks.finish()?)
}

/// What a literal has, one after the other.
pub(super) enum Part<'p> {
    /// A cell by the places along all dimensions, in the order of the dimensions.
    Cell(&'p [Cow<'p, str>], Number),
    /// The cells of a block by its labels, with the sizes of nested brackets.
    Block(&'p [Cow<'p, str>], Vec<Number>, Vec<usize>),
    /// The digits of a block.
    Digits(&'p [Cow<'p, str>], &'p str),
}

/// Adds a part to the blocks of a type whose sizes are known.
fn place(kind: &TensorType, part: Part<'_>, blocks: &mut Blocks<'_>) -> Result<(), JsonError> {
    let own = |labels: &[Cow<'_, str>]| labels.iter().map(|l| l.clone().into_owned()).collect();
    match part {
        Part::Cell(address, number) => {
            let (mut labels, mut offset) = (Vec::new(), 0);
            for (dimension, place) in kind.dimensions().iter().zip(address) {
                let Some(size) = dimension.size() else {
                    labels.push(place.clone().into_owned());
                    continue;
                };
                let index = place.parse().ok().filter(|index: &usize| *index < size);
                offset = offset * size
                    + index.ok_or_else(|| JsonError::Index {
                        text: place.chars().take(40).collect(),
                        dimension: dimension.name.to_string(),
                        size,
                    })?;
            }
            blocks.cell(&labels, offset, number)
        }
        Part::Block(labels, cells, sizes) => {
            let known: Vec<usize> = kind.indexed().map(|(_, size)| size).collect();
            let is_flat = sizes.len() == 1 && cells.len() == blocks.size;
            if !is_flat && sizes != known {
                let of = kind.clone();
                let (expected, found) = (blocks.size, cells.len());
                return Err(match expected == found {
                    false => JsonError::Count { of, what: "cells", expected, found },
                    true => JsonError::Unexpected {
                        expected: format!("brackets of {kind}"),
                        found: format!("sizes {sizes:?}"),
                    },
                });
            }
            let labels: Vec<String> = own(labels);
            let block = blocks.place(&labels)?;
            let mut cells = cells.into_iter().enumerate();
            cells.try_for_each(|(offset, cell)| blocks.set(block, offset, cell, &labels))
        }
        Part::Digits(labels, digits) => {
            let cells = blocks.digits(digits)?;
            let labels: Vec<String> = own(labels);
            let block = blocks.place(&labels)?;
            let mut cells = cells.into_iter().enumerate();
            cells.try_for_each(|(offset, cell)| blocks.set(block, offset, cell, &labels))
        }
    }
}

type Sink<'s> = dyn FnMut(Part<'_>) -> Result<(), JsonError> + 's;

/// A literal that is read.
struct Literal<'t> {
    reader: Reader<'t>,
    /// The deepest that brackets are.
    most: usize,
}

impl<'t> Literal<'t> {
    /// The type that stands before the cells, with the cells of the one that is wanted; that one if none does.
    fn kind(&mut self, wanted: &TensorType) -> Result<TensorType, LiteralError> {
        let rest = self.reader.rest();
        if !rest.starts_with("tensor") {
            return Ok(wanted.clone());
        }
        let other = |found: &str| LiteralError::Type {
            expected: wanted.clone(),
            found: found.chars().take(100).collect(),
        };
        let end = rest.find(')').map_or(rest.len(), |end| end + 1);
        let (text, _) = rest.split_at(end);
        let found = parse_type(text).map_err(|_| other(text))?.with_cell(wanted.cell());
        self.reader.at += end;
        if !self.reader.take(":") {
            return Err(self.unexpected(": after the type"));
        }
        match (wanted.takes(&found), found.takes(wanted)) {
            (true, _) => Ok(found),
            (_, true) => Ok(wanted.clone()),
            _ => Err(other(text)),
        }
    }

    /// All cells.
    fn cells(&mut self, kind: &TensorType, sink: &mut Sink<'_>) -> Result<(), LiteralError> {
        if kind.is_double() {
            return self.number_in_braces(sink);
        }
        match self.reader.peek() {
            b'{' => {
                self.reader.take("{");
                self.entries(kind, &mut Vec::new(), sink)
            }
            _ if kind.is_dense() => self.block(&[], sink),
            _ => Err(self.unexpected("{ before the labels of a mapped dimension")),
        }
    }

    /// `5`, `{5}`, `{{}:5}`, or `[5]`.
    fn number_in_braces(&mut self, sink: &mut Sink<'_>) -> Result<(), LiteralError> {
        let close = match (self.reader.take("{"), self.reader.take("[")) {
            (true, _) => "}",
            (false, true) => "]",
            (false, false) => "",
        };
        if close == "}" && self.reader.take("{") {
            self.expect("}")?;
            self.expect(":")?;
        }
        let number = self.number()?;
        sink(Part::Cell(&[], number))?;
        self.expect(close)
    }

    /// What follows `{`: cells with their addresses, or labels with what they stand for.
    fn entries(
        &mut self,
        kind: &TensorType,
        labels: &mut Vec<Cow<'t, str>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), LiteralError> {
        let mapped = kind.mapped_count();
        let is_row = mapped == 0 && kind.dimensions().len() == 1;
        while !self.reader.take("}") {
            if labels.is_empty() && self.reader.take("{") {
                let address = self.address(kind)?;
                self.expect(":")?;
                let number = self.number()?;
                sink(Part::Cell(&address, number))?;
            } else if labels.len() < mapped || is_row {
                labels.push(self.label()?);
                self.expect(":")?;
                if labels.len() < mapped {
                    self.expect("{")?;
                    // As deep as there are mapped dimensions.
                    self.entries(kind, labels, sink)?;
                } else if is_row || kind.dimensions().len() == mapped {
                    let number = self.number()?;
                    sink(Part::Cell(labels, number))?;
                } else {
                    self.block(labels, sink)?;
                }
                labels.pop();
            } else {
                return Err(self.unexpected("{ before an address"));
            }
            if !self.reader.take(",") && self.reader.peek() != b'}' {
                return Err(self.unexpected(", or } after a cell"));
            }
        }
        Ok(())
    }

    /// What follows `{` of an address: the places in the order of the dimensions.
    fn address(&mut self, kind: &TensorType) -> Result<Vec<Cow<'t, str>>, LiteralError> {
        let mut places: Vec<Option<Cow<'t, str>>> = vec![None; kind.dimensions().len()];
        while !self.reader.take("}") {
            let at = self.reader.at;
            let name = self.reader.word();
            let of = kind.dimensions().iter().position(|d| *d.name == *name);
            let Some(place) = of.and_then(|of| places.get_mut(of)) else {
                self.reader.at = at;
                return Err(self.unexpected(&format!("a dimension of {kind}")));
            };
            if place.is_some() {
                return Err(self.unexpected(&format!("one place along dimension {name}")));
            }
            self.expect(":")?;
            *place = Some(self.label()?);
            if !self.reader.take(",") && self.reader.peek() != b'}' {
                return Err(self.unexpected(", or } in an address"));
            }
        }
        let named = kind.dimensions().iter().zip(&places).find(|(_, place)| place.is_none());
        if let Some((dimension, _)) = named {
            return Err(JsonError::Address(dimension.name.to_string()).into());
        }
        Ok(places.into_iter().flatten().collect())
    }

    /// A label: a word, or a text in quotes.
    fn label(&mut self) -> Result<Cow<'t, str>, LiteralError> {
        let quote = self.reader.peek();
        if quote != b'\'' && quote != b'"' {
            let sign = if self.reader.take("-") { 1 } else { 0 };
            let word = self.reader.word();
            let from = self.reader.at - word.len() - sign;
            return match word.is_empty() {
                true => Err(self.unexpected("a label")),
                false => Ok(Cow::Borrowed(&self.reader.text[from..self.reader.at])),
            };
        }
        self.reader.at += 1;
        let rest = &self.reader.text[self.reader.at..];
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            if character == char::from(quote) {
                self.reader.at += at + 1;
                return Ok(Cow::Owned(text));
            }
            text.push(match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 'r')) => '\r',
                    Some((_, 't')) => '\t',
                    Some((_, other)) => other,
                    None => break,
                },
                other => other,
            });
        }
        self.reader.at = self.reader.text.len();
        Err(self.unexpected("the quote at the end of a label"))
    }

    /// `[1,2,3]`, `[[1,2],[3,4]]`, or hexadecimal digits.
    fn block(&mut self, labels: &[Cow<'t, str>], sink: &mut Sink<'_>) -> Result<(), LiteralError> {
        if self.reader.peek() != b'[' {
            let digits = self.reader.word();
            return match digits.is_empty() {
                true => Err(self.unexpected("[ before the cells of a block")),
                false => Ok(sink(Part::Digits(labels, digits))?),
            };
        }
        let (mut cells, mut sizes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_behind = false;
        loop {
            if !is_behind && self.reader.take("[") {
                // The first brackets that close are the innermost.
                let is_inner = match sizes.len() {
                    0 => !cells.is_empty(),
                    depth => counts.len() == depth,
                };
                if counts.len() == self.most || is_inner {
                    return Err(self.unexpected("a number"));
                }
                counts.push(0_usize);
                continue;
            }
            let is_empty = counts.last() == Some(&0) && !is_behind;
            if (is_behind || is_empty) && self.reader.take("]") {
                let Some(count) = counts.pop() else { break };
                self.same_size(&mut sizes, counts.len(), count)?;
                let Some(outer) = counts.last_mut() else { break };
                *outer += 1;
                is_behind = true;
                continue;
            }
            if is_behind {
                if !self.reader.take(",") {
                    return Err(self.unexpected(", or ]"));
                }
                is_behind = false;
                continue;
            }
            if !sizes.is_empty() && counts.len() != sizes.len() {
                return Err(self.unexpected("["));
            }
            cells.push(self.number()?);
            if let Some(count) = counts.last_mut() {
                *count += 1;
            }
            is_behind = true;
        }
        Ok(sink(Part::Block(labels, cells, sizes))?)
    }

    /// All brackets of a depth have as many members; the first that closes says how many.
    fn same_size(
        &self,
        sizes: &mut Vec<usize>,
        depth: usize,
        count: usize,
    ) -> Result<(), LiteralError> {
        // The innermost closes first.
        if sizes.is_empty() {
            sizes.resize(depth + 1, usize::MAX);
        }
        match sizes.get_mut(depth) {
            Some(size) if *size == usize::MAX || *size == count => *size = count,
            Some(size) => {
                let expected = format!("brackets of {size} members, not {count},");
                return Err(self.unexpected(&expected));
            }
            None => return Err(self.unexpected("a number")),
        }
        Ok(())
    }

    /// A number, in digits or one of the words for those that have none.
    fn number(&mut self) -> Result<Number, LiteralError> {
        let rest = self.reader.rest();
        let is_part = |byte: u8| is_name_byte(byte) || matches!(byte, b'+' | b'-' | b'.');
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (word, _) = rest.split_at(end);
        let found = match word.parse::<i64>() {
            Ok(whole) => Some(Number::Whole(whole)),
            // Also of NaN and the infinities, by the words of Java and those of C.
            Err(_) => word.parse::<f64>().ok().map(Number::Float),
        };
        let number = found.ok_or_else(|| self.unexpected("a number"))?;
        self.reader.at += end;
        Ok(number)
    }

    fn expect(&mut self, sign: &str) -> Result<(), LiteralError> {
        if self.reader.take(sign) {
            return Ok(());
        }
        Err(self.unexpected(sign))
    }

    fn unexpected(&self, expected: &str) -> LiteralError {
        let mut reader = self.reader;
        let found: String = reader.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { found };
        LiteralError::Unexpected { expected: expected.to_owned(), at: reader.at, found }
    }
}

#[cfg(test)]
mod tests;
