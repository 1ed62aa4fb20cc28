//! The best documents of a query without a look at all of them: MaxScore in windows of regions and blocks.
//!
//! H. Turtle, J. Flood, "Query Evaluation: Strategies and Optimizations" (1995); S. Ding, T. Suel, "Faster Top-k Document Retrieval Using
//! Block-Max Indexes" (2011). Terms are split by the least score that is wanted: those whose greatest scores together do not
//! reach it find no document alone, and are only asked of documents that the others find. These go through the segment from one end of a
//! region of blocks to the next, in which they are split again, and there from block to block; where bounds do not reach the least score, nothing between is
//! read.

use super::bound::{Limits, SLACK, Scale};
use super::cursor::{Cursor, Found};
use super::postings::END;
use super::rough::{count, least, most_of, position, slack};
use super::top::{Best, Scored, Top};
use super::view::Part;
use crate::bm25::Rough;

/// The most documents whose scores are summed side by side.
const SPAN: u32 = 2048;

/// So many documents are passed over side by side in the time that one takes that is looked for in each list.
const SPARSE: usize = 128;

/// So many scores of a list are summed side by side in the time in which a document is looked for in it.
const SOUGHT: usize = 16;

/// Blocks that were looked at, the first in the lowest bit.
type Done = u128;

/// So many of the most promising blocks are looked at first, of lists that have as many at least: more than have the ten documents that most ask for.
const PROMISING: usize = 12;

/// What a search has.
pub(super) struct Search<'s, W> {
    top: &'s Top<'s>,
    is_wanted: &'s W,
    rough: Rough,
    scale: Scale,
    slack: f64,
    /// The terms that the segment has, that with the least greatest score first; the first `live` are in use.
    cursors: Vec<Cursor<'s>>,
    live: usize,
    /// The most that the cursors before each have together, and all.
    before: Vec<f64>,
    /// The cursors in the order in which a window has them: those that find no document of it alone come first.
    line: Vec<Place>,
    /// The cursors in the order of the query.
    order: Vec<usize>,
    /// How often the document that is scored has each term of the query.
    counts: Vec<u32>,
    /// Of the documents of a window; 0 between windows.
    sums: Vec<f32>,
    /// Cursors that went through several blocks of the window, and where they were.
    moved: Vec<(usize, usize)>,
    /// The last limits, and of what cursor and score they are.
    limits: (usize, f64, bool, Limits),
    pub(super) best: Best,
    /// Documents with less are not wanted, or there are as many as are wanted with this score at least.
    floor: f64,
}

/// A cursor in a window.
#[derive(Debug, Clone, Copy)]
struct Place {
    cursor: usize,
    /// No document of the window has a greater score of it.
    most: f64,
    /// The most that those before it have together.
    before: f64,
}

