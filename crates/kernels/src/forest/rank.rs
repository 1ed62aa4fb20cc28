//! How many thresholds are at most a value.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// Numbers that have ranks.
pub trait Real: Copy + Send + Sync + PartialOrd + Default + 'static {}

impl Real for f32 {}
impl Real for f64 {}

/// Searches that go on side by side: each of them waits for its loads.
const LANES: usize = 16;

/// Writes for each value how many `thresholds`, which ascend, are at most the value. A NaN has rank
/// 0, or with `nan_high` that of infinity.
///
/// # Panics
/// If `values` and `ranks` are not equally long.
pub fn rank<T: Real>(isa: Isa, values: &[T], thresholds: &[T], nan_high: bool, ranks: &mut [u32]) {
    assert_eq!(values.len(), ranks.len());
    if nan_high {
        dispatch(isa, Rank::<T, true> { values, thresholds, ranks });
    } else {
        dispatch(isa, Rank::<T, false> { values, thresholds, ranks });
    }
}

struct Rank<'a, T, const NAN_HIGH: bool> {
    values: &'a [T],
    thresholds: &'a [T],
    ranks: &'a mut [u32],
}

impl<T: Real, const NAN_HIGH: bool> SimdOp for Rank<'_, T, NAN_HIGH> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Rank { values, thresholds, ranks } = self;
        let (blocks, rest) = values.as_chunks::<LANES>();
        let (out_blocks, out_rest) = ranks.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(out_blocks) {
            *out = search::<T, NAN_HIGH>(block, thresholds);
        }
        if !rest.is_empty() {
            let mut block = [T::default(); LANES];
            block[..rest.len()].copy_from_slice(rest);
            let out = search::<T, NAN_HIGH>(&block, thresholds);
            out_rest.copy_from_slice(&out[..rest.len()]);
        }
    }
}

#[inline(always)]
fn search<T: Real, const NAN_HIGH: bool>(values: &[T; LANES], thresholds: &[T]) -> [u32; LANES] {
    let mut at = [0u32; LANES];
    let mut len = thresholds.len();
    // The rank is in `at ..= at + len`.
    while len > 0 {
        let half = len.div_ceil(2);
        for (at, x) in at.iter_mut().zip(values) {
            let t = thresholds[*at as usize + half - 1];
            // Of a NaN both comparisons are false.
            let holds = if NAN_HIGH { *x < t } else { t <= *x };
            *at += if holds != NAN_HIGH { half as u32 } else { 0 };
        }
        len -= half;
    }
    at
}
