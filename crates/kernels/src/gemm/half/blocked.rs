//! Products by tiles: blocks of rounded and packed `A` by slivers of `B`, split over threads.

use super::super::driver::{Job, Shared, packed_rows, panels_per_block};
use super::super::epilogue::Raw;
use super::super::pack::{pack_panel, sliver_width};
use super::super::shape::{DEPTH, Panels, part, shape};
use super::super::tile::Later;
use super::super::{Lhs, MatRef};
use super::round::{PairInPlace, Round};
use super::tile::{Operands, tile};
use crate::simd::{Simd, SimdOp, dispatch};

/// Computes a product by tiles.
pub fn tiles(job: &Job<'_>, native: bool, a: MatRef<'_>, b: &[u32], scratch: &mut [f32]) {
    let panels = Panels::new(job.m, job.shape.rows);
    let depth = job.k.next_multiple_of(2);
    let room = &mut scratch[..packed_rows(job.shape, job.m, depth, &Lhs::Strided(a))];
    let mut panel = 0;
    while panel < panels.count {
        let end = (panel + panels_per_block(job.shape)).min(panels.count);
        pack_panels(job, native, a, &panels, (panel, end), room);
        multiply(job, native, &panels, (panel, end), room.as_ptr(), b.as_ptr());
        panel = end;
    }
}

/// Packs and rounds panels of `A` into `dst`, by several threads. A panel takes `depth rows` numbers, of which only the
/// first half is used by `native`.
fn pack_panels(
    job: &Job<'_>,
    native: bool,
    a: MatRef<'_>,
    panels: &Panels,
    (from, to): (usize, usize),
    dst: &mut [f32],
) {
    let (k, depth, base) = (job.k, job.k.next_multiple_of(2), panels.start(from));
    let tasks = job.tasks(panels.start(to) - base, job.n).min(to - from);
    let dst = Shared((dst.as_mut_ptr(), dst.len()));
    job.each(tasks, &|i| {
        let (first, last) = part(to - from, tasks, i);
        let (dst, len) = dst.get();
        for panel in from + first..from + last {
            let (start, rows) = (panels.start(panel), panels.rows(panel));
            let at = (start - base) * depth;
            debug_assert!(at + rows * depth <= len);
            // SAFETY: panels are disjoint, and inside the scratch that was asked for.
            let dst = unsafe { core::slice::from_raw_parts_mut(dst.add(at), rows * depth) };
            pack_panel(job.isa, a, (start, rows), k, &mut dst[..rows * k]);
            dst[rows * k..].fill(0.0);
            if native {
                dispatch(job.isa, PairInPlace { panel: dst, rows });
            } else {
                dispatch(job.isa, Round(dst));
            }
        }
    });
}

/// Multiplies packed panels by slivers, by several threads.
fn multiply(
    job: &Job<'_>,
    native: bool,
    panels: &Panels,
    (first, last): (usize, usize),
    a: *const f32,
    b: *const u32,
) {
    let base = panels.start(first);
    let slivers = job.n.div_ceil(job.shape.cols());
    let tasks = job.tasks(panels.start(last) - base, job.n);
    // Columns first: each task then reads its own part of B, the larger operand.
    let col_tasks = tasks.min(slivers);
    let row_tasks = tasks.div_ceil(col_tasks).min(last - first);
    let block = Shared(Block {
        native,
        panels: *panels,
        base,
        panel: (0, 0),
        sliver: (0, 0),
        cols: job.n,
        pairs: job.k.div_ceil(2),
        a,
        b,
        c: job.c,
        c_stride: job.c_stride,
        epilogue: job.epilogue,
    });
    job.each(col_tasks * row_tasks, &|i| {
        let (from, to) = part(last - first, row_tasks, i / col_tasks);
        dispatch(
            job.isa,
            Block {
                panel: (first + from, first + to),
                sliver: part(slivers, col_tasks, i % col_tasks),
                ..block.get()
            },
        );
    });
}

