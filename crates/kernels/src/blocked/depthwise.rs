//! Convolution of each channel alone: a vector holds channels of one pixel, a tile some pixels of a row.

use super::row_tile::{self, Row};
use super::sums::{Sums, means};
use super::{BLOCK, blocks};
use crate::chunks::{split_chunks, tasks};
use crate::conv::ConvShape;
use crate::gemm::{ActivateRows, Activation};
use crate::par::Output;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// Writes weights `[channels, taps]` as `[blocks, taps, BLOCK]`, zeros behind the last channel.
///
/// # Panics
/// If `weights` or `dst` has another length.
pub fn pack_depthwise(channels: usize, taps: usize, weights: &[f32], dst: &mut [f32]) {
    assert!(weights.len() == channels * taps, "weights of a convolution");
    assert!(dst.len() == blocks(channels) * taps * BLOCK, "packed weights");
    for (block, dst) in dst.chunks_exact_mut((taps * BLOCK).max(1)).enumerate() {
        for (tap, dst) in dst.chunks_exact_mut(BLOCK).enumerate() {
            for (lane, dst) in dst.iter_mut().enumerate() {
                let channel = block * BLOCK + lane;
                *dst = if channel < channels { weights[channel * taps + tap] } else { 0.0 };
            }
        }
    }
}

/// The operands of [`depthwise`].
#[derive(Debug, Clone, Copy)]
pub struct Depthwise<'a> {
    /// The sizes; as many groups as channels over two dimensions, the last ones.
    pub shape: ConvShape,
    /// The input.
    pub x: &'a [f32],
    /// By [`pack_depthwise`].
    pub weights: &'a [f32],
    /// A number for each channel of each block.
    pub bias: &'a [f32],
    /// The last step.
    pub activation: Activation,
}

/// `y = activation(conv(x, weights) + bias)` of blocks, each channel with its own window. `averages`, where it is there,
/// becomes the mean of each channel of `y`, `[batch, channels]`: rows are added up while they are in the first-level cache.
///
/// # Panics
/// If an operand is smaller than its shape says, or a group has several channels.
pub fn depthwise(
    isa: Isa,
    par: &dyn Parallel,
    operands: &Depthwise<'_>,
    y: &mut [f32],
    averages: Option<&mut [f32]>,
) {
    let &Depthwise { ref shape, x, weights, bias, activation } = operands;
    let win = &shape.window;
    let is_flat = win.kernel[0] == 1 && win.input[0] == 1 && win.output[0] == 1;
    assert!(shape.in_channels == 1 && shape.out_channels == 1 && is_flat, "depthwise");
    let per_image = blocks(shape.groups);
    let (planes, len) = (shape.batch * per_image, win.output_len() * BLOCK);
    let (in_len, taps) = (win.input_len() * BLOCK, win.taps() * BLOCK);
    assert!(bias.len() >= per_image * BLOCK, "bias of a convolution");
    let channels = shape.groups;
    let has_averages = averages.is_some();
    let averages = averages.map_or(&mut [][..], |a| &mut a[..shape.batch * channels]);
    if len == 0 {
        averages.fill(f32::NAN);
    }
    let averages = Output::new(averages);
    let work = planes.saturating_mul(win.taps() * len);
    split_chunks(par, tasks(par, work, planes), planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            let block = plane % per_image;
            let x = &x[plane * in_len..][..in_len];
            let weights = &weights[block * taps..][..taps];
            let bias = &bias[block * BLOCK..][..BLOCK];
            let mut sums = [0.0; BLOCK];
            let wanted = has_averages.then_some(&mut sums);
            dispatch(isa, Plane { win, x, weights, bias, activation, y, sums: wanted });
            if has_averages {
                let first = block * BLOCK;
                let lanes = (channels - first).min(BLOCK);
                // SAFETY: each plane has channels of its own, and nobody else has the slice.
                let to = unsafe { averages.part(plane / per_image * channels + first, lanes) };
                to.copy_from_slice(&means(sums, win.output_len())[..lanes]);
            }
        }
    });
}

struct Plane<'a> {
    win: &'a Window,
    x: &'a [f32],
    weights: &'a [f32],
    bias: &'a [f32],
    activation: Activation,
    y: &'a mut [f32],
    /// To which the results are added.
    sums: Option<&'a mut [f32; BLOCK]>,
}

