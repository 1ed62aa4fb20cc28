//! Normalisation: by row (layer and RMS; of rows picked from tables too), by channel (batch), and by group of channels.
//!
//! Means and variances are taken in two passes over the data, which lie in the first-level cache
//! the second time; that is more accurate than the one-pass formula and as fast.

mod channel;
mod channel_stats;
mod embed;
mod row;

pub use channel::{batch_norm_affine, group_norm, scale_shift};
pub use channel_stats::{LocalResponse, channel_stats, local_response, lp_normalize};
pub use embed::{Embedding, Picked, norm_embeddings};
pub use row::{RowNorm, RowStats, norm_rows, norm_rows_in_place};

use crate::simd::Simd;

/// The sum of `n` numbers, in eight vectors' worth of chains at least.
///
/// # Safety
/// `src` must be readable for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn sum<S: Simd>(s: S, src: *const f32, n: usize) -> f32 {
    let mut acc = [s.zero(); 4];
    let mut i = 0;
    // SAFETY: all offsets are below n.
    unsafe {
        while i + 4 * S::LANES <= n {
            for (v, acc) in acc.iter_mut().enumerate() {
                *acc = s.add(*acc, s.load_ptr(src.add(i + v * S::LANES)));
            }
            i += 4 * S::LANES;
        }
        while i + S::LANES <= n {
            acc[0] = s.add(acc[0], s.load_ptr(src.add(i)));
            i += S::LANES;
        }
        if i < n {
            acc[0] = s.add(acc[0], s.load_part_ptr(src.add(i), n - i));
        }
    }
    s.sum(s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3])))
}

/// The sum of (x - center)^2 over `n` numbers.
///
/// # Safety
/// `src` must be readable for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn squares<S: Simd>(s: S, src: *const f32, n: usize, center: f32) -> f32 {
    let center = s.splat(center);
    let mut acc = [s.zero(); 4];
    let mut i = 0;
    // SAFETY: all offsets are below n.
    unsafe {
        while i + 4 * S::LANES <= n {
            for (v, acc) in acc.iter_mut().enumerate() {
                let x = s.sub(s.load_ptr(src.add(i + v * S::LANES)), center);
                *acc = s.fma(x, x, *acc);
            }
            i += 4 * S::LANES;
        }
        while i + S::LANES <= n {
            let x = s.sub(s.load_ptr(src.add(i)), center);
            acc[0] = s.fma(x, x, acc[0]);
            i += S::LANES;
        }
        if i < n {
            // Lanes behind the end are 0, not `center`.
            let len = n - i;
            let mut lanes = [0.0f32; 16];
            let x = s.sub(s.load_part_ptr(src.add(i), len), center);
            s.store_part_ptr(lanes.as_mut_ptr(), x, len);
            let x = s.load_ptr(lanes.as_ptr());
            acc[0] = s.fma(x, x, acc[0]);
        }
    }
    s.sum(s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3])))
}

#[cfg(test)]
mod tests;
