//! Chooses between the vector, dot and tile forms, packs what needs packing, and splits the work.

use super::blocked::tiles;
use super::bytes;
use super::dot::{BATCH, Dots};
use super::epilogue::{Epilogue, Raw};
use super::half;
use super::pack::{is_dot, single_panel, slivers_len};
use super::shape::{
    BLOCK_B, Panels, Shape, WORK_PER_TASK, part, reads_in_place, rows_together, shape,
};
#[cfg(target_arch = "x86_64")]
use super::thirds;
use super::vector::{MAX_VECTOR_ROWS, Vector};
use super::{Lhs, Rhs, fits, packed_a_len, packed_b_len};
use crate::simd::dispatch;
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
    /// `B` and `A` in three parts of bf16.
    #[cfg(target_arch = "x86_64")]
    Thirds,
    /// `B` in bf16.
    Half,
    /// `B` in bytes.
    Bytes,
}

fn form(isa: Isa, m: usize, n: usize, k: usize, a: &Lhs<'_>, b: &Rhs<'_>) -> Form {
    let shape = shape(isa);
    let a_contiguous = match a {
        Lhs::Strided(a) => a.col_stride == 1 || k <= 1,
        Lhs::Packed(_) => m == 1,
    };
    match b {
        Rhs::Half(_) => Form::Half,
        Rhs::Bytes(_) => Form::Bytes,
        #[cfg(target_arch = "x86_64")]
        Rhs::Finite(_) if matches!(a, Lhs::Strided(_)) && thirds::pays(isa, m, n, k) => {
            Form::Thirds
        }
        Rhs::Packed(_) | Rhs::Finite(_) if is_dot(n) => Form::Dots,
        Rhs::Packed(_) | Rhs::Finite(_) if m <= MAX_VECTOR_ROWS => Form::Vector,
        Rhs::Packed(_) | Rhs::Finite(_) => Form::Tiles { block_cols: n },
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

pub(super) fn panels_per_block(shape: Shape) -> usize {
    (rows_together(shape) / shape.rows).max(1)
}

/// Numbers of scratch for the block of `A` that is packed at a time.
pub(super) fn packed_rows(shape: Shape, m: usize, k: usize, a: &Lhs<'_>) -> usize {
    match a {
        Lhs::Strided(_) => block_rows(shape, m) * k,
        Lhs::Packed(_) => 0,
    }
}

/// Numbers of scratch that [`gemm`] needs for these operands.
pub fn gemm_scratch_len(isa: Isa, m: usize, n: usize, k: usize, a: &Lhs<'_>, b: &Rhs<'_>) -> usize {
    let isa = isa.effective();
    let shape = shape(isa);
    match form(isa, m, n, k, a, b) {
        Form::Vector => 0,
        // A row of A that is not contiguous is copied.
        Form::Dots => k,
        Form::Tiles { block_cols } => {
            packed_rows(shape, m, k, a)
                + match b {
                    Rhs::Strided(_) => slivers_len(shape, k, block_cols),
                    Rhs::Packed(_) | Rhs::Finite(_) | Rhs::Half(_) | Rhs::Bytes(_) => 0,
                }
        }
        Form::Direct => packed_rows(shape, m, k, a) + shape.cols() * k,
        // Products that accumulate are made by other tiles.
        #[cfg(target_arch = "x86_64")]
        Form::Thirds => thirds::scratch_len(m, k).max(packed_rows(shape, m, k, a)),
        Form::Half => half::scratch_len(isa, m, k, a),
        Form::Bytes => bytes::scratch_len(isa, m, n, k, a),
    }
}

/// `C = epilogue(A B)` with `A` of `m x k`, `B` of `k x n` and `C` of `m x n` at `c_stride` elements
/// from row to row. `C` is overwritten unless the epilogue accumulates. The result does not
/// depend on the number of threads.
///
/// # Panics
/// If an operand is smaller than its sizes say, or `scratch` than [`gemm_scratch_len`], or a packed `A` meets a `B` in
/// bf16 or bytes.
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
        Rhs::Packed(b) | Rhs::Finite(b) => {
            assert!(b.len() >= packed_b_len(isa, k, n), "packed B smaller than k x n");
        }
        Rhs::Half(b) => {
            assert!(b.len() >= half::half_len(isa, k, n), "packed B smaller than k x n");
        }
        Rhs::Bytes(b) => {
            let covers = b.numbers.len() >= bytes::bytes_len(isa, k, n) && b.scales.len() >= n;
            assert!(covers, "packed B or its scales smaller than k x n");
        }
    }
    let form = form(isa, m, n, k, &a, &b);
    assert!(scratch.len() >= gemm_scratch_len(isa, m, n, k, &a, &b), "scratch too small");
    let job =
        Job { isa, shape, par, m, n, k, c: c.as_mut_ptr(), c_stride, epilogue: epilogue.raw() };
    let strided = || match a {
        Lhs::Strided(a) => a,
        Lhs::Packed(_) => panic!("packed A by B in bf16 or bytes"),
    };
    match form {
        Form::Vector => vector(&job, a, b),
        Form::Dots => dots(&job, a, b, scratch),
        Form::Tiles { block_cols } => tiles(&job, a, b, block_cols, false, scratch),
        Form::Direct => tiles(&job, a, b, n, true, scratch),
        #[cfg(target_arch = "x86_64")]
        Form::Thirds => {
            if let Rhs::Finite(b) = b {
                if epilogue.accumulate {
                    tiles(&job, a, Rhs::Packed(b), n, false, scratch);
                } else {
                    thirds::product(&job, strided(), b, scratch);
                }
            }
        }
        Form::Half => {
            if let Rhs::Half(b) = b {
                half::product(&job, half::Way::of(isa), strided(), b, scratch);
            }
        }
        Form::Bytes => {
            if let Rhs::Bytes(b) = b {
                bytes::product(&job, strided(), b, scratch);
            }
        }
    }
}