impl SimdOp for Plane<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let win = self.win;
        if row_tile::fits(win, S::LANES) {
            return match (win.kernel[2], win.strides[2]) {
                (3, 1) => s.call(Known::<3, 1>(self)),
                (3, _) => s.call(Known::<3, 2>(self)),
                (_, 1) => s.call(Known::<5, 1>(self)),
                _ => s.call(Known::<5, 2>(self)),
            };
        }
        // Pixels by vectors: sums that hide the latency of an FMA and leave registers for operands.
        if S::LANES == 16 {
            strided::<S, 8, 1>(s, self);
        } else if S::LANES == 8 {
            strided::<S, 4, 2>(s, self);
        } else {
            strided::<S, 2, 4>(s, self);
        }
    }
}

/// Numbers after which the activation follows, while they are in the first-level cache.
const RUN: usize = 128 * BLOCK;

/// A window of `K` by `K` taps with a stride of `STRIDE` along the rows.
struct Known<'a, const K: usize, const STRIDE: usize>(Plane<'a>);

impl<const K: usize, const STRIDE: usize> SimdOp for Known<'_, K, STRIDE> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match row_tile::tile_width(self.0.win.output[2], S::LANES) {
            14 if S::LANES == 16 => s.call(Tiled::<K, STRIDE, 14>(self.0)),
            8 => s.call(Tiled::<K, STRIDE, 8>(self.0)),
            _ => s.call(Tiled::<K, STRIDE, 7>(self.0)),
        }
    }
}

/// The same in tiles of `N` outputs.
struct Tiled<'a, const K: usize, const STRIDE: usize, const N: usize>(Plane<'a>);

impl<const K: usize, const STRIDE: usize, const N: usize> SimdOp for Tiled<'_, K, STRIDE, N> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Plane { win, x, weights, bias, activation, y, mut sums } = self.0;
        let (width, input) = (win.output[2], win.input[2]);
        assert!(x.len() >= win.input_len() * BLOCK && weights.len() >= K * K * BLOCK);
        assert!(bias.len() >= BLOCK && y.len() == win.output_len() * BLOCK && N <= width);
        let rows = (RUN / (width * BLOCK)).max(1);
        for (run, y) in y.chunks_mut(rows * width * BLOCK).enumerate() {
            for (oh, y) in y.chunks_exact_mut(width * BLOCK).enumerate() {
                let oh = run * rows + oh;
                // A row without taps is the bias alone.
                let (from, to) = Some(win.taps_at(1, oh)).filter(|r| r.0 < r.1).unwrap_or((0, 0));
                let top = if from < to { win.at(1, oh, from) * input } else { 0 };
                for lane in (0..BLOCK).step_by(S::LANES) {
                    // SAFETY: rows of taps from `from` to `to` are inside the input, and the lengths are asserted above.
                    unsafe {
                        let row = Row {
                            x: x.as_ptr().add(top * BLOCK + lane),
                            pitch: win.dilations[1] * input * BLOCK,
                            weights: weights.as_ptr().add(from * K * BLOCK + lane),
                            taps: to - from,
                            input,
                            pad: win.pads[2],
                            bias: bias.as_ptr().add(lane),
                            y: y.as_mut_ptr().add(lane),
                        };
                        row.compute::<S, K, STRIDE, N>(s, width, activation);
                    }
                }
            }
            if activation.bounds().is_none() {
                activate_row(s, activation, y);
            }
            add_row(s, y, &mut sums);
        }
    }
}

#[inline(always)]
fn strided<S: Simd, const N: usize, const V: usize>(s: S, plane: Plane<'_>) {
    match plane.win.strides[2] {
        1 => s.call(Rows::<N, V, 1>(plane)),
        2 => s.call(Rows::<N, V, 2>(plane)),
        _ => s.call(Rows::<N, V, 0>(plane)),
    }
}

/// Tiles of `N` pixels by `V` vectors with a `STRIDE` known when compiled unless 0.
struct Rows<'a, const N: usize, const V: usize, const STRIDE: usize>(Plane<'a>);

