//! What documents have under a name: columns as a store keeps them, read where they lie.

use std::borrow::Cow;

use super::column::Column;
use super::list::Numbers;
use super::pool::Pool;
use crate::map_cells;
use crate::types::TensorType;
use crate::value::{Cells, Label, same_cells};

/// The values of one name for many documents, borrowed from whoever stores them.
#[derive(Debug, Clone)]
pub enum Attribute<'a> {
    /// A number for each document.
    Numbers(Numbers<'a>),
    /// A tensor without mapped dimensions for each document, `stride` cells from one to the next.
    Dense {
        /// The cells of all documents, of the cell type of the tensors.
        cells: Cells<'a>,
        /// At least the cells of a tensor.
        stride: usize,
    },
    /// A tensor with mapped dimensions for each document.
    Mixed {
        /// The block with which each document begins, and behind the last document the number of all blocks.
        offsets: Cow<'a, [u32]>,
        /// The labels of each block in the order of the mapped dimensions; the blocks of a document in ascending order
        /// of their labels, each once, as in [`Value`](crate::Value).
        labels: Cow<'a, [Label]>,
        /// The cells of each block.
        cells: Cells<'a>,
    },
}

/// The documents of a block: those of an index, or all from one on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) begin: usize,
    pub(crate) count: usize,
    /// The place of each document in the columns.
    pub(crate) index: Option<&'a [u32]>,
}

impl Rows<'_> {
    /// The place of a document in the columns.
    pub(crate) fn place(&self, row: usize) -> usize {
        match self.index {
            Some(index) => index[row] as usize,
            None => self.begin + row,
        }
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|row| self.place(row))
    }
}

/// What does not fit in an attribute, for the error that names it.
pub(crate) fn fault(
    attribute: &Attribute<'_>,
    kind: &TensorType,
    rows: Rows<'_>,
) -> Option<String> {
    let most = match rows.index {
        None => rows.begin + rows.count,
        Some(index) => index.iter().max().map_or(0, |m| *m as usize + 1),
    };
    let too_few = |has: usize| {
        (has < most).then(|| format!("documents up to number {most}, got {has} of them"))
    };
    let size = kind.block_size();
    let wrong_cells = |cells: &Cells<'_>| {
        let found = cells.cell_type();
        (found != kind.cell()).then(|| format!("cells of type {}, got {found}", kind.cell()))
    };
    match attribute {
        Attribute::Numbers(numbers) if kind.is_double() => too_few(numbers.len()),
        Attribute::Dense { cells, stride } if kind.is_dense() && !kind.is_double() => {
            let (stride, len) = (*stride, cells.len());
            if stride < size {
                return Some(format!("a stride of at least {size} cells, got {stride}"));
            }
            let has = if len < size { 0 } else { (len - size) / stride + 1 };
            wrong_cells(cells).or_else(|| too_few(has))
        }
        Attribute::Mixed { offsets, labels, cells } if !kind.is_dense() => {
            if let Some(fault) =
                wrong_cells(cells).or_else(|| too_few(offsets.len().saturating_sub(1)))
            {
                return Some(fault);
            }
            let blocks = (cells.len() / size).min(labels.len() / kind.mapped_count());
            let is_within = |place: usize| {
                let (first, behind) = (offsets[place], offsets[place + 1]);
                first <= behind && behind as usize <= blocks
            };
            let bad = rows.places().find(|place| !is_within(*place))?;
            Some(format!(
                "blocks of document {bad} among {blocks}, got {:?}",
                &offsets[bad..bad + 2]
            ))
        }
        Attribute::Numbers(_) => Some("tensors, got numbers".to_owned()),
        Attribute::Dense { .. } => Some("another form, got dense tensors".to_owned()),
        Attribute::Mixed { .. } => Some("another form, got tensors with labels".to_owned()),
    }
}

/// The values of some documents as a column; what lies together is borrowed.
pub(crate) fn column<'a>(
    attribute: &'a Attribute<'_>,
    kind: &TensorType,
    rows: Rows<'_>,
    pool: &mut Pool,
) -> Column<'a> {
    let (size, width) = (kind.block_size(), kind.mapped_count());
    match attribute {
        Attribute::Numbers(numbers) => numbers.column(rows, pool),
        Attribute::Dense { cells, stride } if rows.index.is_none() && *stride == size => {
            let cells = slice(cells, rows.begin * size..(rows.begin + rows.count) * size);
            Column::dense(rows.count, cells)
        }
        Attribute::Dense { cells, stride } => {
            let all = gathered(cells, rows.places().map(|p| p * stride..p * stride + size), pool);
            Column::dense(rows.count, all)
        }
        Attribute::Mixed { offsets, labels, cells } => {
            let mut own = pool.offsets();
            own.push(0);
            if rows.index.is_none() {
                let first = offsets[rows.begin];
                own.extend(offsets[rows.begin + 1..][..rows.count].iter().map(|o| o - first));
                let (first, behind) = (first as usize, offsets[rows.begin + rows.count] as usize);
                return Column {
                    rows: rows.count,
                    offsets: Some(own.into()),
                    labels: Cow::Borrowed(&labels[first * width..behind * width]),
                    cells: slice(cells, first * size..behind * size),
                };
            }
            let blocks = |place: usize| offsets[place] as usize..offsets[place + 1] as usize;
            let mut own_labels = pool.labels();
            let mut count = 0;
            for blocks in rows.places().map(blocks) {
                count += blocks.len() as u32;
                own.push(count);
                own_labels.extend_from_slice(&labels[blocks.start * width..blocks.end * width]);
            }
            let ranges = rows.places().map(blocks).map(|b| b.start * size..b.end * size);
            let cells = gathered(cells, ranges, pool);
            Column { rows: rows.count, offsets: Some(own.into()), labels: own_labels.into(), cells }
        }
    }
}

fn slice<'a>(cells: &'a Cells<'_>, range: std::ops::Range<usize>) -> Cells<'a> {
    map_cells!(cells, all => &all[range])
}

fn gathered(
    cells: &Cells<'_>,
    ranges: impl Iterator<Item = std::ops::Range<usize>>,
    pool: &mut Pool,
) -> Cells<'static> {
    let mut result = pool.cells(cells.cell_type());
    same_cells!(&mut result, cells, (to, from) => {
        let to = to.to_mut();
        ranges.for_each(|range| to.extend_from_slice(&from[range]));
    }, else debug_assert!(false, "the pool gives cells of the type that was asked for"));
    result
}
