//! The quantised product of 8-bit numbers into i32, with zero points.

use super::generic::RowsOf;
use super::{MatRef, fits};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// u8 or i8.
pub trait Byte: Copy + Send + Sync + Into<i32> + private::Sealed {}

impl Byte for u8 {}
impl Byte for i8 {}

mod private {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

/// What stands for 0 in a quantised operand.
#[derive(Debug, Clone, Copy)]
pub enum ZeroPoint<'a, T> {
    /// The same for all.
    One(T),
    /// One per row of `A` or per column of `B`.
    Each(&'a [T]),
}

impl<T: Byte> ZeroPoint<'_, T> {
    #[inline(always)]
    fn get(&self, i: usize) -> i32 {
        match self {
            ZeroPoint::One(z) => (*z).into(),
            ZeroPoint::Each(z) => z[i].into(),
        }
    }

    fn covers(&self, n: usize) -> bool {
        match self {
            ZeroPoint::One(_) => true,
            ZeroPoint::Each(z) => z.len() >= n,
        }
    }
}

/// Columns that are summed together on the stack.
const COLS: usize = 64;

/// `C[i, j] = sum over p of (A[i, p] - a_zero[i]) (B[p, j] - b_zero[j])`, wrapping, with `A` of
/// `m x k`, `B` of `k x n` and `C` of `m x n` at `c_stride` elements from row to row
/// (ONNX MatMulInteger).
///
/// # Panics
/// If an operand is smaller than its sizes say.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn gemm<A: Byte, B: Byte>(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    n: usize,
    k: usize,
    a: MatRef<'_, A>,
    a_zero: ZeroPoint<'_, A>,
    b: MatRef<'_, B>,
    b_zero: ZeroPoint<'_, B>,
    c: &mut [i32],
    c_stride: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(fits(c.len(), m, c_stride, n, 1) && (m == 1 || c_stride >= n), "C smaller than m x n");
    assert!(a.covers(m, k) && a_zero.covers(m), "A smaller than m x k");
    assert!(b.covers(k, n) && b_zero.covers(n), "B smaller than k x n");
    let c = RowsOf { data: c.as_mut_ptr(), stride: c_stride, cols: n };
    let run = |i: usize| {
        // SAFETY: each call has a row of its own, which lies in C.
        let row = unsafe { c.row(i) };
        dispatch(isa, Row { k, a, i, a_zero: a_zero.get(i), b, b_zero, row });
    };
    if par.threads() > 1 && m > 1 {
        par.for_each(m, &run);
    } else {
        (0..m).for_each(run);
    }
}

struct Row<'a, A, B> {
    k: usize,
    a: MatRef<'a, A>,
    i: usize,
    a_zero: i32,
    b: MatRef<'a, B>,
    b_zero: ZeroPoint<'a, B>,
    row: &'a mut [i32],
}

impl<A: Byte, B: Byte> SimdOp for Row<'_, A, B> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (block, out) in self.row.chunks_mut(COLS).enumerate() {
            let col = block * COLS;
            out.fill(0);
            let mut zeros = [0i32; COLS];
            for (j, z) in zeros.iter_mut().enumerate().take(out.len()) {
                *z = self.b_zero.get(col + j);
            }
            for p in 0..self.k {
                let x: i32 = self.a.data[self.i * self.a.row_stride + p * self.a.col_stride].into();
                let x = x - self.a_zero;
                let b = &self.b.data[p * self.b.row_stride + col * self.b.col_stride..];
                if self.b.col_stride == 1 {
                    for ((sum, &y), z) in out.iter_mut().zip(b).zip(zeros) {
                        let y: i32 = y.into();
                        *sum = sum.wrapping_add(x * (y - z));
                    }
                } else {
                    for (j, sum) in out.iter_mut().enumerate() {
                        let y: i32 = b[j * self.b.col_stride].into();
                        *sum = sum.wrapping_add(x * (y - zeros[j]));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Serial;
    use std::vec::Vec;

    #[test]
    fn agrees_with_the_definition() {
        let (m, n, k) = (3, 70, 9);
        let a: Vec<u8> = (0..m * k).map(|i| (i * 37 % 256) as u8).collect();
        let b: Vec<i8> = (0..k * n).map(|i| (i * 91 % 256) as u8 as i8).collect();
        let az = [1u8, 128, 255];
        let bz: Vec<i8> = (0..n).map(|j| (j as i8).wrapping_mul(7)).collect();
        let b_by_cols: Vec<i8> = (0..k * n).map(|i| b[i % k * n + i / k]).collect();
        for isa in Isa::available() {
            for (a_zero, b_zero) in [
                (ZeroPoint::One(3), ZeroPoint::One(-5)),
                (ZeroPoint::Each(&az[..]), ZeroPoint::Each(&bz[..])),
            ] {
                for b in [MatRef::rows(&b, n), MatRef::transposed(&b_by_cols, k)] {
                    let mut c = std::vec![0; m * n];
                    let a = MatRef::rows(&a, k);
                    gemm(isa, &Serial, m, n, k, a, a_zero, b, b_zero, &mut c, n);
                    for i in 0..m {
                        for j in 0..n {
                            let want: i32 = (0..k)
                                .map(|p| {
                                    let x = i32::from(a.data[i * k + p]) - a_zero.get(i);
                                    let y = b.data[p * b.row_stride + j * b.col_stride];
                                    x * (i32::from(y) - b_zero.get(j))
                                })
                                .sum();
                            assert_eq!(c[i * n + j], want, "{isa:?} ({i}, {j})");
                        }
                    }
                }
            }
        }
    }
}
