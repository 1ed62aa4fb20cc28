//! Chooses between the vector, dot and tile forms, packs what needs packing, and splits the work.

use super::dot::{BATCH, Dots};
use super::epilogue::{Epilogue, Raw};
use super::pack::{is_dot, pack_panel, pack_sliver, single_panel, sliver_width, slivers_len};
use super::shape::{
    BLOCK_B, BLOCK_ROWS, DEPTH, Panels, Shape, WORK_PER_TASK, part, reads_in_place, shape,
};
use super::tile::{Operands, tile};
use super::vector::{MAX_VECTOR_ROWS, Vector};
use super::{Lhs, MatRef, Rhs, fits, packed_a_len, packed_b_len};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// The way a product is computed, which depends on sizes and layouts alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `B` by rows of vectors, `A` as it lies.
    Vector,
    /// `B` by contiguous columns.
    Dots,
    /// Tiles; `B` is packed in blocks of this many columns if it is not packed yet.
    Tiles { block_cols: usize },
    /// Tiles that read a row-major `B` as it lies; only a last, narrow sliver is packed.
    Direct,
}

fn form(shape: Shape, m: usize, n: usize, k: usize, a: &Lhs<'_>, b: &Rhs<'_>) -> Form {
    let a_contiguous = match a {
        Lhs::Strided(a) => a.col_stride == 1 || k <= 1,
        Lhs::Packed(_) => m == 1,
    };
    match b {
        Rhs::Packed(_) if is_dot(n) => Form::Dots,
        Rhs::Packed(_) if m <= MAX_VECTOR_ROWS => Form::Vector,
        Rhs::Packed(_) => Form::Tiles { block_cols: n },
        Rhs::Strided(b) if m <= MAX_VECTOR_ROWS && b.col_stride == 1 => Form::Vector,
        Rhs::Strided(b)
            if (m <= MAX_VECTOR_ROWS || is_dot(n)) && b.row_stride == 1 && a_contiguous =>
        {
            Form::Dots
        }
        Rhs::Strided(b)
            if b.col_stride == 1 && reads_in_place(m.div_ceil(shape.rows), k, n, b.row_stride) =>
        {
            Form::Direct
        }
        Rhs::Strided(_) => {
            let fit = BLOCK_B / k.max(1) / shape.cols() * shape.cols();
            Form::Tiles { block_cols: fit.max(shape.cols()).min(n) }
        }
    }
}

/// Rows of `A` packed at a time.
fn block_rows(shape: Shape, m: usize) -> usize {
    let panels = Panels::new(m, shape.rows);
    let step = panels_per_block(shape).min(panels.count);
    // The larger panels come first.
    panels.start(step)
}

fn panels_per_block(shape: Shape) -> usize {
    (BLOCK_ROWS / shape.rows).max(1)
}

/// Numbers of scratch for the block of `A` that is packed at a time.
fn packed_rows(shape: Shape, m: usize, k: usize, a: &Lhs<'_>) -> usize {
    match a {
        Lhs::Strided(_) => block_rows(shape, m) * k,
        Lhs::Packed(_) => 0,
    }
}

/// Numbers of scratch that [`gemm`] needs for these operands.
pub fn gemm_scratch_len(isa: Isa, m: usize, n: usize, k: usize, a: &Lhs<'_>, b: &Rhs<'_>) -> usize {
    let shape = shape(isa.effective());
    match form(shape, m, n, k, a, b) {
        Form::Vector => 0,
        // A row of A that is not contiguous is copied.
        Form::Dots => k,
        Form::Tiles { block_cols } => {
            packed_rows(shape, m, k, a)
                + match b {
                    Rhs::Strided(_) => slivers_len(shape, k, block_cols),
                    Rhs::Packed(_) => 0,
                }
        }
        Form::Direct => packed_rows(shape, m, k, a) + shape.cols() * k,
    }
}

/// `C = epilogue(A B)` with `A` of `m x k`, `B` of `k x n` and `C` of `m x n` at `c_stride` elements
/// from row to row. `C` is overwritten unless the epilogue accumulates. The result does not
/// depend on the number of threads.
///
/// # Panics
/// If an operand is smaller than its sizes say, or `scratch` than [`gemm_scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn gemm(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    n: usize,
    k: usize,
    a: Lhs<'_>,
    b: Rhs<'_>,
    c: &mut [f32],
    c_stride: usize,
    epilogue: &Epilogue<'_>,
    scratch: &mut [f32],
) {
    let isa = isa.effective();
    let shape = shape(isa);
    if m == 0 || n == 0 {
        return;
    }
    assert!(fits(c.len(), m, c_stride, n, 1) && (m == 1 || c_stride >= n), "C smaller than m x n");
    assert!(epilogue.covers(m, n), "an epilogue operand is smaller than m x n");
    match a {
        Lhs::Strided(a) => assert!(a.covers(m, k), "A smaller than m x k"),
        Lhs::Packed(a) => assert!(a.len() >= packed_a_len(m, k), "packed A smaller than m x k"),
    }
    match b {
        Rhs::Strided(b) => assert!(b.covers(k, n), "B smaller than k x n"),
        Rhs::Packed(b) => {
            assert!(b.len() >= packed_b_len(isa, k, n), "packed B smaller than k x n");
        }
    }
    let form = form(shape, m, n, k, &a, &b);
    assert!(scratch.len() >= gemm_scratch_len(isa, m, n, k, &a, &b), "scratch too small");
    let job =
        Job { isa, shape, par, m, n, k, c: c.as_mut_ptr(), c_stride, epilogue: epilogue.raw() };
    match form {
        Form::Vector => vector(&job, a, b),
        Form::Dots => dots(&job, a, b, scratch),
        Form::Tiles { block_cols } => tiles(&job, a, b, block_cols, false, scratch),
        Form::Direct => tiles(&job, a, b, n, true, scratch),
    }
}

