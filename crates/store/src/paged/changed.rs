//! A column on disk of which some rows have changed since.

use std::sync::Arc;

use super::held::Slot;
use super::page::{Page, Paged, number};
use super::rows::Rows;
use crate::columns::Column;
use crate::error::StoreError;
use crate::value::FieldValue;

/// Bytes that a column on disk, and what has changed of it, may have so that any value can be added for which a record of the log had room:
/// a column may have 4 GiB.
const SURE_BYTES: usize = 1 << 30;

/// A column on disk, and the rows that have changed since in memory. Nobody who writes reads the disk; who reads all rows gets both as one
/// [page](Page), which is kept until the next change.
#[derive(Debug)]
pub(crate) struct Changed {
    /// What both as one are known by in the cache: anew with each change.
    number: u64,
    base: Arc<Paged>,
    rows: Rows,
}

impl Changed {
    pub(crate) fn new(base: &Arc<Paged>, rows: Rows) -> Changed {
        Changed { number: number(), base: Arc::clone(base), rows }
    }

    /// Of which nothing has changed yet.
    pub(super) fn of(base: &Arc<Paged>) -> Changed {
        Changed::new(base, Rows::new(base.pager().empty()))
    }

    /// What lies on disk.
    pub(crate) fn base(&self) -> &Arc<Paged> {
        &self.base
    }

    /// The column that has the value of a row that has changed, and its row there.
    pub(super) fn get(&self, row: usize) -> Option<(&Column, usize)> {
        self.rows.get(row)
    }

    /// Whether there certainly is room for one more value.
    pub(super) fn has_room(base: &Paged, changed: Option<&Changed>) -> bool {
        let values = changed.map_or(0, |changed| changed.rows.memory());
        (base.blob().place.len as usize) < SURE_BYTES && values < SURE_BYTES
    }

    /// Puts a value in a row, which is at most the one behind the last.
    pub(super) fn set(&mut self, row: usize, value: Option<&FieldValue>) {
        self.rows.set(row, value);
        // Whoever holds both as one has them as they were.
        self.base.pager().cache().remove(self.number);
        self.number = number();
    }

    /// Puts what has changed in the place of what lies on disk.
    fn put_into(&self, mut column: Column) -> Column {
        self.rows.put_into(&mut column, self.base.pager().kind());
        column
    }

    /// Both as one column, with room for so many rows.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub(crate) fn column(&self, rows: usize) -> Result<Column, StoreError> {
        Ok(self.put_into(self.base.copied(rows)?))
    }

    /// The column, if each of so many rows has changed: what lies on disk is not needed for it.
    pub(super) fn whole(&self, rows: usize) -> Option<Column> {
        let mut column = (self.rows.len() == rows)
            .then(|| self.put_into(self.base.pager().empty().copied(rows)))?;
        column.shrink();
        Some(column)
    }

    /// Both as one, from the cache if it has them.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub(super) fn page(&self) -> Result<Arc<Page>, StoreError> {
        let cache = self.base.pager().cache();
        if let Some(page) = cache.get(self.number) {
            return Ok(page);
        }
        let rows = self.rows.last().map_or(0, |last| last + 1).max(self.base.rows());
        let column = self.put_into(self.base.page()?.column().copied(rows));
        Ok(cache.keep(self.number, Arc::new(Page::new(column, cache))))
    }

    /// Whether the cache has both as one.
    pub(super) fn is_cached(&self) -> bool {
        self.base.pager().cache().has(self.number)
    }

    /// The number of the value of a row, of dense tensors.
    pub(super) fn stamp(&self, row: usize) -> Option<u64> {
        match self.get(row) {
            Some((Column::Tensors(tensors), place)) => tensors.stamp(place),
            Some(_) => None,
            None => self.base.stamp(row),
        }
    }

    /// The same behind a snapshot that has what it was before, in a new place.
    pub(super) fn moved(&self, before: &Slot, new: &Arc<Paged>) -> Option<Slot> {
        let then = match before {
            Slot::Disk(base) if Arc::ptr_eq(base, &self.base) => None,
            Slot::Changed(then) if Arc::ptr_eq(&then.base, &self.base) => Some(&then.rows),
            _ => return None,
        };
        let pager = self.base.pager();
        let rows = self.rows.since(then, pager.empty(), pager.kind());
        Some(match rows.len() {
            0 => Slot::Disk(Arc::clone(new)),
            _ => Slot::Changed(Arc::new(Changed::new(new, rows))),
        })
    }

    /// Adds the bytes of [what has changed](Rows).
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let pager = self.base.pager();
        self.rows.write(pager.empty(), pager.kind(), out);
    }

    /// The memory that it takes beside that of its base.
    pub(super) fn memory(&self) -> usize {
        // An allocation has two counters before it.
        size_of::<Changed>() + 2 * size_of::<usize>() + self.rows.memory()
    }
}

// For the writer, who changes what a view has: each is known by a number of its own.
impl Clone for Changed {
    fn clone(&self) -> Changed {
        Changed::new(&self.base, self.rows.clone())
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        self.base.pager().cache().remove(self.number);
    }
}
