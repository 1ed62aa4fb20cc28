//! The values of a step for a batch of documents.

use std::borrow::Cow;

use crate::types::TensorType;
use crate::value::{Cells, Label, Value};

/// One tensor for each document of a batch, or one for all of them, all of one type. Their blocks stand behind each other.
#[derive(Debug, Clone)]
pub(crate) struct Column<'a> {
    /// One tensor, which counts for each document, or as many as there are documents.
    pub(crate) rows: usize,
    /// Where the blocks of each row begin, and where the last ends; `None` when each row has exactly one.
    pub(crate) offsets: Option<Cow<'a, [u32]>>,
    /// The labels of each block.
    pub(crate) labels: Cow<'a, [Label]>,
    pub(crate) cells: Cells<'a>,
}

impl<'a> Column<'a> {
    /// Tensors without mapped dimensions.
    pub(crate) fn dense(rows: usize, cells: Cells<'a>) -> Column<'a> {
        Column { rows, offsets: None, labels: Cow::Borrowed(&[]), cells }
    }

    /// Numbers, one for each row.
    pub(crate) fn numbers(numbers: Vec<f64>) -> Column<'static> {
        Column::dense(numbers.len(), Cells::Double(numbers.into()))
    }

    /// Tensors with mapped dimensions.
    pub(crate) fn sparse(offsets: Vec<u32>, labels: Vec<Label>, cells: Cells<'a>) -> Column<'a> {
        let rows = offsets.len().saturating_sub(1);
        Column { rows, offsets: Some(offsets.into()), labels: labels.into(), cells }
    }

    /// A value for all documents.
    pub(crate) fn of_value(value: &'a Value) -> Column<'a> {
        let offsets = (!value.kind().is_dense()).then(|| vec![0, value.blocks() as u32].into());
        Column { rows: 1, offsets, labels: value.labels().into(), cells: value.cells().borrowed() }
    }

    /// The blocks of a row; of the only row, if there is one for all.
    pub(crate) fn blocks(&self, row: usize) -> std::ops::Range<usize> {
        let row = if self.rows == 1 { 0 } else { row };
        match &self.offsets {
            None => row..row + 1,
            Some(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        }
    }

    /// All blocks of all rows.
    pub(crate) fn block_count(&self) -> usize {
        match &self.offsets {
            None => self.rows,
            Some(offsets) => offsets.last().map_or(0, |o| *o as usize),
        }
    }

    /// The same without a copy.
    pub(crate) fn borrowed(&self) -> Column<'_> {
        Column {
            rows: self.rows,
            offsets: self.offsets.as_deref().map(Cow::Borrowed),
            labels: Cow::Borrowed(&self.labels),
            cells: self.cells.borrowed(),
        }
    }

    /// The same, copied only where it was borrowed.
    pub(crate) fn into_owned(self) -> Column<'static> {
        Column {
            rows: self.rows,
            offsets: self.offsets.map(|o| o.into_owned().into()),
            labels: self.labels.into_owned().into(),
            cells: self.cells.into_owned(),
        }
    }

    /// The tensor of a row as a value that stands alone.
    pub(crate) fn value(&self, kind: &TensorType, row: usize) -> Value {
        let (blocks, mapped, size) = (self.blocks(row), kind.mapped_count(), kind.block_size());
        let labels = self.labels[blocks.start * mapped..blocks.end * mapped].to_vec();
        let range = blocks.start * size..blocks.end * size;
        let cells = crate::map_cells!(&self.cells, a => a[range].to_vec());
        Value::from_parts(kind.clone(), labels, cells)
    }

    /// Numbers, one for each row, or one for all.
    pub(crate) fn as_numbers(&self) -> Cow<'_, [f64]> {
        self.cells.doubles()
    }

    /// The place of a row in a list with an entry for each row.
    pub(crate) fn row(&self, row: usize) -> usize {
        if self.rows == 1 { 0 } else { row }
    }
}

/// The rows of a result: as many as there are documents if one operand has as many, else one for all.
pub(crate) fn rows_of(operands: &[&Column<'_>]) -> usize {
    operands.iter().map(|o| o.rows).find(|rows| *rows != 1).unwrap_or(1)
}
