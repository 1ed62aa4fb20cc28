//! Blocks of transposed scores, a row of queries for each key: what is added to them, and their softmax.

use crate::math;
use crate::simd::Simd;

/// Most numbers in a vector over all instruction sets.
const MAX_LANES: usize = 16;

/// `scores[j * stride + i] += mask[i * row_stride + j]` for `queries` queries `i` and all keys `j` of `scores`: squares of the
/// mask are transposed in registers, since its numbers for one query lie `stride` apart in the scores.
#[inline(always)]
pub(super) fn add_transposed<S: Simd>(
    s: S,
    mask: &[f32],
    row_stride: usize,
    queries: usize,
    scores: &mut [f32],
    stride: usize,
) {
    const { assert!(S::LANES <= MAX_LANES) };
    let keys = scores.len() / stride.max(1);
    let mut square = [0.0; MAX_LANES * MAX_LANES];
    for first in (0..queries).step_by(S::LANES) {
        let count = (queries - first).min(S::LANES);
        let mut key = 0;
        while key + S::LANES <= keys {
            let src = &mask[first * row_stride + key..];
            debug_assert!((count - 1) * row_stride + S::LANES <= src.len());
            // SAFETY: `count` rows of the mask have `LANES` more numbers each, as checked when attention began; the square has
            // room for as many vectors, and the scores have whole vectors of queries for each key.
            unsafe {
                let to = square.as_mut_ptr();
                s.transpose_ptr(src.as_ptr(), row_stride, count, to, S::LANES, S::LANES);
                for j in 0..S::LANES {
                    let at = scores.as_mut_ptr().add((key + j) * stride + first);
                    let added = s.load_part_ptr(to.add(j * S::LANES), count);
                    s.store_ptr(at, s.add(s.load_ptr(at), added));
                }
            }
            key += S::LANES;
        }
        for i in first..first + count {
            let last = &mask[i * row_stride + key..][..keys - key];
            for (j, m) in last.iter().enumerate() {
                scores[(key + j) * stride + i] += m;
            }
        }
    }
}

/// One vector of queries: turns `len` scores each into weights and brings maximum, sum and the
/// factor of what was summed before up to date.
#[inline(always)]
pub(super) fn softmax_block<S: Simd>(
    s: S,
    scores: &mut [f32],
    stride: usize,
    len: usize,
    [max, sum, correction]: [&mut [f32]; 3],
) {
    debug_assert!((len - 1) * stride + S::LANES <= scores.len());
    let p = scores.as_mut_ptr();
    // SAFETY: row j < len has a vector at j * stride, as asserted above.
    unsafe {
        let old = s.load(max);
        let mut tops = [old; 4];
        let mut j = 0;
        while j + 4 <= len {
            for (v, top) in tops.iter_mut().enumerate() {
                *top = s.max(s.load_ptr(p.add((j + v) * stride)), *top);
            }
            j += 4;
        }
        while j < len {
            tops[0] = s.max(s.load_ptr(p.add(j * stride)), tops[0]);
            j += 1;
        }
        let top = s.max(s.max(tops[0], tops[1]), s.max(tops[2], tops[3]));
        s.store(max, top);
        // Of a query that has seen no key yet, all weights are e^(-inf - 0) = 0.
        let shift = s.select(s.eq(top, s.splat(f32::NEG_INFINITY)), s.zero(), top);
        let mut sums = [s.zero(); 2];
        let mut j = 0;
        while j + 2 <= len {
            for (v, sum) in sums.iter_mut().enumerate() {
                let at = p.add((j + v) * stride);
                let w = math::exp_weight(s, s.sub(s.load_ptr(at), shift));
                s.store_ptr(at, w);
                *sum = s.add(*sum, w);
            }
            j += 2;
        }
        if j < len {
            let at = p.add(j * stride);
            let w = math::exp_weight(s, s.sub(s.load_ptr(at), shift));
            s.store_ptr(at, w);
            sums[0] = s.add(sums[0], w);
        }
        let factor = math::exp_weight(s, s.sub(old, shift));
        s.store(correction, factor);
        s.store(sum, s.fma(s.load(sum), factor, s.add(sums[0], sums[1])));
    }
}
