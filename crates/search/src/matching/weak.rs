//! `weakAnd`: the documents that have most of some words, the rarer the more they count.
//!
//! Words count as [`Bm25`] says, of every index with its own numbers; whatever else stands among them counts 1, times its weight. Like
//! the nearest, the best are looked for among the documents that pass everything else beside the operator in an `and`. Where there are
//! words only, blocks of documents that cannot be among the best are not looked at. [`wand`](super::wand) is one of these with another sum.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use stead_store::{StoreError, View};
use stead_tensor::Bits;
use stead_text::{Bm25, Counter, Pattern, Scored};

use super::beside::{Best, beside};
use super::evaluate::Matcher;
use super::rows::RowSet;
use super::segment::Work;
use super::shares::Words;
use crate::query::{QueryTree, Test, Tree, WeakAnd};
use crate::rank::Means;

/// The operator; what compares vectors comes after it.
struct Operator;

impl Best for Operator {
    fn number(tree: &Tree) -> Option<usize> {
        match tree {
            Tree::WeakAnd(number) => Some(*number),
            _ => None,
        }
    }

    fn is_later(query: &QueryTree, tree: &Tree) -> bool {
        match tree {
            // Who passes the test of a `wand` is known before its best are.
            Tree::WeakAnd(number) => query.weak_ands.get(*number).is_none_or(|w| !w.is_of_sums),
            other => matches!(other, Tree::Neighbor(_)),
        }
    }
}

/// The documents of each `weakAnd` and `wand` of a query by their numbers with how long that took, and the blocks that were left out because it was
/// late.
pub(super) fn weak(
    matcher: &Matcher<'_>,
    view: &View,
    threads: usize,
    means: Means<'_>,
) -> Result<(Vec<(Bits, Duration)>, Vec<usize>), StoreError> {
    let tree = matcher.tree();
    let all = beside::<Operator>(tree, tree.weak_ands.len());
    let (mut found, mut late) = (Vec::new(), Vec::new());
    for (weak, filters) in tree.weak_ands.iter().zip(all) {
        let begin = Instant::now();
        let search = Search { matcher, view, filters, weak };
        let documents = match search.words().as_deref() {
            None if weak.is_of_sums => search.of_sums((threads, means), &mut late)?,
            Some([words]) => search.of_one(words)?,
            Some(words) => search.of_several(words)?,
            None => search.all(means, &mut late)?,
        };
        found.push((documents, begin.elapsed()));
    }
    Ok((found, late))
}

/// The best documents so far, the worst of them at the top.
pub(super) type Kept = BinaryHeap<Reverse<Scored>>;

/// A `weakAnd` and what stands beside it.
pub(super) struct Search<'s> {
    pub(super) matcher: &'s Matcher<'s>,
    pub(super) view: &'s View,
    pub(super) filters: Vec<&'s Tree>,
    pub(super) weak: &'s WeakAnd,
}

/// What stands within a `weakAnd`.
pub(super) enum Part<'s> {
    /// A pattern of an index by its number, with its weight.
    Words(usize, &'s Pattern, f64),
    /// Something else, with its weight.
    Other(&'s Tree, f64),
}

impl<'s> Search<'s> {
    /// The words of each index with their weights, if there is nothing else.
    fn words(&self) -> Option<Vec<Words<'s>>> {
        let mut words: Vec<Words<'_>> = Vec::new();
        for part in self.parts() {
            let Part::Words(index, Pattern::Term(term), weight) = part else { return None };
            if weight < 0.0 {
                return None;
            }
            let word = (term.as_str(), weight);
            match words.iter_mut().find(|(of, _)| *of == index) {
                Some((_, words)) => words.push(word),
                None => words.push((index, vec![word])),
            }
        }
        (!words.is_empty()).then_some(words)
    }

    /// The best by a look at each document that has any part.
    fn all(&self, means: Means<'_>, late: &mut Vec<usize>) -> Result<Bits, StoreError> {
        let parts: Vec<Part<'_>> = self.parts();
        let mut counters = self.counters(&parts);
        let mut best = Kept::new();
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
                self.keep(Scored { lid: self.view.lid(block, row), score }, &mut best);
            }
        }
        let mut found = Bits::default();
        best.iter().for_each(|Reverse(scored)| {
            found.insert(scored.lid as usize);
        });
        Ok(found)
    }

    /// Keeps a document if it is one of the best, as many as are wanted.
    pub(super) fn keep(&self, scored: Scored, best: &mut Kept) {
        if best.len() < self.weak.target_hits {
            best.push(Reverse(scored));
        } else if best.peek().is_some_and(|Reverse(worst)| *worst < scored) {
            best.pop();
            best.push(Reverse(scored));
        }
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
            let sum = self.sum(parts, counters, self.view.lid(work.number(), row));
            let has = others.iter().filter(|(rows, _)| rows.has(row));
            (row, sum + has.map(|(_, weight)| weight).sum::<f64>())
        };
        Ok(any.iter().map(score).collect())
    }

    /// What the words of all indexes add up to for a document.
    pub(super) fn sum(
        &self,
        parts: &[Part<'_>],
        counters: &mut [(usize, Bm25, Counter<'_>)],
        lid: u32,
    ) -> f64 {
        let mut sum = 0.0;
        for (index, bm25, counter) in counters {
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
        sum
    }

    /// A counter for each index that words are asked of.
    pub(super) fn counters<'p>(&self, parts: &[Part<'p>]) -> Vec<(usize, Bm25, Counter<'p>)>
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
    pub(super) fn among(&self, block: usize) -> Result<RowSet, StoreError> {
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
    pub(super) fn parts(&self) -> Vec<Part<'s>> {
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
        if self.view.text(indexed.index).is_none() {
            return;
        }
        let idf = || Bm25::idf(self.view.len(), self.matcher.frequency(*number));
        let idf = term.style.significance.unwrap_or_else(idf);
        let weight = weight * Bm25::new(0.0).weight(idf);
        into.push(Part::Words(indexed.index, &indexed.pattern, weight));
    }
}
