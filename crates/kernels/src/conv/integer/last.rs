//! Convolutions of bytes whose channels lie together, `[batch, spatial..., channels]`: what lies under the window of an
//! output is a row of the left operand, filters are the right one, and scales and biases go along columns.
//!
//! Pointwise ones read the input as it lies. For others rows are copied, runs of taps at a time: along the last dimension a
//! window is one run of the input. Padding is the zero point of the input, which adds nothing.

use crate::conv::ConvShape;
use crate::gemm::integer::{Byte, Left, Right, Target, ZeroPoint, copied_stride, gemm};
use crate::gemm::{MatRef, integer};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Bytes of rows that are copied and multiplied together, so that they stay in the second-level cache.
const BLOCK: usize = 1 << 18;

/// Bytes from one row to the next: whole quads.
fn stride(shape: &ConvShape) -> usize {
    copied_stride(shape.depth(), 4)
}

/// Whether the input has the rows as they are: windows of one place, or of nothing.
fn reads_in_place(shape: &ConvShape) -> bool {
    shape.window.is_pointwise() || shape.depth() == 0
}

/// Rows that are copied and multiplied together.
fn rows(shape: &ConvShape) -> usize {
    (BLOCK / stride(shape).max(1)).max(1).min(shape.window.output_len())
}

/// Numbers of scratch that [`conv`] needs.
pub fn scratch_len<X: Byte, W: Byte>(isa: Isa, shape: &ConvShape) -> usize {
    let (n, k) = (shape.out_channels, shape.depth());
    let b = Right::<W> { matrix: None, packed: Some(&[]), zero: ZeroPoint::Each(&[]) };
    if reads_in_place(shape) {
        let matrix = MatRef::<X>::rows(&[], k);
        let a = Left { matrix, zero: ZeroPoint::Each(&[]) };
        return integer::scratch_len(isa, shape.batch * shape.window.output_len(), n, k, &a, &b);
    }
    let matrix = MatRef { data: &[0u8; 0], row_stride: stride(shape), col_stride: 1 };
    let a = Left { matrix, zero: ZeroPoint::One(0) };
    let of_product = integer::scratch_len(isa, rows(shape), n, k.next_multiple_of(4), &a, &b);
    of_product + rows(shape) * stride(shape) / 4
}

/// `sum of (x - x_zero) (w - w_zero)` and what `target` makes of it, whose scales and biases go along columns: the output
/// channels. `x` is `[batch, spatial..., in_channels]`, `target` is `[batch, outputs, out_channels]`, and `filters` are packed
/// from `[taps, in_channels] x out_channels`. The sums are exact, and wrap.
///
/// # Panics
/// If there are groups, an operand is smaller than `shape` says, or `scratch` than [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn conv<X: Byte, W: Byte>(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    x: &[X],
    x_zero: X,
    filters: Right<'_, W>,
    mut target: Target<'_>,
    scratch: &mut [i32],
) {
    let win = &shape.window;
    let (n, k, outputs) = (shape.out_channels, shape.depth(), win.output_len());
    if shape.output_len() == 0 {
        return;
    }
    assert_eq!(shape.groups, 1, "groups of channels that lie together");
    assert!(x.len() >= shape.input_len(), "input of a convolution");
    assert!(scratch.len() >= scratch_len::<X, W>(isa, shape), "scratch too small");
    if reads_in_place(shape) {
        let a = Left { matrix: MatRef::rows(x, k), zero: ZeroPoint::One(x_zero) };
        return gemm(isa, par, shape.batch * outputs, n, k, a, filters, target, n, scratch);
    }
    let (stride, step, quads) = (stride(shape), rows(shape), k.next_multiple_of(4));
    let (copies, scratch) = scratch.split_at_mut(step * stride / 4);
    // SAFETY: a number is four bytes, and any bytes are a number.
    let copies =
        unsafe { core::slice::from_raw_parts_mut(copies.as_mut_ptr().cast::<u8>(), step * stride) };
    // SAFETY: a byte of either kind is a byte.
    let bytes = unsafe { core::slice::from_raw_parts(x.as_ptr().cast::<u8>(), x.len()) };
    let flip = if X::SIGNED { 0x80 } else { 0 };
    let image_len = shape.in_channels * win.input_len();
    for image in 0..shape.batch {
        let bytes = &bytes[image * image_len..][..image_len];
        for first in (0..outputs).step_by(step) {
            let m = step.min(outputs - first);
            let out = Output::new(&mut copies[..m * stride]);
            for_ranges(par, m, stride, &|from, to| {
                // SAFETY: ranges are disjoint.
                let rows = unsafe { out.part(from * stride, (to - from) * stride) };
                let (zero, first) = (x_zero.bits(), first + from);
                dispatch(isa, Rows { shape, x: bytes, zero, flip, first, stride, rows });
            });
            let matrix = MatRef { data: &*copies, row_stride: stride, col_stride: 1 };
            let a = Left { matrix, zero: ZeroPoint::One(x_zero.bits() ^ flip) };
            let part = part(&mut target, (image * outputs + first) * n, n);
            gemm(isa, par, m, n, quads, a, filters, part, n, scratch);
        }
    }
}

