//! What the index of a column says of a test.

use std::collections::HashMap;
use std::ops::Range;

use stead_store::{Column, Index, NumberList, StoreError};

use super::rows::RowSet;
use super::value::{limits, passes};
use crate::query::{NumberRange, Sum, Test, TextTest, Tokens};

/// A loop over numbers looks at so many rows while a row that an index tells is written down.
const LOOP: usize = 16;

/// Of fewer values than one of so many keys each is looked for; else each key is looked for among the values.
const SEARCHED: usize = 8;

/// Gives the column of an index to who must look at it.
type Get<'c> = dyn Fn() -> Result<Option<&'c Column>, StoreError> + 'c;

/// The rows with values that pass a test, before they are written down.
pub(super) struct Lookup<'i> {
    index: Index<'i>,
    /// The keys that pass, in ranges that have none in common.
    keys: Vec<Range<usize>>,
    /// The rows of these and those that have changed: no more pass.
    most: usize,
}

impl<'i> Lookup<'i> {
    /// What an index says of a test; nothing if such tests are not for it.
    pub(super) fn new(test: &Test, index: Index<'i>) -> Option<Lookup<'i>> {
        let keys = keys(test, index)?;
        let told: usize = keys.iter().map(|keys| index.postings.rows(keys.clone()).len()).sum();
        Some(Lookup { index, keys, most: told + index.changed.count() })
    }

    /// The most rows that pass.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether writing the rows down is less than looking at `among` rows of a column of `rows`, each of which may have one number.
    pub(super) fn is_cheaper(&self, is_number: bool, among: usize, rows: usize) -> bool {
        match is_number {
            true => self.most <= among.min(rows / LOOP),
            false => self.most <= among,
        }
    }

    /// The rows that have a value that passes: of tests that sum weights up there may be others.
    pub(super) fn candidates(
        &self,
        test: &Test,
        column: &Get<'_>,
        rows: usize,
    ) -> Result<RowSet, StoreError> {
        let (postings, changed) = (self.index.postings, self.index.changed);
        let mut found = RowSet::none(rows);
        for keys in &self.keys {
            postings.rows(keys.clone()).iter().for_each(|row| found.insert(usize::from(*row)));
        }
        if changed.count() > 0 {
            let mut changed = RowSet::from_words(changed.words(), rows);
            found.without(&changed);
            if !sums(test) {
                changed = passing(test, column, &changed)?;
            }
            found.or(&changed);
        }
        Ok(found)
    }

    /// The rows among some that pass.
    pub(super) fn rows(
        &self,
        test: &Test,
        column: &Get<'_>,
        among: &RowSet,
    ) -> Result<RowSet, StoreError> {
        let mut found = self.candidates(test, column, among.rows())?;
        found.and(among);
        match sums(test) {
            true => passing(test, column, &found),
            false => Ok(found),
        }
    }
}

/// The rows among some that pass a test. Where there are none the column is not read.
fn passing(test: &Test, column: &Get<'_>, among: &RowSet) -> Result<RowSet, StoreError> {
    if among.is_empty() {
        return Ok(among.clone());
    }
    let column = column()?;
    let passes = |row: usize| column.is_some_and(|column| passes(test, column, row).is_some());
    Ok(among.filter(passes))
}

/// Whether a row with a value that passes may not pass itself.
fn sums(test: &Test) -> bool {
    matches!(test, Test::Weighted(weighted) if matches!(weighted.sum, Sum::Above(_)))
}

/// The keys that pass a test.
fn keys(test: &Test, index: Index<'_>) -> Option<Vec<Range<usize>>> {
    let postings = index.postings;
    let is_same = |is_cased: &bool| *is_cased == index.is_cased;
    Some(match test {
        Test::Range(range) => vec![between(range, postings.numbers()?, index)],
        Test::Numbers(list) => {
            whole(list.len(), list.iter(), |n| list.binary_search(&n).is_ok(), index)
        }
        Test::Text { test: TextTest::Equal(text), is_cased } if is_same(is_cased) => {
            vec![postings.text(text)]
        }
        Test::Text { test: TextTest::Prefix(text), is_cased } if is_same(is_cased) => {
            vec![postings.prefix(text)]
        }
        Test::Texts { any, is_cased } if is_same(is_cased) => texts(any, index),
        Test::Weighted(weighted) => match &weighted.tokens {
            Tokens::Numbers(any) => whole(any.len(), any.keys(), |n| any.contains_key(&n), index),
            Tokens::Texts { weights, is_cased } if is_same(is_cased) => texts(weights, index),
            Tokens::Texts { .. } => return None,
        },
        Test::Text { .. } | Test::Texts { .. } | Test::Circle(_) | Test::Box(_) => return None,
    })
}

fn between(range: &NumberRange, list: &NumberList, index: Index<'_>) -> Range<usize> {
    match list {
        NumberList::F32(_) => {
            let (low, high) = range.floats();
            index.postings.broken(f64::from(low), f64::from(high))
        }
        NumberList::F64(_) => {
            let (low, high) = range.doubles();
            index.postings.broken(low, high)
        }
        list => {
            let (least, greatest) = limits(list);
            let range = range.whole(least, greatest);
            range.map_or(0..0, |(low, high)| index.postings.whole(low, high))
        }
    }
}

/// The keys that are one of `count` whole numbers.
fn whole<'n>(
    count: usize,
    list: impl Iterator<Item = &'n i64>,
    has: impl Fn(i64) -> bool,
    index: Index<'_>,
) -> Vec<Range<usize>> {
    let postings = index.postings;
    match count * SEARCHED < postings.len() {
        true => list.map(|n| postings.whole(*n, *n)).collect(),
        false => {
            let is_in = |key: &usize| postings.whole_at(*key).is_some_and(&has);
            (0..postings.len()).filter(is_in).map(|key| key..key + 1).collect()
        }
    }
}

/// The keys that are one of some texts.
fn texts(any: &HashMap<String, i32>, index: Index<'_>) -> Vec<Range<usize>> {
    let postings = index.postings;
    match any.len() * SEARCHED < postings.len() {
        true => any.keys().map(|text| postings.text(text)).collect(),
        false => {
            let is_in = |key: &usize| postings.text_at(*key).is_some_and(|k| any.contains_key(k));
            (0..postings.len()).filter(is_in).map(|key| key..key + 1).collect()
        }
    }
}
