//! Panels of rows of `A` by slivers of `B`: the order in which blocks are computed.
//!
//! For each sliver, `B` is cut along `k` so that a part of it stays in the first-level cache while all panels of `A` come from
//! the second, and the next part is asked for meanwhile. Sums wait in memory between parts, and until the next block
//! has begun: what becomes of them is then computed beside it.

use super::block::{ASKED, Kind, LANES, Operands, ROWS, Rest, Sums, Tiles};
use crate::gemm::shape::part;

/// Most tiles along `k` that are worked on together: 16 KiB of `B`, a third of the first-level cache of every processor with
/// tiles.
const STEPS: usize = 8;

/// Blocks of two panels that share a part of `B`: their sums take as much of the first-level cache.
const BLOCKS: usize = 4;

/// Sums of so many blocks are kept: one more, as what becomes of those of a block is computed beside the next one.
const KEPT: usize = BLOCKS + 1;

/// Rows of `A` for one tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    /// Where the first row of the tile begins.
    pub at: *const u8,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Bytes from 64 bytes of a row to the next ones.
    pub step: usize,
}

/// A sliver of `B`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width {
    /// Its first lane.
    pub at: *const u32,
    /// Columns: those of one tile or two.
    pub width: usize,
}

/// Some panels by some slivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// What is multiplied.
    pub kind: Kind,
    /// The first panel and the one behind the last.
    pub panels: (usize, usize),
    /// The same for slivers.
    pub slivers: (usize, usize),
    /// Rows of lanes of `B`: pairs or quads along `k`.
    pub depth: usize,
    /// Rows of the largest panel. Tiles have as many for smaller ones, which begin one row earlier.
    pub most: usize,
}

/// The block whose sums are complete.
#[derive(Clone, Copy)]
struct Complete {
    sums: *const u32,
    panel: usize,
    count: usize,
    sliver: usize,
}

impl Sweep {
    /// Computes all blocks. `rows` tells where the tile of a panel begins, `sliver` where one of `B`; `finish` gets the sums of
    /// the tile of a panel, [`SUMS_STRIDE`](super::SUMS_STRIDE) lanes from row to row, with panel and sliver.
    ///
    /// # Safety
    /// The machine must have [`Isa::Amx`](crate::Isa::Amx), and this thread must use no tiles elsewhere. `rows` must have
    /// 64 bytes for each 16 rows of lanes in each of `most` rows, `sliver` must have `depth` rows of lanes.
    #[inline(always)]
    pub unsafe fn run(
        &self,
        rows: impl Fn(usize) -> Rows,
        sliver: impl Fn(usize) -> Width,
        mut finish: impl FnMut(*const u32, usize, usize),
    ) {
        // SAFETY: the caller's promise.
        let mut tiles = unsafe { Tiles::new(self.most) };
        let (mut sums, mut rest) = (Sums::<KEPT>::new(), Rest::new());
        let steps = self.depth / LANES;
        // A lone block reads each part of B once: there is nothing to keep.
        let is_lone = self.panels.1 - self.panels.0 <= 2;
        let parts = if is_lone { 1 } else { steps.div_ceil(STEPS).max(1) };
        let mut end = |done: Complete| {
            for i in 0..done.count {
                let sums = done.sums.wrapping_add(i * ROWS * super::SUMS_STRIDE);
                finish(sums, done.panel + i, done.sliver);
            }
        };
        let (mut complete, mut kept) = (None, 0);
        for index in self.slivers.0..self.slivers.1 {
            let Width { at: b, width } = sliver(index);
            // SAFETY: the sliver has as many rows of lanes.
            let last_rows = unsafe { rest.of(b, self.depth, width) };
            let next = (index + 1 < self.slivers.1).then(|| sliver(index + 1).at);
            let mut first = self.panels.0;
            while first < self.panels.1 {
                let last = self.panels.1.min(first + 2 * BLOCKS);
                let blocks = (last - first).div_ceil(2);
                for i in 0..parts {
                    let (from, to) = part(steps, parts, i);
                    let is_last = i + 1 == parts;
                    // Panels behind the first ones find all of the sliver in the second-level cache; a lone block is no slower
                    // than the processor's own prefetching.
                    let ahead = match (first == self.panels.0 && blocks > 1, is_last) {
                        (false, _) => None,
                        (true, false) => Some(b.wrapping_add(to * ROWS * width)),
                        (true, true) => next,
                    };
                    let share = (4 * ROWS * width).div_ceil(blocks).next_multiple_of(64).min(ASKED);
                    for block in 0..blocks {
                        let panel = first + 2 * block;
                        // The first panel again where there is no second one, which is not read then.
                        let second = (panel + 1).min(last - 1);
                        let both = [panel, second].map(&rows);
                        let later = ahead.map_or((b.cast(), 0), |at| {
                            (at.cast::<u8>().wrapping_add(block * (to - from) * share), share)
                        });
                        let operands = Operands {
                            a: both.map(|rows| rows.at.wrapping_add(from * rows.step)),
                            has_two: second > panel,
                            a_stride: both[0].stride,
                            a_step: both.map(|rows| rows.step),
                            steps: to - from,
                            b: b.wrapping_add(from * ROWS * width),
                            width,
                            rest: if is_last { last_rows } else { core::ptr::null() },
                            later,
                            adds: i > 0,
                        };
                        let to = sums.of_block((kept + block) % KEPT);
                        // SAFETY: the caller's promise; the sliver has whole tiles for the steps.
                        unsafe { tiles.multiply(self.kind, &operands, to) };
                        if is_last {
                            let count = 1 + second - panel;
                            let done = Complete { sums: to, panel, count, sliver: index };
                            if let Some(before) = complete.replace(done) {
                                end(before);
                            }
                        } else if let Some(before) = complete.take() {
                            end(before);
                        }
                    }
                }
                kept = (kept + blocks) % KEPT;
                first = last;
            }
        }
        if let Some(last) = complete {
            end(last);
        }
    }
}
