//! `weakAnd`: the documents that have most of some words, the rarer the more they count.
//!
//! Words count as [`Bm25`] says, of every index with its own numbers; whatever else stands among them counts 1, times its weight. Like
//! the nearest, the best are looked for among the documents that pass everything else beside the operator in an `and`. Where all words
//! are of one index, blocks of documents that cannot be among the best are not looked at.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use stead_store::{StoreError, View};
use stead_tensor::Bits;
use stead_text::{Bm25, Counter, Pattern, Scored, Top};

use super::beside::{Best, beside};
use super::evaluate::Matcher;
use super::rows::RowSet;
use super::segment::Work;
use crate::query::{Test, Tree, WeakAnd};
use crate::rank::Means;

/// The operator; what compares vectors comes after it.
struct Words;

impl Best for Words {
    fn number(tree: &Tree) -> Option<usize> {
        match tree {
            Tree::WeakAnd(number) => Some(*number),
            _ => None,
        }
    }

    fn is_later(tree: &Tree) -> bool {
        matches!(tree, Tree::WeakAnd(_) | Tree::Neighbor(_))
    }
}

/// The documents of each `weakAnd` of a query by their numbers with how long that took, and the blocks that were left out because it was
/// late.
pub(super) fn weak(
    matcher: &Matcher<'_>,
    view: &View,
    means: Means<'_>,
) -> Result<(Vec<(Bits, Duration)>, Vec<usize>), StoreError> {
    let tree = matcher.tree();
    let all = beside::<Words>(&tree.root, tree.weak_ands.len());
    let (mut found, mut late) = (Vec::new(), Vec::new());
    for (weak, filters) in tree.weak_ands.iter().zip(all) {
        let begin = Instant::now();
        let search = Search { matcher, view, filters, weak };
        let documents = match search.words() {
            Some((index, words)) => search.best(index, &words)?,
            None => search.all(means, &mut late)?,
        };
        found.push((documents, begin.elapsed()));
    }
    Ok((found, late))
}

struct Search<'s> {
    matcher: &'s Matcher<'s>,
    view: &'s View,
    filters: Vec<&'s Tree>,
    weak: &'s WeakAnd,
}

