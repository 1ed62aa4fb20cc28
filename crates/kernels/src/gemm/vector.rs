//! Products with few rows of `A`, bound by reading `B` once: no packing of `A`, many accumulators.

use super::epilogue::Raw;
use super::tile::finish;
use crate::simd::{Simd, SimdOp};

/// Most rows for which this is used.
pub const MAX_VECTOR_ROWS: usize = 4;

/// `C` of `rows <= 4` rows. `B` lies in groups of two vectors of columns: column `j` of group `g`
/// at depth `p` is `b[g * group_stride + p * depth_stride + j]`. Packed slivers and row-major
/// matrices are both of this form.
#[derive(Clone, Copy)]
pub struct Vector {
    pub rows: usize,
    pub depth: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_col: usize,
    pub b: *const f32,
    pub group_stride: usize,
    pub depth_stride: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    pub cols: usize,
    pub epilogue: Raw,
}

impl SimdOp for Vector {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match self.rows {
            1 => s.call(Rows::<1>(self)),
            2 => s.call(Rows::<2>(self)),
            3 => s.call(Rows::<3>(self)),
            4 => s.call(Rows::<4>(self)),
            rows => debug_assert!(rows == 0),
        }
    }
}

struct Rows<const M: usize>(Vector);

impl<const M: usize> SimdOp for Rows<M> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let v = self.0;
        let width = 2 * S::LANES;
        let wide = groups::<S>(M);
        let (mut group, mut col) = (0, 0);
        // SAFETY: each call takes whole groups that begin before `cols`; `finish` leaves out the
        // columns behind it.
        unsafe {
            while col + 4 * width <= v.cols && wide == 4 {
                strip::<S, M, 4>(s, v, group);
                (group, col) = (group + 4, col + 4 * width);
            }
            while col + 2 * width <= v.cols && wide >= 2 {
                strip::<S, M, 2>(s, v, group);
                (group, col) = (group + 2, col + 2 * width);
            }
            while col + width <= v.cols {
                strip::<S, M, 1>(s, v, group);
                (group, col) = (group + 1, col + width);
            }
            if col < v.cols {
                edge::<S, M>(s, v, group);
            }
        }
    }
}

/// Groups side by side: as many accumulators as registers allow beside the operands.
#[inline(always)]
pub const fn groups<S: Simd>(rows: usize) -> usize {
    match (S::REGISTERS / 2).saturating_sub(1) / rows {
        0..2 => 1,
        2..4 => 2,
        _ => 4,
    }
}

/// `M` rows by `G` whole groups from `group` on.
///
/// # Safety
/// The groups exist in `B`, `C` and the epilogue.
#[inline(always)]
unsafe fn strip<S: Simd, const M: usize, const G: usize>(s: S, v: Vector, group: usize) {
    // SAFETY: the caller's promise; A has `M` rows of `depth` elements.
    unsafe {
        let mut acc = [[[s.zero(); 2]; M]; G];
        let mut b = v.b.add(group * v.group_stride);
        let mut a = v.a;
        for _ in 0..v.depth {
            let mut x = [s.zero(); M];
            for (i, x) in x.iter_mut().enumerate() {
                *x = s.splat(*a.add(i * v.a_row));
            }
            for (g, sums) in acc.iter_mut().enumerate() {
                for half in 0..2 {
                    let b = s.load_ptr(b.add(g * v.group_stride + half * S::LANES));
                    for (sums, x) in sums.iter_mut().zip(x) {
                        sums[half] = s.fma(x, b, sums[half]);
                    }
                }
            }
            a = a.wrapping_add(v.a_col);
            b = b.wrapping_add(v.depth_stride);
        }
        for (g, tile) in acc.into_iter().enumerate() {
            let col = (group + g) * 2 * S::LANES;
            finish(s, tile, v.c.add(col), v.c_stride, 2 * S::LANES, v.epilogue.at(0, col));
        }
    }
}

/// `M` rows by the last columns, which do not fill a group.
///
/// # Safety
/// The group begins before `cols`.
#[inline(always)]
unsafe fn edge<S: Simd, const M: usize>(s: S, v: Vector, group: usize) {
    // SAFETY: only columns below `cols` are read or written.
    unsafe {
        let col = group * 2 * S::LANES;
        let rest = v.cols - col;
        let first = rest.min(S::LANES);
        let second = rest - first;
        let mut acc = [[s.zero(); 2]; M];
        let mut b = v.b.add(group * v.group_stride);
        let mut a = v.a;
        for _ in 0..v.depth {
            let b0 = s.load_part_ptr(b, first);
            let b1 = s.load_part_ptr(b.add(first), second);
            for (i, acc) in acc.iter_mut().enumerate() {
                let x = s.splat(*a.add(i * v.a_row));
                acc[0] = s.fma(x, b0, acc[0]);
                acc[1] = s.fma(x, b1, acc[1]);
            }
            a = a.wrapping_add(v.a_col);
            b = b.wrapping_add(v.depth_stride);
        }
        finish(s, acc, v.c.add(col), v.c_stride, rest, v.epilogue.at(0, col));
    }
}
