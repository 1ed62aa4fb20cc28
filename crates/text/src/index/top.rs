//! The best documents of a query without a look at all of them: MaxScore with the bounds of blocks.
//!
//! H. Turtle, J. Flood, "Query Evaluation: Strategies and Optimizations" (1995); S. Ding, T. Suel, "Faster Top-k Document Retrieval Using
//! Block-Max Indexes" (2011). Terms are split by the least score that is wanted: those whose greatest scores together do not
//! reach it find no document alone, and are only asked of documents that the others find.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::postings::{END, Postings};
use super::view::{FieldIndex, Part};
use crate::bm25::Bm25;

/// Bounds are sums in another order than scores: so much more lest rounding loses a document.
const SLACK: f64 = 1.0 + 1e-9;

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
        let mut best = BinaryHeap::new();
        if top.count > 0 {
            // The largest first: what it finds spares work in the others.
            let mut parts: Vec<&Part> = self.parts.iter().collect();
            parts.sort_by_key(|part| Reverse(part.documents()));
            parts.iter().for_each(|part| search(part, top, &is_wanted, &mut best));
        }
        let mut best: Vec<Scored> = best.into_iter().map(|Reverse(scored)| scored).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best
    }
}

/// The best so far, the worst of them on top.
type Best = BinaryHeap<Reverse<Scored>>;

/// A term of a query in a segment.
struct Cursor<'s> {
    list: Postings<'s>,
    /// The place of the term in the query.
    term: usize,
    weight: f64,
    /// No document has a greater score of it.
    most: f64,
}

/// Adds the documents of a segment.
fn search(part: &Part, top: &Top<'_>, is_wanted: &impl Fn(u32) -> bool, best: &mut Best) {
    let bm25 = &top.bm25;
    let cursor = |(term, (text, weight)): (usize, &(&str, f64))| {
        let list = part.segment.find(text)?;
        let mut cursor = Cursor { list, term, weight: *weight, most: weight * SLACK };
        let bounds = cursor.list.bounds().map(|bound| bound.score(*weight, bm25) * SLACK);
        if let Some(most) = bounds.max_by(f64::total_cmp) {
            cursor.most = most;
        }
        Some(cursor)
    };
    let mut cursors: Vec<Cursor<'_>> = top.terms.iter().enumerate().filter_map(cursor).collect();
    cursors.sort_by(|a, b| a.most.total_cmp(&b.most));
    // The most that the cursors before each have together.
    let before: Vec<f64> = cursors
        .iter()
        .scan(0.0, |sum, cursor| {
            let before = *sum;
            *sum += cursor.most;
            Some(before)
        })
        .collect();
    let mut counts = vec![0; top.terms.len()];
    let mut first = 0;
    loop {
        let least = match best.len() < top.count {
            true => f64::NEG_INFINITY,
            false => best.peek().map_or(f64::NEG_INFINITY, |Reverse(worst)| worst.score),
        };
        // Those before the first find no document that is good enough.
        while first < cursors.len() && before[first] + cursors[first].most < least {
            first += 1;
        }
        let Some(found) = cursors.get_mut(first..).filter(|found| !found.is_empty()) else {
            return;
        };
        let doc = found.iter().map(|cursor| cursor.list.doc()).min().unwrap_or(END);
        if doc == END {
            return;
        }
        // No document up to the nearest end of a block is better than the blocks.
        let (mut sum, mut last) = (before[first], END - 1);
        for cursor in found.iter().filter(|cursor| cursor.list.doc() != END) {
            match cursor.list.block_bound() {
                Some((end, bound)) => {
                    sum += bound.score(cursor.weight, bm25) * SLACK;
                    last = last.min(end);
                }
                None => sum += cursor.most,
            }
        }
        if sum < least {
            // Where a list is one block its bound holds to its end.
            for cursor in found {
                cursor.list.seek(last + 1);
            }
            continue;
        }
        let lid = part.segment.lid(doc);
        if !part.gone.contains(doc as usize) && is_wanted(lid) {
            let length = part.segment.length(doc);
            if let Some(score) =
                score(&mut cursors, first, &before, doc, length, least, top, &mut counts)
            {
                let scored = Scored { lid, score };
                if best.len() < top.count {
                    best.push(Reverse(scored));
                } else if let Some(mut worst) = best.peek_mut()
                    && worst.0 < scored
                {
                    *worst = Reverse(scored);
                }
            }
        }
        for cursor in &mut cursors[first..] {
            if cursor.list.doc() == doc {
                cursor.list.next();
            }
        }
    }
}

/// The score of a document that one of the cursors from the first on has found; nothing if it is below the least.
#[expect(clippy::too_many_arguments, reason = "one step of a loop, apart to be read alone")]
fn score(
    cursors: &mut [Cursor<'_>],
    first: usize,
    before: &[f64],
    doc: u32,
    length: u32,
    least: f64,
    top: &Top<'_>,
    counts: &mut [u32],
) -> Option<f64> {
    let bm25 = &top.bm25;
    counts.fill(0);
    let mut sum = 0.0;
    // The greatest first; of those that find nothing alone only as long as the rest may help.
    for (at, cursor) in cursors.iter_mut().enumerate().rev() {
        if at < first && (sum + before[at] + cursor.most) * SLACK < least {
            return None;
        }
        let here = match at < first {
            true => cursor.list.seek(doc),
            false => cursor.list.doc(),
        };
        if here == doc {
            let count = cursor.list.count();
            counts[cursor.term] = count;
            sum += bm25.score(cursor.weight, count, length);
        }
    }
    // In the order of the query, as scores are defined.
    let terms = top.terms.iter().zip(&*counts).filter(|(_, count)| **count > 0);
    Some(terms.map(|((_, weight), count)| bm25.score(*weight, *count, length)).sum())
}
