//! How many thresholds are at most a value.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// Thresholds that are compared at a time.
pub const NODE: usize = 16;

/// Levels of an index: 16 to this power exceeds every `u32`.
const LEVELS: usize = 9;

/// Numbers that have ranks.
pub trait Real: Copy + Send + Sync + PartialOrd + 'static {
    /// What no number reaches.
    const NAN: Self;

    /// How many of a node are at most `x`.
    fn reached<S: Simd>(s: S, node: &[Self; NODE], x: Self) -> u32;
}

impl Real for f32 {
    const NAN: f32 = f32::NAN;

    #[inline(always)]
    fn reached<S: Simd>(s: S, node: &[f32; NODE], x: f32) -> u32 {
        let x = s.splat(x);
        let mut count = 0;
        let mut at = 0;
        while at < NODE {
            // SAFETY: LANES divides NODE, so at + LANES <= NODE.
            let thresholds = unsafe { s.load_ptr(node.as_ptr().add(at)) };
            count += s.count(s.le(thresholds, x));
            at += S::LANES;
        }
        count
    }
}

impl Real for f64 {
    const NAN: f64 = f64::NAN;

    #[inline(always)]
    fn reached<S: Simd>(_: S, node: &[f64; NODE], x: f64) -> u32 {
        let mut count = 0;
        for t in node {
            count += u32::from(*t <= x);
        }
        count
    }
}

/// Nodes of the level above `below` entries that are its nodes' last thresholds, and one of NaN
/// for what is above all of them.
fn nodes(entries: usize) -> usize {
    entries.div_ceil(NODE) + 1
}

/// Nodes of the index of as many thresholds.
pub fn index_len(thresholds: usize) -> usize {
    let (mut entries, mut len) = (thresholds, nodes(thresholds));
    while entries > NODE {
        entries = entries.div_ceil(NODE);
        len += nodes(entries);
    }
    len
}

/// Writes the index of `thresholds`, which ascend: a search tree of nodes without pointers, level
/// by level from the thresholds themselves to the root. An entry of a level is the last of a node of
/// the level below.
///
/// # Panics
/// If `index` does not have [`index_len`] nodes.
pub fn write_index<T: Real>(thresholds: &[T], index: &mut [[T; NODE]]) {
    assert_eq!(index.len(), index_len(thresholds.len()));
    index.as_flattened_mut().fill(T::NAN);
    index.as_flattened_mut()[..thresholds.len()].copy_from_slice(thresholds);
    let (mut entries, mut start) = (thresholds.len(), 0);
    while entries > NODE {
        let above = start + nodes(entries);
        entries = entries.div_ceil(NODE);
        for i in 0..entries {
            // Of a node that is not full this is NaN: nothing is above all of it.
            index[above + i / NODE][i % NODE] = index[start + i][NODE - 1];
        }
        start = above;
    }
}

/// Writes for each value how many of the `thresholds` in the index are at most the value. A NaN has
/// rank 0, or with `nan_high` that of infinity.
///
/// # Panics
/// If `values` and `ranks` are not equally long, or the index has another length.
pub fn rank<T: Real>(
    isa: Isa,
    values: &[T],
    thresholds: usize,
    index: &[[T; NODE]],
    nan_high: bool,
    ranks: &mut [u32],
) {
    assert_eq!(values.len(), ranks.len());
    assert_eq!(index.len(), index_len(thresholds));
    dispatch(isa, Rank { values, thresholds, index, nan_high, ranks });
}

struct Rank<'a, T> {
    values: &'a [T],
    thresholds: usize,
    index: &'a [[T; NODE]],
    nan_high: bool,
    ranks: &'a mut [u32],
}

impl<T: Real> SimdOp for Rank<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Rank { values, thresholds, index, nan_high, ranks } = self;
        // Where levels begin, the thresholds first.
        let mut starts = [0; LEVELS];
        let (mut levels, mut entries) = (1, thresholds);
        while entries > NODE {
            starts[levels] = starts[levels - 1] + nodes(entries);
            entries = entries.div_ceil(NODE);
            levels += 1;
        }
        let of_nan = if nan_high { thresholds as u32 } else { 0 };
        for (x, rank) in values.iter().zip(ranks) {
            let mut at = 0;
            for start in starts[..levels].iter().rev() {
                at = at * NODE + T::reached(s, &index[start + at], *x) as usize;
            }
            *rank = if x.partial_cmp(x).is_some() { at as u32 } else { of_nan };
        }
    }
}
