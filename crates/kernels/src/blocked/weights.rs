//! The weights of a convolution, packed for tiles of output channels.

use super::tile::blocks_of;
use super::{BLOCK, Source, blocks};
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// Numbers of the packed form of weights `[out_channels, in_channels, taps]`.
pub fn packed_len(out_channels: usize, in_channels: usize, taps: usize) -> usize {
    blocks(out_channels) * BLOCK * in_channels * taps
}

/// Packs weights `[out_channels, in_channels, taps]`: tile by tile of output channels, for each the products in
/// the order in which [`conv`](super::conv) sums them, zeros behind the last channel.
///
/// # Panics
/// If `weights` or `dst` has another length.
pub fn pack_weights(
    isa: Isa,
    source: Source,
    (out_channels, in_channels, taps): (usize, usize, usize),
    weights: &[f32],
    dst: &mut [f32],
) {
    assert!(weights.len() == out_channels * in_channels * taps, "weights");
    assert!(dst.len() == packed_len(out_channels, in_channels, taps), "packed weights");
    let run = source.run();
    let whole = blocks_of(isa.effective());
    let depth = in_channels * taps;
    let mut first = 0;
    let mut dst = dst;
    while first < blocks(out_channels) {
        let lanes = whole.min(blocks(out_channels) - first) * BLOCK;
        let (tile, rest) = dst.split_at_mut(lanes * depth);
        let mut rows = tile.chunks_exact_mut(lanes);
        for part in (0..in_channels).step_by(run) {
            for tap in 0..taps {
                for c in part..(part + run).min(in_channels) {
                    let Some(row) = rows.next() else { return };
                    for (lane, to) in row.iter_mut().enumerate() {
                        let o = first * BLOCK + lane;
                        *to = match o < out_channels {
                            true => weights[(o * in_channels + c) * taps + tap],
                            false => 0.0,
                        };
                    }
                }
            }
        }
        dst = rest;
        first += whole;
    }
}

/// Packed weights of one tap with each input channel's multiplied by its factor.
///
/// # Panics
/// If `packed` or `dst` has another length than [`packed_len`] says of so many `factors`.
pub(super) fn scale_weights(
    isa: Isa,
    out_channels: usize,
    packed: &[f32],
    factors: &[f32],
    dst: &mut [f32],
) {
    let len = packed_len(out_channels, factors.len(), 1);
    assert!(packed.len() == len && dst.len() == len, "packed weights");
    let isa = isa.effective();
    let tile = (blocks_of(isa) * BLOCK * factors.len()).max(1);
    for (packed, dst) in packed.chunks(tile).zip(dst.chunks_mut(tile)) {
        dispatch(isa, Scaled { packed, factors, dst });
    }
}

/// A tile of output channels: a row for each factor.
struct Scaled<'a> {
    packed: &'a [f32],
    factors: &'a [f32],
    dst: &'a mut [f32],
}

impl SimdOp for Scaled<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Scaled { packed, factors, dst } = self;
        let lanes = packed.len() / factors.len();
        let rows = packed.chunks_exact(lanes).zip(dst.chunks_exact_mut(lanes));
        for ((row, dst), factor) in rows.zip(factors) {
            let factor = s.splat(*factor);
            for (x, y) in row.chunks_exact(S::LANES).zip(dst.chunks_exact_mut(S::LANES)) {
                s.store(y, s.mul(s.load(x), factor));
            }
        }
    }
}
