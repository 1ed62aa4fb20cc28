//! Numbers by which values of columns are known, so that what was computed of a value is found again while it stays.

use std::sync::atomic::{AtomicU64, Ordering};

/// The next number. There are enough for a value each nanosecond in five centuries.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Numbers for so many values, which no other value has or gets: the first of them.
pub(crate) fn reserve(rows: usize) -> u64 {
    NEXT.fetch_add(rows as u64, Ordering::Relaxed)
}

/// A number for each row. Every value that is put gets one that no other value in this process has or had, of whatever column; it keeps it in
/// copies of the column. 0 is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamps {
    of_rows: Vec<u64>,
}

impl Stamps {
    /// Of values that come all at once.
    pub(super) fn new(rows: usize) -> Stamps {
        Stamps::from(reserve(rows), rows)
    }

    /// Of values that had these numbers before: the first has this one, those behind it the next.
    pub(super) fn from(first: u64, rows: usize) -> Stamps {
        Stamps { of_rows: (first..first + rows as u64).collect() }
    }

    /// A new value in a row.
    pub(super) fn renew(&mut self, row: usize) {
        if row >= self.of_rows.len() {
            self.of_rows.resize(row + 1, 0);
        }
        if let Some(stamp) = self.of_rows.get_mut(row) {
            *stamp = NEXT.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The value of a row is one that has this number already.
    pub(super) fn put(&mut self, row: usize, stamp: u64) {
        if let Some(place) = self.of_rows.get_mut(row) {
            *place = stamp;
        }
    }

    pub(super) fn get(&self, row: usize) -> Option<u64> {
        self.of_rows.get(row).copied().filter(|stamp| *stamp != 0)
    }

    /// The same with room for at least so many rows.
    pub(super) fn copied(&self, room: usize) -> Stamps {
        let mut of_rows = Vec::with_capacity(room.max(self.of_rows.len()));
        of_rows.extend_from_slice(&self.of_rows);
        Stamps { of_rows }
    }

    pub(super) fn shrink(&mut self) {
        self.of_rows.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.of_rows.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Stamps;

    #[test]
    fn no_two_values_have_the_same_number() {
        let (mut column, mut seen) = (Stamps::new(3), HashSet::new());
        let all = |stamps: &Stamps| (0..5).filter_map(|row| stamps.get(row)).collect::<Vec<_>>();
        assert!(all(&column).into_iter().all(|stamp| seen.insert(stamp)));
        // A copy knows the values that it has in common; what either gets then is its own.
        let mut copy = column.copied(8);
        assert_eq!(all(&copy), all(&column));
        for (row, stamps) in [(3, &mut copy), (3, &mut column)] {
            stamps.renew(row);
            assert!(seen.insert(stamps.get(row).unwrap()));
        }
        column.renew(1);
        assert!(seen.insert(column.get(1).unwrap()));
        assert_eq!((copy.get(0), copy.get(4)), (column.get(0), None));
        assert!(all(&Stamps::new(4)).into_iter().all(|stamp| seen.insert(stamp)));
        // A row that nothing was put in has none.
        copy.renew(6);
        assert_eq!(copy.get(5), None);
    }
}
