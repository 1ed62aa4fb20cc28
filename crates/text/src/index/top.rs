//! The best documents of a query without a look at all of them: MaxScore in windows of blocks.
//!
//! H. Turtle, J. Flood, "Query Evaluation: Strategies and Optimizations" (1995); S. Ding, T. Suel, "Faster Top-k Document Retrieval Using
//! Block-Max Indexes" (2011). Terms are split by the least score that is wanted: those whose greatest scores together do not
//! reach it find no document alone, and are only asked of documents that the others find. These go through the segment from one end of a
//! block to the next; where the bounds of their blocks do not reach the least score, nothing between is read.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::cursor::{Cursor, Found};
use super::postings::END;
use super::view::{FieldIndex, Part};
use crate::bm25::{Bm25, Rough};

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Its number in the store.
    pub lid: u32,
    /// Greater is better.
    pub score: f64,
}

impl Eq for Scored {}

impl Ord for Scored {
    /// The better is greater, of equal ones that with the lower lid.
    fn cmp(&self, other: &Scored) -> Ordering {
        self.score.total_cmp(&other.score).then(other.lid.cmp(&self.lid))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Scored) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What is asked for: the documents with the best sums of [`Bm25::score`] over terms.
#[derive(Debug, Clone)]
pub struct Top<'q> {
    /// How many.
    pub count: usize,
    /// The terms with their [weights](Bm25::weight), none negative.
    pub terms: &'q [(&'q str, f64)],
    /// The parameters.
    pub bm25: Bm25,
}

impl FieldIndex {
    /// The best documents of those that are wanted, the best first; of those with equal scores the ones with the lowest lids.
    pub fn top(&self, top: &Top<'_>, is_wanted: impl Fn(u32) -> bool) -> Vec<Scored> {
        let mut best = Vec::new();
        if top.count > 0 {
            // The largest first: what it finds spares work in the others.
            let mut parts: Vec<&Part> = self.parts.iter().collect();
            parts.sort_by_key(|part| Reverse(part.documents()));
            let mut search = Search::new(top, &is_wanted);
            parts.iter().for_each(|part| search.part(part));
            best.extend(search.best.into_iter().map(|Reverse(scored)| scored));
        }
        best.sort_unstable_by(|a, b| b.cmp(a));
        best
    }
}

/// The most documents of a window whose scores are summed side by side; in longer ones there are few of them.
const SPAN: u32 = 2048;

/// How far a sum of so many scores as `f32` is off at most, as a factor: each and each addition by some units of the last place.
fn slack(terms: usize) -> f64 {
    1.0 + (terms + 8) as f64 * f64::from(f32::EPSILON)
}

/// What a search has.
struct Search<'s, W> {
    top: &'s Top<'s>,
    is_wanted: &'s W,
    rough: Rough,
    slack: f64,
    /// The terms that the segment has, that with the least greatest score first; the first `live` are in use.
    cursors: Vec<Cursor<'s>>,
    live: usize,
    /// The most that the cursors before each have together.
    before: Vec<f64>,
    /// The cursors in the order of the query.
    order: Vec<usize>,
    /// How often the document that is scored has each term of the query.
    counts: Vec<u32>,
    /// Of the documents of a window; 0 between windows.
    sums: Vec<f32>,
    /// The worst of the best on top.
    best: BinaryHeap<Reverse<Scored>>,
    /// That, once there are enough of them.
    worst: Option<Scored>,
}

