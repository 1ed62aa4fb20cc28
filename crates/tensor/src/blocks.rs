//! The arena: blocks of memory and the views that one step of a plan gets of them.
//!
//! A plan decides once where every intermediate value lives; running it must neither allocate nor copy. The
//! plan holds offsets ([`Span`]), this module hands out slices. [`StepSpans::new`] checks when the plan is
//! made that a step's writes overlap nothing else the step touches, so [`Blocks::step`] only has to check
//! that the spans lie inside the blocks.
#![allow(unsafe_code)] // disjoint mutable views of one allocation

use crate::AlignedBuf;
use std::marker::PhantomData;

/// The most reads one step may have. A safety net for hostile graphs, far above any real Concat.
pub const MAX_READS: usize = 65_536;

/// A range of bytes in one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The index of the block.
    pub block: usize,
    /// The first byte.
    pub offset: usize,
    /// The number of bytes.
    pub len: usize,
}

impl Span {
    fn overlaps(&self, other: &Span) -> bool {
        self.block == other.block
            && self.len > 0
            && other.len > 0
            && self.offset < other.offset + other.len
            && other.offset < self.offset + self.len
    }
}

/// What one step reads and writes. The writes are disjoint from each other and from the reads.
#[derive(Debug, Clone)]
pub struct StepSpans {
    reads: Box<[Span]>,
    writes: Box<[Span]>,
}

impl StepSpans {
    /// Spans of a step, or `None` when a write overlaps another write or a read, an end overflows, or there
    /// are more than [`MAX_READS`] reads.
    pub fn new(reads: Vec<Span>, writes: Vec<Span>) -> Option<StepSpans> {
        let ends_fit = |s: &Span| s.offset.checked_add(s.len).is_some();
        if reads.len() > MAX_READS || !reads.iter().chain(&writes).all(ends_fit) {
            return None;
        }
        for (i, write) in writes.iter().enumerate() {
            let others = writes.iter().skip(i + 1).chain(&reads);
            if others.into_iter().any(|other| write.overlaps(other)) {
                return None;
            }
        }
        Some(StepSpans { reads: reads.into(), writes: writes.into() })
    }

    /// What the step reads.
    pub fn reads(&self) -> &[Span] {
        &self.reads
    }

    /// What the step writes.
    pub fn writes(&self) -> &[Span] {
        &self.writes
    }
}

/// The working memory of one run: a block for each segment of the plan.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: Vec<AlignedBuf>,
}

impl Blocks {
    /// No blocks yet.
    pub fn new() -> Blocks {
        Blocks::default()
    }

    /// Makes block `index` at least `len` bytes long; the content of a block that grows is lost. Blocks are
    /// made in order: `index` is at most the number of blocks.
    ///
    /// # Errors
    /// [`crate::TensorError::OutOfMemory`].
    pub fn ensure(&mut self, index: usize, len: usize) -> Result<(), crate::TensorError> {
        while self.blocks.len() <= index {
            self.blocks.push(AlignedBuf::zeroed(0)?);
        }
        if let Some(block) = self.blocks.get_mut(index)
            && block.len() < len
        {
            *block = AlignedBuf::zeroed(len)?;
        }
        Ok(())
    }

    /// The bytes of a span, or `None` when it lies outside.
    pub fn bytes(&self, span: Span) -> Option<&[u8]> {
        self.blocks.get(span.block)?.get(span.offset..span.offset.checked_add(span.len)?)
    }

    /// Takes a block away with what it holds: the next [`Blocks::ensure`] makes another. `None` when there is none.
    pub fn take(&mut self, index: usize) -> Option<AlignedBuf> {
        let none = AlignedBuf::zeroed(0).ok()?;
        Some(std::mem::replace(self.blocks.get_mut(index)?, none))
    }

    /// Total bytes of all blocks.
    pub fn byte_len(&self) -> usize {
        self.blocks.iter().map(|b| b.len()).sum()
    }

    /// The memory of one step, or `None` when a span lies outside its block.
    pub fn step<'a>(&'a mut self, spans: &'a StepSpans) -> Option<StepMem<'a>> {
        for span in spans.reads.iter().chain(&spans.writes) {
            // `StepSpans::new` checked that the end does not overflow.
            if span.offset + span.len > self.blocks.get(span.block)?.len() {
                return None;
            }
        }
        // SAFETY: the spans lie inside their blocks, which are borrowed mutably for 'a.
        Some(unsafe { StepMem::new(self.base(), spans) })
    }

    /// The first block.
    pub(crate) fn base(&mut self) -> *mut AlignedBuf {
        self.blocks.as_mut_ptr()
    }
}

/// The slices that one step may touch.
///
/// Reads can be taken as often as wanted; each write is handed out once, in order.
pub struct StepMem<'a> {
    base: *mut AlignedBuf,
    spans: &'a StepSpans,
    next_write: usize,
    life: PhantomData<&'a mut Blocks>,
}

