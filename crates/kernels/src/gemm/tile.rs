//! The register tile: `MR` rows by `NV` vectors of `C` over one block of `k`.

use super::activation::{ActivateRows, Activation};
use super::epilogue::Raw;
use super::shape::{MAX_COLS, MAX_ROWS, shape};
use crate::Isa;
use crate::simd::{LINE, Simd, SimdOp};
use core::mem::MaybeUninit;

/// Everything a tile reads and writes. `a[p * a_stride + i * a_row]` is row `i`, `b[p * b_stride + j]`
/// column `j`; one of `a_row` and `a_stride` is 1.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    pub depth: usize,
    pub a: *const f32,
    pub a_stride: usize,
    pub a_row: usize,
    pub b: *const f32,
    pub b_stride: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    /// Columns of `C` that exist: the vectors of `B` may be wider.
    pub cols: usize,
    /// What later tiles will read, asked for meanwhile.
    pub later: Later,
    /// The epilogue of a block of tiles, and the tile's place in it. By value, its narrow fields would be written for each tile and
    /// read at once by wider loads, which wait until all stores before them are done: those of the last tile's `C`.
    pub epilogue: &'a Raw,
    pub at: (usize, usize),
}

/// Memory that is asked for while a tile computes: `step` numbers from `at` on for each depth.
#[derive(Clone, Copy)]
pub struct Later {
    pub at: *const f32,
    pub step: usize,
}

impl Later {
    /// The same line again and again, which costs next to nothing.
    pub fn nothing(at: *const f32) -> Later {
        Later { at, step: 0 }
    }
}

/// Depths of one turn of the loop.
const TURN: usize = 4;

/// Memory that is asked for by turns, a line from each of several streams. A processor fetches ahead by itself within a page
/// only, and only so far: one stream of requests reaches a third of what memory delivers, streams some pages apart all of it.
struct Streams {
    next: *const f32,
    /// How many, from one to the next, and what each takes by a turn.
    count: usize,
    apart: usize,
    step: usize,
}

impl Streams {
    /// Numbers of a step for which another stream is begun. More requests than a line and a half for each turn fill the buffers
    /// that the tile's own loads wait in.
    const STEP: usize = 6;

    #[inline(always)]
    fn new(later: Later, depth: usize) -> Streams {
        if later.step == 0 {
            // The divisions below take as long as a few depths of a tile.
            return Streams { next: later.at, count: 1, apart: 0, step: 0 };
        }
        let count = later.step.div_ceil(Self::STEP).max(1);
        let (apart, step) = (later.step * depth / count, later.step * TURN / count);
        Streams { next: later.at, count, apart, step }
    }

    #[inline(always)]
    fn turn<S: Simd>(&mut self, s: S) {
        let mut at = self.next;
        for _ in 0..self.count {
            s.prefetch_far(at);
            at = at.wrapping_add(self.apart);
        }
        self.next = self.next.wrapping_add(self.step);
    }
}

/// Depths by which `B` is asked for before it is needed. Hardware prefetchers stop at pages, and
/// the rows of a matrix that is read where it lies are often pages apart.
const AHEAD: usize = 16;

/// How the operands of a tile lie.
mod lies {
    /// `A` by depths, with any strides.
    pub const APART: u8 = 0;
    /// Both packed, one depth behind the other. Strides are constants: what a depth adds to pointers otherwise is a tenth of
    /// its instructions where vectors are short.
    pub const DENSE: u8 = 1;
    /// `A` by rows, not packed at all.
    pub const ROWS: u8 = 2;
}

/// The tile as a function of its own.
struct Tile<'a, const MR: usize, const NV: usize, const LIES: u8>(Operands<'a>);

