//! Products by tiles: blocks of packed `A` by slivers of `B`, split over threads.

use super::driver::{Job, Shared, packed_rows, panels_per_block};
use super::epilogue::Raw;
use super::pack::{pack_panel, pack_sliver, sliver_width};
use super::shape::{Panels, Shape, depth, part, shape};
use super::tile::{Later, Operands, reads_rows, tile};
use super::{Lhs, MatRef, Rhs};
use crate::simd::{Simd, SimdOp, dispatch};

/// Computes a product by tiles. `B` is packed in blocks of `block_cols` columns if it is not packed yet, or, when
/// `direct`, read where it lies.
pub(super) fn tiles(
    job: &Job<'_>,
    a: Lhs<'_>,
    b: Rhs<'_>,
    block_cols: usize,
    direct: bool,
    scratch: &mut [f32],
) {
    let (shape, k) = (job.shape, job.k);
    let panels = Panels::new(job.m, shape.rows);
    let step = panels_per_block(shape);
    let (a_scratch, b_scratch) = scratch.split_at_mut(packed_rows(shape, job.m, k, &a));
    let mut col = 0;
    while col < job.n {
        let cols = block_cols.min(job.n - col);
        let b = match b {
            Rhs::Packed(b) | Rhs::Finite(b) => Slivers::packed(b.as_ptr(), k),
            Rhs::Half(_) | Rhs::Bytes(_) => return,
            Rhs::Strided(b) if direct => direct_slivers(job, b, b_scratch),
            Rhs::Strided(b) => {
                pack_block(job, b, col, cols, b_scratch);
                Slivers::packed(b_scratch.as_ptr(), k)
            }
        };
        let mut panel = 0;
        while panel < panels.count {
            let end = (panel + step).min(panels.count);
            let first_row = panels.start(panel);
            let a = match a {
                // SAFETY: panels lie one after the other, `k` numbers a row.
                Lhs::Packed(a) => Rows::packed(unsafe { a.as_ptr().add(first_row * k) }),
                Lhs::Strided(a) if reads_rows_in_place(job, &a) => {
                    // SAFETY: the row exists.
                    let first = unsafe { a.data.as_ptr().add(first_row * a.row_stride) };
                    Rows { first, row_stride: a.row_stride }
                }
                Lhs::Strided(a) => {
                    pack_panels(job, a, &panels, panel, end, a_scratch);
                    Rows::packed(a_scratch.as_ptr())
                }
            };
            multiply(job, &panels, (panel, end), a, (col, cols), b);
            panel = end;
        }
        col += cols;
    }
}

/// Where the panels of a block of `A` lie.
#[derive(Clone, Copy)]
struct Rows {
    first: *const f32,
    /// From one row to the next; 0 where they are packed.
    row_stride: usize,
}

impl Rows {
    fn packed(first: *const f32) -> Rows {
        Rows { first, row_stride: 0 }
    }

    /// Pointer, stride of depths and stride of rows for a panel of `rows` rows from `row` on, at a depth.
    ///
    /// # Safety
    /// The panel must exist, of `k` numbers a row.
    #[inline(always)]
    unsafe fn panel(
        self,
        (row, rows): (usize, usize),
        k: usize,
        depth: usize,
    ) -> (*const f32, usize, usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.row_stride == 0 {
                (self.first.add(row * k + depth * rows), rows, 1)
            } else {
                (self.first.add(row * self.row_stride + depth), 1, self.row_stride)
            }
        }
    }
}

/// Columns from which packing `A` costs next to nothing: a reading and a writing of it, beside as many products of each number.
const MANY_COLS: usize = 1024;

/// Whether tiles read the rows of `A` where they lie. Rows a multiple of 4 KiB apart share few sets of the first-level cache.
fn reads_rows_in_place(job: &Job<'_>, a: &MatRef<'_>) -> bool {
    reads_rows(job.isa)
        && a.col_stride == 1
        && a.row_stride > 1
        && job.n <= MANY_COLS
        && !a.row_stride.is_multiple_of(1024)
}

/// Where the slivers of a block of `B` lie.
#[derive(Clone, Copy)]
struct Slivers {
    /// The first sliver, and from one column to the next at the same depth, if whole slivers lie
    /// apart by a multiple of their columns.
    first: *const f32,
    col_stride: usize,
    /// From one depth to the next; 0 for the width of the sliver.
    depth_stride: usize,
    /// The last sliver, if it lies elsewhere, packed.
    last: *const f32,
}

