//! Convolutions of bytes as [products of bytes](crate::gemm::integer): filters are the left operand and what lies under the
//! window of each output is a column of the right one, so that results lie in planes as everything else does.
//!
//! Numbers along `k` go by four channels, then taps, then the channels of a four: a lane of 32 bits is then four channels of
//! one place, which are brought together once for all taps ([`plane`]), and columns are copies of lanes ([`columns`]).
//! Padding, of the borders as of the last four channels, is the zero point of the input, which adds nothing.
//!
//! Where channels lie together there is nothing to bring together: [`last`], and [`lone`] for channels that do not mix.

mod columns;
pub mod last;
pub mod lone;
mod plane;

use super::ConvShape;
use super::taps::Plane;
use crate::gemm::integer::{
    Byte, COLS, Left, Right, Rounded, Scaled, Target, ZeroPoint, copied_stride, gemm, packed_len,
};
use crate::gemm::{MatRef, Residual, integer};
use crate::{Isa, Parallel};
use columns::Source;

/// Bytes of columns that are worked on together, so that they stay in the second-level cache.
const BLOCK: usize = 1 << 18;

/// Filters that [`pack`] has put into order.
#[derive(Debug, Clone, Copy)]
pub struct Filters<'a> {
    /// The bytes.
    pub packed: &'a [u8],
    /// Their zero points as [`unsigned`] bytes: one, or one for each output channel.
    pub zero: &'a [u8],
}

/// A weight or the zero point of weights as [`Filters`] has it: i8 is moved by 128.
pub fn unsigned<W: Byte>(w: W) -> u8 {
    w.bits() ^ if W::SIGNED { 0x80 } else { 0 }
}

/// Whether [`conv`] computes a convolution: all but those whose channels stand alone.
pub fn is_product(groups: usize, in_channels: usize) -> bool {
    !super::is_depthwise(groups, in_channels)
}

/// Quads along `k`.
fn quads(shape: &ConvShape) -> usize {
    shape.in_channels.div_ceil(4) * shape.window.taps()
}

/// Bytes from one packed filter to the next.
fn stride(channels: usize, taps: usize) -> usize {
    copied_stride(4 * channels.div_ceil(4) * taps, 4)
}

/// Bytes that [`pack`] writes.
pub fn filters_len(filters: usize, channels: usize, taps: usize) -> usize {
    filters.saturating_mul(stride(channels, taps))
}

/// Puts `[filters, channels, taps]` into the order of the products, all groups one behind the other.
///
/// # Panics
/// If `w` or `dst` have another length.
pub fn pack<W: Byte>(filters: usize, channels: usize, taps: usize, w: &[W], dst: &mut [u8]) {
    assert_eq!(w.len(), filters * channels * taps, "length of filters");
    assert_eq!(dst.len(), filters_len(filters, channels, taps), "length of packed filters");
    // Channels that only fill up a four are multiplied by 0 as the product sees it.
    dst.fill(0);
    let rows = dst.chunks_exact_mut(stride(channels, taps).max(1));
    for (row, w) in rows.zip(w.chunks_exact((channels * taps).max(1))) {
        for (i, w) in w.iter().enumerate() {
            let (channel, tap) = (i / taps, i % taps);
            row[(channel / 4 * taps + tap) * 4 + channel % 4] = unsigned(*w);
        }
    }
}

/// Columns that are made and multiplied together.
fn chunk(shape: &ConvShape) -> usize {
    let most = BLOCK / (4 * quads(shape)).max(1) / COLS * COLS;
    shape.window.output_len().min(most.max(COLS))
}

/// Lanes of the plane that all taps read; none for pointwise convolutions.
fn plane_len(shape: &ConvShape) -> usize {
    if shape.window.is_pointwise() {
        return 0;
    }
    let plane = Plane::new(&shape.window, shape.in_channels);
    plane.map_or(0, |plane| shape.in_channels.div_ceil(4) * plane.len())
}

/// Numbers of scratch that [`conv`] needs.
pub fn scratch_len(isa: Isa, shape: &ConvShape) -> usize {
    let columns = packed_len(4 * quads(shape), chunk(shape));
    product_scratch_len(isa, shape) + plane_len(shape) + columns
}