impl<const MR: usize, const NV: usize, const LIES: u8> SimdOp for Tile<'_, MR, NV, LIES> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(MR <= MAX_ROWS && NV * S::LANES <= MAX_COLS) };
        let t = self.0;
        debug_assert!(t.cols <= NV * S::LANES);
        let mut acc = [[s.zero(); NV]; MR];
        let (mut a, mut b) = (t.a, t.b);
        let (a_row, a_stride, b_stride) = match LIES {
            lies::DENSE => (1, MR, NV * S::LANES),
            lies::ROWS => (t.a_row, 1, t.b_stride),
            _ => (1, t.a_stride, t.b_stride),
        };
        debug_assert!((a_row, a_stride, b_stride) == (t.a_row, t.a_stride, t.b_stride));
        let mut later = Streams::new(t.later, t.depth);
        // The rows of `C` are asked for as well, one by a turn: stores that wait for memory fill their buffer, and then all waits. So are
        // those of the residual, which all at once would be waited for at the end.
        let (mut row, mut c) = (0, t.c.cast_const());
        let (mut residual, residual_stride) =
            t.epilogue.residual_at(t.at).unwrap_or((c, t.c_stride));
        // SAFETY: `a` has MR elements and `b` NV vectors at each of depth strides.
        unsafe {
            for _ in 0..t.depth / TURN {
                later.turn(s);
                if row < MR {
                    for v in (0..NV * S::LANES).step_by(LINE) {
                        s.prefetch(c.wrapping_add(v));
                        s.prefetch(residual.wrapping_add(v));
                    }
                    (row, c) = (row + 1, c.wrapping_add(t.c_stride));
                    residual = residual.wrapping_add(residual_stride);
                }
                for _ in 0..TURN {
                    deepen(s, &mut acc, (a, a_row), (b, b_stride));
                    a = a.wrapping_add(a_stride);
                    b = b.wrapping_add(b_stride);
                }
            }
            for _ in 0..t.depth % TURN {
                deepen(s, &mut acc, (a, a_row), (b, b_stride));
                a = a.wrapping_add(a_stride);
                b = b.wrapping_add(b_stride);
            }
        }
        // SAFETY: the tile's part of C and of the epilogue's operands exists.
        unsafe { finish(s, acc, t.c, t.c_stride, t.cols, t.epilogue.at(t.at.0, t.at.1)) }
    }
}

/// Adds the products of one depth to the sums.
///
/// # Safety
/// `a` must have `MR` numbers at its stride, and `b` `NV` vectors.
#[inline(always)]
unsafe fn deepen<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    acc: &mut [[S::F32; NV]; MR],
    (a, a_row): (*const f32, usize),
    (b, b_stride): (*const f32, usize),
) {
    let mut bv = [s.zero(); NV];
    for (v, bv) in bv.iter_mut().enumerate() {
        if (v * S::LANES).is_multiple_of(LINE) {
            s.prefetch(b.wrapping_add(v * S::LANES + AHEAD * b_stride));
        }
        // SAFETY: the caller's promise.
        *bv = unsafe { s.load_ptr(b.add(v * S::LANES)) };
    }
    for (i, row) in acc.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let x = s.splat(unsafe { *a.add(i * a_row) });
        for (v, sum) in row.iter_mut().enumerate() {
            *sum = s.fma(x, bv[v], *sum);
        }
    }
}

/// Applies the epilogue to the sums and stores them.
///
/// # Safety
/// `c` and the operands of `epilogue` must reach to `MR` rows and `cols <= NV * LANES` columns.
#[inline(always)]
pub unsafe fn finish<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    mut acc: [[S::F32; NV]; MR],
    c: *mut f32,
    c_stride: usize,
    cols: usize,
    epilogue: Raw,
) {
    // SAFETY: rows below MR, columns below `cols`, as the caller promises.
    unsafe {
        if cols < NV * S::LANES {
            // Vectors that are cut off go through memory: the code for it exists once, not once
            // per tile size.
            let mut sums = MaybeUninit::<[f32; MAX_ROWS * MAX_COLS]>::uninit();
            let sums: *mut f32 = sums.as_mut_ptr().cast();
            for (i, row) in acc.iter().enumerate() {
                for (v, x) in row.iter().enumerate() {
                    s.store_ptr(sums.add((i * NV + v) * S::LANES), *x);
                }
            }
            s.call(Partial {
                sums,
                sums_stride: NV * S::LANES,
                rows: MR,
                cols,
                c,
                c_stride,
                epilogue,
            });
            return;
        }
        let e = epilogue;
        // Steps that change nothing are left out: one costs a shallow tile a thirtieth of its time.
        if e.alpha != 1.0 {
            let alpha = s.splat(e.alpha);
            for row in &mut acc {
                for x in row {
                    *x = s.mul(*x, alpha);
                }
            }
        }
        if e.accumulate {
            for (i, row) in acc.iter_mut().enumerate() {
                for (v, x) in row.iter_mut().enumerate() {
                    *x = s.add(*x, s.load_ptr(c.add(i * c_stride + v * S::LANES)));
                }
            }
        }
        if !e.bias_col.is_null() {
            for v in 0..NV {
                let bias = s.load_ptr(e.bias_col.add(v * S::LANES));
                for row in &mut acc {
                    row[v] = s.add(row[v], bias);
                }
            }
        }
        if !e.bias_row.is_null() {
            for (i, row) in acc.iter_mut().enumerate() {
                let bias = s.splat(*e.bias_row.add(i));
                for x in row {
                    *x = s.add(*x, bias);
                }
            }
        }
        if !e.residual.is_null() {
            let scale = s.splat(e.residual_scale);
            for (i, row) in acc.iter_mut().enumerate() {
                for (v, x) in row.iter_mut().enumerate() {
                    let r = s.load_ptr(e.residual.add(i * e.residual_stride + v * S::LANES));
                    *x = s.fma(r, scale, *x);
                }
            }
        }
        let bounds = e.activation.bounds();
        if let Some((lo, hi)) = bounds
            && e.activation != Activation::None
        {
            let (lo, hi) = (s.splat(lo), s.splat(hi));
            for row in &mut acc {
                for x in row {
                    *x = s.min(hi, s.max(lo, *x));
                }
            }
        }
        for (i, row) in acc.iter().enumerate() {
            for (v, x) in row.iter().enumerate() {
                s.store_ptr(c.add(i * c_stride + v * S::LANES), *x);
            }
        }
        if bounds.is_none() {
            // The tile is in the first-level cache now; in registers the code of every function
            // would stand in every tile size.
            s.call(ActivateRows { act: e.activation, data: c, rows: MR, cols, stride: c_stride });
        }
    }
}

