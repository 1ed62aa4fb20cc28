//! Several segments as one.

use std::sync::Arc;

use stead_tensor::Bits;

use super::draft::{Waiting, first_bytes};
use super::elements::Elements;
use super::packed::BLOCK;
use super::postings::{END, skip_occurrences};
use super::segment::{Lists, Segment};
use super::write::ListsWriter;

/// The documents of segments that are not gone, as one segment, which has no lists where none of these has. No lid is alive in two of them.
pub(super) fn merge(segments: &[(&Segment, &Bits)]) -> Segment {
    // Which document of which segment each is that stays, in the order of lids.
    let mut kept: Vec<(u32, usize, usize)> = Vec::new();
    for (number, (segment, gone)) in segments.iter().enumerate() {
        let alive = segment.lids.iter().enumerate().filter(|(doc, _)| !gone.contains(*doc));
        kept.extend(alive.map(|(doc, lid)| (*lid, number, doc)));
    }
    kept.sort_unstable();
    debug_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let (lids, lengths): (Vec<u32>, Vec<u32>) =
        kept.iter().map(|(lid, number, doc)| (*lid, segments[*number].0.lengths[*doc])).unzip();
    let elements = Elements::collected(kept.iter().map(|(_, number, doc)| {
        let (segment, doc) = (segments[*number].0, *doc as u32);
        segment.elements.of(doc, segment.length(doc))
    }));
    let waiting: Option<Vec<Arc<Waiting>>> =
        segments.iter().map(|(segment, _)| segment.documents_without_lists()).collect();
    if let Some(sources) = waiting {
        let mut waiting = Waiting::with_capacity(kept.len());
        kept.iter().for_each(|(_, number, doc)| waiting.take(&sources[*number], *doc));
        return Segment::waiting(lids, lengths, elements, waiting);
    }
    let mut docs: Vec<Vec<u32>> = segments.iter().map(|(s, _)| vec![END; s.lids.len()]).collect();
    for (doc, (_, number, old)) in kept.iter().enumerate() {
        docs[*number][*old] = doc as u32;
    }
    let lists = joined(segments, docs, &lengths);
    Segment::new(lids, lengths, elements, lists)
}

/// The lists of segments as those of documents of these lengths: `docs` has the number of each document of each segment among them.
fn joined(segments: &[(&Segment, &Bits)], docs: Vec<Vec<u32>>, lengths: &[u32]) -> Lists {
    let mut writer = ListsWriter::new(lengths);
    // What they have in common is room that is given back.
    let sum = |of: fn(&Lists) -> usize| segments.iter().map(|(s, _)| of(s.lists())).sum::<usize>();
    writer.reserve(
        sum(|lists| lists.dictionary.len()),
        sum(|lists| lists.dictionary.bytes()),
        sum(|lists| lists.postings.len()),
    );

    let mut sources: Vec<Source<'_>> =
        segments.iter().zip(docs).map(|((segment, _), docs)| Source::new(segment, docs)).collect();
    // Mostly documents of one lie before those of the next: then what is found is in order.
    sources.sort_by_key(|source| source.segment.lids.first().copied());
    let mut unpacked = Unpacked { docs: [0; BLOCK], counts: [0; BLOCK] };
    let mut found: Vec<Found<'_>> = Vec::new();
    let moves = moves(&sources);
    while let Some(least) = sources.iter().filter_map(|source| source.next).min() {
        if let Some(moves) = &moves {
            for (source, by) in sources.iter_mut().zip(moves) {
                if source.next == Some(least) {
                    source.move_to(*by, &mut unpacked, &mut writer);
                }
            }
            writer.term(least.text);
            continue;
        }
        found.clear();
        for source in &mut sources {
            if source.next == Some(least) {
                source.read(&mut unpacked, &mut found);
            }
        }
        if !found.is_sorted_by_key(|found| found.doc) {
            found.sort_unstable_by_key(|found| found.doc);
        }
        for Found { doc, count, occurrences } in &found {
            writer.document(*doc, *count, occurrences);
        }
        writer.term(least.text);
    }
    writer.finish()
}

/// By how much the numbers of documents rise, for each source, where none of them goes, and those of one lie before those of the next: as they
/// come when new ones are fed.
fn moves(sources: &[Source<'_>]) -> Option<Vec<u32>> {
    let mut next = 0;
    let of = sources.iter().map(|source| {
        let (begin, count) = (next, source.docs.len() as u32);
        next += count;
        // Numbers rise. That the last of all is the greatest that there may be tells that none goes.
        let is_moved = count == 0
            || (source.docs.first() == Some(&begin) && source.docs.last() == Some(&(next - 1)));
        is_moved.then_some(begin)
    });
    of.collect()
}

/// A document of a term.
struct Found<'s> {
    /// Its number in the new segment.
    doc: u32,
    count: u32,
    occurrences: &'s [u8],
}

/// The numbers of a block.
struct Unpacked {
    docs: [u32; BLOCK],
    counts: [u32; BLOCK],
}

/// A segment that is gone through.
struct Source<'s> {
    segment: &'s Segment,
    /// The number that each document will have; [`END`] if it does not stay.
    docs: Vec<u32>,
    number: usize,
    /// The term of that number.
    next: Option<Next<'s>>,
}

/// A term, in the order of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next<'s> {
    /// Its first bytes: they mostly decide.
    key: u64,
    text: &'s str,
}

impl<'s> Source<'s> {
    fn new(segment: &'s Segment, docs: Vec<u32>) -> Source<'s> {
        let mut source = Source { segment, docs, number: 0, next: None };
        source.go(0);
        source
    }

    fn go(&mut self, number: usize) {
        self.number = number;
        self.next =
            self.segment.dictionary().get(number).map(|text| Next { key: first_bytes(text), text });
    }

    /// Writes the documents of the term, all of them with numbers that rise by as much, and goes to the next.
    fn move_to(&mut self, by: u32, unpacked: &mut Unpacked, writer: &mut ListsWriter<'_>) {
        let list = self.segment.packed(self.number).unwrap_or_default();
        let behind = self.segment.behind(self.number);
        let Unpacked { docs, counts } = unpacked;
        for number in 0..list.block_count() {
            let block = list.block(number);
            let first = block.between(docs).wrapping_add(by);
            block.counts(counts);
            let (docs, counts) = (&docs[..block.count], &counts[..block.count]);
            if let Some((_, between)) = docs.split_first() {
                let occurrences = list.own_occurrences(number, &block, behind);
                writer.documents(first, between, counts, occurrences);
            }
        }
        self.go(self.number + 1);
    }

    /// Adds the documents of the term that stay, and goes to the next.
    fn read(&mut self, unpacked: &mut Unpacked, into: &mut Vec<Found<'s>>) {
        let list = self.segment.packed(self.number).unwrap_or_default();
        let Unpacked { docs, counts } = unpacked;
        for block in 0..list.block_count() {
            let block = list.block(block);
            block.docs(docs);
            block.counts(counts);
            let mut at = 0;
            for (doc, count) in docs.iter().zip(&*counts).take(block.count) {
                let (begin, count) = (at, count + 1);
                skip_occurrences(block.occurrences, count, &mut at);
                let doc = self.docs.get(*doc as usize).copied().unwrap_or(END);
                if doc != END {
                    let occurrences = block.occurrences.get(begin..at).unwrap_or_default();
                    into.push(Found { doc, count, occurrences });
                }
            }
        }
        self.go(self.number + 1);
    }
}
