//! Packed bytes as packed f32.

use super::super::blocked::each_sliver;
use super::super::driver::Job;
use super::Bytes;
use crate::simd::{Simd, SimdOp, dispatch};

/// Widens the first columns of `b`, as many as it has scales, by several threads: `q * scale`, packed as `f32` are.
pub fn columns(job: &Job<'_>, b: Bytes<'_>, dst: &mut [f32]) {
    each_sliver(job, b.scales.len(), dst, &|at, width, dst| {
        let numbers = &b.numbers[at * job.k..(at + width) * job.k];
        dispatch(job.isa, Widen { numbers, scales: &b.scales[at..], width, dst });
    });
}

/// A sliver of one or two vectors.
struct Widen<'a> {
    numbers: &'a [i8],
    scales: &'a [f32],
    width: usize,
    dst: &'a mut [f32],
}

impl SimdOp for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Widen { numbers, scales, width, dst } = self;
        assert!(width.is_multiple_of(S::LANES) && numbers.len() == dst.len(), "a sliver");
        for v in (0..width).step_by(S::LANES) {
            let scale = s.load_part(&scales[v.min(scales.len())..]);
            for at in (v..dst.len()).step_by(width.max(1)) {
                // SAFETY: rows are whole vectors, of which the last ends with the slices.
                unsafe {
                    let number = s.to_f32(s.load_signed_bytes(numbers.as_ptr().add(at)));
                    s.store_ptr(dst.as_mut_ptr().add(at), s.mul(number, scale));
                }
            }
        }
    }
}
