//! Convolutions of bytes whose channels stand alone and lie together, `[batch, spatial..., channels]`: vectors are of channels,
//! and each lane multiplies one byte.
//!
//! Filters are moved by their zero points when they are packed, so that only what fits a signed byte then can be
//! ([`fits`]).

use crate::conv::ConvShape;
use crate::gemm::Shared;
use crate::gemm::integer::ends::{Raw, Zeros};
use crate::gemm::integer::finish::Finish;
use crate::gemm::integer::{Byte, COLS, Target, ZeroPoint, padded};
use crate::par::for_ranges;
use crate::simd::{Simd, SimdOp, dispatch_bytes};
use crate::{Isa, Parallel};
use core::mem::MaybeUninit;

/// Outputs of one line that are computed together, or half of them: with two vectors of each, as many sums as registers
/// hold beside what is multiplied.
const ROWS: usize = 8;

/// Most taps of a window: 7 x 7.
pub const TAPS: usize = 49;

/// Whether [`conv`] computes a convolution: one filter for each channel, of few taps.
pub fn is_lone(shape: &ConvShape) -> bool {
    shape.in_channels == 1 && shape.out_channels == 1 && shape.window.taps() <= TAPS
}

/// Weight `i` of filters of `taps` without its zero point: one, or one for each filter.
fn moved<W: Byte>(i: usize, taps: usize, w: W, zero: &[W]) -> i32 {
    let zero = zero[if zero.len() == 1 { 0 } else { i / taps }];
    w.into() - zero.into()
}

/// Whether `[channels, taps]` of weights are signed bytes without their zero points: one, or one for each channel.
///
/// # Panics
/// If there are neither as many zero points as that.
pub fn fits<W: Byte>(taps: usize, w: &[W], zero: &[W]) -> bool {
    w.iter().enumerate().all(|(i, w)| i8::try_from(moved(i, taps, *w, zero)).is_ok())
}

/// Numbers that [`pack`] writes.
pub fn packed_len(channels: usize, taps: usize) -> usize {
    padded(channels) * (taps + 1)
}

/// Puts `[channels, taps]` of weights, which [`fits`] allows, into the order of the kernel, and behind them their sums.
///
/// # Panics
/// If `w`, `zero` or `dst` have another length.
pub fn pack<W: Byte>(channels: usize, taps: usize, w: &[W], zero: &[W], dst: &mut [i32]) {
    assert_eq!(w.len(), channels * taps, "length of filters");
    assert!(zero.len() == 1 || zero.len() == channels, "zero points of filters");
    assert_eq!(dst.len(), packed_len(channels, taps), "length of packed filters");
    dst.fill(0);
    let (lanes, sums) = dst.split_at_mut(padded(channels) * taps);
    for (i, w) in w.iter().enumerate() {
        let weight = moved(i, taps, *w, zero);
        debug_assert!(i8::try_from(weight).is_ok());
        let (channel, tap) = (i / taps, i % taps);
        lanes[tap * padded(channels) + channel] = weight;
        sums[channel] += weight;
    }
}

/// Numbers of scratch that [`conv`] needs.
pub fn scratch_len(shape: &ConvShape) -> usize {
    padded(shape.groups) / 4
}

