//! Where the vectors lie.

use crate::cell::Cell;

/// The vectors of documents, where the caller has them: a graph holds none.
///
/// All have the length of the query; one that has another is as if it were not there.
pub trait Vectors: Sync {
    /// The type of their numbers.
    type Cell: Cell;

    /// How many vectors a document has.
    fn count(&self, document: u32) -> u32;

    /// A vector of a document; nothing if it has none there.
    fn vector(&self, document: u32, at: u32) -> Option<&[Self::Cell]>;
}

/// Vectors of one length behind each other, one for each document.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'v, T> {
    cells: &'v [T],
    size: usize,
}

impl<'v, T> Rows<'v, T> {
    /// Vectors of `size` numbers.
    #[must_use]
    pub fn new(cells: &'v [T], size: usize) -> Rows<'v, T> {
        Rows { cells, size }
    }
}

impl<T: Cell> Vectors for Rows<'_, T> {
    type Cell = T;

    fn count(&self, document: u32) -> u32 {
        u32::from(self.vector(document, 0).is_some())
    }

    #[inline(always)]
    fn vector(&self, document: u32, at: u32) -> Option<&[T]> {
        let begin = (document as usize).checked_mul(self.size)?;
        self.cells.get(begin..begin.checked_add(self.size)?).filter(|_| at == 0)
    }
}