impl Slivers {
    /// All of them packed.
    fn packed(first: *const f32, k: usize) -> Slivers {
        Slivers { first, col_stride: k, depth_stride: 0, last: core::ptr::null() }
    }

    /// Pointer and stride for the sliver of `width` at column `at`, of which `cols` exist, from
    /// `depth` on.
    ///
    /// # Safety
    /// The sliver must exist.
    #[inline(always)]
    unsafe fn sliver(
        self,
        at: usize,
        width: usize,
        cols: usize,
        depth: usize,
    ) -> (*const f32, usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if cols < width && !self.last.is_null() {
                return (self.last.add(depth * width), width);
            }
            let stride = if self.depth_stride == 0 { width } else { self.depth_stride };
            (self.first.add(at * self.col_stride + depth * stride), stride)
        }
    }
}

/// `B` as it lies, with a last sliver that is not whole packed into `dst`.
fn direct_slivers(job: &Job<'_>, b: MatRef<'_>, dst: &mut [f32]) -> Slivers {
    let (shape, k, n) = (job.shape, job.k, job.n);
    let at = (n - 1) / shape.cols() * shape.cols();
    let width = sliver_width(shape, n, at);
    let mut last = core::ptr::null();
    if n - at < width {
        let dst = &mut dst[..width * k];
        pack_sliver(job.isa, b, (at, n - at), k, width, dst);
        last = dst.as_ptr();
    }
    Slivers { first: b.data.as_ptr(), col_stride: 1, depth_stride: b.row_stride, last }
}

/// Packs columns `col..col + cols` of `B` into `dst`, by several threads.
fn pack_block(job: &Job<'_>, b: MatRef<'_>, col: usize, cols: usize, dst: &mut [f32]) {
    each_sliver(job, cols, dst, &|at, width, dst| {
        pack_sliver(job.isa, b, (col + at, width.min(cols - at)), job.k, width, dst);
    });
}

/// Calls `f` with the first column, the width and the numbers of each sliver of `cols` columns in `dst`, on several threads.
pub(super) fn each_sliver(
    job: &Job<'_>,
    cols: usize,
    dst: &mut [f32],
    f: &(dyn Fn(usize, usize, &mut [f32]) + Sync),
) {
    let (shape, k) = (job.shape, job.k);
    let slivers = cols.div_ceil(shape.cols());
    // What is packed is touched once: worth threads when the product is as well.
    let tasks = job.tasks(job.m, cols).min(slivers);
    let dst = Shared((dst.as_mut_ptr(), dst.len()));
    job.each(tasks, &|i| {
        let (from, to) = part(slivers, tasks, i);
        let (dst, len) = dst.get();
        for sliver in from..to {
            let at = sliver * shape.cols();
            let width = sliver_width(shape, cols, at);
            debug_assert!((at + width) * k <= len);
            // SAFETY: slivers are disjoint, and inside the scratch that gemm_scratch_len asked for.
            let dst = unsafe { core::slice::from_raw_parts_mut(dst.add(at * k), width * k) };
            f(at, width, dst);
        }
    });
}

/// Packs the panels `from..to` of `A` into `dst`, by several threads.
fn pack_panels(
    job: &Job<'_>,
    a: MatRef<'_>,
    panels: &Panels,
    from: usize,
    to: usize,
    dst: &mut [f32],
) {
    let (k, base) = (job.k, panels.start(from));
    let tasks = job.tasks(panels.start(to) - base, job.n).min(to - from);
    let dst = Shared((dst.as_mut_ptr(), dst.len()));
    job.each(tasks, &|i| {
        let (first, last) = part(to - from, tasks, i);
        let (dst, len) = dst.get();
        for panel in from + first..from + last {
            let (start, rows) = (panels.start(panel), panels.rows(panel));
            let at = (start - base) * k;
            debug_assert!(at + rows * k <= len);
            // SAFETY: panels are disjoint, and inside the scratch that gemm_scratch_len asked for.
            let dst = unsafe { core::slice::from_raw_parts_mut(dst.add(at), rows * k) };
            pack_panel(job.isa, a, (start, rows), k, dst);
        }
    });
}

