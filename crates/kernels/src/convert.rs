//! Half precision to f32 and back, which is how it is computed with.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};
use bytemuck::cast_slice;
use half::{bf16, f16};

/// Widens; exact.
///
/// # Panics
/// If the lengths differ.
pub fn f16_to_f32(isa: Isa, src: &[f16], dst: &mut [f32]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, FromF16(cast_slice(src), dst));
}

/// Narrows to the nearest, ties to even.
///
/// # Panics
/// If the lengths differ.
pub fn f32_to_f16(isa: Isa, src: &[f32], dst: &mut [f16]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, ToF16(src, bytemuck::cast_slice_mut(dst)));
}

/// Widens; exact.
///
/// # Panics
/// If the lengths differ.
pub fn bf16_to_f32(isa: Isa, src: &[bf16], dst: &mut [f32]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, FromBf16(cast_slice(src), dst));
}

/// Narrows to the nearest, ties to even.
///
/// # Panics
/// If the lengths differ.
pub fn f32_to_bf16(isa: Isa, src: &[f32], dst: &mut [bf16]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, ToBf16(src, dst));
}

struct FromF16<'a>(&'a [u16], &'a mut [f32]);

impl SimdOp for FromF16<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let whole = self.0.len() / S::LANES * S::LANES;
        for i in (0..whole).step_by(S::LANES) {
            // SAFETY: i + LANES <= len of both.
            unsafe {
                s.store_ptr(self.1.as_mut_ptr().add(i), s.load_f16_ptr(self.0.as_ptr().add(i)))
            }
        }
        for (x, y) in self.0.iter().zip(self.1).skip(whole) {
            *y = f16::from_bits(*x).to_f32_const();
        }
    }
}

struct ToF16<'a>(&'a [f32], &'a mut [u16]);

impl SimdOp for ToF16<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let whole = self.0.len() / S::LANES * S::LANES;
        for i in (0..whole).step_by(S::LANES) {
            // SAFETY: i + LANES <= len of both.
            unsafe {
                s.store_f16_ptr(self.1.as_mut_ptr().add(i), s.load_ptr(self.0.as_ptr().add(i)))
            }
        }
        for (x, y) in self.0.iter().zip(self.1).skip(whole) {
            *y = f16::from_f32_const(*x).to_bits();
        }
    }
}

struct FromBf16<'a>(&'a [u16], &'a mut [f32]);

impl SimdOp for FromBf16<'_> {
    type Output = ();
    // A shift: the compiler makes vectors of it.
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (x, y) in self.0.iter().zip(self.1) {
            *y = f32::from_bits(u32::from(*x) << 16);
        }
    }
}

struct ToBf16<'a>(&'a [f32], &'a mut [bf16]);

impl SimdOp for ToBf16<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (x, y) in self.0.iter().zip(self.1) {
            *y = bf16::from_f32(*x);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_half_number_survives() {
        let bits: Vec<u16> = (0..=u16::MAX).collect();
        for isa in Isa::available() {
            let halves: Vec<f16> = bits.iter().map(|&b| f16::from_bits(b)).collect();
            let (mut wide, mut back) = (std::vec![0.0; 65536], std::vec![f16::ZERO; 65536]);
            f16_to_f32(isa, &halves, &mut wide);
            f32_to_f16(isa, &wide, &mut back);
            for (i, (x, y)) in halves.iter().zip(&back).enumerate() {
                assert!(x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()), "{isa:?} {i}");
                assert!(wide[i] == x.to_f32() || x.is_nan(), "{isa:?} {i}");
            }
            let halves: Vec<bf16> = bits.iter().map(|&b| bf16::from_bits(b)).collect();
            let mut back = std::vec![bf16::ZERO; 65536];
            bf16_to_f32(isa, &halves, &mut wide);
            f32_to_bf16(isa, &wide, &mut back);
            for (i, (x, y)) in halves.iter().zip(&back).enumerate() {
                assert!(x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()), "{isa:?} {i}");
            }
        }
    }

    #[test]
    fn narrowing_rounds_to_even() {
        // Between neighbours of f16 at 2048 (step 2): 2049 and 2051 are ties.
        let xs = [2049.0, 2051.0, 2049.01, 65519.0, 65520.0];
        let want = [2048.0, 2052.0, 2050.0, 65504.0, f32::INFINITY];
        for isa in Isa::available() {
            let xs: Vec<f32> = xs.iter().cycle().take(37).copied().collect();
            let mut y = std::vec![f16::ZERO; 37];
            f32_to_f16(isa, &xs, &mut y);
            for (i, y) in y.iter().enumerate() {
                assert_eq!(y.to_f32(), want[i % 5], "{isa:?} {i}");
            }
        }
    }
}