/// A product whose operands have been checked.
pub(super) struct Job<'a> {
    pub isa: Isa,
    pub shape: Shape,
    pub par: &'a dyn Parallel,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    pub epilogue: Raw,
}

// SAFETY: the pointers in it reach the threads, but each task writes elements of C that no other
// task reads or writes; see the callers of `each`.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Tasks for a part of the product of `m x n`: no more than keep the threads busy evenly.
    pub fn tasks(&self, m: usize, n: usize) -> usize {
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
pub(crate) struct Shared<T>(pub T);

// SAFETY: every task writes elements that no other task reads or writes; see the uses.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// By method, so that closures capture the wrapper and not its field.
    pub fn get(&self) -> T {
        self.0
    }
}

pub(super) fn vector(job: &Job<'_>, a: Lhs<'_>, b: Rhs<'_>) {
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
        Rhs::Packed(b) | Rhs::Finite(b) => {
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
        Rhs::Half(_) | Rhs::Bytes(_) => {}
    }
}

impl Job<'_> {
    /// Runs the tasks, on this thread if there is only one.
    pub fn each(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        if tasks == 1 { f(0) } else { self.par.for_each(tasks, f) }
    }
}

fn dots(job: &Job<'_>, a: Lhs<'_>, b: Rhs<'_>, scratch: &mut [f32]) {
    let k = job.k;
    let (b, b_col) = match b {
        Rhs::Strided(b) => (b.data, b.col_stride),
        Rhs::Packed(b) | Rhs::Finite(b) => (b, k),
        Rhs::Half(_) | Rhs::Bytes(_) => return,
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
        is_turned: false,
    };
    let panels = match a {
        Lhs::Strided(_) => Panels::new(job.m, job.m),
        Lhs::Packed(_) => Panels::new(job.m, job.shape.rows),
    };
    match a {
        Lhs::Strided(a) if a.col_stride == 1 || k <= 1 => {
            let d = Dots { a: a.data.as_ptr(), a_row: a.row_stride, ..whole }.turned();
            let by_rows = d.rows >= d.cols;
            let units = if by_rows { d.rows } else { d.cols.div_ceil(BATCH) };
            let d = Shared(d);
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