/// A target from element `at` on, of whole rows of `stride`.
fn part<'a>(target: &'a mut Target<'_>, at: usize, stride: usize) -> Target<'a> {
    match target {
        Target::Sums(y) => Target::Sums(&mut y[at..]),
        Target::Bytes(y, rounded) => Target::Bytes(&mut y[at..], *rounded),
        Target::Floats(y, scaled) => {
            let residual = scaled.residual.map(|r| crate::gemm::Residual {
                data: &r.data[at..],
                row_stride: stride,
                ..r
            });
            Target::Floats(&mut y[at..], integer::Scaled { residual, ..*scaled })
        }
    }
}

/// Copies what lies under the windows of some outputs of one image.
struct Rows<'a> {
    shape: &'a ConvShape,
    x: &'a [u8],
    /// What stands for padding, as the input has it.
    zero: u8,
    /// What is done to all bits.
    flip: u8,
    /// The first output.
    first: usize,
    stride: usize,
    rows: &'a mut [u8],
}

impl SimdOp for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (win, channels) = (&self.shape.window, self.shape.in_channels);
        let ([id, ih, iw], [_, oh, ow], [kd, kh, kw]) = (win.input, win.output, win.kernel);
        debug_assert!(self.x.len() >= id * ih * iw * channels);
        let depth = self.shape.depth();
        for (i, row) in self.rows.chunks_exact_mut(self.stride).enumerate() {
            let output = self.first + i;
            let output = [output / (oh * ow), output / ow % oh, output % ow];
            let (left, right) = win.taps_at(2, output[2]);
            let mut lines = row.chunks_exact_mut(kw * channels);
            for tap in 0..kd * kh {
                let Some(line) = lines.next() else { break };
                let at = |axis: usize, tap: usize| {
                    (output[axis] * win.strides[axis] + tap * win.dilations[axis])
                        .wrapping_sub(win.pads[axis])
                };
                let (d, h) = (at(0, tap / kh), at(1, tap % kh));
                if d >= id || h >= ih || left == right {
                    line.fill(self.zero);
                    continue;
                }
                // Few have padding, and filling nothing is a call too.
                if left > 0 {
                    line[..left * channels].fill(self.zero);
                }
                if right < kw {
                    line[right * channels..].fill(self.zero);
                }
                let from = (d * ih + h) * iw;
                if win.dilations[2] == 1 {
                    let from = (from + at(2, left)) * channels;
                    let n = (right - left) * channels;
                    let (from, to) = (&self.x[from..][..n], &mut line[left * channels..][..n]);
                    // SAFETY: both have `n` bytes.
                    unsafe { copy(s, from.as_ptr(), to.as_mut_ptr(), n) }
                    continue;
                }
                for tap in left..right {
                    let from = (from + at(2, tap)) * channels;
                    let to = &mut line[tap * channels..][..channels];
                    to.copy_from_slice(&self.x[from..][..channels]);
                }
            }
            // Zeros that fill up the last quad, as the filters do.
            row[depth..].fill(self.zero);
            if self.flip != 0 {
                row.iter_mut().for_each(|byte| *byte ^= self.flip);
            }
        }
    }
}

/// Copies `n` bytes without a call: runs are short, and there are many.
///
/// # Safety
/// Both must have `n` bytes, and not overlap.
#[inline(always)]
unsafe fn copy<S: Simd>(s: S, from: *const u8, to: *mut u8, n: usize) {
    /// Two parts that may overlap.
    ///
    /// # Safety
    /// Both must have `n` bytes, at least as many as `T` has.
    #[inline(always)]
    unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, n: usize) {
        let last = n - size_of::<T>();
        // SAFETY: the caller's promise; the types that are used have no bits that mean anything.
        unsafe {
            let (a, b) =
                (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(a);
            to.add(last).cast::<T>().write_unaligned(b);
        }
    }
    // SAFETY: the caller's promise; no part reaches beyond `n`.
    unsafe {
        if n >= S::BYTES {
            let mut i = 0;
            while i + S::BYTES <= n {
                s.store_i8_ptr(to.add(i).cast(), s.load_i8_ptr(from.add(i).cast()));
                i += S::BYTES;
            }
            let last = n - S::BYTES;
            s.store_i8_ptr(to.add(last).cast(), s.load_i8_ptr(from.add(last).cast()));
            return;
        }
        if n >= 32 {
            ends::<[u64; 4]>(from, to, n);
        } else if n >= 16 {
            ends::<[u64; 2]>(from, to, n);
        } else if n >= 8 {
            ends::<u64>(from, to, n);
        } else if n >= 4 {
            ends::<u32>(from, to, n);
        } else {
            for i in 0..n {
                *to.add(i) = *from.add(i);
            }
        }
    }
}

#[cfg(test)]
mod tests;
