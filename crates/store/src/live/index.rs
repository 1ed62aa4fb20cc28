//! What `fast-search` adds to the column of a block.

use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use crate::columns::{Column, Postings};
use crate::error::StoreError;

/// The fewest rows that must have changed before postings are made again.
const MIN_CHANGED: usize = 64;

/// The part of its rows that may have changed, as its inverse, before postings are made again.
const CHANGED_PART: usize = 8;

/// [Postings](Postings) of a column, and the rows that have changed since they were made.
///
/// They are made when a reader asks for them, of the column that its view has, and stay for the views that follow: the writer only
/// notes which rows it changes. When these become many it forgets them, and the next reader makes them again. So a write
/// costs a bit, and making postings costs each write the same on average, however many readers there are. They are in memory wherever
/// the column lies.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockIndex {
    is_cased: bool,
    postings: OnceLock<Arc<Postings>>,
    changed: Bits,
}

/// The postings of a column where they are right, and where they are not.
#[derive(Debug, Clone, Copy)]
pub struct Index<'b> {
    /// Rows by their values.
    pub postings: &'b Postings,
    /// The rows of which postings tell nothing, whatever they say of them.
    pub changed: &'b Bits,
    /// Whether texts are told apart by capitals.
    pub is_cased: bool,
}

impl BlockIndex {
    pub(super) fn new(is_cased: bool) -> BlockIndex {
        BlockIndex { is_cased, ..BlockIndex::default() }
    }

    /// Notes that a row has another value.
    pub(super) fn change(&mut self, row: usize, rows: usize) {
        if self.postings.get().is_none() {
            return;
        }
        self.changed.insert(row);
        if self.changed.count() > MIN_CHANGED.max(rows / CHANGED_PART) {
            self.postings = OnceLock::new();
            self.changed = Bits::default();
        }
    }

    /// The postings of the column that it belongs to, which is asked for where they are to be made; nothing if there are none of such
    /// values.
    pub(super) fn get<'c>(
        &self,
        column: impl FnOnce() -> Result<Option<&'c Column>, StoreError>,
    ) -> Result<Option<Index<'_>>, StoreError> {
        if self.postings.get().is_none() {
            let made = column()?.and_then(|column| Postings::of(column, self.is_cased));
            let Some(made) = made else { return Ok(None) };
            // Who comes meanwhile makes its own instead of waiting.
            let _ = self.postings.set(Arc::new(made));
        }
        let index = |postings| Index { postings, changed: &self.changed, is_cased: self.is_cased };
        Ok(self.postings.get().map(|postings| index(postings)))
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let postings = self.postings.get().map_or(0, |p| p.memory() + size_of::<Postings>());
        postings + size_of_val(self.changed.words()) + size_of::<BlockIndex>()
    }
}
