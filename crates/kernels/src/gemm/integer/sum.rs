//! The sum of a row.

use crate::simd::{Simd, SimdOp};

/// The sum of unsigned bytes, wrapping.
pub struct RowSum<'a>(pub &'a [u8]);

impl SimdOp for RowSum<'_> {
    type Output = i32;

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> i32 {
        let ones = s.splat_i32(0x0101_0101);
        let mut sums = s.splat_i32(0);
        let vectors = self.0.chunks_exact(4 * S::LANES);
        let mut sum: i32 = vectors.remainder().iter().map(|&x| i32::from(x)).sum();
        let mut lanes = [0i32; 16];
        // SAFETY: each part has as many bytes as a vector, and no vector more than 16 lanes.
        unsafe {
            for part in vectors {
                sums = s.dot4(sums, s.load_i32_ptr(part.as_ptr().cast()), ones);
            }
            s.store_i32_ptr(lanes.as_mut_ptr(), sums);
        }
        for lane in lanes {
            sum = sum.wrapping_add(lane);
        }
        sum
    }
}
