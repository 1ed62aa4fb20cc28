//! Vectors where a column of tensors has them.

use std::borrow::Cow;
use std::ops::Range;

use half::bf16;
use stead_expr::{CellType, Cells};
use stead_tensor::Bits;

/// A type of numbers that graphs of vectors know.
pub(crate) trait VectorCell: stead_ann::Cell + bytemuck::Pod {
    /// As types of tensors name it.
    const CELL: CellType;

    /// The numbers of cells that are borrowed, if they have this type.
    fn numbers(cells: Cells<'_>) -> Option<&[Self]>;
}

impl VectorCell for f64 {
    const CELL: CellType = CellType::Double;

    fn numbers(cells: Cells<'_>) -> Option<&[f64]> {
        if let Cells::Double(Cow::Borrowed(cells)) = cells { Some(cells) } else { None }
    }
}

impl VectorCell for f32 {
    const CELL: CellType = CellType::Float;

    fn numbers(cells: Cells<'_>) -> Option<&[f32]> {
        if let Cells::Float(Cow::Borrowed(cells)) = cells { Some(cells) } else { None }
    }
}

impl VectorCell for bf16 {
    const CELL: CellType = CellType::BFloat16;

    fn numbers(cells: Cells<'_>) -> Option<&[bf16]> {
        if let Cells::BFloat16(Cow::Borrowed(cells)) = cells { Some(cells) } else { None }
    }
}

impl VectorCell for i8 {
    const CELL: CellType = CellType::Int8;

    fn numbers(cells: Cells<'_>) -> Option<&[i8]> {
        if let Cells::Int8(Cow::Borrowed(cells)) = cells { Some(cells) } else { None }
    }
}

/// The vectors of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnVectors<'c, T> {
    pub(super) cells: &'c [T],
    /// The vector with which each document begins, and the number of all, where documents may have several.
    pub(super) offsets: Option<&'c [u32]>,
    /// The documents without a vector, where documents have one and some have none.
    pub(super) absent: Option<&'c Bits>,
}

impl<'c, T> ColumnVectors<'c, T> {
    /// Those of no documents.
    pub(crate) const NONE: ColumnVectors<'c, T> =
        ColumnVectors { cells: &[], offsets: None, absent: None };

    /// One of each document, one behind the other.
    pub(crate) fn of_each(cells: &'c [T]) -> ColumnVectors<'c, T> {
        ColumnVectors { cells, ..ColumnVectors::NONE }
    }

    /// The vectors of a document, by their numbers in the column.
    #[inline(always)]
    pub(crate) fn of(&self, row: usize) -> Range<usize> {
        match self.offsets {
            None if self.absent.is_some_and(|absent| absent.contains(row)) => 0..0,
            None => row..row + 1,
            Some(offsets) => match offsets.get(row..).and_then(|rest| rest.first_chunk()) {
                Some([begin, end]) => *begin as usize..*end as usize,
                None => 0..0,
            },
        }
    }

    /// A vector by its number, of so many cells.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize, size: usize) -> Option<&'c [T]> {
        let begin = number.checked_mul(size)?;
        self.cells.get(begin..begin.checked_add(size)?)
    }
}
