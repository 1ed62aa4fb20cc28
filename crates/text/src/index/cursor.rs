//! A term of a query on its way through a segment, from block to block without reading what cannot matter.

use super::bound::{Bound, Limits, Scale};
use super::list::{Block, List};
use super::packed::BLOCK;
use super::postings::END;
use super::write::REGION;
use crate::bm25::Rough;

/// A list of postings at a block, of which is read what is asked for.
#[derive(Debug)]
pub(super) struct Cursor<'s> {
    list: List<'s>,
    /// The place of the term in the query.
    pub(super) term: usize,
    pub(super) weight: f64,
    /// No document has a greater score of it.
    pub(super) most: f64,
    region: usize,
    /// The last document of the region; [`END`] behind the last.
    pub(super) region_last: u32,
    /// No document of the region has a greater score; 0 behind the last.
    pub(super) region_most: f64,
    pub(super) block: usize,
    /// The last document of the block; [`END`] behind the last block.
    pub(super) last: u32,
    /// What [`Cursor::block_most`] gives, once it was asked for.
    block_most: Option<f64>,
    /// The current document of the block: [`END`] behind its last, and until it is read.
    pub(super) doc: u32,
    is_read: bool,
    has_counts: bool,
    has_scores: bool,
    packed: Block<'s>,
    /// Where the current document is in it.
    at: usize,
    docs: [u32; BLOCK],
    counts: [u32; BLOCK],
    scores: [f32; BLOCK],
}

/// So many documents are looked at one by one before they are halved.
const NEAR: usize = 8;

/// A term of a segment that has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'s> {
    pub(super) list: List<'s>,
    pub(super) term: usize,
    pub(super) weight: f64,
    pub(super) most: f64,
}

