//! A column on disk, and the same in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::cache::{Counts, PageCache};
use super::sums::VectorSums;
use crate::columns::{Column, VectorCell, reserve_stamps};
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
    /// Whether it has a graph, whose searches read vectors here and there.
    has_graph: bool,
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
        let has_graph = attribute.graph.is_some();
        Some(Arc::new(Pager { document, field, kind, empty, has_graph, cache }))
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
    /// By which vectors are read alone, once it was read as a whole; nothing of attributes without a graph.
    sums: OnceLock<Arc<VectorSums>>,
}

impl Paged {
    /// The piece of a column of so many rows.
    pub(crate) fn new(pager: &Arc<Pager>, blob: Blob, rows: usize) -> Paged {
        Paged::stamped(pager, blob, rows, reserve_stamps(rows))
    }

    fn stamped(pager: &Arc<Pager>, blob: Blob, rows: usize, stamps: u64) -> Paged {
        let (pager, sums) = (Arc::clone(pager), OnceLock::new());
        Paged { number: number(), pager, blob, rows, stamps, sums }
    }

    /// The same column in another place.
    pub(crate) fn moved(&self, blob: Blob) -> Paged {
        let mut moved = Paged::stamped(&self.pager, blob, self.rows, self.stamps);
        moved.sums.clone_from(&self.sums);
        moved
    }

    /// Takes down what its vectors are, if they are read alone: `column` has the values that were written.
    pub(crate) fn note(&self, column: &Column) {
        if let (true, Column::Tensors(tensors)) = (self.pager.has_graph, column) {
            let piece = self.blob.place.len as usize;
            self.sums.get_or_init(|| Arc::new(VectorSums::new(tensors, piece)));
        }
    }

    /// By which its vectors are read alone, if it was read as a whole before.
    pub(crate) fn sums(&self) -> Option<&VectorSums> {
        self.sums.get().map(|sums| &**sums)
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
        let column = column.map(|column| column.stamped(self.stamps));
        let column = column.map_err(|error| pager.wrong(error))?;
        self.note(&column);
        Ok(column)
    }

    /// Its values, if the cache has them.
    pub(crate) fn cached(&self) -> Option<Arc<Page>> {
        self.pager.cache.get(self.number)
    }

    /// A vector by its number, of so many cells, read alone; nothing where it has none of that number, or was never read as a whole.
    ///
    /// # Errors
    /// As [`Paged::page`].
    pub(crate) fn vector<T: VectorCell>(
        &self,
        number: usize,
        size: usize,
    ) -> Result<Option<Box<[T]>>, StoreError> {
        let Some(sums) = self.sums() else { return Ok(None) };
        let vectors = number..number.saturating_add(1);
        let Some((begin, bytes)) = sums.place(&vectors) else { return Ok(None) };
        if bytes != size * size_of::<T>() {
            return Ok(None);
        }
        let mut cells = vec![T::zeroed(); size].into_boxed_slice();
        self.read_vectors(sums, vectors, begin, bytemuck::cast_slice_mut(&mut cells))?;
        Ok(Some(cells))
    }

    /// The values of some rows behind each other as a column of these alone, of types with one vector for each row; nothing of others, and where it
    /// was never read as a whole.
    ///
    /// # Errors
    /// As [`Paged::page`].
    pub(super) fn rows_alone(&self, rows: Range<usize>) -> Result<Option<Page>, StoreError> {
        let Some(sums) = self.sums().filter(|sums| sums.is_one_each()) else { return Ok(None) };
        let Some((begin, bytes)) = sums.place(&rows) else { return Ok(None) };
        let count = rows.len();
        // Behind the cells stand bits of the rows that have none.
        let mut words = vec![0_u64; count.div_ceil(64)];
        let absent = rows.clone().enumerate().filter(|(_, row)| sums.absent().contains(*row));
        absent.for_each(|(at, _)| words[at / 64] |= 1 << (at % 64));
        let words: &[u8] = bytemuck::cast_slice(&words);
        let fill = |out: &mut [u8]| {
            let (cells, rest) = out.split_at_mut(bytes.min(out.len()));
            rest.copy_from_slice(words);
            self.read_vectors(sums, rows.clone(), begin, cells)
        };
        let column = Column::read(&self.pager.kind, count, bytes + words.len(), fill)?;
        let column = column.map(|column| column.stamped(self.stamps + rows.start as u64));
        Ok(column.map(|column| Page::new(column, &self.pager.cache)))
    }

    fn read_vectors(
        &self,
        sums: &VectorSums,
        vectors: Range<usize>,
        begin: usize,
        out: &mut [u8],
    ) -> Result<(), StoreError> {
        self.pager.cache.counts().read_alone(vectors.len());
        let read = self.blob.read_part(begin, out, |bytes| sums.are(vectors, bytes));
        read.map_err(|error| self.pager.wrong(error))
    }

    /// Tells the disk that a vector of a row is read soon, unless the cache has it: as much of the column as will be read.
    pub(crate) fn will_read_vector(&self, row: usize, at: usize) {
        if self.is_cached() {
            return;
        }
        let Some(sums) = self.sums() else { return self.blob.will_read() };
        let place = sums.of(row).nth(at).and_then(|number| sums.place(&(number..number + 1)));
        if let Some((begin, bytes)) = place {
            self.blob.will_read_part(begin, bytes);
        }
    }

    /// The memory that it takes while its values are on disk.
    pub(crate) fn memory(&self) -> usize {
        // An allocation has two counters before it.
        let sums = self.sums().map_or(0, |sums| sums.memory() + 2 * size_of::<usize>());
        size_of::<Paged>() + 2 * size_of::<usize>() + sums
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