/// A product whose operands have been checked.
struct Job<'a> {
    isa: Isa,
    shape: Shape,
    par: &'a dyn Parallel,
    m: usize,
    n: usize,
    k: usize,
    c: *mut f32,
    c_stride: usize,
    epilogue: Raw,
}

// SAFETY: the pointers in it reach the threads, but each task writes elements of C that no other
// task reads or writes; see the callers of `each`.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Tasks for a part of the product of `m x n`: no more than keep the threads busy evenly.
    fn tasks(&self, m: usize, n: usize) -> usize {
        let threads = self.par.threads();
        if threads <= 1 {
            return 1;
        }
        let work = m.saturating_mul(n).saturating_mul(self.k) / WORK_PER_TASK;
        work.clamp(1, 2 * threads)
    }
}

/// Lets a pointer into the closures that run on other threads.
#[derive(Clone, Copy)]
struct Shared<T>(T);

// SAFETY: every task writes elements that no other task reads or writes; see the uses.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// By method, so that closures capture the wrapper and not its field.
    fn get(&self) -> T {
        self.0
    }
}

fn vector(job: &Job<'_>, a: Lhs<'_>, b: Rhs<'_>) {
    let a = single_panel(a, job.m);
    let width = job.shape.cols();
    let whole = Vector {
        rows: job.m,
        depth: job.k,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_col: a.col_stride,
        b: core::ptr::null(),
        group_stride: 0,
        depth_stride: 0,
        c: job.c,
        c_stride: job.c_stride,
        cols: 0,
        epilogue: job.epilogue,
    };
    // Groups from..to; a packed last sliver may be narrower than the others.
    let run = |v: Vector, from: usize, to: usize, group_stride: usize, depth_stride: usize| {
        let col = from * width;
        // SAFETY: group `from` begins below n, in B as in C and the epilogue.
        let v = unsafe {
            Vector {
                b: v.b.add(from * group_stride),
                group_stride,
                depth_stride,
                c: v.c.add(col),
                cols: (to * width).min(job.n) - col,
                epilogue: v.epilogue.at(0, col),
                ..v
            }
        };
        dispatch(job.isa, v);
    };
    let groups = job.n.div_ceil(width);
    let tasks = job.tasks(job.m, job.n).min(groups);
    match b {
        Rhs::Strided(b) => {
            let v = Shared(Vector { b: b.data.as_ptr(), ..whole });
            let stride = b.row_stride;
            job.each(tasks, &|i| {
                let (from, to) = part(groups, tasks, i);
                run(v.get(), from, to, width, stride);
            });
        }
        Rhs::Packed(b) => {
            let v = Shared(Vector { b: b.as_ptr(), ..whole });
            let (k, full) = (job.k, job.n.next_multiple_of(job.shape.lanes) / width);
            job.each(tasks, &|i| {
                let (from, to) = part(groups, tasks, i);
                if from < to.min(full) {
                    run(v.get(), from, to.min(full), k * width, width);
                }
                if to > full {
                    run(v.get(), full, to, k * width, job.shape.lanes);
                }
            });
        }
    }
}

impl Job<'_> {
    /// Runs the tasks, on this thread if there is only one.
    fn each(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        if tasks == 1 { f(0) } else { self.par.for_each(tasks, f) }
    }
}

