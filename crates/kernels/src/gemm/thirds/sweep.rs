//! Panels of rows of `A` by slivers of `B`: the order in which blocks of sums are computed.
//!
//! As the [other sweep](crate::amx), with one difference: `B` lies in memory whole, and each part of it is cut into a room of its own while
//! the tiles multiply the part before it. Vectors and tiles work side by side then.

use super::super::epilogue::Raw;
use super::super::on_tiles::{STEP, Stored};
use super::super::pack::sliver_width;
use super::super::shape::{Panels, part, shape};
use super::cut::{PARTS, STEP_OF_A, Sliver, pairs};
use crate::amx::{LANES, ROWS, SUMS_STRIDE, Sums, Thirds, Tiles};
use crate::simd::{Simd, SimdOp};
use core::mem::MaybeUninit;

/// Most tiles along `k` that are worked on together: 72 KiB of the parts of `B`, which the second-level cache feeds without delay. Fewer
/// would stay in the first one, but sums would go to memory and come back more often: with 3 steps products took a fifth longer.
const STEPS: usize = 12;

/// Most blocks of two panels that share a part of `B`.
pub(super) const BLOCKS: usize = 8;

/// Sums of so many blocks are kept: what becomes of those of a block is computed beside the next one.
const KEPT: usize = BLOCKS + 1;

/// Room for a part of `B`.
#[repr(C, align(64))]
struct Room(MaybeUninit<[u32; STEPS * PARTS * ROWS * SUMS_STRIDE]>);

/// A task: some panels by some slivers, over a block of `k`.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub panels: Panels,
    /// The panel at which `a` begins.
    pub base: usize,
    /// The first panel and the one behind the last, at most `2 * BLOCKS`.
    pub panel: (usize, usize),
    pub sliver: (usize, usize),
    /// The first row of `B` and the one behind the last, and how many a sliver has.
    pub depth: (usize, usize),
    pub k: usize,
    /// Columns of `C`.
    pub cols: usize,
    /// Panels one after the other, cut.
    pub a: *const f32,
    /// Slivers one after the other.
    pub b: *const f32,
    pub c: *mut f32,
    pub c_stride: usize,
    pub epilogue: Raw,
}

/// Into how many shares what is to be done with the sums of a block is cut: four rows at a time.
const SHARES: usize = 8;

/// The block whose sums are complete.
#[derive(Clone, Copy)]
struct Complete {
    sums: *const u32,
    panel: usize,
    count: usize,
    sliver: usize,
}

impl Task {
    /// The rows of a sliver in this block of `k`.
    fn sliver(&self, columns: usize, index: usize) -> Sliver {
        let col = index * columns;
        let width = (self.cols - col).next_multiple_of(LANES).min(columns);
        let (from, to) = self.depth;
        let at = self.b.wrapping_add(col * self.k + from * width);
        Sliver { at, width, depth: to - from }
    }

    /// Does one of [`SHARES`] of what is to be done with the sums of a block: some rows of a panel.
    ///
    /// # Safety
    /// Rows and columns must lie in `C` and in the operands of the epilogue.
    #[inline(always)]
    unsafe fn finish<S: Simd>(&self, s: S, done: Complete, share: usize) {
        let shape = const { shape(S::ISA) };
        let col = done.sliver * shape.cols();
        let cols = sliver_width(shape, self.cols, col).min(self.cols - col);
        let (i, share) = (share / (SHARES / 2), share % (SHARES / 2));
        if i >= done.count {
            return;
        }
        let panel = done.panel + i;
        let (from, to) = part(ROWS, SHARES / 2, share);
        let rows = self.panels.rows(panel).min(to).saturating_sub(from);
        let row = self.panels.start(panel) + from;
        // SAFETY: the caller's promise.
        unsafe {
            s.call(Stored {
                sums: done.sums.wrapping_add((i * ROWS + from) * SUMS_STRIDE).cast(),
                rows,
                cols,
                c: self.c.add(row * self.c_stride + col),
                c_stride: self.c_stride,
                epilogue: &self.epilogue,
                at: (row, col),
            });
        }
    }
}

/// The task by tiles.
pub(super) struct ByTiles(Task);

