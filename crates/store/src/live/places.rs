//! Where the vectors of documents lie, found once for all searches of what was published.

use std::sync::{Arc, OnceLock};

use stead_expr::CellType;
use stead_tensor::AlignedBuf;

use super::view::State;

/// Where the vectors of each attribute lie, by its number. Whoever searches a graph would otherwise go through the columns of all blocks, which
/// takes as long as fifty comparisons where there are 400 of them.
#[derive(Debug, Default)]
pub(super) struct Places {
    attributes: OnceLock<Box<[OnceLock<VectorPlaces>]>>,
}

impl Clone for Places {
    /// None: a copy of documents is made to be changed.
    fn clone(&self) -> Places {
        Places::default()
    }
}

/// Where the vectors of one attribute lie.
#[derive(Debug)]
pub(super) struct VectorPlaces {
    /// By block.
    pub(super) blocks: Box<[Place]>,
    /// The blocks that are [`Place::Other`], by their numbers there.
    pub(super) others: Vec<usize>,
}

/// Where the vectors of a block lie.
#[derive(Debug)]
pub(super) enum Place {
    /// One vector of each row behind the other
    Whole(Arc<AlignedBuf>),
    /// Somewhere else
    Other(u32),
}

impl Places {
    /// Those of an attribute by its number, whose cells have a type. `state` is that which has these places, and does not change.
    pub(super) fn of(
        &self,
        state: &State,
        attribute: usize,
        cell: CellType,
    ) -> Option<&VectorPlaces> {
        let attributes = self
            .attributes
            .get_or_init(|| state.kind.attributes().iter().map(|_| OnceLock::new()).collect());
        Some(attributes.get(attribute)?.get_or_init(|| VectorPlaces::new(state, attribute, cell)))
    }
}

impl VectorPlaces {
    fn new(state: &State, attribute: usize, cell: CellType) -> VectorPlaces {
        let mut others = Vec::new();
        let blocks = state.blocks.iter().enumerate().map(|(number, block)| {
            match block.tensors(attribute).and_then(|tensors| tensors.whole(cell)) {
                Some(bytes) => Place::Whole(bytes.clone()),
                None => {
                    others.push(number);
                    // There are fewer blocks than documents, whose numbers have 32 bits.
                    Place::Other((others.len() - 1) as u32)
                }
            }
        });
        let blocks = blocks.collect();
        VectorPlaces { blocks, others }
    }
}
