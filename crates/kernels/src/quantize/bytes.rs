//! Quantisation to bytes, and back, by one scale.

use crate::chunks::{split_chunks, tasks};
use crate::requantize::Quantized;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// `q = round(x / scale) + zero` with ties to even, limited to the type: one scale for all, without a detour by floats.
/// NaN gives the least number.
///
/// # Panics
/// When the lengths differ.
pub fn quantize_bytes<T: Quantized>(
    isa: Isa,
    par: &dyn Parallel,
    x: &[f32],
    scale: f32,
    zero: T,
    q: &mut [T],
) {
    assert_eq!(q.len(), x.len(), "lengths of source and destination");
    let count = tasks(par, x.len(), x.len());
    split_chunks(par, count, x.len(), q, 1, &|range, q| {
        dispatch(isa, QuantizeBytes { x: &x[range], scale, zero, q });
    });
}

struct QuantizeBytes<'a, T> {
    x: &'a [f32],
    scale: f32,
    zero: T,
    q: &'a mut [T],
}

impl<T: Quantized> SimdOp for QuantizeBytes<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(size_of::<T>() == 1) };
        let (scale, zero) = (s.splat(self.scale), s.splat_i32(self.zero.into()));
        // Limits before the zero point is added, so that nothing overflows.
        let low = s.splat((T::LOW - self.zero.into()) as f32);
        let high = s.splat((T::HIGH - self.zero.into()) as f32);
        let whole = self.q.len() / S::LANES * S::LANES;
        let (x, q) = (self.x.as_ptr(), self.q.as_mut_ptr().cast::<u8>());
        let mut i = 0;
        // SAFETY: `x` and `q` are of one length, and whole vectors below it.
        unsafe {
            while i < whole {
                let y = s.div(s.load_ptr(x.add(i)), scale);
                let y = s.min(high, s.max(y, low));
                s.store_low_bytes(q.add(i), s.add_i32(s.to_i32(y), zero));
                i += S::LANES;
            }
            let rest = self.q.len() - whole;
            if rest > 0 {
                let y = s.div(s.load_part_ptr(x.add(whole), rest), scale);
                let y = s.min(high, s.max(y, low));
                let mut last = [0u8; 16];
                s.store_low_bytes(last.as_mut_ptr(), s.add_i32(s.to_i32(y), zero));
                core::ptr::copy_nonoverlapping(last.as_ptr(), q.add(whole), rest);
            }
        }
    }
}

/// `x = (q - zero) * scale`: one scale for all.
///
/// # Panics
/// When the lengths differ.
pub fn dequantize_bytes<T: Quantized>(
    isa: Isa,
    par: &dyn Parallel,
    q: &[T],
    scale: f32,
    zero: T,
    x: &mut [f32],
) {
    assert_eq!(q.len(), x.len(), "lengths of source and destination");
    let count = tasks(par, q.len(), q.len());
    split_chunks(par, count, q.len(), x, 1, &|range, x| {
        dispatch(isa, DequantizeBytes { q: &q[range], scale, zero: zero.into(), x });
    });
}

struct DequantizeBytes<'a, T> {
    q: &'a [T],
    scale: f32,
    zero: i32,
    x: &'a mut [f32],
}

impl<T: Quantized> SimdOp for DequantizeBytes<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (x, q) in self.x.iter_mut().zip(self.q) {
            let q: i32 = (*q).into();
            *x = (q - self.zero) as f32 * self.scale;
        }
    }
}
