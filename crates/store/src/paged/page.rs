//! A column on disk, and the same in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::{Counts, PageCache};
use crate::columns::{Column, reserve_stamps};
use crate::error::StoreError;
use crate::kind::{DataType, DocumentType};
use crate::packs::Blob;

/// Reads the columns of an attribute.
#[derive(Debug)]
pub(crate) struct Pager {
    /// The type of the documents.
    document: String,
    /// The attribute.
    field: String,
    kind: DataType,
    /// A column of them without rows.
    empty: Column,
    cache: Arc<PageCache>,
}

impl Pager {
    /// The type of the values.
    pub(super) fn kind(&self) -> &DataType {
        &self.kind
    }

    pub(super) fn empty(&self) -> &Column {
        &self.empty
    }

    pub(super) fn cache(&self) -> &Arc<PageCache> {
        &self.cache
    }

    /// What is wrong with a column, of which field.
    fn wrong(&self, error: StoreError) -> StoreError {
        let (document, field) = (self.document.clone(), self.field.clone());
        StoreError::Column { document, field, error: Box::new(error) }
    }
}

/// Who reads columns from disk, by the number of the attribute: of those that say `paged`.
pub(crate) fn pagers(kind: &DocumentType, cache: &Arc<PageCache>) -> Vec<Option<Arc<Pager>>> {
    let pager = |attribute: &crate::AttributeColumn| {
        let (document, field) = (kind.name().to_owned(), attribute.name.clone());
        let (kind, cache) = (attribute.kind.clone(), Arc::clone(cache));
        let empty = Column::new(&kind).filter(|_| attribute.is_paged)?;
        Some(Arc::new(Pager { document, field, kind, empty, cache }))
    };
    kind.attributes().iter().map(pager).collect()
}

/// What a column on disk is known by in the cache; no other has it.
pub(super) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A column that lies on disk.
#[derive(Debug)]
pub(crate) struct Paged {
    /// What it is known by in the cache; no other has it.
    number: u64,
    pager: Arc<Pager>,
    blob: Blob,
    rows: usize,
    /// The number of its first [value](crate::TensorColumn::stamp), those behind it have the next: the same whenever it is read.
    stamps: u64,
}

impl Paged {
    /// The piece of a column of so many rows.
    pub(crate) fn new(pager: &Arc<Pager>, blob: Blob, rows: usize) -> Paged {
        Paged::stamped(pager, blob, rows, reserve_stamps(rows))
    }

    fn stamped(pager: &Arc<Pager>, blob: Blob, rows: usize, stamps: u64) -> Paged {
        Paged { number: number(), pager: Arc::clone(pager), blob, rows, stamps }
    }

    /// The same column in another place.
    pub(crate) fn moved(&self, blob: Blob) -> Paged {
        Paged::stamped(&self.pager, blob, self.rows, self.stamps)
    }

    /// Who reads it.
    pub(super) fn pager(&self) -> &Arc<Pager> {
        &self.pager
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Where its piece is.
    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    /// The number of the value of a row, of dense tensors.
    pub(crate) fn stamp(&self, row: usize) -> Option<u64> {
        (row < self.rows).then(|| self.stamps + row as u64)
    }

    /// Its values, from the cache if it has them.
    ///
    /// # Errors
    /// [`StoreError::Column`] when its bytes are not those that were written, or cannot be read.
    pub(crate) fn page(&self) -> Result<Arc<Page>, StoreError> {
        let cache = &self.pager.cache;
        if let Some(page) = cache.get(self.number) {
            return Ok(page);
        }
        let page = Page::new(self.read()?, cache);
        Ok(cache.keep(self.number, Arc::new(page)))
    }

    /// Its values as a column of their own, with room for so many rows. They are not kept in the cache, as it is for what stays.
    ///
    /// # Errors
    /// As [`Paged::page`].
    pub(crate) fn copied(&self, rows: usize) -> Result<Column, StoreError> {
        match self.pager.cache.get(self.number) {
            Some(page) => Ok(page.column().copied(rows)),
            None => self.read(),
        }
    }

    /// Whether the cache has its values.
    pub(super) fn is_cached(&self) -> bool {
        self.pager.cache.has(self.number)
    }

    fn read(&self) -> Result<Column, StoreError> {
        let Paged { pager, blob, .. } = self;
        pager.cache.counts().read();
        let fill = |out: &mut [u8]| blob.pack.read(blob.place, out);
        let read = Column::read(&pager.kind, self.rows, blob.place.len as usize, fill);
        let column = read.and_then(|read| read.ok_or_else(|| blob.damage("it is no such column")));
        column.map(|column| column.stamped(self.stamps)).map_err(|error| pager.wrong(error))
    }

    /// The memory that it takes while its values are on disk.
    pub(crate) fn memory() -> usize {
        // An allocation has two counters before it.
        size_of::<Paged>() + 2 * size_of::<usize>()
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        self.pager.cache.remove(self.number);
    }
}

/// A column that was read from disk.
#[derive(Debug)]
pub(crate) struct Page {
    column: Column,
    bytes: usize,
    counts: Arc<Counts>,
}

impl Page {
    pub(super) fn new(column: Column, cache: &PageCache) -> Page {
        let (bytes, counts) = (column.most_memory() + size_of::<Page>(), cache.counts().clone());
        counts.add(bytes);
        Page { column, bytes, counts }
    }

    pub(crate) fn column(&self) -> &Column {
        &self.column
    }

    /// The memory that it takes at most.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.counts.take(self.bytes);
    }
}
