//! The vectors of documents, as graphs of them ask.

use stead_ann::Vectors;

use super::places::{Place, VectorPlaces};
use super::view::State;
use crate::columns::{ColumnVectors, VectorCell};

/// The vectors of an attribute of all documents. Where those of a block begin is told before, so that who goes from one document to another
/// does not go through blocks and columns each time.
#[derive(Debug)]
pub(super) struct AttributeVectors<'v, T> {
    /// Where the vectors of blocks lie; of no blocks where all are `columns`.
    places: &'v [Place],
    /// Those of blocks that lie in other places.
    columns: Vec<ColumnVectors<'v, T>>,
    /// A block has `1 << shift` rows.
    shift: u32,
    /// The numbers of a vector.
    size: usize,
}

impl<'v, T: VectorCell> AttributeVectors<'v, T> {
    /// Those of an attribute by its number; of columns with other cells, and of those on disk, which are [far](super::far), none.
    pub(super) fn new(state: &'v State, attribute: usize, size: usize) -> AttributeVectors<'v, T> {
        let columns = (0..state.blocks.len()).map(|block| column(state, block, attribute));
        AttributeVectors { places: &[], columns: columns.collect(), shift: state.shift, size }
    }

    /// The same, in places that were found before.
    pub(super) fn placed(
        state: &'v State,
        attribute: usize,
        size: usize,
        places: &'v VectorPlaces,
    ) -> AttributeVectors<'v, T> {
        let columns = places.others.iter().map(|block| column(state, *block, attribute));
        let columns = columns.collect();
        AttributeVectors { places: &places.blocks, columns, shift: state.shift, size }
    }

    #[inline(always)]
    fn block(&self, document: u32) -> Option<(ColumnVectors<'v, T>, usize)> {
        let row = document as usize & ((1 << self.shift) - 1);
        let number = (document >> self.shift) as usize;
        let column = match self.places.get(number) {
            Some(Place::Whole(bytes)) => {
                let cells = bytemuck::try_cast_slice(bytes).ok()?;
                return Some((ColumnVectors::of_each(cells), row));
            }
            Some(Place::Other(number)) => *number as usize,
            None => number,
        };
        Some((*self.columns.get(column)?, row))
    }
}

/// Those of an attribute in the column of a block.
fn column<T: VectorCell>(state: &State, block: usize, attribute: usize) -> ColumnVectors<'_, T> {
    let tensors = state.blocks.get(block).and_then(|block| block.tensors(attribute));
    tensors.and_then(|tensors| tensors.vectors()).unwrap_or(ColumnVectors::NONE)
}

impl<T: VectorCell> Vectors for AttributeVectors<'_, T> {
    type Cell = T;
    type Row<'r>
        = &'r [T]
    where
        Self: 'r;

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