impl ByTiles {
    /// The task.
    ///
    /// # Safety
    /// The machine must have [`Isa::Amx`](crate::Isa::Amx). Panels must have at most 16 rows and be cut, slivers be packed; rows and
    /// columns must lie in `C` and in the operands of the epilogue.
    pub unsafe fn new(task: Task) -> ByTiles {
        debug_assert!((task.panel.1 - task.panel.0).div_ceil(2) <= BLOCKS);
        ByTiles(task)
    }
}

impl SimdOp for ByTiles {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let columns = const { shape(S::ISA) }.cols();
        let (first, last) = t.panel;
        if first >= last || t.sliver.0 >= t.sliver.1 {
            return;
        }
        let steps = (t.depth.1 - t.depth.0).div_ceil(STEP);
        let parts = steps.div_ceil(STEPS).max(1);
        let blocks = (last - first).div_ceil(2);
        // SAFETY: `new` demands tiles.
        let mut tiles = unsafe { Tiles::new(t.panels.rows(first)) };
        let mut sums = Sums::<KEPT>::new();
        let mut rooms = [Room(MaybeUninit::uninit()), Room(MaybeUninit::uninit())];
        let [mut now, mut next] = rooms.each_mut().map(|room| room.0.as_mut_ptr().cast::<u32>());
        // A part of a sliver, as a sliver of its own.
        let part_of = |index: usize, i: usize| {
            let sliver = t.sliver(columns, index);
            let (from, to) = part(steps, parts, i);
            let at = sliver.at.wrapping_add(from * STEP * sliver.width);
            let depth = (to * STEP).min(sliver.depth) - (from * STEP).min(sliver.depth);
            (Sliver { at, depth, ..sliver }, to - from)
        };
        let cut = |(of, steps): (Sliver, usize), (i, n): (usize, usize), to: *mut u32| {
            // SAFETY: a room has all pairs of a part, and a sliver its rows; a machine with tiles has AVX-512.
            unsafe { pairs(of, part(steps * ROWS, n, i), to) }
        };
        cut(part_of(t.sliver.0, 0), (0, 1), now);
        let (mut complete, mut kept) = (None::<Complete>, 0);
        for index in t.sliver.0..t.sliver.1 {
            for i in 0..parts {
                let (from, to) = part(steps, parts, i);
                let is_last = i + 1 == parts;
                let after = match (is_last, index + 1 < t.sliver.1) {
                    (false, _) => Some(part_of(index, i + 1)),
                    (true, true) => Some(part_of(index + 1, 0)),
                    (true, false) => None,
                };
                let Sliver { width, .. } = t.sliver(columns, index);
                for block in 0..blocks {
                    let panel = first + 2 * block;
                    // The first panel again where there is no second one, which is not read then.
                    let second = (panel + 1).min(last - 1);
                    let operands = Thirds {
                        a: [panel, second].map(|panel| {
                            let at = ((panel - t.base) * steps + from) * STEP_OF_A;
                            t.a.wrapping_add(at).cast()
                        }),
                        has_two: second > panel,
                        steps: to - from,
                        b: now,
                        width,
                        adds: i > 0,
                    };
                    let to_sums = sums.of_block((kept + block) % KEPT);
                    let before = complete.take();
                    let turns = 3 * (to - from);
                    let between = |turn: usize| {
                        if let Some(after) = after {
                            cut(after, (block * turns + turn, blocks * turns), next);
                        }
                        if let Some(before) = before {
                            let (from, to) = part(SHARES, turns, turn);
                            // SAFETY: `new` demands what is written to.
                            (from..to).for_each(|share| unsafe { t.finish(s, before, share) });
                        }
                    };
                    // SAFETY: the panels are cut, and the part of the sliver is.
                    unsafe { tiles.multiply_thirds(&operands, to_sums, between) };
                    if is_last {
                        let count = 1 + second - panel;
                        complete = Some(Complete { sums: to_sums, panel, count, sliver: index });
                    }
                }
                core::mem::swap(&mut now, &mut next);
            }
            kept = (kept + blocks) % KEPT;
        }
        if let Some(last) = complete {
            // SAFETY: as above.
            (0..SHARES).for_each(|share| unsafe { t.finish(s, last, share) });
        }
    }
}
