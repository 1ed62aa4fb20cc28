//! Values of documents, kept as a column.

use crate::run::{Attribute, Numbers};
use crate::types::TensorType;
use crate::value::{Cells, Label, Labels, Value, each};

/// Values of one type behind each other, to be used as an [`Attribute`]. A store of documents has its own columns; this one
/// is for whoever has values.
#[derive(Debug)]
pub struct Stored {
    kind: TensorType,
    offsets: Vec<u32>,
    labels: Vec<Label>,
    /// Holds the texts of the labels.
    held: Vec<Labels>,
    cells: Cells<'static>,
}

impl Stored {
    /// No values of a type.
    #[must_use]
    pub fn new(kind: TensorType) -> Stored {
        let cells = Cells::zeros(kind.cell(), 0);
        Stored { kind, offsets: vec![0], labels: Vec::new(), held: Vec::new(), cells }
    }

    /// The type.
    #[must_use]
    pub fn kind(&self) -> &TensorType {
        &self.kind
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value; returns false, and adds nothing, if it is of another type or there are too many blocks.
    #[must_use]
    pub fn push(&mut self, value: &Value) -> bool {
        let blocks = self.offsets.last().map_or(0, |o| *o as usize) + value.blocks();
        let Ok(behind) = u32::try_from(blocks) else { return false };
        if value.kind() != &self.kind {
            return false;
        }
        match (&mut self.cells, value.cells()) {
            (Cells::Double(to), Cells::Double(from)) => to.to_mut().extend_from_slice(from),
            (Cells::Float(to), Cells::Float(from)) => to.to_mut().extend_from_slice(from),
            (Cells::BFloat16(to), Cells::BFloat16(from)) => to.to_mut().extend_from_slice(from),
            (Cells::Int8(to), Cells::Int8(from)) => to.to_mut().extend_from_slice(from),
            _ => return false,
        }
        self.labels.extend_from_slice(value.labels());
        self.held.push(Labels::hold(value.labels().to_vec()));
        self.offsets.push(behind);
        true
    }

    /// All values as a column.
    #[must_use]
    pub fn attribute(&self) -> Attribute<'_> {
        if let (true, Cells::Double(numbers)) = (self.kind.is_double(), &self.cells) {
            return Attribute::Numbers(Numbers::F64(numbers));
        }
        let cells = self.cells.borrowed();
        if self.kind.is_dense() {
            return Attribute::Dense { cells, stride: self.kind.block_size() };
        }
        let (offsets, labels) = (self.offsets[..].into(), self.labels[..].into());
        debug_assert_eq!(each!(&cells, a => a.len()) % self.kind.block_size(), 0, "whole blocks");
        Attribute::Mixed { offsets, labels, cells }
    }
}