/// `sum of (x - x_zero) (w - w_zero)` and what `target` makes of it, whose scales and biases go along columns: the channels.
/// `x` is `[batch, spatial..., channels]`, `target` is `[batch, outputs, channels]`. The sums are exact.
///
/// # Panics
/// If the convolution is none that [`is_lone`], an operand is smaller than `shape` says, or `scratch` than [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn conv<X: Byte>(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    x: &[X],
    x_zero: X,
    filters: &[i32],
    target: Target<'_>,
    scratch: &mut [i32],
) {
    if shape.output_len() == 0 {
        return;
    }
    let (channels, taps) = (shape.groups, shape.window.taps());
    let outputs = shape.batch * shape.window.output_len();
    assert!(is_lone(shape), "channels that stand alone");
    assert!(x.len() >= shape.input_len(), "input of a convolution");
    assert_eq!(filters.len(), packed_len(channels, taps), "packed filters");
    let padding = &mut scratch[..scratch_len(shape)];
    padding.fill(i32::from_ne_bytes([x_zero.bits(); 4]));
    let shift = 128 * i32::from(X::SIGNED);
    let finish = Finish {
        sums: core::ptr::null(),
        sums_stride: COLS,
        row: 0,
        rows: 0,
        col: 0,
        cols: 0,
        k: taps,
        a_zero: Zeros::new(&ZeroPoint::One(x_zero), shift),
        b_zero: Zeros::new(&ZeroPoint::One(0i8), 0),
        row_sums: core::ptr::null(),
        col_sums: filters[padded(channels) * taps..].as_ptr(),
        raw: Raw::new(target, outputs, channels, channels),
    };
    let job = Job {
        shape,
        x: x.as_ptr().cast(),
        x_len: x.len(),
        padding: padding.as_ptr().cast(),
        flip: shift,
        filters: filters.as_ptr(),
        finish,
        outputs: (0, outputs),
    };
    let job = Shared(job);
    for_ranges(par, outputs, channels * taps, &|from, to| {
        dispatch_bytes(isa.effective(), true, Job { outputs: (from, to), ..job.get() });
    });
}

/// Some outputs of all images.
#[derive(Clone, Copy)]
struct Job<'a> {
    shape: &'a ConvShape,
    x: *const u8,
    x_len: usize,
    /// A place of zero points, whole vectors of them.
    padding: *const u8,
    /// What makes unsigned bytes of the input.
    flip: i32,
    filters: *const i32,
    finish: Finish,
    outputs: (usize, usize),
}

/// Where the taps of some outputs lie.
type Places = [[*const u8; ROWS]; TAPS];

impl SimdOp for Job<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let channels = self.shape.groups;
        let width = self.shape.window.output[2];
        let mut places: Places = [[self.padding; ROWS]; TAPS];
        let mut sums = MaybeUninit::<[i32; ROWS * COLS]>::uninit();
        let sums: *mut i32 = sums.as_mut_ptr().cast();
        let mut row = self.outputs.0;
        while row < self.outputs.1 {
            let rows = ROWS.min(width - row % width).min(self.outputs.1 - row);
            self.find(row, rows, &mut places);
            for col in (0..channels).step_by(COLS) {
                let cols = COLS.min(channels - col);
                // SAFETY: the places are of whole pixels, of which these columns are a part; sums are as many as
                // vectors of them have lanes.
                unsafe {
                    let mut at = 0;
                    while at < cols {
                        let left = cols - at;
                        let (col, sums) = (col + at, sums.add(at));
                        let few = rows <= ROWS / 2;
                        if left >= 2 * S::LANES {
                            if few {
                                self.tile::<S, { ROWS / 2 }, 2, true>(s, &places, col, sums);
                            } else {
                                self.tile::<S, ROWS, 2, true>(s, &places, col, sums);
                            }
                            at += 2 * S::LANES;
                        } else {
                            if left < S::LANES {
                                self.tile::<S, ROWS, 1, false>(s, &places, col, sums);
                            } else if few {
                                self.tile::<S, { ROWS / 2 }, 1, true>(s, &places, col, sums);
                            } else {
                                self.tile::<S, ROWS, 1, true>(s, &places, col, sums);
                            }
                            at += S::LANES;
                        }
                    }
                    s.call(Finish { sums, row, rows, col, cols, ..self.finish });
                }
            }
            row += rows;
        }
    }
}

