//! Channels of images by fours: four bytes of one place to a lane.

use crate::conv::ConvShape;
use crate::conv::taps::Plane;
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Lanes of `dst`, as many as `N` rows of bytes have, the other bytes of each those of `rest`; `flip` is applied to all bits.
///
/// # Safety
/// All must have `n` elements.
#[inline(always)]
pub(super) unsafe fn interleave<const N: usize>(
    rows: [*const u8; N],
    rest: i32,
    flip: i32,
    dst: *mut i32,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for i in 0..n {
            let mut lane = rest;
            for (byte, row) in rows.iter().enumerate() {
                lane |= i32::from(*row.add(i)) << (8 * byte);
            }
            *dst.add(i) = lane ^ flip;
        }
    }
}

/// The four channels from `channel` on at `n` places, of which the first lies `at` behind the start of a plane of `len`.
///
/// # Safety
/// The places must exist in the planes of `x`, and `dst` have `n` lanes.
#[inline(always)]
pub(super) unsafe fn four(
    (x, channels, len): (*const u8, usize, usize),
    channel: usize,
    at: usize,
    zero: u8,
    flip: i32,
    dst: *mut i32,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let row = |i: usize| x.add((channel + i) * len + at);
        let filled = |count: usize| lane(zero) & !((1i32 << (8 * count)) - 1);
        match channels - channel {
            1 => interleave([row(0)], filled(1), flip, dst, n),
            2 => interleave([row(0), row(1)], filled(2), flip, dst, n),
            3 => interleave([row(0), row(1), row(2)], filled(3), flip, dst, n),
            _ => interleave([row(0), row(1), row(2), row(3)], 0, flip, dst, n),
        }
    }
}

/// A byte four times.
pub(super) fn lane(byte: u8) -> i32 {
    i32::from_ne_bytes([byte; 4])
}

/// Writes the planes of one group of one image, with the zero point as padding.
#[expect(clippy::too_many_arguments, reason = "a plane and what it is filled with")]
pub(super) fn fill(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    plane: &Plane,
    x: &[u8],
    zero: u8,
    flip: u8,
    lanes: &mut [i32],
) {
    let fours = shape.in_channels.div_ceil(4);
    debug_assert!(lanes.len() >= fours * plane.len());
    let out = Output::new(lanes);
    for_ranges(par, fours, plane.len(), &|from, to| {
        // SAFETY: ranges are disjoint.
        let lanes = unsafe { out.part(from * plane.len(), (to - from) * plane.len()) };
        dispatch(isa, Fill { shape, plane, x, zero, flip: lane(flip), first: from, lanes });
    });
}

struct Fill<'a> {
    shape: &'a ConvShape,
    plane: &'a Plane,
    x: &'a [u8],
    zero: u8,
    flip: i32,
    /// The four that `lanes` begin with.
    first: usize,
    lanes: &'a mut [i32],
}

impl SimdOp for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let win = &self.shape.window;
        let [id, ih, iw] = win.input;
        let [_, height, width] = self.plane.extents;
        let (channels, len) = (self.shape.in_channels, win.input_len());
        debug_assert!(self.x.len() >= channels * len);
        let padding = lane(self.zero) ^ self.flip;
        // What of a line is inside the input: the same for all lines.
        let from = win.pads[2].min(width);
        let to = (win.pads[2] + iw).min(width);
        for (i, plane) in self.lanes.chunks_exact_mut(self.plane.len()).enumerate() {
            let channel = 4 * (self.first + i);
            for (line, dst) in plane.chunks_exact_mut(width).enumerate() {
                let d = (line / height).wrapping_sub(win.pads[0]);
                let h = (line % height).wrapping_sub(win.pads[1]);
                if d >= id || h >= ih {
                    dst.fill(padding);
                    continue;
                }
                dst[..from].fill(padding);
                dst[to..].fill(padding);
                let x = (self.x.as_ptr(), channels, len);
                let at = (d * ih + h) * iw;
                // SAFETY: line `at` of each channel has `iw` numbers, not fewer than are inside.
                unsafe {
                    let dst = dst[from..to].as_mut_ptr();
                    four(x, channel, at, self.zero, self.flip, dst, to - from);
                }
            }
        }
    }
}