fn dots(job: &Job<'_>, a: Lhs<'_>, b: Rhs<'_>, scratch: &mut [f32]) {
    let k = job.k;
    let (b, b_col) = match b {
        Rhs::Strided(b) => (b.data, b.col_stride),
        Rhs::Packed(b) => (b, k),
    };
    let whole = Dots {
        rows: job.m,
        cols: job.n,
        depth: k,
        a: core::ptr::null(),
        a_row: 0,
        b: b.as_ptr(),
        b_col,
        c: job.c,
        c_stride: job.c_stride,
        epilogue: job.epilogue,
    };
    let panels = match a {
        Lhs::Strided(_) => Panels::new(job.m, job.m),
        Lhs::Packed(_) => Panels::new(job.m, job.shape.rows),
    };
    match a {
        Lhs::Strided(a) if a.col_stride == 1 || k <= 1 => {
            let d = Shared(Dots { a: a.data.as_ptr(), a_row: a.row_stride, ..whole });
            let by_rows = job.m >= job.n;
            let units = if by_rows { job.m } else { job.n.div_ceil(BATCH) };
            let tasks = job.tasks(job.m, job.n).min(units);
            job.each(tasks, &|i| {
                let d = d.get();
                let (from, to) = part(units, tasks, i);
                let (from, to) =
                    if by_rows { (from, to) } else { (from * BATCH, (to * BATCH).min(d.cols)) };
                let (row, col) = if by_rows { (from, 0) } else { (0, from) };
                // SAFETY: (row, col) lies in C and the epilogue, its row in A, its column in B.
                let d = unsafe {
                    Dots {
                        rows: if by_rows { to - from } else { d.rows },
                        cols: if by_rows { d.cols } else { to - from },
                        a: d.a.add(row * d.a_row),
                        b: d.b.add(col * d.b_col),
                        c: d.c.add(row * d.c_stride + col),
                        epilogue: d.epilogue.at(row, col),
                        ..d
                    }
                };
                dispatch(job.isa, d);
            });
        }
        _ => {
            let row = &mut scratch[..k];
            for panel in 0..panels.count {
                let start = panels.start(panel);
                for i in 0..panels.rows(panel) {
                    for (p, x) in row.iter_mut().enumerate() {
                        *x = match a {
                            Lhs::Strided(a) => {
                                a.data[(start + i) * a.row_stride + p * a.col_stride]
                            }
                            Lhs::Packed(a) => a[start * k + p * panels.rows(panel) + i],
                        };
                    }
                    // SAFETY: row `start + i` lies in C and the epilogue.
                    let d = unsafe {
                        Dots {
                            rows: 1,
                            a: row.as_ptr(),
                            c: job.c.add((start + i) * job.c_stride),
                            epilogue: job.epilogue.at(start + i, 0),
                            ..whole
                        }
                    };
                    dispatch(job.isa, d);
                }
            }
        }
    }
}

fn tiles(
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
            Rhs::Packed(b) => Slivers::packed(b.as_ptr(), k),
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
                Lhs::Packed(a) => unsafe { a.as_ptr().add(first_row * k) },
                Lhs::Strided(a) => {
                    pack_panels(job, a, &panels, panel, end, a_scratch);
                    a_scratch.as_ptr()
                }
            };
            multiply(job, &panels, (panel, end), a, (col, cols), b);
            panel = end;
        }
        col += cols;
    }
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
        pack_sliver(b, at, n - at, k, width, dst);
        last = dst.as_ptr();
    }
    Slivers { first: b.data.as_ptr(), col_stride: 1, depth_stride: b.row_stride, last }
}

/// Packs columns `col..col + cols` of `B` into `dst`, by several threads.
fn pack_block(job: &Job<'_>, b: MatRef<'_>, col: usize, cols: usize, dst: &mut [f32]) {
    let (shape, k) = (job.shape, job.k);
    let slivers = cols.div_ceil(shape.cols());
    // Packing touches each number once: worth threads when the product is as well.
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
            pack_sliver(b, col + at, width.min(cols - at), k, width, dst);
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
            pack_panel(a, start, rows, k, dst);
        }
    });
}

/// Multiplies packed panels by packed slivers, by several threads.
fn multiply(
    job: &Job<'_>,
    panels: &Panels,
    (first, last): (usize, usize),
    a: *const f32,
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
    a: *const f32,
    b: Slivers,
    c: *mut f32,
    c_stride: usize,
    epilogue: Raw,
}

impl SimdOp for Block {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let shape = const { shape(S::ISA) };
        let k = self.k;
        let mut depth = 0;
        // At least once, so that the epilogue runs for k = 0 as well.
        loop {
            let len = block_depth(k, depth);
            let epilogue = self.epilogue.block(depth == 0, depth + len == k);
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
                        let (b, b_stride) = self.b.sliver(at, width, cols, depth);
                        let operands = Operands {
                            depth: len,
                            a: self.a.add((row - self.base) * k + depth * rows),
                            a_stride: rows,
                            b,
                            b_stride,
                            c: self.c.add(row * self.c_stride + self.col + at),
                            c_stride: self.c_stride,
                            cols,
                            epilogue: epilogue.at(row, self.col + at),
                        };
                        if width == 2 * S::LANES {
                            tile::<S, 2>(s, rows, operands);
                        } else {
                            tile::<S, 1>(s, rows, operands);
                        }
                    }
                }
            }
            depth += len;
            if depth == k {
                break;
            }
        }
    }
}

/// Depth of the block that begins at `from`: even blocks of at most [`DEPTH`].
#[inline(always)]
fn block_depth(k: usize, from: usize) -> usize {
    let blocks = k.div_ceil(DEPTH).max(1);
    k.div_ceil(blocks).min(k - from)
}