/// The epilogue of sums in memory whose last vectors are cut off.
pub struct Partial {
    pub sums: *const f32,
    pub sums_stride: usize,
    pub rows: usize,
    pub cols: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    pub epilogue: Raw,
}

impl SimdOp for Partial {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let e = self.epilogue;
        for i in 0..self.rows {
            let mut j = 0;
            while j < self.cols {
                let n = (self.cols - j).min(S::LANES);
                // SAFETY: row i and columns j..j + n exist in C and in every operand; `sums` has
                // whole vectors.
                unsafe {
                    let c = self.c.add(i * self.c_stride + j);
                    let mut x = s.load_part_ptr(self.sums.add(i * self.sums_stride + j), n);
                    x = s.mul(x, s.splat(e.alpha));
                    if e.accumulate {
                        x = s.add(x, s.load_part_ptr(c, n));
                    }
                    if !e.bias_col.is_null() {
                        x = s.add(x, s.load_part_ptr(e.bias_col.add(j), n));
                    }
                    if !e.bias_row.is_null() {
                        x = s.add(x, s.splat(*e.bias_row.add(i)));
                    }
                    if !e.residual.is_null() {
                        let r = s.load_part_ptr(e.residual.add(i * e.residual_stride + j), n);
                        x = s.fma(r, s.splat(e.residual_scale), x);
                    }
                    if let Some((lo, hi)) = e.activation.bounds() {
                        x = s.min(s.splat(hi), s.max(s.splat(lo), x));
                    }
                    s.store_part_ptr(c, x, n);
                }
                j += S::LANES;
            }
        }
        if e.activation.bounds().is_none() {
            s.call(ActivateRows {
                act: e.activation,
                data: self.c,
                rows: self.rows,
                cols: self.cols,
                stride: self.c_stride,
            });
        }
    }
}

/// Whether tiles can read `A` by rows: where a tile has so few that their pointers stay in registers.
pub const fn reads_rows(isa: Isa) -> bool {
    matches!(isa, Isa::Avx2)
}

/// Runs the tile of `rows` rows.
///
/// # Safety
/// `a` must have `rows` numbers, and `b` `NV` vectors, at each of `depth` strides, and rows that do not follow each other only
/// where [`reads_rows`] says so; `c` and the operands of the epilogue must reach to `rows` rows and `cols` columns.
#[inline(always)]
pub unsafe fn tile<S: Simd, const NV: usize>(s: S, rows: usize, operands: Operands<'_>) {
    const { assert!(MAX_ROWS == 14) };
    debug_assert!((1..=const { shape(S::ISA).rows }).contains(&rows));
    let is_dense = (operands.a_stride, operands.b_stride) == (rows, NV * S::LANES);
    let is_by_rows = operands.a_row != 1;
    debug_assert!(!is_by_rows || reads_rows(S::ISA));
    macro_rules! by_rows {
        ($($n:literal)*) => {
            match rows {
                // Tiles that the instruction set never uses are not compiled for it.
                $($n if $n <= const { shape(S::ISA).rows } => {
                    if const { reads_rows(S::ISA) } && is_by_rows {
                        s.call(Tile::<$n, NV, { lies::ROWS }>(operands));
                    } else if const { S::LANES == 8 } && is_dense {
                        s.call(Tile::<$n, NV, { lies::DENSE }>(operands));
                    } else {
                        s.call(Tile::<$n, NV, { lies::APART }>(operands));
                    }
                })*
                _ => {}
            }
        };
    }
    by_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}