/// Numbers of scratch that each product needs.
fn product_scratch_len(isa: Isa, shape: &ConvShape) -> usize {
    let row_stride = stride(shape.in_channels, shape.window.taps());
    let matrix = MatRef { data: &[], row_stride, col_stride: 1 };
    let a = Left { matrix, zero: ZeroPoint::One(0u8) };
    let b = Right { matrix: None, packed: Some(&[]), zero: ZeroPoint::One(0u8) };
    integer::scratch_len(isa, shape.out_channels, chunk(shape), 4 * quads(shape), &a, &b)
}

/// `sum of (x - x_zero) (w - w_zero)` and what `target` makes of it, whose scales and biases go along rows: the output
/// channels of all groups. `target` and its residual are `[batch, channels, outputs]`. The sums are exact, and wrap.
///
/// # Panics
/// If an operand is smaller than `shape` says, or `scratch` than [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn conv<X: Byte>(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    filters: Filters<'_>,
    x: &[X],
    x_zero: X,
    mut target: Target<'_>,
    scratch: &mut [i32],
) {
    let win = &shape.window;
    let (m, taps, quads) = (shape.out_channels, win.taps(), quads(shape));
    let (channels, outputs) = (shape.groups * m, win.output_len());
    if shape.output_len() == 0 {
        return;
    }
    assert!(x.len() >= shape.input_len(), "input of a convolution");
    assert!(filters.zero.len() == 1 || filters.zero.len() >= channels, "zero points of filters");
    let stride = stride(shape.in_channels, taps);
    assert_eq!(filters.packed.len(), channels * stride, "packed filters");
    assert!(scratch.len() >= scratch_len(isa, shape), "scratch too small");
    let (of_product, scratch) = scratch.split_at_mut(product_scratch_len(isa, shape));
    let (lanes, columns) = scratch.split_at_mut(plane_len(shape));
    // SAFETY: a byte of either kind is a byte.
    let bytes = unsafe { core::slice::from_raw_parts(x.as_ptr().cast::<u8>(), x.len()) };
    let group_len = shape.in_channels * win.input_len();
    for image in 0..shape.batch {
        for group in 0..shape.groups {
            let at = image * shape.groups + group;
            let bytes = &bytes[at * group_len..][..group_len];
            let flip = if X::SIGNED { 0 } else { 0x80 };
            let source = match Plane::new(win, shape.in_channels) {
                Some(plane) if !win.is_pointwise() => {
                    plane::fill(isa, par, shape, &plane, bytes, x_zero.bits(), flip, lanes);
                    Source::Plane(plane, lanes)
                }
                // Pointwise, or with padding that would make planes far larger than the input.
                _ => Source::Bytes(bytes, x_zero.bits(), flip),
            };
            let step = chunk(shape);
            for first in (0..outputs).step_by(step) {
                let n = step.min(outputs - first);
                let packed = &mut columns[..packed_len(4 * quads, n)];
                columns::fill(isa, par, shape, &source, first, n, packed);
                let zero = match filters.zero {
                    [one] => ZeroPoint::One(*one),
                    each => ZeroPoint::Each(&each[group * m..][..m]),
                };
                let data = &filters.packed[group * m * stride..][..m * stride];
                let a = Left { matrix: MatRef { data, row_stride: stride, col_stride: 1 }, zero };
                let b = Right { matrix: None, packed: Some(packed), zero: ZeroPoint::One(x_zero) };
                let part = part(&mut target, at * m * outputs + first, group * m, outputs);
                gemm(isa, par, m, n, 4 * quads, a, b, part, outputs, of_product);
            }
        }
    }
}

/// A target from element `at` on, for channels from `channel` on.
fn part<'a>(target: &'a mut Target<'_>, at: usize, channel: usize, stride: usize) -> Target<'a> {
    fn from<T>(list: &[T], channel: usize) -> &[T] {
        if list.len() == 1 { list } else { &list[channel..] }
    }
    match target {
        Target::Sums(y) => Target::Sums(&mut y[at..]),
        Target::Floats(y, scaled) => Target::Floats(
            &mut y[at..],
            Scaled {
                b_scale: from(scaled.b_scale, channel),
                bias: scaled.bias.map(|bias| &bias[channel..]),
                residual: scaled.residual.map(|r| Residual {
                    data: &r.data[at..],
                    row_stride: stride,
                    ..r
                }),
                ..*scaled
            },
        ),
        Target::Bytes(y, rounded) => Target::Bytes(
            &mut y[at..],
            Rounded {
                scale: from(rounded.scale, channel),
                bias: rounded.bias.map(|bias| &bias[channel..]),
                ..*rounded
            },
        ),
    }
}

#[cfg(test)]
mod tests;
