//! The vectors of an attribute, found by the numbers of documents.

use stead_ann::Vectors;

use super::view::State;
use crate::columns::{Column, ColumnVectors, VectorCell};
use crate::paged::Slot;

/// The vectors of an attribute of all documents. Where those of a block begin is told here once, so that who goes from one document to another
/// does not go through blocks and columns each time.
#[derive(Debug)]
pub(super) struct AttributeVectors<'v, T> {
    blocks: Vec<ColumnVectors<'v, T>>,
    /// A block has `1 << shift` rows.
    shift: u32,
    /// The numbers of a vector.
    size: usize,
}

impl<'v, T: VectorCell> AttributeVectors<'v, T> {
    /// Those of an attribute by its number; of columns on disk, and of those with other cells, none.
    pub(super) fn new(state: &'v State, attribute: usize, size: usize) -> AttributeVectors<'v, T> {
        let of = |slot: Option<&'v Slot>| match slot {
            Some(Slot::Memory(column)) => match &**column {
                Column::Tensors(tensors) => tensors.vectors(),
                _ => None,
            },
            _ => None,
        };
        let blocks = state.blocks.iter();
        let blocks = blocks.map(|b| of(b.slot(attribute)).unwrap_or(ColumnVectors::NONE));
        AttributeVectors { blocks: blocks.collect(), shift: state.shift, size }
    }

    #[inline(always)]
    fn block(&self, document: u32) -> Option<(&ColumnVectors<'v, T>, usize)> {
        let row = document as usize & ((1 << self.shift) - 1);
        Some((self.blocks.get((document >> self.shift) as usize)?, row))
    }
}

impl<T: VectorCell> Vectors for AttributeVectors<'_, T> {
    type Cell = T;

    fn count(&self, document: u32) -> u32 {
        let Some((block, row)) = self.block(document) else { return 0 };
        // What lies behind the last vector of a block is none.
        let there = block.of(row).filter(|number| block.get(*number, self.size).is_some());
        there.count() as u32
    }

    #[inline(always)]
    fn vector(&self, document: u32, at: u32) -> Option<&[T]> {
        let (block, row) = self.block(document)?;
        let number = block.of(row).nth(at as usize)?;
        block.get(number, self.size)
    }
}
