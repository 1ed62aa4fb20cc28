//! Between planes, `[batch, channels, pixels]`, and blocks.

use super::{BLOCK, blocks};
use crate::chunks::{split_chunks, tasks};
use crate::gemm::transpose;
use crate::{Isa, Parallel};

/// Writes planes as blocks. Lanes behind the last channel become 0.
///
/// # Panics
/// If `x` or `y` is smaller than the sizes say.
pub fn to_blocks(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, pixels): (usize, usize, usize),
    x: &[f32],
    y: &mut [f32],
) {
    let per_image = blocks(channels);
    let (count, len) = (batch * per_image, pixels * BLOCK);
    assert!(x.len() >= batch * channels * pixels, "planes");
    let tasks = tasks(par, count.saturating_mul(len), count);
    split_chunks(par, tasks, count, y, len, &|range, y| {
        for (at, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            let first = at % per_image * BLOCK;
            let rows = (channels - first).min(BLOCK);
            let plane = at / per_image * channels + first;
            let x = &x[plane * pixels..][..rows * pixels];
            if rows < BLOCK {
                y.fill(0.0);
            }
            transpose(isa, x, pixels, (rows, pixels), y, BLOCK);
        }
    });
}

/// Writes blocks as planes.
///
/// # Panics
/// If `x` or `y` is smaller than the sizes say.
pub fn from_blocks(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, pixels): (usize, usize, usize),
    x: &[f32],
    y: &mut [f32],
) {
    let per_image = blocks(channels);
    assert!(x.len() >= batch * per_image * pixels * BLOCK, "blocks");
    // Images one after the other: the last block of each is cut short.
    for (image, y) in y.chunks_exact_mut((channels * pixels).max(1)).take(batch).enumerate() {
        let x = &x[image * per_image * pixels * BLOCK..];
        let tasks = tasks(par, channels.saturating_mul(pixels), channels);
        split_chunks(par, tasks, channels, y, pixels, &|range, y| {
            let mut channel = range.start;
            let mut y = y;
            while channel < range.end {
                let (block, lane) = (channel / BLOCK, channel % BLOCK);
                let lanes = (BLOCK - lane).min(range.end - channel);
                let src = &x[block * pixels * BLOCK..][..pixels * BLOCK];
                let (dst, rest) = y.split_at_mut(lanes * pixels);
                if pixels > 0 {
                    transpose(isa, &src[lane..], BLOCK, (pixels, lanes), dst, pixels);
                }
                y = rest;
                channel += lanes;
            }
        });
    }
}
