//! Values of documents, kept as a column.

use crate::map_cells;
use crate::run::{Attribute, Column, Numbers};
use crate::types::TensorType;
use crate::value::{Cells, Label, Labels, Value};

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

    /// Tensors without mapped dimensions, their cells behind each other; nothing if the type has mapped dimensions or other
    /// cells, or the last tensor is not whole.
    #[must_use]
    pub fn dense(kind: TensorType, cells: Cells<'static>) -> Option<Stored> {
        let size = kind.block_size();
        let is_whole =
            cells.len().is_multiple_of(size) && size > 0 && cells.cell_type() == kind.cell();
        let count = u32::try_from(cells.len().checked_div(size)?).ok()?;
        let offsets = (0..=count).collect();
        let fits = kind.is_dense() && is_whole;
        fits.then(|| Stored { kind, offsets, labels: Vec::new(), held: Vec::new(), cells })
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
        if !self.cells.extend(value.cells()) {
            return false;
        }
        if !value.labels().is_empty() {
            self.labels.extend_from_slice(value.labels());
            self.held.push(Labels::hold(value.labels().to_vec()));
        }
        self.offsets.push(behind);
        true
    }

    /// Adds `count` tensors of a column of the same type; returns false if there are too many blocks.
    #[must_use]
    pub(crate) fn append(&mut self, column: &Column<'_>, count: usize) -> bool {
        if column.rows == 1 && count != 1 {
            let value = column.value(&self.kind, 0);
            return (0..count).all(|_| self.push(&value));
        }
        let first = self.offsets.last().map_or(0, |o| *o as usize);
        if u32::try_from(first + column.block_count()).is_err() || !self.cells.extend(&column.cells)
        {
            return false;
        }
        self.offsets.extend((0..count).map(|row| (first + column.blocks(row).end) as u32));
        if !column.labels.is_empty() {
            self.labels.extend_from_slice(&column.labels);
            self.held.push(Labels::hold(column.labels.to_vec()));
        }
        true
    }

    /// Each value alone.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let (mapped, size) = (self.kind.mapped_count(), self.kind.block_size());
        let value = |ends: &[u32]| {
            let (first, behind) = (ends[0] as usize, ends[1] as usize);
            let labels = self.labels[first * mapped..behind * mapped].to_vec();
            let cells = map_cells!(&self.cells, a => a[first * size..behind * size].to_vec());
            Value::from_parts(self.kind.clone(), labels, cells)
        };
        self.offsets.windows(2).map(value).collect()
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
        debug_assert_eq!(cells.len() % self.kind.block_size(), 0, "whole blocks");
        Attribute::Mixed { offsets, labels, cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Documents, Scratch};
    use crate::ir::Rate;
    use crate::types::parse_type;

    #[test]
    fn columns_of_results_are_those_of_the_documents_in_turn() {
        let scope = |name: &str| match name {
            "d" => Some((parse_type("tensor<float>(k{},x[2])").unwrap(), Rate::Document)),
            "n" => Some((TensorType::double(), Rate::Document)),
            _ => None,
        };
        let one = |text: &str| crate::compile(text, &scope).unwrap().run(&[]).unwrap();
        let mut tensors = Stored::new(parse_type("tensor<float>(k{},x[2])").unwrap());
        for text in ["{a:[1,2]}", "{}", "{b:[3,4],c:[5,6]}"] {
            assert!(tensors.push(&one(&format!("tensor<float>(k{{}},x[2]):{text}"))));
        }
        let numbers =
            Stored::dense(TensorType::double(), Cells::Double(vec![1.0, 2.0, 3.0].into()));
        let numbers = numbers.unwrap();
        for text in ["d * 2", "d + n", "sum(d)", "n", "tensor(x[2]):[7,8]", "sum(d, k)"] {
            let compiled = crate::compile(text, &scope).unwrap();
            let columns: Vec<_> = compiled
                .document_names()
                .map(|name| if name == "d" { tensors.attribute() } else { numbers.attribute() })
                .collect();
            for index in [None, Some(&[2_u32, 0, 2][..])] {
                let documents = Documents { count: 3, index, attributes: &columns };
                let bound = compiled.for_query(&[]).unwrap();
                let mut scratch = Scratch::default();
                let stored = bound.stored(&documents, &mut scratch).unwrap();
                let expected = bound.values(&documents, &mut scratch).unwrap();
                assert_eq!((stored.len(), stored.kind()), (3, compiled.kind()), "{text}");
                assert_eq!(stored.values(), expected, "{text}");
                let found = Documents { count: 3, index: None, attributes: &[stored.attribute()] };
                let same =
                    |name: &str| (name == "x").then(|| (compiled.kind().clone(), Rate::Document));
                let same = crate::compile("x", &same).unwrap().for_query(&[]).unwrap();
                assert_eq!(same.values(&found, &mut scratch).unwrap(), expected, "{text}");
            }
        }
    }

    #[test]
    fn dense_columns_hold_whole_tensors_of_their_type() {
        let cells = |count| Cells::Float(vec![0.0; count].into());
        for (kind, count, expected) in [
            ("tensor<float>(x[2])", 6, Some(3)),
            ("tensor<float>(x[2])", 0, Some(0)),
            ("tensor<float>(x[2])", 5, None),
            ("tensor(x[2])", 4, None),
            ("tensor<float>(x{})", 4, None),
        ] {
            let stored = Stored::dense(parse_type(kind).unwrap(), cells(count));
            assert_eq!(stored.map(|s| s.len()), expected, "{count} cells of {kind}");
        }
    }
}
