//! Tensors that are written out, or generated from their indices.

use super::ast::{Cell, Expr, Id};
use super::parser::Parser;
use crate::error::{Fault, Reason};
use crate::types::{CellType, Dimension, TensorType};
use crate::value::{Element, Number};

/// Cells of a literal as they are read.
struct Cells {
    kind: TensorType,
    /// The names of the mapped dimensions in order.
    mapped: Vec<String>,
    list: Vec<Cell>,
}

impl Parser<'_> {
    /// `tensor<float>(x[3])(x+1)`, `tensor(x{}):{a:1}`, `tensor(x[2]):[1,2]`, with the word not yet read.
    pub(super) fn tensor(&mut self) -> Result<Id, Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        let kind = self.kind()?;
        kind.must_be_bound("a tensor that is written out").map_err(|error| Fault {
            at,
            reason: Reason::Type { function: "tensor".to_owned(), error },
        })?;
        if self.reader.take(":") {
            return self.cells(kind, at);
        }
        if !kind.is_dense() {
            return Err(self
                .reader
                .unexpected(": and the cells, since only dense tensors are generated"));
        }
        self.reader
            .expect("(")
            .map_err(|_| self.reader.unexpected(": and cells, or (expression)"))?;
        let body = self.body()?;
        self.reader.expect(")")?;
        Ok(self.push(at, Expr::Generate(kind, body)))
    }

    /// `x[3],y[2]` as a type of double cells.
    pub(super) fn dimensions_as_type(&mut self) -> Result<TensorType, Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        let mut dimensions = Vec::new();
        loop {
            let name = self.reader.expect_name("the name of a dimension")?;
            self.reader.expect("[")?;
            let Some(size) = self.reader.number() else {
                return Err(self.reader.unexpected("the size of a dimension"));
            };
            self.reader.expect("]")?;
            // A fraction or a number that is too large becomes a size that is refused as such.
            dimensions.push(Dimension::indexed(
                &name,
                if size.fract() == 0.0 { size as usize } else { 0 },
            ));
            if !self.reader.take(",") {
                break;
            }
        }
        TensorType::new(CellType::Double, dimensions).map_err(|error| Fault {
            at,
            reason: Reason::Type { function: "tensor".to_owned(), error },
        })
    }

    /// A tensor of one cell, 1, along a dimension.
    pub(super) fn one_cell(&mut self, at: u32, along: &str) -> Result<Id, Fault> {
        let kind = TensorType::new(CellType::Float, vec![Dimension::indexed(along, 1)]).map_err(
            |error| Fault { at, reason: Reason::Type { function: "tensor".to_owned(), error } },
        )?;
        let value = self.push(at, Expr::Number(1.0));
        let cell = Cell { labels: Vec::new(), offset: 0, whole: None, value };
        Ok(self.push(at, Expr::Create(kind, vec![cell])))
    }

    /// What follows the colon of a literal.
    fn cells(&mut self, kind: TensorType, at: u32) -> Result<Id, Fault> {
        let mapped = kind.mapped().map(|d| d.name.to_string()).collect();
        let mut cells = Cells { kind, mapped, list: Vec::new() };
        if cells.kind.is_double() {
            self.number_in_braces(&mut cells)?;
        } else if self.reader.peek() == b'[' {
            if !cells.kind.is_dense() {
                return Err(self.reader.unexpected("{ before the labels of a mapped dimension"));
            }
            self.block(&mut cells, &[])?;
        } else {
            self.reader.expect("{")?;
            let mut labels = Vec::new();
            self.braces(&mut cells, &mut labels)?;
        }
        Ok(self.push(at, Expr::Create(cells.kind, cells.list)))
    }

    /// `{5}`, `{{}:5}` or `5`: a number in the form of a literal.
    fn number_in_braces(&mut self, cells: &mut Cells) -> Result<(), Fault> {
        let in_braces = self.reader.take("{");
        if in_braces && self.reader.take("{") {
            self.reader.expect("}")?;
            self.reader.expect(":")?;
        }
        if !(in_braces && self.reader.peek() == b'}') {
            self.cell(cells, Vec::new(), 0)?;
        }
        if in_braces { self.reader.expect("}") } else { Ok(()) }
    }

    /// The expression of a cell.
    fn cell(&mut self, cells: &mut Cells, labels: Vec<String>, offset: usize) -> Result<(), Fault> {
        let whole = if cells.kind.cell() == CellType::Int64 { self.whole() } else { None };
        let value = match whole {
            Some(_) => self.push(self.reader.at as u32, Expr::Number(0.0)),
            None => self.expression()?,
        };
        cells.list.push(Cell { labels, offset, whole, value });
        Ok(())
    }

    /// A whole number alone that is no double.
    fn whole(&mut self) -> Option<i64> {
        let rest = self.reader.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest).bytes();
        let length =
            digits.take_while(u8::is_ascii_digit).count() + usize::from(rest.starts_with('-'));
        let (number, behind) = rest.split_at(length);
        let is_alone =
            matches!(behind.trim_ascii_start().as_bytes().first(), Some(b',' | b']' | b'}'));
        let whole: i64 = number.parse().ok().filter(|_| is_alone)?;
        if f64::exact(Number::Whole(whole)).is_some() {
            return None;
        }
        self.reader.at += length;
        Some(whole)
    }

    /// What follows `{`: cells with their addresses, or labels with what they stand for.
    fn braces(&mut self, cells: &mut Cells, labels: &mut Vec<String>) -> Result<(), Fault> {
        while !self.reader.take("}") {
            if self.reader.peek() == b'{' && labels.is_empty() {
                self.addressed(cells)?;
            } else if labels.len() < cells.mapped.len() {
                labels.push(self.label(b'}')?);
                self.reader.expect(":")?;
                if labels.len() < cells.mapped.len() {
                    self.reader.expect("{")?;
                    self.braces(cells, labels)?;
                } else if self.reader.peek() == b'[' {
                    self.block(cells, labels)?;
                } else if cells.kind.block_size() == 1 {
                    self.cell(cells, labels.clone(), 0)?;
                } else {
                    return Err(self.reader.unexpected("[ before the cells of a block"));
                }
                labels.pop();
            } else if labels.is_empty() && cells.kind.dimensions().len() == 1 {
                self.indexed(cells)?;
            } else {
                return Err(self.reader.unexpected("{ before an address"));
            }
            if !self.reader.take(",") && self.reader.peek() != b'}' {
                return Err(self.reader.unexpected(", or } after a cell"));
            }
        }
        Ok(())
    }

    /// `{x:a,y:0}:value`.
    fn addressed(&mut self, cells: &mut Cells) -> Result<(), Fault> {
        self.reader.expect("{")?;
        let mut places: Vec<(String, String, u32)> = Vec::new();
        while !self.reader.take("}") {
            if !places.is_empty() {
                self.reader.expect(",")?;
            }
            self.reader.rest();
            let at = self.reader.at as u32;
            let dimension = self.reader.expect_name("the name of a dimension")?;
            self.reader.expect(":")?;
            places.push((dimension, self.label(b'}')?, at));
        }
        let (labels, offset) = self.address(cells, &places)?;
        self.reader.expect(":")?;
        self.cell(cells, labels, offset)
    }

    /// The labels and the place in the block of an address.
    fn address(
        &mut self,
        cells: &Cells,
        places: &[(String, String, u32)],
    ) -> Result<(Vec<String>, usize), Fault> {
        let kind = &cells.kind;
        if let Some((name, _, at)) = places.iter().find(|(name, ..)| kind.dimension(name).is_none())
        {
            let reason = Reason::Unknown(format!("dimension {name} of {kind}"));
            return Err(Fault { at: *at, reason });
        }
        let (mut labels, mut offset) = (Vec::new(), 0);
        for dimension in kind.dimensions() {
            let mut named = places.iter().filter(|(name, ..)| **name == *dimension.name);
            let (Some((_, label, at)), None) = (named.next(), named.next()) else {
                return Err(self
                    .reader
                    .unexpected(&format!("one place along dimension {}", dimension.name)));
            };
            match dimension.size() {
                None => labels.push(label.clone()),
                Some(size) => offset = offset * size + index(label, dimension, *at)?,
            }
        }
        Ok((labels, offset))
    }

    /// `0:value`, in a tensor of one indexed dimension.
    fn indexed(&mut self, cells: &mut Cells) -> Result<(), Fault> {
        self.reader.rest();
        let at = self.reader.at as u32;
        let label = self.label(b'}')?;
        let offset = index(&label, &cells.kind.dimensions()[0], at)?;
        self.reader.expect(":")?;
        self.cell(cells, Vec::new(), offset)
    }

    /// `[1,2,3]` or `[[1,2],[3,4]]`: all cells of a block, the last dimension innermost; brackets within are of no meaning
    /// but must be balanced.
    fn block(&mut self, cells: &mut Cells, labels: &[String]) -> Result<(), Fault> {
        self.reader.expect("[")?;
        let (mut open, mut offset, size) = (1, 0, cells.kind.block_size());
        let most = cells.kind.indexed().count();
        while open > 0 {
            if self.reader.take("]") {
                open -= 1;
            } else if self.reader.peek() == b'[' && open < most {
                self.reader.expect("[")?;
                open += 1;
                continue;
            } else {
                if offset == size {
                    return Err(self
                        .reader
                        .unexpected(&format!("] after {size} cells of {}", cells.kind)));
                }
                self.cell(cells, labels.to_vec(), offset)?;
                offset += 1;
            }
            if open > 0 && !self.reader.take(",") && self.reader.peek() != b']' {
                return Err(self.reader.unexpected(", or ]"));
            }
        }
        if offset != size {
            return Err(self
                .reader
                .unexpected(&format!("{size} cells of {}, got {offset}", cells.kind)));
        }
        Ok(())
    }
}

fn index(label: &str, dimension: &Dimension, at: u32) -> Result<usize, Fault> {
    let size = dimension.size().unwrap_or(0);
    label.parse().ok().filter(|index| *index < size).ok_or_else(|| {
        let found = format!("{label:?}");
        let expected = format!("an index below {size} along dimension {}", dimension.name);
        Fault { at, reason: Reason::Unexpected { found, expected } }
    })
}
