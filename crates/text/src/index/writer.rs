//! The one who changes an index.

use std::sync::Arc;

use stead_tensor::Bits;

use super::merge::merge;
use super::pending::Pending;
use super::segment::Segment;
use super::view::{FieldIndex, Part};
use super::write::Occurrence;

/// How many segments of a size become one: a document is written again as often as the index grows so many times.
const FAN: usize = 8;

/// The most documents of segments that are joined on the way: some milliseconds.
const AT_ONCE: usize = 2048;

/// The part of the documents of a segment, as its inverse, that may be gone before it is written again without them.
const GONE: usize = 4;

/// Postings of one segment are reached by 32 bits; segments that might have more together stay apart.
const MOST_BYTES: usize = 3 << 30;

/// Changes an index. What it changes is seen when it is [published](FieldWriter::publish).
#[derive(Debug, Default)]
pub struct FieldWriter {
    index: FieldIndex,
    pending: Pending,
    /// Of the segments that are being joined.
    merging: Vec<Arc<Segment>>,
}

/// Segments to be joined, by whoever has time.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Part>,
}

/// Segments that were joined.
#[derive(Debug)]
pub struct Merged {
    segment: Segment,
    /// What they were, and what was gone of them when they were joined.
    parts: Vec<Part>,
}

impl Merge {
    /// Joins the segments: some hundred nanoseconds for each term of a document.
    #[must_use]
    pub fn run(self) -> Merged {
        Merged { segment: joined(&self.parts), parts: self.parts }
    }
}

fn joined(parts: &[Part]) -> Segment {
    let sources: Vec<(&Segment, &Bits)> = parts.iter().map(|p| (&*p.segment, &*p.gone)).collect();
    merge(&sources)
}

impl FieldWriter {
    /// The one who changes an index from now on.
    #[must_use]
    pub fn of(index: FieldIndex) -> FieldWriter {
        FieldWriter { index, ..FieldWriter::default() }
    }

    /// Puts a document's terms in the place of those that it has, if it has some: each with where it stands, in that order.
    pub fn put(&mut self, lid: u32, terms: impl Iterator<Item = (impl AsRef<str>, Occurrence)>) {
        self.put_weighted(lid, terms, &[]);
    }

    /// The same with the weights of its elements, by their numbers; those behind them weigh 1.
    pub fn put_weighted(
        &mut self,
        lid: u32,
        terms: impl Iterator<Item = (impl AsRef<str>, Occurrence)>,
        weights: &[i32],
    ) {
        self.remove(lid);
        self.pending.put(lid, terms, weights);
    }

    /// Takes a document's terms out.
    pub fn remove(&mut self, lid: u32) {
        self.pending.remove(lid);
        // It is in one at most.
        let _ = self.index.parts.iter_mut().any(|part| part.remove(lid));
    }

    /// Takes up the documents of another writer, which has none of the same lids and joins none.
    pub fn absorb(&mut self, mut other: FieldWriter) {
        other.publish();
        self.index.parts.append(&mut other.index.parts);
    }

    /// Joins all segments that are better joined, now.
    pub fn settle(&mut self) {
        while let Some(merge) = self.merge() {
            self.install(merge.run());
        }
    }

    /// The index with all changes.
    pub fn publish(&mut self) -> FieldIndex {
        if let Some(segment) = self.pending.take() {
            self.index.parts.push(Part::new(segment));
        }
        // One that is being joined is needed until then: what it had is gone from the segment that it becomes.
        let merging = &self.merging;
        let is_merging = |part: &Part| merging.iter().any(|m| Arc::ptr_eq(m, &part.segment));
        self.index.parts.retain(|part| part.documents() > 0 || is_merging(part));
        while let Some(chosen) = self.choose(|documents| documents <= AT_ONCE) {
            let parts = self.take(&chosen);
            self.index.parts.push(Part::new(joined(&parts)));
        }
        self.index.clone()
    }

    /// Segments that are better joined, if no others are [being](FieldWriter::install) joined.
    pub fn merge(&mut self) -> Option<Merge> {
        if self.is_merging() {
            return None;
        }
        let chosen = self.choose(|_| true)?;
        let parts: Vec<Part> = chosen.iter().map(|at| self.index.parts[*at].clone()).collect();
        self.merging = parts.iter().map(|part| Arc::clone(&part.segment)).collect();
        Some(Merge { parts })
    }

    /// Whether segments are being joined.
    #[must_use]
    pub fn is_merging(&self) -> bool {
        !self.merging.is_empty()
    }

    /// Puts what was joined in the place of what it was made of, without what has gone meanwhile. It is seen when it is
    /// [published](FieldWriter::publish).
    pub fn install(&mut self, merged: Merged) {
        self.merging.clear();
        let mut part = Part::new(merged.segment);
        let is_source =
            |part: &Part| merged.parts.iter().find(|p| Arc::ptr_eq(&p.segment, &part.segment));
        self.index.parts.retain(|now| {
            let Some(then) = is_source(now) else { return true };
            let since = now.gone.iter().filter(|doc| !then.gone.contains(*doc));
            for doc in since {
                part.remove(now.segment.lid(doc as u32));
            }
            false
        });
        self.index.parts.push(part);
    }

    /// The parts that are best joined, of those that are not being joined: all of the least size of which there are many, or one of which much
    /// is gone.
    fn choose(&self, is_wanted: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let parts = &self.index.parts;
        let is_free = |part: &Part| !self.merging.iter().any(|m| Arc::ptr_eq(m, &part.segment));
        let mut sizes: Vec<(u32, usize)> = (0..parts.len())
            .filter(|at| is_free(&parts[*at]))
            .map(|at| (parts[at].documents().max(1).ilog(FAN), at))
            .collect();
        sizes.sort_unstable();
        let of_one_size = sizes.chunk_by(|a, b| a.0 == b.0).find(|of| of.len() >= FAN);
        let stale = |(_, at): &&(u32, usize)| {
            parts[*at].gone.count() * GONE > parts[*at].segment.lids.len()
        };
        let chosen: Vec<usize> = match of_one_size {
            Some(many) => many.iter().map(|(_, at)| *at).collect(),
            None => vec![sizes.iter().find(stale)?.1],
        };
        let sum = |of: fn(&Part) -> usize| chosen.iter().map(|at| of(&parts[*at])).sum::<usize>();
        let fits = sum(|part| part.segment.postings.len()) < MOST_BYTES;
        (fits && is_wanted(sum(Part::documents))).then_some(chosen)
    }

    fn take(&mut self, chosen: &[usize]) -> Vec<Part> {
        let mut at = 0..self.index.parts.len();
        let mut next = || at.next().is_some_and(|at| chosen.contains(&at));
        self.index.parts.extract_if(.., |_| next()).collect()
    }
}
