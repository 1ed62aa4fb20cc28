//! Where the vectors lie.

use std::array;
use std::ops::Deref;

use crate::cell::Cell;
use crate::compare::BATCH;

/// The vectors of documents, where the caller has them: a graph holds none.
///
/// All have the length of the query; one that has another is as if it were not there.
pub trait Vectors: Sync {
    /// The type of their numbers.
    type Cell: Cell;

    /// A vector while somebody looks at it.
    type Row<'v>: Row<Self::Cell>
    where
        Self: 'v;

    /// Whether vectors lie where it takes long to read one, so that it is told which are read next.
    const IS_FAR: bool = false;

    /// How many vectors a document has.
    fn count(&self, document: u32) -> u32;

    /// A vector of a document; nothing if it has none there.
    fn vector(&self, document: u32, at: u32) -> Option<Self::Row<'_>>;

    /// Some vectors are read next, each of a document and which of its vectors it is: of those that are far.
    fn will_read(&self, _vectors: impl Iterator<Item = (u32, u32)>) {}
}

/// A vector that somebody looks at.
pub trait Row<T>: Deref<Target = [T]> + Default {
    /// Does something with several, at most as many as are compared at a time.
    fn with<R>(rows: &[Self], then: impl FnOnce(&[&[T]]) -> R) -> R {
        let mut list: [&[T]; BATCH] = array::from_fn(|_| &[][..]);
        list.iter_mut().zip(rows).for_each(|(place, row)| *place = row);
        then(list.get(..rows.len()).unwrap_or(&list))
    }
}

impl<T> Row<T> for &[T] {
    #[inline(always)]
    fn with<R>(rows: &[Self], then: impl FnOnce(&[&[T]]) -> R) -> R {
        then(rows)
    }
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
    type Row<'v>
        = &'v [T]
    where
        Self: 'v;

    fn count(&self, document: u32) -> u32 {
        u32::from(self.vector(document, 0).is_some())
    }

    #[inline(always)]
    fn vector(&self, document: u32, at: u32) -> Option<&[T]> {
        let begin = (document as usize).checked_mul(self.size)?;
        self.cells.get(begin..begin.checked_add(self.size)?).filter(|_| at == 0)
    }
}
