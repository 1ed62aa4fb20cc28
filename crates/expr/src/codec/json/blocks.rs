//! Blocks of a tensor as JSON gives them, in any order and piece by piece.

use std::collections::HashMap;

use super::JsonError;
use crate::run::MAX_CELLS;
use crate::types::TensorType;
use crate::value::{Cells, Labels, MAX_LABEL, Number, Value, ValueError};

/// Blocks as they are read, in three lists: a tensor of many small blocks takes little more than its cells.
pub(in crate::codec) struct Blocks<'k> {
    pub(in crate::codec) kind: &'k TensorType,
    /// The cells of a block.
    pub(in crate::codec) size: usize,
    labels: Labels,
    cells: Cells<'static>,
    /// Which cells are given, and where the blocks of labels are: only where a block has several cells, which may come
    /// one by one.
    given: Vec<bool>,
    by_labels: HashMap<Vec<String>, usize>,
}

impl<'k> Blocks<'k> {
    pub(in crate::codec) fn new(kind: &'k TensorType) -> Blocks<'k> {
        Blocks {
            kind,
            size: kind.block_size(),
            labels: Labels::default(),
            cells: Cells::zeros(kind.cell(), 0),
            given: Vec::new(),
            by_labels: HashMap::new(),
        }
    }

    /// One cell of the block of these labels.
    pub(in crate::codec) fn cell(
        &mut self,
        labels: &[String],
        offset: usize,
        cell: Number,
    ) -> Result<(), JsonError> {
        let block = self.place(labels)?;
        self.set(block, offset, cell, labels)
    }

    /// The number of the block of these labels; a new one if there is room for its cells.
    pub(in crate::codec) fn place(&mut self, labels: &[String]) -> Result<usize, JsonError> {
        if let Some(label) = labels.iter().find(|l| l.len() > MAX_LABEL) {
            return Err(JsonError::Long(label.len()));
        }
        if let Some(block) = self.by_labels.get(labels).filter(|_| !self.is_one_cell()) {
            return Ok(*block);
        }
        let (block, end) = (self.cells.len() / self.size, self.cells.len() + self.size);
        if end > MAX_CELLS {
            return Err(JsonError::TooLarge);
        }
        labels.iter().for_each(|label| self.labels.push(label));
        self.cells.resize(end);
        if !self.is_one_cell() {
            self.given.resize(end, false);
            self.by_labels.insert(labels.to_vec(), block);
        }
        Ok(block)
    }

    /// Sets a cell that was not given before.
    pub(in crate::codec) fn set(
        &mut self,
        block: usize,
        offset: usize,
        cell: Number,
        labels: &[String],
    ) -> Result<(), JsonError> {
        let at = block * self.size + offset;
        if let Some(given) = self.given.get_mut(at)
            && std::mem::replace(given, true)
        {
            return Err(self.twice(labels.iter().map(String::as_str)));
        }
        Ok(self.cells.set(at, cell)?)
    }

    /// Whether each cell is a block: then one that comes twice is found when all are together.
    fn is_one_cell(&self) -> bool {
        self.size == 1 && self.kind.mapped_count() > 0
    }

    fn twice<'l>(&self, labels: impl Iterator<Item = &'l str>) -> JsonError {
        let names = self.kind.mapped().zip(labels).map(|(d, l)| format!("{}:{l}", d.name));
        JsonError::Twice(format!("{{{}}}", names.collect::<Vec<_>>().join(",")))
    }

    /// The tensor.
    pub(in crate::codec) fn finish(mut self) -> Result<Value, JsonError> {
        if self.kind.is_dense() && self.cells.is_empty() {
            self.cells.resize(self.size);
        }
        let labels = std::mem::take(&mut self.labels);
        let cells = std::mem::replace(&mut self.cells, Cells::Bool(Vec::new().into()));
        Value::new(self.kind.clone(), labels, cells).map_err(|error| match error {
            ValueError::Twice(labels) => self.twice(labels.split(',')),
            other => JsonError::Value(other),
        })
    }
}
