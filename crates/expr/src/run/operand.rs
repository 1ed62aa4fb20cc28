//! Operands of fused steps: the blocks of each document where they lie, computed or stored.

use std::ops::Range;

use super::attribute::{Attribute, Rows};
use super::column::Column;
use super::list::Numbers;
use crate::types::TensorType;
use crate::value::{Cells, Label};

/// The value of a step for the documents of a block, or the attribute that it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operand<'v> {
    Column(&'v Column<'v>, &'v TensorType),
    Attribute(&'v Attribute<'v>, &'v TensorType, Rows<'v>),
}

/// Tensors of documents.
#[derive(Debug)]
pub(super) struct Blocks<'v> {
    pub(super) cells: &'v Cells<'v>,
    /// Cells of a block.
    pub(super) size: usize,
    /// Cells from one block to the next.
    stride: usize,
    offsets: Option<&'v [u32]>,
    labels: &'v [Label],
    width: usize,
    rows: Rows<'v>,
    /// Whether one tensor counts for all documents.
    pub(super) is_one: bool,
}

impl<'v> Operand<'v> {
    /// The tensors; `None` for an attribute of numbers.
    pub(super) fn blocks(self) -> Option<Blocks<'v>> {
        let (kind, rows, is_one) = match self {
            Operand::Column(column, kind) => {
                (kind, Rows { begin: 0, count: column.rows, index: None }, column.rows == 1)
            }
            Operand::Attribute(_, kind, rows) => (kind, rows, false),
        };
        let (size, width) = (kind.block_size(), kind.mapped_count());
        let (cells, stride, offsets, labels): (_, _, _, &[Label]) = match self {
            Operand::Column(column, _) => {
                (&column.cells, size, column.offsets.as_deref(), &column.labels)
            }
            Operand::Attribute(Attribute::Dense { cells, stride }, ..) => {
                (cells, *stride, None, &[])
            }
            Operand::Attribute(Attribute::Mixed { offsets, labels, cells }, ..) => {
                (cells, size, Some(offsets), labels)
            }
            Operand::Attribute(Attribute::Numbers(_), ..) => return None,
        };
        Some(Blocks { cells, size, stride, offsets, labels, width, rows, is_one })
    }

    /// The number of each document, or of all.
    pub(super) fn numbers(self) -> Option<(Numbers<'v>, Rows<'v>)> {
        match self {
            Operand::Attribute(Attribute::Numbers(numbers), _, rows) => Some((*numbers, rows)),
            Operand::Column(column, _) => match &column.cells {
                Cells::Double(numbers) => {
                    let rows = Rows { begin: 0, count: column.rows, index: None };
                    Some((Numbers::F64(numbers), rows))
                }
                _ => None,
            },
            Operand::Attribute(..) => None,
        }
    }

    /// How many documents it has values for, or 1 for all of them.
    pub(super) fn rows(self) -> usize {
        match self {
            Operand::Column(column, _) => column.rows,
            Operand::Attribute(.., rows) => rows.count,
        }
    }
}

impl Blocks<'_> {
    /// The blocks of a document, as places among all.
    pub(super) fn of_row(&self, row: usize) -> Range<usize> {
        let place = if self.is_one { 0 } else { self.rows.place(row) };
        match self.offsets {
            None => place..place + 1,
            Some(offsets) => offsets[place] as usize..offsets[place + 1] as usize,
        }
    }

    /// The blocks of all documents, if they lie behind each other in order.
    pub(super) fn of_all(&self, rows: usize) -> Option<Range<usize>> {
        let is_whole = self.rows.index.is_none() && self.stride == self.size && !self.is_one;
        (is_whole && rows > 0).then(|| self.of_row(0).start..self.of_row(rows - 1).end)
    }

    /// The cells of blocks that lie behind each other. Those of more than one must have no gaps.
    pub(super) fn range(&self, blocks: &Range<usize>) -> Range<usize> {
        debug_assert!(blocks.len() <= 1 || self.stride == self.size, "blocks without gaps");
        let begin = blocks.start * self.stride;
        begin..begin + blocks.len() * self.size
    }

    /// The labels of blocks.
    pub(super) fn labels(&self, blocks: &Range<usize>) -> &[Label] {
        &self.labels[blocks.start * self.width..blocks.end * self.width]
    }
}