/// Multiplies packed panels by packed slivers, by several threads.
fn multiply(
    job: &Job<'_>,
    panels: &Panels,
    (first, last): (usize, usize),
    a: Rows,
    (col, cols): (usize, usize),
    b: Slivers,
) {
    let base = panels.start(first);
    let slivers = cols.div_ceil(job.shape.cols());
    let tasks = job.tasks(panels.start(last) - base, cols);
    // Columns first: each task then reads its own part of B, the larger operand.
    let col_tasks = tasks.min(slivers);
    let row_tasks = tasks.div_ceil(col_tasks).min(last - first);
    let block = Block {
        panels: *panels,
        base,
        panel: (0, 0),
        sliver: (0, 0),
        col,
        cols,
        k: job.k,
        a,
        b,
        c: job.c,
        c_stride: job.c_stride,
        epilogue: job.epilogue,
    };
    let block = Shared(block);
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

/// One task: some panels of packed `A` by some slivers of packed `B`.
#[derive(Clone, Copy)]
struct Block {
    panels: Panels,
    /// The row at which `a` begins.
    base: usize,
    panel: (usize, usize),
    sliver: (usize, usize),
    /// The column at which `b` begins, and how many there are.
    col: usize,
    cols: usize,
    k: usize,
    a: Rows,
    b: Slivers,
    c: *mut f32,
    c_stride: usize,
    epilogue: Raw,
}

impl Block {
    /// The part of the sliver after this one that is asked for during a panel. All panels of a block read a sliver, and only
    /// the first waits where weights come from memory: it would wait for a thousand lines, each later than the
    /// [hardware](super::tile) or the tile itself can ask for them.
    #[inline(always)]
    fn later<S: Simd>(&self, panel: usize, sliver: usize, (depth, len): (usize, usize)) -> Later {
        let shape = const { shape(S::ISA) };
        let (next, depth) = if sliver + 1 < self.sliver.1 {
            (sliver + 1, depth)
        } else {
            (self.sliver.0, depth + len)
        };
        let len = len.min(self.k - depth);
        if self.b.depth_stride != 0 || len == 0 {
            return Later::nothing(self.a.first);
        }
        let at = next * shape.cols();
        let width = sliver_width(shape, self.cols, at);
        let panels = self.panel.1 - self.panel.0;
        let start = at * self.b.col_stride + depth * width;
        let part = (panel - self.panel.0) * len * width / panels;
        Later { at: self.b.first.wrapping_add(start + part), step: width.div_ceil(panels) }
    }
}

impl SimdOp for Block {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let shape = const { shape(S::ISA) };
        let k = self.k;
        let mut from = 0;
        // At least once, so that the epilogue runs for k = 0 as well.
        loop {
            let len = block_depth(shape, k, from);
            let epilogue = self.epilogue.block(from == 0, from + len == k);
            for sliver in self.sliver.0..self.sliver.1 {
                let at = sliver * shape.cols();
                let width = sliver_width(shape, self.cols, at);
                let cols = width.min(self.cols - at);
                for panel in self.panel.0..self.panel.1 {
                    let (row, rows) = (self.panels.start(panel), self.panels.rows(panel));
                    // SAFETY: the panel and sliver lie in the packed operands, which hold k
                    // numbers for each row and column; rows and columns lie in C and the
                    // epilogue's operands. No other task has the same tile.
                    unsafe {
                        let (b, b_stride) = self.b.sliver(at, width, cols, from);
                        let (a, a_stride, a_row) = self.a.panel((row - self.base, rows), k, from);
                        let operands = Operands {
                            depth: len,
                            a,
                            a_stride,
                            a_row,
                            b,
                            b_stride,
                            c: self.c.add(row * self.c_stride + self.col + at),
                            c_stride: self.c_stride,
                            cols,
                            later: self.later::<S>(panel, sliver, (from, len)),
                            epilogue: &epilogue,
                            at: (row, self.col + at),
                        };
                        if width == 2 * S::LANES {
                            tile::<S, 2>(s, rows, operands);
                        } else {
                            tile::<S, 1>(s, rows, operands);
                        }
                    }
                }
            }
            from += len;
            if from == k {
                break;
            }
        }
    }
}

/// Depth of the block that begins at `from`: even blocks of at most [`depth`].
#[inline(always)]
fn block_depth(shape: Shape, k: usize, from: usize) -> usize {
    let blocks = k.div_ceil(depth(shape)).max(1);
    k.div_ceil(blocks).min(k - from)
}
