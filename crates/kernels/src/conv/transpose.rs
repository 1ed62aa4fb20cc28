//! Transposed convolution: a matrix product gives what each input adds to the outputs under its window, and
//! a second sweep adds it there.
//!
//! Everything is said in terms of the convolution that is transposed: its *output* is the input here.

use super::ConvShape;
use crate::chunks::{split_chunks, tasks};
use crate::gemm::{
    Activation, Epilogue, Lhs, MatRef, Rhs, activate_slice, gemm, gemm_scratch_len, pack_a,
};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

pub use super::product::Weights;

/// Writes weights `[groups * channels, depth]` in the form that [`conv`] reads fastest, of the same length.
/// `channels` are the input channels of a group (the output channels of the convolution that is transposed).
///
/// # Panics
/// If `weights` or `dst` has another length.
pub fn pack_weights(
    isa: Isa,
    groups: usize,
    channels: usize,
    depth: usize,
    weights: &[f32],
    dst: &mut [f32],
) {
    let len = channels * depth;
    assert!(weights.len() == groups * len && dst.len() == weights.len(), "length of weights");
    if len == 0 {
        return;
    }
    for (src, dst) in weights.chunks_exact(len).zip(dst.chunks_exact_mut(len)) {
        pack_a(isa, depth, channels, MatRef::transposed(src, depth), dst);
    }
}

/// Numbers of scratch that [`conv`] needs; `packed` tells the form of the weights.
pub fn conv_scratch_len(isa: Isa, shape: &ConvShape, packed: bool) -> usize {
    let (m, n, k) = (shape.depth(), shape.window.output_len(), shape.out_channels);
    let a = if packed { Lhs::Packed(&[]) } else { Lhs::Strided(MatRef::transposed(&[], m)) };
    let b = Rhs::Strided(MatRef::rows(&[], n));
    m * n + gemm_scratch_len(isa, m, n, k, &a, &b)
}

/// `y = act(conv^T(x, weights) + bias)` in planes, where `y` has the size of `shape`'s input and `x` that of
/// its output.
///
/// # Panics
/// If an operand is smaller than `shape` says, or `scratch` than [`conv_scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn conv(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    x: &[f32],
    weights: Weights<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let (packed, w) = match weights {
        Weights::Rows(w) => (false, w),
        Weights::Packed(w) => (true, w),
    };
    assert!(x.len() >= shape.output_len(), "input of a transposed convolution");
    assert!(w.len() >= shape.weights_len(), "weights of a transposed convolution");
    assert!(y.len() >= shape.input_len(), "output of a transposed convolution");
    let (m, n, k) = (shape.depth(), shape.window.output_len(), shape.out_channels);
    let (channels, plane) = (shape.in_channels, shape.window.input_len());
    assert!(bias.is_none_or(|b| b.len() >= shape.groups * channels), "bias");
    let (cols, rest) = scratch.split_at_mut(m * n);
    let taps = shape.window.taps();
    let tasks = tasks(par, (m * n).saturating_mul(4), channels);
    for at in 0..shape.batch * shape.groups {
        let group = at % shape.groups;
        let w = &w[group * k * m..][..k * m];
        let a = match packed {
            true => Lhs::Packed(w),
            false => Lhs::Strided(MatRef::transposed(w, m)),
        };
        let b = Rhs::Strided(MatRef::rows(&x[at * k * n..][..k * n], n));
        gemm(isa, par, m, n, k, a, b, cols, n, &Epilogue::default(), rest);
        let y = &mut y[at * channels * plane..][..channels * plane];
        let cols = &*cols;
        split_chunks(par, tasks, channels, y, plane, &|range, y| {
            for (c, y) in range.zip(y.chunks_exact_mut(plane.max(1))) {
                y.fill(bias.map_or(0.0, |bias| bias[group * channels + c]));
                let cols = &cols[c * taps * n..][..taps * n];
                dispatch(isa, Scatter { window: &shape.window, cols, y });
                activate_slice(isa, activation, y);
            }
        });
    }
}

/// Adds the columns of one plane to the outputs under the windows.
struct Scatter<'a> {
    window: &'a Window,
    /// `[taps, inputs]`.
    cols: &'a [f32],
    y: &'a mut [f32],
}

impl SimdOp for Scatter<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let (win, y) = (self.window, self.y);
        let [_, kh, kw] = win.kernel;
        let stride = win.strides[2];
        for (tap, cols) in self.cols.chunks_exact(win.output_len().max(1)).enumerate() {
            let (td, th, tw) = (tap / (kh * kw), tap / kw % kh, tap % kw);
            let (d, h, c) = (win.outputs(0, td), win.outputs(1, th), win.outputs(2, tw));
            if c.0 == c.1 {
                continue;
            }
            for id in d.0..d.1 {
                for ih in h.0..h.1 {
                    let row = (id * win.output[1] + ih) * win.output[2];
                    let cols = &cols[row + c.0..row + c.1];
                    let out = (win.at(0, id, td) * win.input[1] + win.at(1, ih, th)) * win.input[2];
                    let y = &mut y[out + win.at(2, c.0, tw)..];
                    if stride == 1 {
                        for (y, x) in y.iter_mut().zip(cols) {
                            *y += *x;
                        }
                    } else {
                        for (y, x) in y.iter_mut().step_by(stride).zip(cols) {
                            *y += *x;
                        }
                    }
                }
            }
        }
    }
}
