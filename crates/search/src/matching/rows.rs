//! Sets of rows.

use std::ops::Range;

/// A set of the rows of a block, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSet {
    words: Vec<u64>,
    rows: usize,
}

impl RowSet {
    /// No rows of a block of so many.
    #[must_use]
    pub fn none(rows: usize) -> RowSet {
        RowSet { words: vec![0; rows.div_ceil(64)], rows }
    }

    /// All rows.
    #[must_use]
    pub fn all(rows: usize) -> RowSet {
        let mut set = RowSet { words: vec![u64::MAX; rows.div_ceil(64)], rows };
        set.trim();
        set
    }

    /// The rows of bits: bit `b` of word `w` is row `64 * w + b`. Words that are missing are zero.
    #[must_use]
    pub fn from_words(words: &[u64], rows: usize) -> RowSet {
        let mut words: Vec<u64> = words.iter().copied().take(rows.div_ceil(64)).collect();
        words.resize(rows.div_ceil(64), 0);
        let mut set = RowSet { words, rows };
        set.trim();
        set
    }

    /// The rows whose values pass a test. Rows without a value do not.
    #[must_use]
    pub fn of<T: Copy>(values: &[T], rows: usize, test: impl Fn(T) -> bool) -> RowSet {
        let mut words = Vec::with_capacity(rows.div_ceil(64));
        for chunk in values[..rows.min(values.len())].chunks(64) {
            // Bytes first: a loop over them is what the compiler makes vector instructions of.
            let mut flags = [0_u8; 64];
            for (flag, value) in flags.iter_mut().zip(chunk) {
                *flag = u8::from(test(*value));
            }
            words.push(packed(&flags));
        }
        words.resize(rows.div_ceil(64), 0);
        RowSet { words, rows }
    }

    /// How many rows the block has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bits: bit `b` of word `w` is row `64 * w + b`.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many rows are in it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no row is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether a row is in it.
    #[must_use]
    pub fn has(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Adds a row that the block has.
    pub fn insert(&mut self, row: usize) {
        if row < self.rows {
            self.words[row / 64] |= 1 << (row % 64);
        }
    }

    /// The rows in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// The rows in their order, those behind each other together.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let mut rows = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = rows.next()?;
            let mut behind = first + 1;
            while rows.next_if_eq(&behind).is_some() {
                behind += 1;
            }
            Some(first..behind)
        })
    }

    /// Keeps the rows that are in another set too.
    pub fn and(&mut self, other: &RowSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    /// Adds the rows of another set.
    pub fn or(&mut self, other: &RowSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Takes the rows of another set away.
    pub fn without(&mut self, other: &RowSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }

    /// The rows that pass a test.
    #[must_use]
    pub fn filter(&self, mut test: impl FnMut(usize) -> bool) -> RowSet {
        let mut found = RowSet::none(self.rows);
        self.iter().filter(|row| test(*row)).for_each(|row| found.insert(row));
        found
    }

    /// The same of a test that may fail.
    ///
    /// # Errors
    /// The first that the test has.
    pub fn try_filter<E>(
        &self,
        mut test: impl FnMut(usize) -> Result<bool, E>,
    ) -> Result<RowSet, E> {
        let mut found = RowSet::none(self.rows);
        for row in self.iter() {
            if test(row)? {
                found.insert(row);
            }
        }
        Ok(found)
    }

    /// No bits behind the last row.
    fn trim(&mut self) {
        if let (Some(last), over @ 1..) = (self.words.last_mut(), self.rows % 64) {
            *last &= (1 << over) - 1;
        }
    }
}

/// 64 bytes of 0 or 1 as bits. Of eight bytes at a time: the product moves each of them to a bit of its own in the highest
/// byte, without carries.
fn packed(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (at * 8);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::RowSet;

    #[test]
    fn rows_are_kept_and_joined() {
        for rows in [0, 1, 63, 64, 65, 200] {
            let values: Vec<i32> = (0..rows as i32).collect();
            let set = |test: fn(i32) -> bool| RowSet::of(&values, rows, test);
            let list = |set: &RowSet| set.iter().collect::<Vec<_>>();
            let expected = |test: fn(i32) -> bool| {
                values.iter().filter(|v| test(**v)).map(|v| *v as usize).collect::<Vec<_>>()
            };
            let (even, third) = (set(|v| v % 2 == 0), set(|v| v % 3 == 0));
            assert_eq!(list(&even), expected(|v| v % 2 == 0), "{rows}");
            assert_eq!(even.count(), rows.div_ceil(2));
            let mut both = even.clone();
            both.and(&third);
            assert_eq!(list(&both), expected(|v| v % 6 == 0), "{rows}");
            let mut any = even.clone();
            any.or(&third);
            assert_eq!(list(&any), expected(|v| v % 2 == 0 || v % 3 == 0), "{rows}");
            let mut odd = RowSet::all(rows);
            odd.without(&even);
            assert_eq!(list(&odd), expected(|v| v % 2 == 1), "{rows}");
            assert_eq!(RowSet::from_words(RowSet::all(256).words(), rows), RowSet::all(rows));
            assert_eq!(list(&odd.filter(|row| row % 3 == 0)), expected(|v| v % 6 == 3), "{rows}");
            assert_eq!(third.runs().flatten().collect::<Vec<_>>(), list(&third), "{rows}");
            let whole = RowSet::all(rows);
            assert_eq!(whole.runs().next(), Some(0..rows).filter(|_| rows > 0));
            assert!(RowSet::none(rows).is_empty() && !odd.has(rows));
        }
        assert_eq!(RowSet::of(&[1, 2], 100, |_| true).count(), 2);
    }
}
