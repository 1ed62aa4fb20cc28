//! From sums of quantised products back to bytes.

use crate::chunks::{split_chunks, tasks};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// A quantised element.
pub trait Quantized: Copy + Send + Sync + Into<i32> {
    /// The least.
    const LOW: i32;
    /// The greatest.
    const HIGH: i32;
    /// A number between them.
    fn from_i32(x: i32) -> Self;
}

macro_rules! quantized {
    ($($t:ty),*) => {$(
        impl Quantized for $t {
            const LOW: i32 = <$t>::MIN as i32;
            const HIGH: i32 = <$t>::MAX as i32;
            #[inline(always)]
            fn from_i32(x: i32) -> $t { x as $t }
        }
    )*};
}

quantized!(u8, i8);

/// Scales and zero points, each one number for all or one for each row or column.
#[derive(Debug, Clone, Copy)]
pub struct Scales<'a, T> {
    /// Of the rows.
    pub row: &'a [f32],
    /// Of the columns.
    pub col: &'a [f32],
    /// Of the result, by row.
    pub result: &'a [f32],
    /// What stands for 0 in the result, by row.
    pub zero: &'a [T],
}

/// `dst = saturate(round(src * row * col / result) + zero)`, ties to even, over rows of `cols` numbers. Row `i`
/// takes scale `i` modulo their number.
///
/// # Panics
/// If the lengths do not fit together.
pub fn requantize<T: Quantized>(
    isa: Isa,
    par: &dyn Parallel,
    cols: usize,
    scales: &Scales<'_, T>,
    src: &[i32],
    dst: &mut [T],
) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    assert!(scales.col.len() == 1 || scales.col.len() == cols, "scales of columns");
    if dst.is_empty() {
        return;
    }
    let rows = dst.len() / cols;
    split_chunks(par, tasks(par, src.len(), rows), rows, dst, cols, &|range, dst| {
        for (row, dst) in range.zip(dst.chunks_exact_mut(cols)) {
            let of = |list: &[f32]| list[row % list.len()];
            let scale = of(scales.row) / of(scales.result);
            let zero = scales.zero[row % scales.zero.len()].into();
            let src = &src[row * cols..][..cols];
            dispatch(isa, Row { src, scale, col: scales.col, zero, dst });
        }
    });
}

struct Row<'a, T> {
    src: &'a [i32],
    scale: f32,
    col: &'a [f32],
    zero: i32,
    dst: &'a mut [T],
}

impl<T: Quantized> SimdOp for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        // Limits before the zero point is added, so that nothing overflows.
        let low = s.splat((T::LOW - self.zero) as f32);
        let high = s.splat((T::HIGH - self.zero) as f32);
        for (i, dst) in self.dst.chunks_mut(S::LANES).enumerate() {
            let at = i * S::LANES;
            let (mut x, mut by) = ([0i32; 16], [self.scale * self.col[0]; 16]);
            x[..dst.len()].copy_from_slice(&self.src[at..at + dst.len()]);
            if self.col.len() > 1 {
                for (by, col) in by.iter_mut().zip(&self.col[at..at + dst.len()]) {
                    *by = self.scale * col;
                }
            }
            // SAFETY: the arrays are as long as the widest vector.
            unsafe {
                let y = s.mul(s.to_f32(s.load_i32_ptr(x.as_ptr())), s.load_ptr(by.as_ptr()));
                // NaN, of a scale that is none, becomes the least.
                let y = s.min(s.max(s.round(y), low), high);
                s.store_i32_ptr(x.as_mut_ptr(), s.to_i32(y));
            }
            for (dst, x) in dst.iter_mut().zip(x) {
                *dst = T::from_i32(x + self.zero);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn rounds_to_even_and_saturates() {
        for isa in Isa::available() {
            let src = [1, 3, 5, -1, 1000, -1000, 2, 2];
            let mut dst = [0u8; 8];
            let scales = Scales { row: &[0.5], col: &[1.0], result: &[1.0], zero: &[3u8] };
            requantize(isa, &Serial, 8, &scales, &src, &mut dst);
            assert_eq!(dst, [3, 5, 5, 3, 255, 0, 4, 4], "{isa:?}");
            let mut dst = [0i8; 8];
            let scales = Scales {
                row: &[1.0, 2.0],
                col: &[1.0, 1.0, 1.0, 4.0],
                result: &[2.0],
                zero: &[-1i8],
            };
            requantize(isa, &Serial, 4, &scales, &src, &mut dst);
            assert_eq!(dst, [-1, 1, 1, -3, 127, -128, 1, 7], "{isa:?}");
            // What is no number becomes the least one, and nothing overflows on the way.
            let scales = Scales { row: &[f32::NAN], col: &[1.0], result: &[1.0], zero: &[-128i8] };
            requantize(isa, &Serial, 8, &scales, &src, &mut dst);
            assert_eq!(dst, [-128; 8], "{isa:?}");
        }
    }
}
