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

/// Segments of so many documents get their lists beside the writer, before anybody reads them.
const LISTED: usize = 512;

/// The same of segments of so many words: some milliseconds.
const LISTED_WORDS: u64 = 1 << 14;

/// The most words of such segments that wait for their lists: the writer makes those of others itself, lest the next reader has much to
/// make.
const UNLISTED_WORDS: u64 = 2 * LISTED_WORDS;

/// The part of the documents of a segment, as its inverse, that others have with which it is joined while nothing changes: for a document that is new
/// so many are written again at most, which takes a tenth of a millisecond of a time when nobody waits.
const RESTING: usize = 32;

/// The part of the documents of a segment, as its inverse, that may be gone before it is written again without them.
const GONE: usize = 4;

/// Postings of one segment are reached by 32 bits; segments that might have more together, with all else, stay apart.
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
    /// None where there was one that only got its lists.
    segment: Option<Segment>,
    /// What they were, and what was gone of them when they were joined.
    parts: Vec<Part>,
}

impl Merge {
    /// Joins the segments: some hundred nanoseconds for each term of a document.
    #[must_use]
    pub fn run(self) -> Merged {
        self.parts.iter().for_each(|part| part.segment.make_lists());
        let is_joined = self.parts.len() > 1 || self.parts.iter().any(|p| p.gone.count() > 0);
        Merged { segment: is_joined.then(|| joined(&self.parts)), parts: self.parts }
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
        self.leave(lid);
        self.pending.put(lid, terms, weights);
    }

    /// Takes a document's terms out.
    pub fn remove(&mut self, lid: u32) {
        self.pending.remove(lid);
        self.leave(lid);
    }

    /// Takes a document out of the segments.
    fn leave(&mut self, lid: u32) {
        // It is in one at most.
        let _ = self.index.parts.iter_mut().any(|part| part.remove(lid));
    }

    /// Takes up the documents of another writer, which has none of the same lids and joins none.
    pub fn absorb(&mut self, mut other: FieldWriter) {
        other.publish();
        self.index.parts.append(&mut other.index.parts);
    }

    /// Joins all segments that are better joined, now, those included that [rest](FieldWriter::rest) joins.
    pub fn settle(&mut self) {
        while let Some(merge) = self.merge().or_else(|| self.rest()) {
            self.install(merge.run());
        }
    }

    /// The index with all changes.
    pub fn publish(&mut self) -> FieldIndex {
        if let Some(segment) = self.pending.take() {
            if is_large(&segment) {
                segment.make_lists();
            }
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
        self.make_lists();
        self.index.clone()
    }

    /// Makes lists where many documents wait for them.
    fn make_lists(&self) {
        let mut waiting = 0;
        // Others begin with the first.
        for part in self.unlisted() {
            waiting += part.segment.total;
            if waiting > UNLISTED_WORDS {
                part.segment.make_lists();
            }
        }
    }

    /// Segments that are to get lists.
    fn unlisted(&self) -> impl Iterator<Item = &Part> {
        let parts = self.index.parts.iter().filter(|part| is_large(&part.segment));
        parts.filter(|part| !part.segment.has_lists())
    }

    /// Segments that are better joined, or are to get lists, if no others are [being](FieldWriter::install) joined.
    pub fn merge(&mut self) -> Option<Merge> {
        if self.is_merging() {
            return None;
        }
        let parts: Vec<Part> = match self.unlisted().next() {
            Some(part) => vec![Part { gone: Arc::default(), ..part.clone() }],
            None => {
                let chosen = self.choose(|_| true)?;
                chosen.iter().map(|at| self.index.parts[*at].clone()).collect()
            }
        };
        Some(self.begin(parts))
    }

    /// Segments that are better joined while nothing changes, if no others are being joined: queries look into each. They have few documents, or those that are
    /// smaller than the largest of them have [some part](RESTING) of its.
    pub fn rest(&mut self) -> Option<Merge> {
        if self.is_merging() {
            return None;
        }
        let mut parts: Vec<&Part> = self.index.parts.iter().collect();
        parts.sort_by_key(|part| part.documents());
        let (mut documents, mut memory, mut count) = (0, 0, 0);
        for (part, number) in parts.iter().zip(1..) {
            memory += part.segment.memory();
            let (before, own) = (documents, part.documents());
            documents += own;
            if memory < MOST_BYTES
                && number > 1
                && (documents <= AT_ONCE || own <= RESTING * before)
            {
                count = number;
            }
        }
        let parts: Vec<Part> = parts.into_iter().take(count).cloned().collect();
        (!parts.is_empty()).then(|| self.begin(parts))
    }

    fn begin(&mut self, parts: Vec<Part>) -> Merge {
        self.merging = parts.iter().map(|part| Arc::clone(&part.segment)).collect();
        Merge { parts }
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
        let Some(segment) = merged.segment else { return };
        let mut part = Part::new(segment);
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
        let mut counts = [0; SIZES];
        let free = || parts.iter().enumerate().filter(|(_, part)| is_free(part));
        free().for_each(|(_, part)| counts[size(part)] += 1);
        let is_stale = |part: &Part| part.gone.count() * GONE > part.segment.lids.len();
        let chosen: Vec<usize> = match counts.iter().position(|count| *count >= FAN) {
            Some(many) => {
                let of_size = free().filter(|(_, part)| size(part) == many);
                of_size.map(|(at, _)| at).collect()
            }
            None => vec![
                free()
                    .filter(|(_, part)| is_stale(part))
                    .min_by_key(|(_, part)| part.documents())?
                    .0,
            ],
        };
        let sum = |of: fn(&Part) -> usize| chosen.iter().map(|at| of(&parts[*at])).sum::<usize>();
        let fits = sum(|part| part.segment.memory()) < MOST_BYTES;
        (fits && is_wanted(sum(Part::documents))).then_some(chosen)
    }

    fn take(&mut self, chosen: &[usize]) -> Vec<Part> {
        let mut at = 0..self.index.parts.len();
        let mut next = || at.next().is_some_and(|at| chosen.contains(&at));
        self.index.parts.extract_if(.., |_| next()).collect()
    }
}

/// Whether a segment is not left to the next reader.
fn is_large(segment: &Segment) -> bool {
    segment.documents() >= LISTED || segment.total >= LISTED_WORDS
}

/// The sizes that segments may have.
const SIZES: usize = u32::MAX.ilog(FAN as u32) as usize + 1;

/// The size of a segment: how often the number of its documents can be divided.
fn size(part: &Part) -> usize {
    part.documents().max(1).ilog(FAN) as usize
}
