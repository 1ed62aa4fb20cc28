//! A factor and an addend for each channel: batch normalisation, and the gates of squeeze-and-excitation.

use super::{BLOCK, blocks};
use crate::chunks::{split_chunks, tasks};
use crate::gemm::{ActivateRows, Activation};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// What channels are multiplied with.
#[derive(Debug, Clone, Copy)]
pub struct Factors<'a> {
    /// A number for each channel: `[channels]`, or `[batch, channels]` if `each_image`.
    pub scale: &'a [f32],
    /// Whether images differ.
    pub each_image: bool,
    /// Added to each channel, `[channels]`.
    pub shift: Option<&'a [f32]>,
    /// The last step.
    pub activation: Activation,
}

/// `y = activation(scale x + shift)` of blocks.
///
/// # Panics
/// If an operand is smaller than the sizes say.
pub fn affine(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, pixels): (usize, usize, usize),
    x: &[f32],
    factors: &Factors<'_>,
    y: &mut [f32],
) {
    let per_image = blocks(channels);
    let (count, len) = (batch * per_image, pixels * BLOCK);
    let images = if factors.each_image { batch } else { 1 };
    assert!(x.len() >= count * len, "input");
    assert!(factors.scale.len() >= images * channels, "factors");
    assert!(factors.shift.is_none_or(|s| s.len() >= channels), "addends");
    let tasks = tasks(par, count.saturating_mul(len), count);
    split_chunks(par, tasks, count, y, len, &|range, y| {
        for (at, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            let (image, first) = (at / per_image, at % per_image * BLOCK);
            let lanes = (channels - first).min(BLOCK);
            let row = if factors.each_image { image * channels } else { 0 };
            let scale = lanes_of(&factors.scale[row + first..][..lanes]);
            let shift = factors.shift.map_or([0.0; BLOCK], |s| lanes_of(&s[first..][..lanes]));
            let x = &x[at * len..][..len];
            dispatch(isa, Plane { x, scale, shift, activation: factors.activation, y });
        }
    });
}

fn lanes_of(x: &[f32]) -> [f32; BLOCK] {
    let mut lanes = [0.0; BLOCK];
    lanes[..x.len()].copy_from_slice(x);
    lanes
}

struct Plane<'a> {
    x: &'a [f32],
    scale: [f32; BLOCK],
    shift: [f32; BLOCK],
    activation: Activation,
    y: &'a mut [f32],
}

/// Numbers after which the activation follows, while they are in the first-level cache.
const RUN: usize = 256 * BLOCK;

impl SimdOp for Plane<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Plane { x, scale, shift, activation, y } = self;
        let bounds = activation.bounds();
        let (lo, hi) = bounds.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
        let limits = bounds.is_some() && activation != Activation::None;
        for (x, y) in x.chunks(RUN).zip(y.chunks_mut(RUN)) {
            for first in (0..BLOCK).step_by(S::LANES) {
                let (scale, shift) = (s.load(&scale[first..]), s.load(&shift[first..]));
                let (lo, hi) = (s.splat(lo), s.splat(hi));
                for (x, y) in x.chunks_exact(BLOCK).zip(y.chunks_exact_mut(BLOCK)) {
                    let mut v = s.fma(s.load(&x[first..]), scale, shift);
                    if limits {
                        v = s.min(hi, s.max(lo, v));
                    }
                    s.store(&mut y[first..], v);
                }
            }
            if bounds.is_none() {
                let (data, cols) = (y.as_mut_ptr(), y.len());
                s.call(ActivateRows { act: activation, data, rows: 1, cols, stride: cols });
            }
        }
    }
}