/// What stands within a `weakAnd`.
enum Part<'s> {
    /// A pattern of an index by its number, with its weight.
    Words(usize, &'s Pattern, f64),
    /// Something else, with its weight.
    Other(&'s Tree, f64),
}

impl<'s> Search<'s> {
    /// The words with their weights and the number of their index, if there is nothing else.
    fn words(&self) -> Option<(usize, Vec<(&'s str, f64)>)> {
        let (mut index, mut words) = (None, Vec::new());
        for part in self.parts() {
            let Part::Words(of, Pattern::Term(term), weight) = part else { return None };
            if weight < 0.0 || *index.get_or_insert(of) != of {
                return None;
            }
            words.push((term.as_str(), weight));
        }
        Some((index?, words))
    }

    /// The best by their words alone.
    fn best(&self, index: usize, words: &[(&str, f64)]) -> Result<Bits, StoreError> {
        let mut found = Bits::default();
        let Some(of) = self.view.text(index) else { return Ok(found) };
        let bm25 = Bm25::new(of.average_length());
        let top = Top { count: self.weak.target_hits, terms: words, bm25 };
        // The rows that pass the filters, of blocks that were asked for.
        let passing: RefCell<HashMap<usize, RowSet>> = RefCell::default();
        let failed = RefCell::new(None);
        let is_wanted = |lid: u32| {
            let (block, row) = self.view.split(lid);
            let mut passing = passing.borrow_mut();
            let rows = passing.entry(block).or_insert_with(|| {
                self.among(block).unwrap_or_else(|error| {
                    failed.borrow_mut().get_or_insert(error);
                    RowSet::none(0)
                })
            });
            rows.has(row)
        };
        let best = match self.filters.is_empty() {
            // An index has the documents that there are.
            true => of.top(&top, |_| true),
            false => of.top(&top, is_wanted),
        };
        best.iter().for_each(|scored| {
            found.insert(scored.lid as usize);
        });
        failed.into_inner().map_or(Ok(found), Err)
    }

    /// The best by a look at each document that has any part.
    fn all(&self, means: Means<'_>, late: &mut Vec<usize>) -> Result<Bits, StoreError> {
        let parts: Vec<Part<'_>> = self.parts();
        let mut counters = self.counters(&parts);
        let mut best: BinaryHeap<Reverse<Scored>> = BinaryHeap::new();
        for block in 0..self.matcher.segments.len() {
            if (means.is_late)() {
                late.push(block);
                continue;
            }
            let among = self.among(block)?;
            let Some(work) = self.matcher.work(block).filter(|_| !among.is_empty()) else {
                continue;
            };
            for (row, score) in self.scores(&parts, &mut counters, &work, &among)? {
                let scored = Scored { lid: self.view.lid(block, row), score };
                if best.len() < self.weak.target_hits {
                    best.push(Reverse(scored));
                } else if best.peek().is_some_and(|Reverse(worst)| *worst < scored) {
                    best.pop();
                    best.push(Reverse(scored));
                }
            }
        }
        let mut found = Bits::default();
        best.iter().for_each(|Reverse(scored)| {
            found.insert(scored.lid as usize);
        });
        Ok(found)
    }

    /// The rows of a block among some that have any part, in their order, with their scores.
    fn scores(
        &self,
        parts: &[Part<'_>],
        counters: &mut [(usize, Bm25, Counter<'_>)],
        work: &Work<'_>,
        among: &RowSet,
    ) -> Result<Vec<(usize, f64)>, StoreError> {
        let mut any = RowSet::none(among.rows());
        let mut others = Vec::new();
        for part in &self.weak.parts {
            any.or(&self.matcher.evaluate(part, work, among)?);
        }
        for part in parts {
            if let Part::Other(tree, weight) = part {
                others.push((self.matcher.evaluate(tree, work, among)?, *weight));
            }
        }
        let score = |row: usize| {
            let lid = self.view.lid(work.number(), row);
            let mut sum = 0.0;
            for (index, bm25, counter) in &mut *counters {
                if !counter.go(lid) {
                    continue;
                }
                let length = counter.length();
                let of_index = parts.iter().filter_map(|part| match part {
                    Part::Words(of, _, weight) if of == index => Some(*weight),
                    _ => None,
                });
                for (number, weight) in of_index.enumerate() {
                    let count = counter.count(number);
                    if count > 0 {
                        sum += bm25.score(weight, count, length);
                    }
                }
            }
            let has = others.iter().filter(|(rows, _)| rows.has(row));
            (row, sum + has.map(|(_, weight)| weight).sum::<f64>())
        };
        Ok(any.iter().map(score).collect())
    }

    /// A counter for each index that words are asked of.
    fn counters<'p>(&self, parts: &[Part<'p>]) -> Vec<(usize, Bm25, Counter<'p>)>
    where
        's: 'p,
    {
        let mut indexes: Vec<usize> = Vec::new();
        for part in parts {
            if let Part::Words(index, ..) = part
                && !indexes.contains(index)
            {
                indexes.push(*index);
            }
        }
        let counter = |index: usize| {
            let of = self.view.text(index)?;
            let patterns = parts.iter().filter_map(|part| match part {
                Part::Words(at, pattern, _) if *at == index => Some(*pattern),
                _ => None,
            });
            Some((index, Bm25::new(of.average_length()), of.counter(patterns.collect())))
        };
        indexes.into_iter().filter_map(counter).collect()
    }

    /// The rows of a block that pass what stands beside the operator.
    fn among(&self, block: usize) -> Result<RowSet, StoreError> {
        for filter in &self.filters {
            if self.matcher.is_ruled_out(filter, block)? {
                return Ok(RowSet::none(self.view.block_rows()));
            }
        }
        let Some(work) = self.matcher.work(block) else { return Ok(RowSet::none(0)) };
        let mut among = work.segment().alive();
        for filter in &self.filters {
            among = self.matcher.evaluate(filter, &work, &among)?;
        }
        Ok(among)
    }

    /// The parts, those of an `or` each alone.
    fn parts(&self) -> Vec<Part<'s>> {
        let mut parts = Vec::new();
        self.weak.parts.iter().for_each(|tree| self.part(tree, &mut parts));
        parts
    }

    fn part(&self, tree: &'s Tree, into: &mut Vec<Part<'s>>) {
        let Tree::Term(number) = tree else {
            match tree {
                Tree::Or(parts) => parts.iter().for_each(|part| self.part(part, into)),
                Tree::None => {}
                other => into.push(Part::Other(other, 1.0)),
            }
            return;
        };
        let term = &self.matcher.tree().terms[*number];
        let weight = term.style.weight as f64 / 100.0;
        let Test::Indexed(indexed) = &term.test else {
            into.push(Part::Other(tree, weight));
            return;
        };
        let Some(of) = self.view.text(indexed.index) else { return };
        let idf = || {
            let with = self.matcher.of_index(*number).map_or(0, Bits::count);
            Bm25::idf(of.documents(), with)
        };
        let idf = term.style.significance.unwrap_or_else(idf);
        let weight = weight * Bm25::new(0.0).weight(idf);
        into.push(Part::Words(indexed.index, &indexed.pattern, weight));
    }
}