impl Job<'_> {
    /// Writes down where the taps of `rows` outputs of one line lie, those of the last one again for outputs that are
    /// not there.
    #[inline(always)]
    fn find(&self, row: usize, rows: usize, places: &mut Places) {
        let (win, channels) = (&self.shape.window, self.shape.groups);
        let ([id, ih, iw], [_, oh, ow], [kd, kh, kw]) = (win.input, win.output, win.kernel);
        let (image, output) = (row / win.output_len(), row % win.output_len());
        let (first, output) = (output % ow, output / ow);
        let at = |axis: usize, output: usize, tap: usize| {
            (output * win.strides[axis] + tap * win.dilations[axis]).wrapping_sub(win.pads[axis])
        };
        let step = win.strides[2] * channels;
        let mut taps = places.iter_mut();
        for td in 0..kd {
            let d = at(0, output / oh, td);
            for th in 0..kh {
                let h = at(1, output % oh, th);
                let is_line = d < id && h < ih;
                let line = (image * id).wrapping_add(d).wrapping_mul(ih).wrapping_add(h);
                let line = self.x.wrapping_add(line.wrapping_mul(iw).wrapping_mul(channels));
                for tw in 0..kw {
                    let Some(places) = taps.next() else { return };
                    let w = at(2, first, tw);
                    let place = line.wrapping_add(w.wrapping_mul(channels));
                    for (i, to) in places.iter_mut().enumerate() {
                        let i = i.min(rows - 1);
                        let is_inside = is_line && w.wrapping_add(i * win.strides[2]) < iw;
                        *to = if is_inside { place.wrapping_add(i * step) } else { self.padding };
                    }
                }
            }
        }
    }

    /// Sums of `NV` vectors of channels from `col` on, for the first `MR` rows.
    ///
    /// # Safety
    /// The places must be pixels, with as many channels from `col` on unless not `WHOLE`, and `sums` have room for the
    /// vectors in each of `MR` rows of `COLS`.
    #[inline(always)]
    unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const WHOLE: bool>(
        &self,
        s: S,
        places: &Places,
        col: usize,
        sums: *mut i32,
    ) {
        let (channels, flip) = (self.shape.groups, s.splat_i32(self.flip));
        let mut acc = [[s.splat_i32(0); NV]; MR];
        // SAFETY: the caller's promise; packed filters have whole vectors.
        unsafe {
            let mut w = self.filters.add(col);
            for places in &places[..self.shape.window.taps()] {
                let mut wv = [s.splat_i32(0); NV];
                for (v, wv) in wv.iter_mut().enumerate() {
                    *wv = s.load_i32_ptr(w.add(v * S::LANES));
                }
                for (i, acc) in acc.iter_mut().enumerate() {
                    for (v, acc) in acc.iter_mut().enumerate() {
                        let at = places[i].wrapping_add(col + v * S::LANES);
                        let x = if WHOLE {
                            s.load_low_bytes(at)
                        } else {
                            self.last(s, at, channels - col)
                        };
                        *acc = s.mul_add_bytes(*acc, s.xor_i32(x, flip), wv[v]);
                    }
                }
                w = w.add(padded(channels));
            }
            for (i, acc) in acc.iter().enumerate() {
                for (v, acc) in acc.iter().enumerate() {
                    s.store_i32_ptr(sums.add(i * COLS + v * S::LANES), *acc);
                }
            }
        }
    }

    /// The last channels of a pixel, `n` of them, and anything behind.
    ///
    /// # Safety
    /// They must exist.
    #[inline(always)]
    unsafe fn last<S: Simd>(&self, s: S, at: *const u8, n: usize) -> S::I32 {
        let from = (at as usize).wrapping_sub(self.x as usize);
        // SAFETY: the caller's promise; other pixels lie behind, or what fills up the place of zero points.
        unsafe {
            if from < self.x_len && from + S::LANES > self.x_len {
                let mut bytes = [0u8; 16];
                core::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), n);
                return s.load_low_bytes(bytes.as_ptr());
            }
            s.load_low_bytes(at)
        }
    }
}

#[cfg(test)]
mod tests;