/// One task: some panels of packed `A` by some slivers of `B`.
#[derive(Clone, Copy)]
struct Block {
    native: bool,
    panels: Panels,
    /// The row at which `a` begins.
    base: usize,
    panel: (usize, usize),
    sliver: (usize, usize),
    cols: usize,
    pairs: usize,
    a: *const f32,
    b: *const u32,
    c: *mut f32,
    c_stride: usize,
    epilogue: Raw,
}

impl Block {
    /// The part of the sliver after this one that is asked for during a panel: all panels of a block read a sliver, and
    /// only the first waits where weights come from memory.
    #[inline(always)]
    fn later<S: Simd>(&self, panel: usize, sliver: usize, (depth, len): (usize, usize)) -> Later {
        let shape = const { shape(S::ISA) };
        let (next, depth) = if sliver + 1 < self.sliver.1 {
            (sliver + 1, depth)
        } else {
            (self.sliver.0, depth + len)
        };
        let len = len.min(self.pairs - depth);
        if len == 0 {
            return Later::nothing(self.a);
        }
        let at = next * shape.cols();
        let width = sliver_width(shape, self.cols, at);
        let panels = self.panel.1 - self.panel.0;
        let start = at * self.pairs + depth * width;
        let part = (panel - self.panel.0) * len * width / panels;
        Later { at: self.b.wrapping_add(start + part).cast(), step: width.div_ceil(panels) }
    }

    #[inline(always)]
    fn run<S: Simd, const NATIVE: bool>(self, s: S) {
        let shape = const { shape(S::ISA) };
        // Numbers of A for each pair of k.
        let per_pair = if NATIVE { 1 } else { 2 };
        let mut depth = 0;
        // At least once, so that the epilogue runs for k = 0 as well.
        loop {
            let len = block_pairs(self.pairs, depth);
            let epilogue = self.epilogue.block(depth == 0, depth + len == self.pairs);
            for sliver in self.sliver.0..self.sliver.1 {
                let at = sliver * shape.cols();
                let width = sliver_width(shape, self.cols, at);
                for panel in self.panel.0..self.panel.1 {
                    let (row, rows) = (self.panels.start(panel), self.panels.rows(panel));
                    // SAFETY: the panel and sliver lie in the packed operands; rows and columns lie in C and the
                    // epilogue's operands. No other task has the same tile. The driver asked for `native`
                    // only where the machine has it.
                    unsafe {
                        let operands = Operands {
                            pairs: len,
                            a: self
                                .a
                                .add(2 * (row - self.base) * self.pairs + per_pair * depth * rows),
                            b: self.b.add(at * self.pairs + depth * width),
                            b_stride: width,
                            c: self.c.add(row * self.c_stride + at),
                            c_stride: self.c_stride,
                            cols: width.min(self.cols - at),
                            later: self.later::<S>(panel, sliver, (depth, len)),
                            epilogue: epilogue.at(row, at),
                        };
                        if width == 2 * S::LANES {
                            tile::<S, 2, NATIVE>(s, rows, operands);
                        } else {
                            tile::<S, 1, NATIVE>(s, rows, operands);
                        }
                    }
                }
            }
            depth += len;
            if depth == self.pairs {
                break;
            }
        }
    }
}

impl SimdOp for Block {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        if cfg!(target_arch = "x86_64") && self.native && matches!(S::ISA, crate::Isa::Avx512) {
            self.run::<S, true>(s);
        } else {
            self.run::<S, false>(s);
        }
    }
}

/// Pairs in the block that begins at `from`: even blocks of at most [`DEPTH`], the bytes of as many numbers of f32.
#[inline(always)]
fn block_pairs(pairs: usize, from: usize) -> usize {
    let blocks = pairs.div_ceil(DEPTH).max(1);
    pairs.div_ceil(blocks).min(pairs - from)
}