impl<'a> StepMem<'a> {
    /// # Safety
    /// The spans lie inside the blocks that begin at `base`; for 'a these live, and nothing else writes what the spans
    /// read or touches what they write.
    pub(crate) unsafe fn new(base: *mut AlignedBuf, spans: &'a StepSpans) -> StepMem<'a> {
        StepMem { base, spans, next_write: 0, life: PhantomData }
    }

    /// The bytes of read `index`; `None` when there is none.
    pub fn read(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.spans.reads.get(index)?;
        Some(self.slice(span))
    }

    /// The bytes of the next write; `None` after the last.
    pub fn next_write(&mut self) -> Option<&'a mut [u8]> {
        let span = self.spans.writes.get(self.next_write)?;
        self.next_write += 1;
        // SAFETY: `Blocks::step` checked that the span lies inside block `span.block`, and borrows the
        // blocks mutably for 'a. The counter hands this span out once; `StepSpans::new` proved that it
        // overlaps no read and no other write, so no other slice made here covers these bytes. The block's
        // header is only read.
        unsafe {
            let block = &*self.base.add(span.block);
            debug_assert!(span.offset + span.len <= block.len());
            let start = block.raw().add(span.offset);
            Some(std::slice::from_raw_parts_mut(start, span.len))
        }
    }

    fn slice(&self, span: &Span) -> &'a [u8] {
        // SAFETY: as in `next_write`; reads overlap no write, so a shared slice is never aliased by an
        // exclusive one.
        unsafe {
            let block = &*self.base.add(span.block);
            debug_assert!(span.offset + span.len <= block.len());
            std::slice::from_raw_parts(block.raw().add(span.offset), span.len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(block: usize, offset: usize, len: usize) -> Span {
        Span { block, offset, len }
    }

    #[test]
    fn overlapping_writes_are_refused() {
        let cases = [
            ("apart", vec![span(0, 0, 8)], vec![span(0, 8, 8)], true),
            ("write over read", vec![span(0, 0, 9)], vec![span(0, 8, 8)], false),
            ("another block", vec![span(1, 0, 9)], vec![span(0, 8, 8)], true),
            ("write over write", vec![], vec![span(0, 0, 9), span(0, 8, 8)], false),
            ("reads may overlap", vec![span(0, 0, 8), span(0, 4, 8)], vec![], true),
            ("empty overlaps nothing", vec![span(0, 4, 0)], vec![span(0, 0, 8)], true),
            ("end overflows", vec![span(0, usize::MAX, 2)], vec![], false),
        ];
        for (label, reads, writes, fine) in cases {
            assert_eq!(StepSpans::new(reads, writes).is_some(), fine, "{label}");
        }
    }

    #[test]
    fn a_step_sees_what_an_earlier_one_wrote() {
        let mut blocks = Blocks::new();
        blocks.ensure(0, 16).unwrap();
        blocks.ensure(1, 4).unwrap();
        let first = StepSpans::new(vec![], vec![span(0, 0, 4), span(1, 0, 4)]).unwrap();
        let mut mem = blocks.step(&first).unwrap();
        let a = mem.next_write().unwrap();
        let b = mem.next_write().unwrap();
        a.fill(1);
        b.fill(2);
        assert!(mem.next_write().is_none());
        let second =
            StepSpans::new(vec![span(0, 0, 4), span(1, 0, 4)], vec![span(0, 4, 4)]).unwrap();
        let mut mem = blocks.step(&second).unwrap();
        let out = mem.next_write().unwrap();
        for (i, o) in out.iter_mut().enumerate() {
            *o = mem.read(0).unwrap()[i] + mem.read(1).unwrap()[i];
        }
        assert_eq!(blocks.bytes(span(0, 4, 4)), Some(&[3u8; 4][..]));
    }

    #[test]
    fn a_block_that_was_taken_is_made_anew() {
        let mut blocks = Blocks::new();
        blocks.ensure(0, 64).unwrap();
        let steps = StepSpans::new(vec![], vec![span(0, 0, 4)]).unwrap();
        blocks.step(&steps).unwrap().next_write().unwrap().fill(7);
        let taken = blocks.take(0).unwrap();
        assert_eq!((taken.len(), &taken[..4]), (64, &[7u8; 4][..]));
        assert!(blocks.step(&steps).is_none() && blocks.take(1).is_none());
        blocks.ensure(0, 64).unwrap();
        assert_eq!(blocks.bytes(span(0, 0, 4)), Some(&[0u8; 4][..]));
        assert_eq!(&taken[..4], [7u8; 4]);
    }

    #[test]
    fn spans_outside_a_block_are_refused() {
        let mut blocks = Blocks::new();
        blocks.ensure(0, 16).unwrap();
        for s in [span(0, 9, 8), span(1, 0, 1)] {
            assert!(blocks.step(&StepSpans::new(vec![s], vec![]).unwrap()).is_none());
        }
    }
}