impl<'s, W: Fn(u32) -> bool> Search<'s, W> {
    fn new(top: &'s Top<'s>, is_wanted: &'s W) -> Search<'s, W> {
        let terms = top.terms.len();
        Search {
            top,
            is_wanted,
            rough: top.bm25.rough(),
            slack: slack(terms),
            cursors: Vec::new(),
            live: 0,
            before: Vec::new(),
            order: Vec::new(),
            counts: vec![0; terms],
            sums: Vec::new(),
            best: BinaryHeap::new(),
            worst: None,
        }
    }

    /// Adds the documents of a segment.
    fn part(&mut self, part: &'s Part) {
        let (terms, bm25) = (self.top.terms, &self.top.bm25);
        let found = |(term, (text, weight)): (usize, &(&str, f64))| {
            let list = part.segment.find_list(text)?;
            Some(Found::new(list, (term, *weight), terms.len() == 1, bm25))
        };
        let mut found: Vec<Found<'s>> = terms.iter().enumerate().filter_map(found).collect();
        found.sort_by(|a, b| a.most.total_cmp(&b.most));
        self.live = found.len();
        self.cursors.resize_with(self.cursors.len().max(self.live), Cursor::new);
        self.before.clear();
        let mut sum = 0.0;
        for (cursor, found) in self.cursors.iter_mut().zip(&found) {
            cursor.open(found, bm25);
            self.before.push(sum);
            sum += found.most;
        }
        self.order.clear();
        self.order.extend(0..self.live);
        self.order.sort_unstable_by_key(|at| found[*at].term);
        self.run(part);
    }

    fn run(&mut self, part: &Part) {
        // Those before the first find no document that is good enough; windows begin where the last ended.
        let (mut first, mut begin) = (0, 0);
        while begin != END {
            while first < self.live && self.is_below(self.before[first] + self.cursors[first].most)
            {
                first += 1;
            }
            let least = self.least(self.before.get(first).copied().unwrap_or_default());
            if self.live - first == 1 && least > 0.0 {
                begin = self.cursors[first].pass(begin, least.into(), &self.top.bm25);
            }
            let Some(end) = self.window(first, begin) else { return };
            if !self.is_hopeless(part, first, begin) {
                let is_short = end - begin < SPAN && least > 0.0;
                match self.live - first {
                    1 => self.one(part, first, begin),
                    _ if is_short => self.summed(part, first, begin, end),
                    _ => self.several(part, first, begin, end),
                }
            }
            begin = end + 1;
        }
    }

    /// Goes to a window: up to the nearest end of a block of the cursors that find documents. Nothing where none has a document from its
    /// begin on.
    fn window(&mut self, first: usize, begin: u32) -> Option<u32> {
        let found = self.cursors.get_mut(first..self.live)?.iter_mut();
        let ends = found.map(|cursor| {
            cursor.reach(begin, &self.top.bm25);
            cursor.last
        });
        ends.min().filter(|end| *end != END)
    }

    /// Whether no document of the window is good enough. Sums of what is greatest in the order of the query are no less than any score, after
    /// rounding too; and of equal scores the first document stays.
    fn is_hopeless(&self, part: &Part, first: usize, begin: u32) -> bool {
        let Some(worst) = self.worst else { return false };
        if first > 0 {
            let found = self.cursors[first..self.live].iter().map(|cursor| cursor.block_most);
            return self.is_below(self.before[first] + found.sum::<f64>());
        }
        let score = self.order.iter().map(|at| self.cursors[*at].block_most).sum();
        Scored { lid: part.segment.lid(begin), score } < worst
    }

    /// Whether a sum in any order is less than what is wanted.
    #[inline(always)]
    fn is_below(&self, sum: f64) -> bool {
        self.worst.is_some_and(|worst| sum * self.slack < worst.score)
    }

    /// A sum that is less is [below](Search::is_below) what is wanted, with that of others.
    fn least(&self, others: f64) -> f32 {
        self.worst.map_or(f32::NEG_INFINITY, |worst| {
            let least = worst.score / self.slack - others;
            (least - least.abs() * f64::from(f32::EPSILON)) as f32
        })
    }

    /// The documents of a window that one cursor finds.
    fn one(&mut self, part: &Part, at: usize, begin: u32) {
        let lengths = &part.segment.lengths;
        self.cursors[at].seek(begin);
        loop {
            let least = self.least(self.before[at]);
            let cursor = &mut self.cursors[at];
            let (docs, scores) = cursor.scores(&self.rough, lengths);
            let next = position(scores, least).and_then(|at| docs.get(at).zip(scores.get(at)));
            let Some((&doc, &score)) = next else { return };
            cursor.seek(doc);
            self.offer(part, doc, at, score.into());
            self.cursors[at].step();
        }
    }

    /// The documents of a short window that several cursors find: the scores of all are summed before one is looked at.
    fn summed(&mut self, part: &Part, first: usize, begin: u32, end: u32) {
        self.sums.resize(SPAN as usize, 0.0);
        let lengths = &part.segment.lengths;
        for cursor in &mut self.cursors[first..self.live] {
            if cursor.last == END {
                continue;
            }
            cursor.seek(begin);
            let (docs, scores) = cursor.scores(&self.rough, lengths);
            for (doc, score) in docs.iter().zip(scores) {
                let Some(sum) = self.sums.get_mut(doc.wrapping_sub(begin) as usize) else { break };
                *sum += score;
            }
        }
        let mut at = 0;
        let span = (end - begin) as usize + 1;
        while let Some(next) = position(&self.sums[at..span], self.least(self.before[first])) {
            at += next;
            let doc = begin + at as u32;
            for cursor in &mut self.cursors[first..self.live] {
                if cursor.last != END {
                    cursor.seek(doc);
                }
            }
            self.offer(part, doc, first, self.sums[at].into());
            at += 1;
        }
        self.sums.fill(0.0);
    }

    /// The documents of a window that several cursors find, one after the other.
    fn several(&mut self, part: &Part, first: usize, begin: u32, end: u32) {
        let lengths = &part.segment.lengths;
        for cursor in &mut self.cursors[first..self.live] {
            if cursor.last != END {
                cursor.seek(begin);
            }
        }
        loop {
            let found = &mut self.cursors[first..self.live];
            let doc = found.iter().map(|cursor| cursor.doc).min().unwrap_or(END);
            if doc > end {
                return;
            }
            let mut score = 0.0;
            for cursor in found.iter_mut().filter(|cursor| cursor.doc == doc) {
                score += f64::from(cursor.current(&self.rough, lengths));
            }
            if !self.is_below(self.before[first] + score) {
                self.offer(part, doc, first, score);
            }
            let found = &mut self.cursors[first..self.live];
            found.iter_mut().filter(|cursor| cursor.doc == doc).for_each(Cursor::step);
        }
    }

    /// Adds a document if it is good enough, at which those of the cursors from the first on are that have it, with about the sum of
    /// their scores.
    fn offer(&mut self, part: &Part, doc: u32, first: usize, mut score: f64) {
        let (bm25, length) = (&self.top.bm25, part.segment.length(doc));
        let is_wanted = self.is_wanted;
        let is_wanted = || !part.gone.contains(doc as usize) && is_wanted(part.segment.lid(doc));
        let mut is_asked = false;
        // The greatest first, as long as the rest may help.
        for at in (0..first).rev() {
            let sum = score + self.before[at];
            if self.is_below(sum + self.cursors[at].most) {
                return;
            }
            let cursor = &mut self.cursors[at];
            cursor.reach(doc, bm25);
            let most = cursor.block_most;
            if self.is_below(sum + most) || !(is_asked || is_wanted()) {
                return;
            }
            is_asked = true;
            let cursor = &mut self.cursors[at];
            if cursor.last != END && cursor.seek(doc) == doc {
                score += f64::from(self.rough.score(cursor.weight as f32, cursor.count(), length));
            }
        }
        if self.is_below(score) || !(is_asked || is_wanted()) {
            return;
        }
        self.counts.fill(0);
        for cursor in self.cursors[..self.live].iter_mut().filter(|cursor| cursor.doc == doc) {
            self.counts[cursor.term] = cursor.count();
        }
        // In the order of the query, as scores are defined.
        let terms = self.top.terms.iter().zip(&self.counts).filter(|(_, count)| **count > 0);
        let score = terms.map(|((_, weight), count)| bm25.score(*weight, *count, length)).sum();
        let scored = Scored { lid: part.segment.lid(doc), score };
        if self.best.len() < self.top.count {
            self.best.push(Reverse(scored));
        } else if let Some(mut worst) = self.best.peek_mut()
            && worst.0 < scored
        {
            *worst = Reverse(scored);
        }
        let worst = self.best.peek().filter(|_| self.best.len() >= self.top.count);
        self.worst = worst.map(|Reverse(worst)| *worst);
    }
}

/// Where the first number is that is not less than another.
fn position(numbers: &[f32], least: f32) -> Option<usize> {
    // Many at a time, of which mostly none is.
    let (chunks, rest) = numbers.as_chunks::<16>();
    let has = |chunk: &[f32; 16]| chunk.iter().fold(false, |has, x| has | (*x >= least));
    let (begin, among) = match chunks.iter().position(has) {
        Some(chunk) => (chunk * 16, &chunks[chunk][..]),
        None => (chunks.len() * 16, rest),
    };
    Some(begin + among.iter().position(|x| *x >= least)?)
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn the_first_that_is_no_less() {
        for length in [0, 1, 15, 16, 17, 40] {
            let mut numbers = vec![1.0; length];
            assert_eq!(position(&numbers, 2.0), None);
            for at in (0..length).rev() {
                numbers[at] = 2.0;
                assert_eq!(position(&numbers, 2.0), Some(at), "{length}");
            }
            assert_eq!(position(&numbers, f32::NEG_INFINITY), numbers.first().map(|_| 0));
        }
    }
}
