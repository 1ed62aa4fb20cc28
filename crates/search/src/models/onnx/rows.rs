//! The values of an input for documents, as the tensors that a run takes.

use std::borrow::Cow;

use stead_app::application::rank::SourceType;
use stead_expr::{Attribute, Label, Numbers, TensorType};
use stead_tensor::{AlignedBuf, Tensor};

use super::convert::{Unfit, bytes, write};
use super::port::{Port, buffer};
use crate::models::columns::{Column, Documents, Texts};
use crate::models::inputs::Values;

/// The values of an input, one for each document.
pub(super) struct Rows<'v> {
    port: &'v Port,
    data: Data<'v>,
    /// The place of each document in the data; without it that is its number.
    index: Option<&'v [u32]>,
}

enum Data<'v> {
    /// `size` cells for each document, `stride` from one to the next.
    Dense {
        cells: Numbers<'v>,
        stride: usize,
        size: usize,
    },
    /// Blocks with labels.
    Mixed {
        kind: &'v TensorType,
        offsets: Cow<'v, [u32]>,
        labels: Cow<'v, [Label]>,
        cells: Numbers<'v>,
    },
    /// A list of numbers for each document.
    Lists {
        offsets: &'v [u32],
        numbers: Numbers<'v>,
    },
    Texts(&'v dyn Texts),
}

