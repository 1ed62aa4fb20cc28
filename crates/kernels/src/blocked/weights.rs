//! The weights of a convolution, packed for tiles of output channels.

use super::tile::blocks_of;
use super::{BLOCK, Source, blocks};
use crate::Isa;

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