impl<const N: usize, const V: usize, const STRIDE: usize> SimdOp for Rows<'_, N, V, STRIDE> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(N > 1) };
        let Plane { win, x, weights, bias, activation, y, mut sums } = self.0;
        let [_, _, width] = win.output;
        // Where every tap of a row lies inside.
        let (first, end) = (win.outputs(2, 0).0, win.outputs(2, win.kernel[2] - 1).1);
        for (oh, y) in y.chunks_exact_mut((width * BLOCK).max(1)).enumerate() {
            let line = Line { win, x, weights, bias, oh };
            let mut o = 0;
            while o < width {
                if o >= first && o + N <= end {
                    line.tile::<S, N, V, STRIDE>(s, o, &mut y[o * BLOCK..]);
                    o += N;
                } else if o >= first && o < end && end >= first + N {
                    // The last tile overlaps the one before it.
                    line.tile::<S, N, V, STRIDE>(s, end - N, &mut y[(end - N) * BLOCK..]);
                    o = end;
                } else {
                    line.tile::<S, 1, V, STRIDE>(s, o, &mut y[o * BLOCK..]);
                    o += 1;
                }
            }
            activate_row(s, activation, y);
            add_row(s, y, &mut sums);
        }
    }
}

/// Adds the pixels of a row to sums, if somebody wants these.
#[inline(always)]
fn add_row<S: Simd>(s: S, y: &[f32], sums: &mut Option<&mut [f32; BLOCK]>) {
    if let Some(sums) = sums {
        for (sum, more) in sums.iter_mut().zip(s.call(Sums(y))) {
            *sum += more;
        }
    }
}

/// Applies the function to a row while it is in the first-level cache.
#[inline(always)]
fn activate_row<S: Simd>(s: S, activation: Activation, y: &mut [f32]) {
    let (data, cols) = (y.as_mut_ptr(), y.len());
    s.call(ActivateRows { act: activation, data, rows: 1, cols, stride: cols });
}

/// One row of outputs.
struct Line<'a> {
    win: &'a Window,
    x: &'a [f32],
    weights: &'a [f32],
    bias: &'a [f32],
    oh: usize,
}

impl Line<'_> {
    /// `N` outputs from `o` on: one, or several for which all taps along the row lie inside.
    #[inline(always)]
    fn tile<S: Simd, const N: usize, const V: usize, const STRIDE: usize>(
        &self,
        s: S,
        o: usize,
        y: &mut [f32],
    ) {
        let win = self.win;
        let stride = BLOCK * if STRIDE == 0 { win.strides[2] } else { STRIDE };
        let mut acc = [[s.zero(); V]; N];
        let rows = win.taps_at(1, self.oh);
        let cols = win.taps_at(2, o);
        let dilation = win.dilations[2] * BLOCK;
        for th in rows.0..rows.1 {
            if cols.0 >= cols.1 {
                break;
            }
            let row = win.at(1, self.oh, th) * win.input[2];
            let x = &self.x[(row + win.at(2, o, cols.0)) * BLOCK..];
            let weights = &self.weights[(th * win.kernel[2] + cols.0) * BLOCK..];
            let count = cols.1 - cols.0;
            assert!(x.len() >= (count - 1) * dilation + (N - 1) * stride + BLOCK);
            assert!(weights.len() >= count * BLOCK);
            for tap in 0..count {
                // SAFETY: the last number of the last pixel is within the lengths asserted above.
                unsafe {
                    let (x, w) =
                        (x.as_ptr().add(tap * dilation), weights.as_ptr().add(tap * BLOCK));
                    for v in 0..V {
                        let w = s.load_ptr(w.add(v * S::LANES));
                        for (i, acc) in acc.iter_mut().enumerate() {
                            let x = s.load_ptr(x.add(i * stride + v * S::LANES));
                            acc[v] = s.fma(w, x, acc[v]);
                        }
                    }
                }
            }
        }
        finish(s, acc, self.bias, y);
    }
}

/// Stores the sums with the bias. They come by value, so that they stay in registers while they are made.
#[inline(always)]
fn finish<S: Simd, const N: usize, const V: usize>(
    s: S,
    acc: [[S::F32; V]; N],
    bias: &[f32],
    y: &mut [f32],
) {
    assert!(y.len() >= N * BLOCK && V * S::LANES <= BLOCK && bias.len() >= BLOCK);
    // SAFETY: the lengths are asserted above.
    unsafe {
        for v in 0..V {
            let bias = s.load_ptr(bias.as_ptr().add(v * S::LANES));
            for (i, pixel) in acc.iter().enumerate() {
                let y = y.as_mut_ptr().add(i * BLOCK + v * S::LANES);
                s.store_ptr(y, s.add(pixel[v], bias));
            }
        }
    }
}
