//! The keys of an index that pass a test.

use std::collections::HashMap;
use std::ops::Range;

use stead_store::predicate::{Evaluator, Hashed};
use stead_store::{Column, Index, Indexed, NumberList};
use stead_tensor::Bits;

use super::rows::RowSet;
use super::value::{limits, passes};
use crate::query::{NumberRange, Sum, Test, TextTest, Tokens};

/// Of fewer values than one of so many keys each is looked for; else each key is looked for among the values.
const SEARCHED: usize = 8;

/// The rows with values that pass a test, before they are written down.
pub(super) struct Lookup {
    index: Index,
    /// The keys that pass, in ranges that have none in common.
    keys: Vec<Range<usize>>,
    /// Whether a row with a value that passes may not pass itself.
    is_rough: bool,
    /// What predicates are to be true for.
    asked: Option<Hashed>,
}

impl Lookup {
    /// What an index says of a test; nothing if such tests are not for it.
    pub(super) fn new(test: &Test, index: Index) -> Option<Lookup> {
        let sums =
            matches!(test, Test::Weighted(weighted) if matches!(weighted.sum, Sum::Above(_)));
        if let (Test::Predicate(query), Indexed::Predicates { bounds }) = (test, index.by()) {
            let asked = query.is_within(bounds).then(|| query.hashed())?;
            let keys = index.postings().predicates(&asked);
            return Some(Lookup { index, keys, is_rough: true, asked: Some(asked) });
        }
        let keys = keys(test, &index)?;
        Some(Lookup { index, keys, is_rough: sums, asked: None })
    }

    /// The rows; one with several values that pass comes several times.
    pub(super) fn rows(&self) -> impl Iterator<Item = u16> {
        let postings = self.index.postings();
        self.keys.iter().flat_map(|keys| postings.rows(keys.clone())).copied()
    }

    /// How many [rows](Lookup::rows) come.
    pub(super) fn count(&self) -> usize {
        let count = |keys: &Range<usize>| self.index.postings().rows(keys.clone()).len();
        self.keys.iter().map(count).sum()
    }

    /// The rows of which it tells nothing.
    pub(super) fn changed(&self) -> &Bits {
        self.index.changed()
    }

    /// Whether a row with a value that passes may not pass itself.
    pub(super) fn is_rough(&self) -> bool {
        self.is_rough
    }

    /// Whether it takes many steps to see if a row passes.
    pub(super) fn is_heavy(&self) -> bool {
        self.asked.is_some()
    }

    /// The rows among some that pass a test which is [rough](Lookup::is_rough): they count from a row of those of the index on.
    pub(super) fn passing(
        &self,
        test: &Test,
        column: Option<&Column>,
        first: usize,
        among: &RowSet,
    ) -> RowSet {
        let mut evaluator = Evaluator::default();
        among.filter(|row| {
            let program = self.asked.as_ref().zip(self.program(first + row));
            match program.and_then(|(asked, program)| evaluator.run(program, asked)) {
                Some(found) => found != 0,
                None => column.is_some_and(|column| passes(test, column, row).is_some()),
            }
        })
    }

    /// The program of the predicate of a row that has not changed.
    fn program(&self, row: usize) -> Option<&[u8]> {
        self.index.postings().program(row).filter(|_| !self.index.changed().contains(row))
    }
}

/// The keys that pass a test.
fn keys(test: &Test, index: &Index) -> Option<Vec<Range<usize>>> {
    let postings = index.postings();
    let is_same = |is_cased: &bool| index.by() == Indexed::Values { is_cased: *is_cased };
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
        Test::Text { .. }
        | Test::Texts { .. }
        | Test::Circle(_)
        | Test::Predicate(_)
        | Test::Box(_)
        | Test::Indexed(_) => return None,
    })
}

fn between(range: &NumberRange, list: &NumberList, index: &Index) -> Range<usize> {
    match list {
        NumberList::F32(_) => {
            let (low, high) = range.floats();
            index.postings().broken(f64::from(low), f64::from(high))
        }
        NumberList::F64(_) => {
            let (low, high) = range.doubles();
            index.postings().broken(low, high)
        }
        list => {
            let (least, greatest) = limits(list);
            let range = range.whole(least, greatest);
            range.map_or(0..0, |(low, high)| index.postings().whole(low, high))
        }
    }
}

/// The keys that are one of `count` whole numbers.
fn whole<'n>(
    count: usize,
    list: impl Iterator<Item = &'n i64>,
    has: impl Fn(i64) -> bool,
    index: &Index,
) -> Vec<Range<usize>> {
    let postings = index.postings();
    match count * SEARCHED < postings.len() {
        true => list.map(|n| postings.whole(*n, *n)).collect(),
        false => {
            let is_in = |key: &usize| postings.whole_at(*key).is_some_and(&has);
            (0..postings.len()).filter(is_in).map(|key| key..key + 1).collect()
        }
    }
}

/// The keys that are one of some texts.
fn texts(any: &HashMap<String, i32>, index: &Index) -> Vec<Range<usize>> {
    let postings = index.postings();
    match any.len() * SEARCHED < postings.len() {
        true => any.keys().map(|text| postings.text(text)).collect(),
        false => {
            let is_in = |key: &usize| postings.text_at(*key).is_some_and(|k| any.contains_key(k));
            (0..postings.len()).filter(is_in).map(|key| key..key + 1).collect()
        }
    }
}