impl<'v> Rows<'v> {
    /// The values of an input of documents; nothing if they are not as the type says.
    pub(super) fn new(
        port: &'v Port,
        values: &'v Values<'v>,
        documents: &Documents<'v>,
    ) -> Option<Rows<'v>> {
        let kind = match &port.kind {
            SourceType::Tensor(kind) => Some(kind),
            _ => None,
        };
        let given = match values {
            Values::Given(column) => (*column, documents.index),
            _ => return None,
        };
        let (column, index) = given;
        let data = match column {
            Column::Texts(texts) => Data::Texts(*texts),
            Column::Lists { offsets, numbers } => Data::Lists { offsets, numbers: *numbers },
            Column::Cells(attribute) => Rows::cells(kind, attribute)?,
        };
        Some(Rows { port, data, index })
    }

    /// The values that an expression has for documents in turn.
    pub(super) fn computed(port: &'v Port, column: &'v Attribute<'v>) -> Option<Rows<'v>> {
        let SourceType::Tensor(kind) = &port.kind else { return None };
        Some(Rows { port, data: Rows::cells(Some(kind), column)?, index: None })
    }

    fn cells(kind: Option<&'v TensorType>, attribute: &'v Attribute<'v>) -> Option<Data<'v>> {
        Some(match attribute {
            Attribute::Numbers(numbers) => Data::Dense { cells: *numbers, stride: 1, size: 1 },
            Attribute::Dense { cells, stride } => {
                let size = kind?.block_size();
                Data::Dense { cells: Numbers::of_cells(cells), stride: *stride, size }
            }
            Attribute::Mixed { offsets, labels, cells } => Data::Mixed {
                kind: kind?,
                offsets: Cow::Borrowed(offsets),
                labels: Cow::Borrowed(labels),
                cells: Numbers::of_cells(cells),
            },
        })
    }

    /// The input.
    pub(super) fn port(&self) -> &'v Port {
        self.port
    }

    fn place(&self, row: usize) -> usize {
        match self.index {
            Some(index) => index.get(row).map_or(usize::MAX, |at| *at as usize),
            None => row,
        }
    }

    /// The elements of a document whose size is always the same.
    fn dense(&self, row: usize) -> Option<Numbers<'v>> {
        let Data::Dense { cells, stride, size } = self.data else { return None };
        let first = self.place(row).checked_mul(stride)?;
        cells.part(first..first.checked_add(size)?)
    }

    /// The elements of documents from `begin` on as they lie, if they lie behind each other in the type of the input.
    pub(super) fn borrowed(&self, begin: usize, count: usize) -> Option<&'v [u8]> {
        let Data::Dense { cells, stride, size } = self.data else { return None };
        if self.index.is_some() || stride != size {
            return None;
        }
        bytes(cells.part(begin * size..(begin + count) * size)?, self.port.dtype)
    }

    /// The elements of documents from `begin` on, behind each other.
    pub(super) fn stacked(
        &self,
        begin: usize,
        count: usize,
        is_rounded: bool,
        buf: &mut AlignedBuf,
    ) -> Result<usize, Unfit> {
        let Data::Dense { size, .. } = self.data else { return Err(missing()) };
        let bytes = size * self.port.dtype.bits() / 8;
        if buf.len() < count * bytes {
            *buf = buffer(count * bytes)?;
        }
        for (row, room) in buf.chunks_exact_mut(bytes.max(1)).take(count).enumerate() {
            let numbers = self.dense(begin + row).ok_or_else(missing)?;
            write(numbers, self.port.dtype, is_rounded, room)?;
        }
        Ok(count * bytes)
    }

    /// How many elements of a document there are up to the last one that is not 0.
    pub(super) fn used(&self, row: usize) -> usize {
        let Some(numbers) = self.dense(row) else { return 0 };
        (0..numbers.len()).rev().find(|at| numbers.get(*at) != Some(0.0)).map_or(0, |at| at + 1)
    }

    /// The first elements of some documents, behind each other.
    pub(super) fn cut(
        &self,
        documents: &[usize],
        length: usize,
        is_rounded: bool,
        buf: &mut AlignedBuf,
    ) -> Result<usize, Unfit> {
        let bytes = length * self.port.dtype.bits() / 8;
        if buf.len() < documents.len() * bytes {
            *buf = buffer(documents.len() * bytes)?;
        }
        for (row, room) in documents.iter().zip(buf.chunks_exact_mut(bytes.max(1))) {
            let numbers = self.dense(*row).and_then(|numbers| numbers.part(0..length));
            write(numbers.ok_or_else(missing)?, self.port.dtype, is_rounded, room)?;
        }
        Ok(documents.len() * bytes)
    }

    /// The tensor of one document.
    pub(super) fn tensor(&self, row: usize, is_rounded: bool) -> Result<Tensor, Unfit> {
        let place = self.place(row);
        let range = |offsets: &[u32]| -> Option<std::ops::Range<usize>> {
            let (first, behind) = (*offsets.get(place)?, *offsets.get(place.checked_add(1)?)?);
            (first <= behind).then_some(first as usize..behind as usize)
        };
        match &self.data {
            Data::Dense { .. } => {
                let numbers = self.dense(row).ok_or_else(missing)?;
                let shape = self.port.shape().ok_or_else(missing)?;
                let mut buf = buffer(numbers.len() * self.port.dtype.bits() / 8)?;
                write(numbers, self.port.dtype, is_rounded, &mut buf)?;
                stead_tensor::Shape::new(&shape)
                    .and_then(|shape| Tensor::from_buffer(self.port.dtype, shape, buf))
                    .map_err(|e| Unfit { number: e.to_string() })
            }
            Data::Mixed { kind, offsets, labels, cells } => {
                let blocks = range(offsets).ok_or_else(missing)?;
                let size = kind.block_size();
                let labels = labels.get(blocks.clone()).ok_or_else(missing)?;
                let cells =
                    cells.part(blocks.start * size..blocks.end * size).ok_or_else(missing)?;
                self.port.tensor_of(kind, labels, cells, is_rounded)
            }
            Data::Lists { offsets, numbers } => {
                let numbers = range(offsets).and_then(|range| numbers.part(range));
                self.port.list(numbers.ok_or_else(missing)?, is_rounded)
            }
            Data::Texts(texts) => {
                if place >= texts.documents() {
                    return Err(missing());
                }
                let text = |at: usize| texts.text(place, at).as_bytes().to_vec();
                self.port.texts((0..texts.count(place)).map(text).collect())
            }
        }
    }
}

fn missing() -> Unfit {
    Unfit { number: "a document without a value".to_owned() }
}
