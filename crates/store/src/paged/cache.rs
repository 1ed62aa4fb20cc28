//! Pages in memory, bounded by their bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::page::Page;

/// What there is to tell of the columns that are read from disk when they are wanted, since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Bytes of the columns that are kept for those who want them next.
    pub cached_bytes: usize,
    /// Bytes of all that are in memory: those, and what queries hold at the moment.
    pub bytes: usize,
    /// The most that these have been.
    pub peak_bytes: usize,
    /// How often a column was wanted and was in memory.
    pub hits: u64,
    /// How often one was read from disk.
    pub reads: u64,
    /// How many vectors of them were read alone.
    pub vectors: u64,
}

/// Pages in memory.
#[derive(Debug)]
pub(crate) struct PageCache {
    /// The most bytes of pages that are kept.
    limit: usize,
    inner: Mutex<Inner>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the number of the page, with when it was wanted last.
    pages: HashMap<u64, (Arc<Page>, u64)>,
    /// The number of the page that was wanted at a time.
    order: BTreeMap<u64, u64>,
    time: u64,
    bytes: usize,
}

/// What is counted of pages wherever they are held.
#[derive(Debug, Default)]
pub(super) struct Counts {
    bytes: AtomicUsize,
    peak: AtomicUsize,
    hits: AtomicU64,
    reads: AtomicU64,
    vectors: AtomicU64,
}

impl Counts {
    pub(super) fn add(&self, bytes: usize) {
        let all = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(all, Ordering::Relaxed);
    }

    pub(super) fn take(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read_alone(&self, vectors: usize) {
        self.vectors.fetch_add(vectors as u64, Ordering::Relaxed);
    }
}

impl PageCache {
    pub(crate) fn new(limit: usize) -> Arc<PageCache> {
        Arc::new(PageCache { limit, inner: Mutex::default(), counts: Arc::default() })
    }

    pub(super) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// No code under the lock panics.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page by its number, if it is here.
    pub(super) fn get(&self, number: u64) -> Option<Arc<Page>> {
        let mut inner = self.lock();
        let page = inner.touch(number)?;
        drop(inner);
        self.counts.hits.fetch_add(1, Ordering::Relaxed);
        Some(page)
    }

    /// Whether a page is here. To ask is not to want it: it leaves no later for that.
    pub(super) fn has(&self, number: u64) -> bool {
        self.lock().pages.contains_key(&number)
    }

    /// Keeps a page that was read, unless there is no room for it even alone. Who has read the same at the same time gets the one that
    /// came first.
    pub(super) fn keep(&self, number: u64, page: Arc<Page>) -> Arc<Page> {
        let bytes = page.bytes();
        if bytes > self.limit {
            return page;
        }
        let mut inner = self.lock();
        if let Some(known) = inner.touch(number) {
            return known;
        }
        // Dropped when the lock is free again.
        let mut gone = Vec::new();
        while inner.bytes + bytes > self.limit
            && let Some((_, oldest)) = inner.order.pop_first()
        {
            gone.extend(inner.forget(oldest));
        }
        inner.time += 1;
        let time = inner.time;
        inner.bytes += bytes;
        inner.order.insert(time, number);
        inner.pages.insert(number, (Arc::clone(&page), time));
        drop(inner);
        page
    }

    /// Nobody will want a page any more.
    pub(super) fn remove(&self, number: u64) {
        let gone = self.lock().forget(number);
        drop(gone);
    }

    pub(crate) fn stats(&self) -> PageStats {
        let cached_bytes = self.lock().bytes;
        PageStats {
            cached_bytes,
            bytes: self.counts.bytes.load(Ordering::Relaxed),
            peak_bytes: self.counts.peak.load(Ordering::Relaxed),
            hits: self.counts.hits.load(Ordering::Relaxed),
            reads: self.counts.reads.load(Ordering::Relaxed),
            vectors: self.counts.vectors.load(Ordering::Relaxed),
        }
    }
}

impl Inner {
    fn touch(&mut self, number: u64) -> Option<Arc<Page>> {
        let (page, used) = self.pages.get_mut(&number)?;
        self.order.remove(used);
        self.time += 1;
        *used = self.time;
        self.order.insert(self.time, number);
        Some(Arc::clone(page))
    }

    fn forget(&mut self, number: u64) -> Option<Arc<Page>> {
        let (page, used) = self.pages.remove(&number)?;
        self.order.remove(&used);
        self.bytes -= page.bytes();
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Page, PageCache};
    use crate::columns::Column;
    use crate::kind::DataType;
    use crate::value::FieldValue;

    fn page(cache: &PageCache, rows: usize) -> Arc<Page> {
        let mut column = Column::new(&DataType::Double).unwrap();
        (0..rows).for_each(|row| column.set(row, Some(&FieldValue::Number(1.0))));
        column.shrink();
        Arc::new(Page::new(column, cache))
    }

    #[test]
    fn who_was_wanted_last_stays() {
        let one = page(&PageCache::new(0), 10).bytes();
        for (label, room, wanted, expected) in [
            ("no room at all", 0, &[1, 1, 2][..], &[][..]),
            ("room for one", 1, &[1, 2, 3], &[3]),
            ("in the order in which they came", 2, &[1, 2, 3], &[2, 3]),
            ("in the order in which they were wanted", 2, &[1, 2, 1, 3], &[1, 3]),
            ("all", 3, &[3, 2, 1, 2], &[1, 2, 3]),
        ] {
            let cache = PageCache::new(room * one);
            for number in wanted {
                if cache.get(*number).is_none() {
                    cache.keep(*number, page(&cache, 10));
                }
                assert!(cache.stats().cached_bytes <= room * one, "{label}");
                assert_eq!(cache.stats().cached_bytes, cache.stats().bytes, "{label}");
            }
            let found: Vec<u64> = (0..9).filter(|number| cache.get(*number).is_some()).collect();
            assert_eq!(found, expected, "{label}");
        }
    }

    #[test]
    fn bytes_are_counted_as_long_as_somebody_holds_them() {
        let one = page(&PageCache::new(0), 10).bytes();
        let cache = PageCache::new(one);
        let held = cache.keep(1, page(&cache, 10));
        let again = cache.keep(1, page(&cache, 10));
        assert!(Arc::ptr_eq(&held, &again), "who reads the same gets the same");
        cache.keep(2, page(&cache, 10));
        let stats = cache.stats();
        assert_eq!((stats.cached_bytes, stats.bytes, stats.peak_bytes), (one, 2 * one, 2 * one));
        drop((held, again));
        assert_eq!(cache.stats().bytes, one);
        // One that is too large for all of the room pushes nothing out.
        drop(cache.keep(3, page(&cache, 1000)));
        assert!(cache.get(2).is_some() && cache.get(3).is_none());
        cache.remove(2);
        let stats = cache.stats();
        assert_eq!((stats.cached_bytes, stats.bytes), (0, 0));
        assert!(stats.peak_bytes > 1000 * size_of::<f64>(), "{stats:?}");
    }
}
