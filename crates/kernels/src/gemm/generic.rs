//! Matrix products of the element types that have no kernel of their own: plain loops, compiled
//! for the instruction set, correct first.

use super::{MatRef, fits};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};
use half::{bf16, f16};

/// A number that [`gemm`] can multiply, and the type in which it sums.
pub trait Number: Copy + Send + Sync {
    /// Sums are kept in this type.
    type Sum: Copy + Default;
    /// Widens.
    fn widen(self) -> Self::Sum;
    /// `a * b + c`; integers wrap.
    fn mul_add(a: Self::Sum, b: Self::Sum, c: Self::Sum) -> Self::Sum;
    /// Narrows, rounding to nearest.
    fn narrow(sum: Self::Sum) -> Self;
}

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Number for $t {
            type Sum = $t;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn mul_add(a: $t, b: $t, c: $t) -> $t { a * b + c }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

macro_rules! half_float {
    ($($t:ty),*) => {$(
        impl Number for $t {
            type Sum = f32;
            #[inline(always)]
            fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn mul_add(a: f32, b: f32, c: f32) -> f32 { a * b + c }
            #[inline(always)]
            fn narrow(sum: f32) -> $t { <$t>::from_f32(sum) }
        }
    )*};
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Number for $t {
            type Sum = $t;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn mul_add(a: $t, b: $t, c: $t) -> $t { a.wrapping_mul(b).wrapping_add(c) }
            #[inline(always)]
            fn narrow(sum: $t) -> $t { sum }
        }
    )*};
}

float!(f32, f64);
half_float!(f16, bf16);
integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Columns that are summed together on the stack.
const COLS: usize = 64;

/// `C = A B` (or `C += A B`) with `A` of `m x k`, `B` of `k x n` and `C` of `m x n` at `c_stride`
/// elements from row to row.
///
/// # Panics
/// If an operand is smaller than its sizes say.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn gemm<T: Number>(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    n: usize,
    k: usize,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: &mut [T],
    c_stride: usize,
    accumulate: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(fits(c.len(), m, c_stride, n, 1) && (m == 1 || c_stride >= n), "C smaller than m x n");
    assert!(a.covers(m, k), "A smaller than m x k");
    assert!(b.covers(k, n), "B smaller than k x n");
    let c = RowsOf { data: c.as_mut_ptr(), stride: c_stride, cols: n };
    let run = |i: usize| {
        // SAFETY: each call has a row of its own, which lies in C.
        let row = unsafe { c.row(i) };
        dispatch(isa, Row { k, a, i, b, row, accumulate });
    };
    if par.threads() > 1 && m > 1 {
        par.for_each(m, &run);
    } else {
        (0..m).for_each(run);
    }
}

/// The rows of an output, each handed out once.
pub(super) struct RowsOf<T> {
    pub data: *mut T,
    pub stride: usize,
    pub cols: usize,
}

// SAFETY: rows are disjoint and every task asks for its own (contract of `row`).
unsafe impl<T: Send> Sync for RowsOf<T> {}

impl<T> RowsOf<T> {
    /// # Safety
    /// Row `i` lies in the output, and nobody else holds it.
    #[expect(clippy::mut_from_ref, reason = "rows are disjoint")]
    pub unsafe fn row(&self, i: usize) -> &mut [T] {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.data.add(i * self.stride), self.cols) }
    }
}

struct Row<'a, T> {
    k: usize,
    a: MatRef<'a, T>,
    i: usize,
    b: MatRef<'a, T>,
    row: &'a mut [T],
    accumulate: bool,
}

impl<T: Number> SimdOp for Row<'_, T> {
    type Output = ();

    // Nothing asks for vectors by name: the loops are simple enough for the compiler.
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (block, out) in self.row.chunks_mut(COLS).enumerate() {
            let col = block * COLS;
            let mut sums = [T::Sum::default(); COLS];
            let sums = &mut sums[..out.len()];
            if self.accumulate {
                for (sum, x) in sums.iter_mut().zip(out.iter()) {
                    *sum = x.widen();
                }
            }
            for p in 0..self.k {
                let x = self.a.data[self.i * self.a.row_stride + p * self.a.col_stride].widen();
                let b = &self.b.data[p * self.b.row_stride + col * self.b.col_stride..];
                if self.b.col_stride == 1 {
                    for (sum, y) in sums.iter_mut().zip(b) {
                        *sum = T::mul_add(x, y.widen(), *sum);
                    }
                } else {
                    for (j, sum) in sums.iter_mut().enumerate() {
                        *sum = T::mul_add(x, b[j * self.b.col_stride].widen(), *sum);
                    }
                }
            }
            for (x, sum) in out.iter_mut().zip(sums.iter()) {
                *x = T::narrow(*sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn every_type_multiplies_and_accumulates() {
        fn check<T: Number + PartialEq + core::fmt::Debug>(of: fn(u8) -> T) {
            let a = [1, 2, 3, 4, 5, 6].map(of);
            let b = [2, 1, 0, 3, 1, 1].map(of);
            for isa in Isa::available() {
                let mut c = [of(9); 4];
                let (a, b) = (MatRef::rows(&a, 3), MatRef::rows(&b, 2));
                gemm(isa, &Serial, 2, 2, 3, a, b, &mut c, 2, false);
                assert_eq!(c, [5, 10, 14, 25].map(of), "{isa:?}");
                // The first column again, on top of itself.
                gemm(isa, &Serial, 2, 1, 3, a, b, &mut c, 2, true);
                assert_eq!(c, [10, 10, 28, 25].map(of), "{isa:?}");
                // The transpose of B, by strides.
                let b = MatRef { data: b.data, row_stride: 1, col_stride: 3 };
                gemm(isa, &Serial, 2, 2, 3, a, b, &mut c, 2, false);
                assert_eq!(c, [4, 8, 13, 23].map(of), "{isa:?}");
            }
        }
        check::<u8>(|x| x);
        check::<i8>(|x| x as i8);
        check::<u16>(u16::from);
        check::<i16>(i16::from);
        check::<u32>(u32::from);
        check::<i32>(i32::from);
        check::<u64>(u64::from);
        check::<i64>(i64::from);
        check::<f32>(f32::from);
        check::<f64>(f64::from);
        check::<f16>(f16::from);
        check::<bf16>(|x| bf16::from_f32(f32::from(x)));
    }

    #[test]
    fn integers_wrap() {
        let mut c = [0i8];
        let (a, b) = (MatRef::rows(&[100i8], 1), MatRef::rows(&[3i8], 1));
        gemm(Isa::detect(), &Serial, 1, 1, 1, a, b, &mut c, 1, false);
        assert_eq!(c, [44]);
    }
}
