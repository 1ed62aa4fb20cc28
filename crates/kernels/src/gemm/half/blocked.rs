//! Products by tiles: blocks of rounded and packed `A` by slivers of `B`, split over threads.

use super::super::driver::{Job, Shared, packed_rows, panels_per_block};
use super::super::epilogue::Raw;
use super::super::pack::{pack_panel, sliver_width};
use super::super::shape::{DEPTH, Panels, part, shape};
use super::super::tile::Later;
use super::super::{Lhs, MatRef};
use super::Way;
use super::round::{PairInPlace, Round};
use super::tile::{Operands, tile};
use crate::simd::{LINE_BYTES, Simd, SimdOp, dispatch};

/// Computes a product by tiles.
pub fn tiles(job: &Job<'_>, way: Way, a: MatRef<'_>, b: &[u32], scratch: &mut [f32]) {
    let shape = way.shape(job.shape);
    let panels = Panels::new(job.m, shape.rows);
    let room = packed_rows(shape, job.m, way.row_len(job.k), &Lhs::Strided(a));
    let from = scratch.as_ptr().align_offset(LINE_BYTES).min(way.spare());
    let room = &mut scratch[from..from + room];
    let mut panel = 0;
    while panel < panels.count {
        let end = (panel + panels_per_block(shape)).min(panels.count);
        pack_panels(job, way, a, &panels, (panel, end), room);
        multiply(job, way, &panels, (panel, end), room.as_ptr(), b.as_ptr());
        panel = end;
    }
}

/// Packs and rounds panels of `A` into `dst`, by several threads. A panel takes [`Way::row_len`] numbers for each row, of
/// which [`Way::Pairs`] uses only the first half.
fn pack_panels(
    job: &Job<'_>,
    way: Way,
    a: MatRef<'_>,
    panels: &Panels,
    (from, to): (usize, usize),
    dst: &mut [f32],
) {
    let (k, row_len, base) = (job.k, way.row_len(job.k), panels.start(from));
    let tasks = way.tasks(job, panels.start(to) - base).min(to - from);
    let dst = Shared((dst.as_mut_ptr(), dst.len()));
    job.each(tasks, &|i| {
        let (first, last) = part(to - from, tasks, i);
        let (dst, len) = dst.get();
        for panel in from + first..from + last {
            let (start, rows) = (panels.start(panel), panels.rows(panel));
            let at = (start - base) * row_len;
            debug_assert!(at + rows * row_len <= len);
            // SAFETY: panels are disjoint, and inside the scratch that was asked for.
            let dst = unsafe { core::slice::from_raw_parts_mut(dst.add(at), rows * row_len) };
            #[cfg(target_arch = "x86_64")]
            if way == Way::Tiles {
                // SAFETY: a machine with tiles has AVX-512.
                unsafe { super::amx::pack(a, (start, rows), k, dst) };
                continue;
            }
            pack_panel(job.isa, a, (start, rows), k, &mut dst[..rows * k]);
            dst[rows * k..].fill(0.0);
            if way == Way::Pairs {
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
    way: Way,
    panels: &Panels,
    (first, last): (usize, usize),
    a: *const f32,
    b: *const u32,
) {
    let base = panels.start(first);
    let slivers = job.n.div_ceil(job.shape.cols());
    let tasks = way.tasks(job, panels.start(last) - base);
    // Columns first: each task then reads its own part of B, the larger operand.
    let col_tasks = tasks.min(slivers);
    let row_tasks = tasks.div_ceil(col_tasks).min(last - first);
    let block = Shared(Block {
        way,
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
pub(super) struct Block {
    pub way: Way,
    pub panels: Panels,
    /// The row at which `a` begins.
    pub base: usize,
    pub panel: (usize, usize),
    pub sliver: (usize, usize),
    pub cols: usize,
    pub pairs: usize,
    pub a: *const f32,
    pub b: *const u32,
    pub c: *mut f32,
    pub c_stride: usize,
    pub epilogue: Raw,
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
                    // epilogue's operands. No other task has the same tile. The way is one that the machine has.
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
        let is_avx512 = cfg!(target_arch = "x86_64") && matches!(S::ISA, crate::Isa::Avx512);
        match self.way {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the way is one that the machine has, and panels are packed for it.
            Way::Tiles if is_avx512 => s.call(unsafe { super::amx::ByTiles::new(self) }),
            Way::Pairs if is_avx512 => self.run::<S, true>(s),
            Way::Tiles | Way::Pairs => debug_assert!(false, "a way of AVX-512 alone"),
            Way::Widened => self.run::<S, false>(s),
        }
    }
}

/// Pairs in the block that begins at `from`: even blocks of at most [`DEPTH`], the bytes of as many numbers of f32.
#[inline(always)]
fn block_pairs(pairs: usize, from: usize) -> usize {
    let blocks = pairs.div_ceil(DEPTH).max(1);
    pairs.div_ceil(blocks).min(pairs - from)
}
