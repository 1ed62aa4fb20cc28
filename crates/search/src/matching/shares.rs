//! `weakAnd` of words of several indexes without a look at all documents.
//!
//! The best of each index alone are good documents, and the worst of the best of these tells what a document must have at least. Who has that has
//! of some index at least that index's share of it, however it is shared out; the documents that have, each index finds alone. The sums
//! of all these are computed. (The thresholds are those of R. Fagin, A. Lotem, M. Naor, "Optimal Aggregation Algorithms for
//! Middleware", 2001.)

use std::cell::RefCell;
use std::collections::HashMap;

use stead_store::StoreError;
use stead_tensor::Bits;
use stead_text::{Bm25, FieldIndex, Scored, Top};

use super::rows::RowSet;
use super::weak::Search;

/// Words of an index by its number, with their weights.
pub(super) type Words<'s> = (usize, Vec<(&'s str, f64)>);

/// Sums in another order, and parts of them, are off by less than this.
const ROUNDED: f64 = 1.0 - 1e-9;

/// Which documents pass what stands beside the operator, of blocks that were asked for.
pub(super) struct Passing<'p> {
    search: &'p Search<'p>,
    rows: RefCell<HashMap<usize, RowSet>>,
    failed: RefCell<Option<StoreError>>,
}

impl<'p> Passing<'p> {
    pub(super) fn new(search: &'p Search<'p>) -> Passing<'p> {
        Passing { search, rows: RefCell::default(), failed: RefCell::default() }
    }

    pub(super) fn has(&self, lid: u32) -> bool {
        if self.search.filters.is_empty() {
            // An index has the documents that there are.
            return true;
        }
        let (block, row) = self.search.view.split(lid);
        let mut rows = self.rows.borrow_mut();
        let rows = rows.entry(block).or_insert_with(|| {
            self.search.among(block).unwrap_or_else(|error| {
                self.failed.borrow_mut().get_or_insert(error);
                RowSet::none(0)
            })
        });
        rows.has(row)
    }

    /// What was found, unless a block could not be read.
    pub(super) fn found(self, best: &[Scored]) -> Result<Bits, StoreError> {
        let mut found = Bits::default();
        best.iter().for_each(|scored| {
            found.insert(scored.lid as usize);
        });
        self.failed.into_inner().map_or(Ok(found), Err)
    }
}

impl Search<'_> {
    /// The best by their words of one index.
    pub(super) fn of_one(&self, words: &Words<'_>) -> Result<Bits, StoreError> {
        let passing = Passing::new(self);
        let count = self.weak.target_hits;
        let best = self.asked(words, count, |of, top| of.top(top, |lid| passing.has(lid)));
        passing.found(&best)
    }

    /// The best by their words of several indexes.
    pub(super) fn of_several(&self, words: &[Words<'_>]) -> Result<Bits, StoreError> {
        let (parts, passing) = (self.parts(), Passing::new(self));
        let mut counters = self.counters(&parts);
        let mut sums = |lids: &[u32], into: &mut Vec<Scored>| {
            let of = |lid: &u32| Scored { lid: *lid, score: self.sum(&parts, &mut counters, *lid) };
            into.extend(lids.iter().map(of));
            into.sort_unstable_by(|a, b| b.cmp(a));
        };
        let count = self.weak.target_hits;
        let (mut known, mut most) = (Vec::new(), Vec::new());
        for words in words {
            let best = self.asked(words, count, |of, top| of.top(top, |lid| passing.has(lid)));
            most.push(best.first().map_or(0.0, |best| best.score));
            known.extend(best.iter().map(|scored| scored.lid));
        }
        known.sort_unstable();
        known.dedup();
        let mut best = Vec::new();
        sums(&known, &mut best);
        // Where there are fewer, no index has others.
        let worst = count.checked_sub(1).and_then(|last| best.get(last)).map(|worst| worst.score);
        let Some(worst) = worst else { return passing.found(&best) };
        let (mut more, all) = (Vec::new(), most.iter().sum::<f64>());
        for (words, most) in words.iter().zip(most) {
            // Where nothing counts, all are as good.
            let share = if all > 0.0 { worst * most / all * ROUNDED } else { 0.0 };
            if share > 0.0 || worst <= 0.0 {
                let found = self.asked(words, usize::MAX, |of, top| {
                    of.reaching(top, share, |lid| passing.has(lid))
                });
                more.extend(found.iter().map(|scored| scored.lid));
            }
        }
        more.sort_unstable();
        more.dedup();
        more.retain(|lid| known.binary_search(lid).is_err());
        sums(&more, &mut best);
        best.truncate(count);
        passing.found(&best)
    }

    /// What an index says of its words.
    fn asked(
        &self,
        (index, words): &Words<'_>,
        count: usize,
        ask: impl Fn(&FieldIndex, &Top<'_>) -> Vec<Scored>,
    ) -> Vec<Scored> {
        let Some(of) = self.view.text(*index) else { return Vec::new() };
        let bm25 = Bm25::new(of.average_length());
        ask(of, &Top { count, terms: words, bm25 })
    }
}