impl<'s, W: Fn(u32) -> bool> Search<'s, W> {
    /// Of documents that have so much at least.
    pub(super) fn new(top: &'s Top<'s>, floor: f64, is_wanted: &'s W) -> Search<'s, W> {
        let terms = top.terms.len();
        Search {
            top,
            is_wanted,
            rough: top.bm25.rough(),
            scale: Scale::new(&top.bm25),
            slack: slack(terms),
            cursors: Vec::new(),
            live: 0,
            before: Vec::new(),
            line: Vec::new(),
            order: Vec::new(),
            counts: vec![0; terms],
            sums: Vec::new(),
            moved: Vec::new(),
            limits: (usize::MAX, 0.0, false, Limits::default()),
            best: Best::new(top.count),
            floor,
        }
    }

    /// Adds the documents of a segment.
    pub(super) fn part(&mut self, part: &'s Part) {
        let terms = self.top.terms;
        let lists = terms.iter().enumerate().filter_map(|(term, (text, weight))| {
            Some((part.segment.find_list(text)?, term, *weight))
        });
        let found = lists.map(|(list, term, weight)| {
            let most = match list.all() {
                Some(all) => all.score(weight, self.scale.prepared(part.segment.longest)),
                None if terms.len() == 1 => weight * SLACK,
                None => most_of(&list, weight, &self.rough, &part.segment.lengths),
            };
            Found { list, term, weight, most }
        });
        let mut found: Vec<Found<'s>> = found.collect();
        found.sort_by(|a, b| a.most.total_cmp(&b.most));
        self.live = found.len();
        self.cursors.resize_with(self.cursors.len().max(self.live), Cursor::new);
        for (cursor, found) in self.cursors.iter_mut().zip(&found) {
            cursor.open(found, &self.scale);
        }
        self.before.clear();
        let mut sum = 0.0;
        for cursor in &self.cursors[..self.live] {
            self.before.push(sum);
            sum += cursor.most;
        }
        self.order.clear();
        self.order.extend(0..self.live);
        self.order.sort_unstable_by_key(|at| self.cursors[*at].term);
        self.limits.0 = usize::MAX;
        if self.live == 1 {
            let mut best = std::mem::replace(&mut self.best, Best::new(0));
            self.alone(part, 0, &mut best);
            self.best = best;
            return;
        }
        if self.best.worst.is_none() {
            // What one term finds alone is found by all, with better scores: the rest begins with something to pass over.
            let has_enough = |found: &Found<'_>| found.list.documents() as usize >= self.top.count;
            if let Some(at) = found.iter().rposition(has_enough) {
                let mut best = Best::new(self.top.count);
                self.alone(part, at, &mut best);
                self.floor = best.worst.map_or(self.floor, |worst| worst.score.max(self.floor));
                self.cursors[at].open(&found[at], &self.scale);
                self.limits.0 = usize::MAX;
            }
        }
        self.run(part);
    }

    /// The documents of one cursor, as if no other term were asked for.
    fn alone(&mut self, part: &Part, at: usize, best: &mut Best) {
        let done = self.promising(part, at, best);
        let mut begin = 0;
        while begin != END {
            if let Some(worst) = best.worst {
                // Of equal scores the first document stays.
                begin = self.pass(at, begin, worst.score, part.segment.lid(begin) < worst.lid);
            } else if self.floor > 0.0 {
                begin = self.pass(at, begin, self.floor, true);
            }
            let cursor = &mut self.cursors[at];
            cursor.reach(begin);
            let last = cursor.last;
            if last == END {
                return;
            }
            if done.checked_shr(cursor.block as u32).unwrap_or(0) & 1 == 0 {
                self.block_alone(part, at, begin, best);
            }
            begin = last + 1;
        }
    }

    /// Looks at those of the first blocks of a cursor whose documents may be the best, the most promising first, as long as they may be better than what
    /// was found: the least score that is wanted then lets the others be passed over, where in order each of the first blocks would be read for
    /// documents that do not stay. Returns these blocks, as bits.
    fn promising(&mut self, part: &Part, at: usize, best: &mut Best) -> Done {
        let (mut mosts, mut done) = ([0.0; Done::BITS as usize], 0);
        if best.worst.is_some() || self.cursors[at].block_count() < PROMISING {
            return done;
        }
        let count = self.cursors[at].mosts(&self.scale, &mut mosts);
        let mosts = &mut mosts[..count];
        for _ in 0..PROMISING {
            let greatest = mosts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let bar = best.worst.map_or(self.floor, |worst| worst.score.max(self.floor));
            let Some(block) = mosts.iter().position(|most| *most == greatest) else { break };
            if greatest < bar || greatest < 0.0 {
                break;
            }
            mosts[block] = -1.0;
            done |= 1 << block;
            self.cursors[at].go(block);
            self.block_alone(part, at, 0, best);
        }
        self.cursors[at].go(0);
        done
    }

    /// The documents of the block of a cursor from one on.
    fn block_alone(&mut self, part: &Part, at: usize, begin: u32, best: &mut Best) {
        let (lengths, bm25) = (&part.segment.lengths, &self.top.bm25);
        let (slack, floor) = (self.slack, self.floor);
        let cursor = &mut self.cursors[at];
        cursor.seek(begin);
        let weight = cursor.weight;
        let (mut docs, mut counts, mut scores) = cursor.postings(&self.rough, lengths);
        let bar =
            |best: &Best| least(best.worst.map_or(floor, |worst| worst.score.max(floor)) / slack);
        let mut least = bar(best);
        while let Some(next) = position(scores, least) {
            let (Some(doc), Some(count)) = (docs.get(next), counts.get(next)) else { break };
            let length = part.segment.length(*doc);
            let score = bm25.score(weight, count + 1, length);
            let scored = Scored { lid: part.segment.lid(*doc), score };
            let is_better = best.worst.is_none_or(|worst| worst < scored);
            if is_better && !part.gone.contains(*doc as usize) && (self.is_wanted)(scored.lid) {
                best.offer(scored);
                least = bar(best);
            }
            docs = docs.get(next + 1..).unwrap_or_default();
            counts = counts.get(next + 1..).unwrap_or_default();
            scores = scores.get(next + 1..).unwrap_or_default();
        }
    }

    fn run(&mut self, part: &Part) {
        // Those before the first find no document that is good enough; windows begin where the last ended.
        let (mut first, mut begin) = (0, 0);
        while begin != END {
            while first < self.live && self.is_below(self.before[first] + self.cursors[first].most)
            {
                first += 1;
            }
            if first == self.live {
                return;
            }
            if first + 1 == self.live {
                begin = self.pass_below(first, self.before[first], begin);
            }
            let mut end = END;
            for cursor in &mut self.cursors[first..self.live] {
                cursor.reach_region(begin, &self.scale);
                end = end.min(cursor.region_last);
            }
            if end == END {
                return;
            }
            if let Some(at) = self.split(first) {
                self.region(part, at, begin, end);
            }
            begin = end + 1;
        }
    }

    /// Lines the cursors up for the window that begins where they are, of which those before the first find no document. Returns the place of the first that
    /// does in the window; nothing where none does.
    fn split(&mut self, first: usize) -> Option<usize> {
        self.line.clear();
        for at in 0..self.live {
            let cursor = &self.cursors[at];
            let most = if at < first { cursor.most } else { cursor.region_most };
            self.line.push(Place { cursor: at, most, before: 0.0 });
        }
        // They are few, and mostly in order.
        self.line[first..].sort_by(|a, b| a.most.total_cmp(&b.most));
        let (mut sum, mut found) = (0.0, None);
        for at in 0..self.live {
            self.line[at].before = sum;
            sum += self.line[at].most;
            if at >= first && found.is_none() && !self.is_below(sum) {
                found = Some(at);
            }
        }
        found
    }

    /// A window that is within a region of each cursor of those from a place on.
    fn region(&mut self, part: &Part, mut first: usize, mut begin: u32, last: u32) {
        while begin <= last {
            while self.is_below(self.line[first].before + self.line[first].most) {
                first += 1;
                if first == self.live {
                    return;
                }
            }
            let Place { cursor, before, .. } = self.line[first];
            if first + 1 == self.live {
                begin = self.pass_below(cursor, before, begin);
            }
            let mut end = END;
            for place in &self.line[first..] {
                let cursor = &mut self.cursors[place.cursor];
                cursor.reach(begin);
                end = end.min(cursor.last);
            }
            if end == END || begin > last {
                return;
            }
            end = end.min(last);
            if !self.is_hopeless(part, first, begin) {
                // Behind the last document is nothing, and sums of 0 are of documents that are not there.
                let until = end.min((part.segment.lids.len() as u32).saturating_sub(1));
                let span = until.saturating_sub(begin) as usize;
                let has_least = self.least(before) > 0.0;
                if has_least && span < SPARSE * self.found(first) {
                    for begin in (begin..=until).step_by(SPAN as usize) {
                        self.summed(part, first, begin, until.min(begin + SPAN - 1));
                    }
                } else if first + 1 == self.live {
                    self.one(part, first, begin, end);
                } else {
                    self.several(part, first, begin, end);
                }
            }
            begin = end + 1;
        }
    }

    /// Whether no document of the window is good enough. Sums of what is greatest in the order of the query are no less than any score, after
    /// rounding too; and of equal scores the first document stays.
    fn is_hopeless(&mut self, part: &Part, first: usize, begin: u32) -> bool {
        let scale = &self.scale;
        if first > 0 {
            let mut sum = self.line[first].before;
            for place in &self.line[first..] {
                sum += self.cursors[place.cursor].block_most(scale);
            }
            return self.is_below(sum);
        }
        let score = self.order.iter().map(|at| self.cursors[*at].block_most(scale)).sum();
        let best = Scored { lid: part.segment.lid(begin), score };
        score < self.floor || self.best.worst.is_some_and(|worst| best < worst)
    }

    /// The least score that is wanted, so far as is known.
    #[inline(always)]
    fn bar(&self) -> f64 {
        self.best.worst.map_or(self.floor, |worst| worst.score.max(self.floor))
    }

    /// Whether a sum in any order is less than what is wanted.
    #[inline(always)]
    fn is_below(&self, sum: f64) -> bool {
        sum * self.slack < self.bar()
    }

    /// A sum that is less is [below](Search::is_below) what is wanted, with that of others.
    fn least(&self, others: f64) -> f32 {
        least(self.bar() / self.slack - others)
    }

    /// Goes to the first block of a cursor from a document on in which one may not be [below](Search::is_below) what is wanted, with the others. Returns
    /// where it begins.
    fn pass_below(&mut self, cursor: usize, others: f64, begin: u32) -> u32 {
        let least = self.least(others);
        if least > 0.0 { self.pass(cursor, begin, least.into(), true) } else { begin }
    }

    /// Goes to the first block of a cursor from a document on in which one may have a greater score than another, or an equal one where that counts.
    /// Returns where it begins.
    fn pass(&mut self, cursor: usize, begin: u32, score: f64, or_equal: bool) -> u32 {
        let (of, its, its_equal, limits) = self.limits;
        let mut begin = begin;
        // Those of a lesser score let more blocks pass, and are mostly enough.
        if of == cursor && (its < score || (its == score && its_equal >= or_equal)) {
            let cursor = &mut self.cursors[cursor];
            begin = cursor.pass(begin, &limits);
            let most = cursor.block_most(&self.scale);
            if most > score || (or_equal && most == score) || cursor.last == END || its == score {
                return begin;
            }
        }
        let limits = self.cursors[cursor].limits(&self.scale, score, or_equal);
        self.limits = (cursor, score, or_equal, limits);
        self.cursors[cursor].pass(begin, &limits)
    }

    /// The documents of a window that one cursor finds.
    fn one(&mut self, part: &Part, first: usize, begin: u32, end: u32) {
        let lengths = &part.segment.lengths;
        let Place { cursor: at, before, .. } = self.line[first];
        self.cursors[at].seek(begin);
        loop {
            let least = self.least(before);
            let cursor = &mut self.cursors[at];
            let (docs, scores) = cursor.scores(&self.rough, lengths);
            let next = position(scores, least).and_then(|at| docs.get(at).zip(scores.get(at)));
            let Some((&doc, &score)) = next.filter(|(doc, _)| **doc <= end) else { return };
            cursor.seek(doc);
            self.offer(part, doc, first, score.into());
            self.cursors[at].step();
        }
    }

    /// About how many documents of a window are looked at if each is looked for.
    fn found(&self, first: usize) -> usize {
        self.line[first..].iter().map(|place| self.cursors[place.cursor].rest()).sum()
    }

    /// The documents of a short window: the scores of several cursors are summed before one is looked at.
    fn summed(&mut self, part: &Part, mut first: usize, begin: u32, end: u32) {
        let span = (end - begin) as usize + 1;
        self.sums.resize(SPAN as usize, 0.0);
        self.moved.clear();
        for at in first..self.live {
            self.sum(part, self.line[at].cursor, begin, span);
        }
        // Where many documents may be good enough, another list is gone through before each is looked for in it.
        while first > 0 {
            let least = self.least(self.line[first].before);
            let found = count(&self.sums[..span], least);
            let Place { cursor, .. } = self.line[first - 1];
            if found * SOUGHT < self.cursors[cursor].expected(span, part.segment.lids.len()) {
                break;
            }
            first -= 1;
            self.sum(part, cursor, begin, span);
        }
        let (mut at, before) = (0, self.line[first].before);
        while let Some(next) = position(&self.sums[at..span], self.least(before)) {
            // What is looked at may be in a block before.
            for (cursor, block) in self.moved.drain(..) {
                self.cursors[cursor].go(block);
            }
            at += next;
            let doc = begin + at as u32;
            self.offer(part, doc, first, self.sums[at].into());
            at += 1;
        }
        self.sums[..span].fill(0.0);
    }

    /// Adds the scores of a cursor to the sums of a window.
    fn sum(&mut self, part: &Part, at: usize, begin: u32, span: usize) {
        let cursor = &mut self.cursors[at];
        cursor.reach(begin);
        let block = cursor.block;
        let end = begin + span as u32 - 1;
        let sums = &mut self.sums[..span];
        while cursor.last != END {
            cursor.seek(begin);
            let (docs, scores) = cursor.scores(&self.rough, &part.segment.lengths);
            for (doc, score) in docs.iter().zip(scores) {
                let Some(sum) = sums.get_mut(doc.wrapping_sub(begin) as usize) else { break };
                *sum += score;
            }
            if cursor.last >= end {
                break;
            }
            cursor.reach(cursor.last + 1);
        }
        if cursor.block != block {
            self.moved.push((at, block));
        }
    }

    /// Goes to a document with the cursors from a place on.
    fn seek(&mut self, first: usize, doc: u32) {
        for place in &self.line[first..] {
            let cursor = &mut self.cursors[place.cursor];
            if cursor.doc != doc {
                cursor.reach(doc);
                if cursor.last != END {
                    cursor.seek(doc);
                }
            }
        }
    }

    /// The documents of a window that several cursors find, one after the other.
    fn several(&mut self, part: &Part, first: usize, begin: u32, end: u32) {
        let lengths = &part.segment.lengths;
        self.seek(first, begin);
        loop {
            let found = self.line[first..].iter().map(|place| self.cursors[place.cursor].doc);
            let doc = found.min().unwrap_or(END);
            if doc > end {
                return;
            }
            let mut score = 0.0;
            for place in &self.line[first..] {
                let cursor = &mut self.cursors[place.cursor];
                if cursor.doc == doc {
                    score += f64::from(cursor.current(&self.rough, lengths));
                }
            }
            if !self.is_below(self.line[first].before + score) {
                self.offer(part, doc, first, score);
            }
            for place in &self.line[first..] {
                let cursor = &mut self.cursors[place.cursor];
                if cursor.doc == doc {
                    cursor.step();
                }
            }
        }
    }

    /// Adds a document if it is good enough, with about the sum of the scores of the cursors from a place on, which are not behind it.
    fn offer(&mut self, part: &Part, doc: u32, first: usize, mut score: f64) {
        let length = part.segment.length(doc);
        let is_wanted = self.is_wanted;
        let is_wanted = || !part.gone.contains(doc as usize) && is_wanted(part.segment.lid(doc));
        let mut is_asked = false;
        // The greatest first, as long as the rest may help.
        for at in (0..first).rev() {
            let Place { cursor, most, before } = self.line[at];
            let sum = score + before;
            if self.is_below(sum + most) {
                return;
            }
            let cursor = &mut self.cursors[cursor];
            cursor.reach(doc);
            let most = cursor.block_most(&self.scale);
            if self.is_below(sum + most) || !(is_asked || is_wanted()) {
                return;
            }
            is_asked = true;
            let cursor = &mut self.cursors[self.line[at].cursor];
            if cursor.last != END && cursor.seek(doc) == doc {
                score += f64::from(self.rough.score(cursor.weight as f32, cursor.count(), length));
            }
        }
        if self.is_below(score) || !(is_asked || is_wanted()) {
            return;
        }
        self.seek(first, doc);
        self.counts.fill(0);
        for cursor in self.cursors[..self.live].iter_mut().filter(|cursor| cursor.doc == doc) {
            self.counts[cursor.term] = cursor.count();
        }
        // In the order of the query, as scores are defined.
        let terms = self.top.terms.iter().zip(&self.counts).filter(|(_, count)| **count > 0);
        let bm25 = &self.top.bm25;
        let score = terms.map(|((_, weight), count)| bm25.score(*weight, *count, length)).sum();
        self.best.offer(Scored { lid: part.segment.lid(doc), score });
    }
}