impl<'s> Cursor<'s> {
    /// One that is nowhere.
    pub(super) fn new() -> Cursor<'s> {
        Cursor {
            list: List::default(),
            term: 0,
            weight: 0.0,
            most: 0.0,
            region: 0,
            region_last: END,
            region_most: 0.0,
            block: 0,
            last: END,
            block_most: None,
            doc: END,
            is_read: false,
            has_counts: false,
            has_scores: false,
            packed: Block::default(),
            at: 0,
            docs: [0; BLOCK],
            counts: [0; BLOCK],
            scores: [0.0; BLOCK],
        }
    }

    /// Goes to the first block of a list.
    pub(super) fn open(&mut self, found: &Found<'s>, scale: &Scale) {
        (self.list, self.term) = (found.list, found.term);
        (self.weight, self.most) = (found.weight, found.most);
        self.enter(0);
        self.enter_region(scale);
    }

    /// Goes to a block without reading it.
    fn enter(&mut self, block: usize) {
        (self.block, self.doc, self.at, self.is_read) = (block, END, 0, false);
        self.block_most = None;
        self.last = match self.list.last(block) {
            Some(last) => last,
            None if block < self.list.block_count() => END - 1,
            None => END,
        };
    }

    /// Takes the region of the block for the current one.
    fn enter_region(&mut self, scale: &Scale) {
        self.region = self.block / REGION;
        let bounds = self.list.region(self.region).zip(self.list.region_last(self.region));
        (self.region_last, self.region_most) = match bounds {
            _ if self.last == END => (END, 0.0),
            Some((bound, last)) => (last, bound.score(self.weight, scale)),
            None => (END - 1, self.most),
        };
    }

    /// Goes to the block of the first document from one on, if it is not there or behind, without reading it.
    pub(super) fn reach(&mut self, doc: u32) {
        if self.last < doc {
            self.enter(self.list.block_of(self.block + 1, doc));
        }
    }

    /// Goes to a block, which may be one before, without reading it.
    pub(super) fn go(&mut self, block: usize) {
        self.enter(block);
    }

    /// How many documents of the block are not behind it.
    pub(super) fn rest(&self) -> usize {
        if self.last == END { 0 } else { self.list.count(self.block) - self.at }
    }

    /// About how many documents it has of so many of all.
    pub(super) fn expected(&self, span: usize, documents: usize) -> usize {
        self.list.documents() as usize * span / documents.max(1)
    }

    /// The same, after which the region is that of the document too.
    pub(super) fn reach_region(&mut self, doc: u32, scale: &Scale) {
        if self.region_last < doc {
            self.reach(doc);
            self.enter_region(scale);
        }
    }

    /// No document of the block has a greater score; 0 behind the last.
    #[inline(always)]
    pub(super) fn block_most(&mut self, scale: &Scale) -> f64 {
        match self.block_most {
            Some(most) => most,
            None => {
                let most = match self.list.bound(self.block) {
                    Some(bound) => bound.score(self.weight, scale),
                    None if self.last == END => 0.0,
                    None => self.most,
                };
                self.block_most = Some(most);
                most
            }
        }
    }

    /// How many blocks the list has.
    pub(super) fn block_count(&self) -> usize {
        self.list.block_count()
    }

    /// What no document of each of the first blocks exceeds, of as many as have room. Returns how many they are; 0 where the list is one block.
    pub(super) fn mosts(&self, scale: &Scale, into: &mut [f64]) -> usize {
        let bounds = (0..self.list.block_count()).map_while(|block| self.list.bound(block));
        let mosts = bounds.map(|bound| bound.score(self.weight, scale));
        into.iter_mut().zip(mosts).map(|(into, most)| *into = most).count()
    }

    /// What documents from the current block on must have to be better than a score, or equal where that counts.
    pub(super) fn limits(&self, scale: &Scale, score: f64, or_equal: bool) -> Limits {
        Bound::limits(self.weight, scale, score, or_equal)
    }

    /// Goes to the block of the first document from one on that may be within limits, without reading it. Returns where it begins, if that is
    /// behind the document.
    pub(super) fn pass(&mut self, doc: u32, limits: &Limits) -> u32 {
        let mut block = match self.last < doc {
            true => self.list.block_of(self.block + 1, doc),
            false => self.block,
        };
        while let Some(bound) = self.list.region(block / REGION) {
            if bound.may_reach(limits) {
                let mut blocks = self.list.blocks_of_region(block / REGION).skip(block % REGION);
                if let Some(found) = blocks.position(|bound| bound.may_reach(limits)) {
                    block += found;
                    break;
                }
            }
            block = (block / REGION + 1) * REGION;
        }
        block = block.min(self.list.block_count());
        if block != self.block {
            self.enter(block);
        }
        match block.checked_sub(1).and_then(|before| self.list.last(before)) {
            Some(last) => doc.max(last + 1),
            None => doc,
        }
    }

    /// Reads the block and goes to the first of its documents from one on. Returns it, or [`END`] where there is none.
    pub(super) fn seek(&mut self, doc: u32) -> u32 {
        if !self.is_read {
            self.packed = self.list.block(self.block);
            self.packed.docs(&mut self.docs);
            (self.is_read, self.has_counts, self.has_scores) = (true, false, false);
        }
        let rest = self.docs.get(self.at..self.packed.count).unwrap_or_default();
        // Mostly it is one of the next.
        let near = rest.iter().take(NEAR).take_while(|d| **d < doc).count();
        let skipped = match near < NEAR {
            true => near,
            false => rest.partition_point(|d| *d < doc),
        };
        self.at += skipped;
        self.doc = rest.get(skipped).copied().unwrap_or(END);
        self.doc
    }

    /// Goes to the next document of the block that is read.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.at += 1;
        let docs = self.docs.get(..self.packed.count).unwrap_or_default();
        self.doc = docs.get(self.at).copied().unwrap_or(END);
    }

    /// How often the current document has the term.
    #[inline(always)]
    pub(super) fn count(&mut self) -> u32 {
        self.read_counts();
        self.counts.get(self.at).map_or(0, |count| count + 1)
    }

    fn read_counts(&mut self) {
        if !self.has_counts {
            self.packed.counts(&mut self.counts);
            self.has_counts = true;
        }
    }

    /// The documents of the block that is read from the current one on, and their scores of the term.
    #[inline(always)]
    pub(super) fn scores(&mut self, rough: &Rough, lengths: &[u32]) -> (&[u32], &[f32]) {
        if !self.has_scores {
            self.score(rough, lengths);
        }
        let rest = self.at..self.packed.count;
        let docs = self.docs.get(rest.clone()).unwrap_or_default();
        (docs, self.scores.get(rest).unwrap_or_default())
    }

    /// The same, with how often each of them has the term, less one.
    pub(super) fn postings(&mut self, rough: &Rough, lengths: &[u32]) -> (&[u32], &[u32], &[f32]) {
        if !self.has_scores {
            self.score(rough, lengths);
        }
        let rest = self.at..self.packed.count;
        let docs = self.docs.get(rest.clone()).unwrap_or_default();
        let counts = self.counts.get(rest.clone()).unwrap_or_default();
        (docs, counts, self.scores.get(rest).unwrap_or_default())
    }

    fn score(&mut self, rough: &Rough, lengths: &[u32]) {
        self.read_counts();
        self.has_scores = true;
        let docs = self.docs.get(..self.packed.count).unwrap_or_default();
        let mut of_docs = [0; BLOCK];
        for (into, doc) in of_docs.iter_mut().zip(docs) {
            *into = lengths.get(*doc as usize).copied().unwrap_or_default();
        }
        let weight = self.weight as f32;
        let of = self.counts.iter().zip(&of_docs);
        for (score, (count, length)) in self.scores.iter_mut().zip(of) {
            *score = rough.score(weight, count.wrapping_add(1), *length);
        }
    }

    /// The score of the current document.
    #[inline(always)]
    pub(super) fn current(&mut self, rough: &Rough, lengths: &[u32]) -> f32 {
        self.scores(rough, lengths).1.first().copied().unwrap_or_default()
    }
}
