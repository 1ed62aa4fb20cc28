//! What lies under the windows of outputs as the packed right operand of a product of bytes.

use super::plane::four;
use super::quads;
use crate::conv::ConvShape;
use crate::conv::taps::Plane;
use crate::gemm::integer::{COLS, LEAST_LIMIT, MOST_BOUNDS, limits_len, padded, sliver_width};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch_bytes};
use crate::{Isa, Parallel};

/// Where columns come from.
pub(super) enum Source<'a> {
    /// Planes of bytes, the zero point that stands for padding, and what is done to all bits.
    Bytes(&'a [u8], u8, u8),
    /// Planes of four channels to a lane.
    Plane(Plane, &'a [i32]),
}

/// Writes columns `first..first + n`, and behind all of them their sums, in the form of
/// [`pack`](crate::gemm::integer::pack). Lanes that only fill up the last sliver hold anything.
pub(super) fn fill(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    source: &Source<'_>,
    first: usize,
    n: usize,
    packed: &mut [i32],
) {
    let quads = quads(shape);
    let (lanes, sums) = packed.split_at_mut(padded(n) * quads);
    let (sums, limits) = sums.split_at_mut(padded(n));
    let (limits, bounds) = limits.split_at_mut(limits_len(4 * quads));
    limits.fill(LEAST_LIMIT);
    bounds.fill(MOST_BOUNDS);
    let (lanes, sums) = (Output::new(lanes), Output::new(sums));
    for_ranges(par, n.div_ceil(COLS), quads * COLS, &|from, to| {
        for col in (from..to).map(|sliver| sliver * COLS) {
            let width = sliver_width(n, col);
            // SAFETY: slivers are disjoint, and so are their columns.
            let (lanes, sums) =
                unsafe { (lanes.part(col * quads, width * quads), sums.part(col, width)) };
            let cols = width.min(n - col);
            let sliver = Sliver { shape, source, first: first + col, cols, width, lanes, sums };
            dispatch_bytes(isa.effective(), true, sliver);
        }
    });
}

struct Sliver<'a> {
    shape: &'a ConvShape,
    source: &'a Source<'a>,
    first: usize,
    cols: usize,
    width: usize,
    lanes: &'a mut [i32],
    sums: &'a mut [i32],
}

impl SimdOp for Sliver<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(mut self, s: S) {
        match self.source {
            Source::Bytes(x, zero, flip) => {
                let flip = super::plane::lane(*flip);
                if self.shape.window.is_pointwise() {
                    self.pointwise(x, *zero, flip);
                } else {
                    self.gathered(x, *zero, flip);
                }
            }
            Source::Plane(plane, lanes) => self.windows(s, plane, lanes),
        }
        let ones = s.splat_i32(0x0101_0101);
        for at in (0..self.width).step_by(S::LANES) {
            let mut sum = s.splat_i32(0);
            for quad in self.lanes.chunks_exact(self.width) {
                // SAFETY: widths are multiples of 16, and so of every vector.
                unsafe { sum = s.dot4(sum, ones, s.load_i32_ptr(quad.as_ptr().add(at))) }
            }
            // SAFETY: as many sums as columns.
            unsafe { s.store_i32_ptr(self.sums.as_mut_ptr().add(at), sum) }
        }
    }
}

impl Sliver<'_> {
    /// Columns that are places of the input.
    #[inline(always)]
    fn pointwise(&mut self, x: &[u8], zero: u8, flip: i32) {
        let (channels, len) = (self.shape.in_channels, self.shape.window.input_len());
        debug_assert!(x.len() >= channels * len && self.first + self.cols <= len);
        for (q, dst) in self.lanes.chunks_exact_mut(self.width).enumerate() {
            let (x, dst) = ((x.as_ptr(), channels, len), dst.as_mut_ptr());
            // SAFETY: the places are outputs, which are as many as inputs; `dst` has `width` lanes.
            unsafe {
                if self.cols == COLS {
                    // A known number of lanes becomes a few vectors without a loop.
                    four(x, 4 * q, self.first, zero, flip, dst, COLS);
                } else {
                    four(x, 4 * q, self.first, zero, flip, dst, self.cols);
                }
            }
        }
    }

    /// Columns that are windows over the input, place by place.
    #[inline(always)]
    fn gathered(&mut self, x: &[u8], zero: u8, flip: i32) {
        let win = &self.shape.window;
        let (channels, len, taps) = (self.shape.in_channels, win.input_len(), win.taps());
        let [_, kh, kw] = win.kernel;
        let [_, oh, ow] = win.output;
        debug_assert!(x.len() >= channels * len);
        for (row, dst) in self.lanes.chunks_exact_mut(self.width).enumerate() {
            let (channel, tap) = (4 * (row / taps), row % taps);
            let tap = [tap / (kh * kw), tap / kw % kh, tap % kw];
            for (j, dst) in dst.iter_mut().take(self.cols).enumerate() {
                let output = self.first + j;
                let output = [output / (oh * ow), output / ow % oh, output % ow];
                let at: [usize; 3] = core::array::from_fn(|a| {
                    (output[a] * win.strides[a] + tap[a] * win.dilations[a])
                        .wrapping_sub(win.pads[a])
                });
                *dst = super::plane::lane(zero) ^ flip;
                if (0..3).all(|a| at[a] < win.input[a]) {
                    let at = (at[0] * win.input[1] + at[1]) * win.input[2] + at[2];
                    // SAFETY: a place of the input, checked above.
                    unsafe { four((x.as_ptr(), channels, len), channel, at, zero, flip, dst, 1) }
                }
            }
        }
    }

    /// Columns that are windows over planes: runs of outputs of one line are runs of lanes for every tap.
    #[inline(always)]
    fn windows<S: Simd>(&mut self, s: S, plane: &Plane, lanes: &[i32]) {
        let win = &self.shape.window;
        let mut runs = [Run { to: 0, from: 0, len: 0 }; COLS];
        let (mut count, mut at) = (0, 0);
        while at < self.cols {
            let output = self.first + at;
            let len = (win.output[2] - output % win.output[2]).min(self.cols - at);
            runs[count] = Run { to: at, from: plane.base(win, output), len };
            count += 1;
            at += len;
        }
        let runs = &runs[..count];
        let ([kd, kh, kw], [dd, dh, dw]) = (win.kernel, win.dilations);
        let mut rows = self.lanes.chunks_exact_mut(self.width);
        for lanes in lanes.chunks_exact(plane.len()) {
            for td in 0..kd {
                for th in 0..kh {
                    for tw in 0..kw {
                        let Some(row) = rows.next() else { return };
                        let lanes = &lanes[plane.place([td * dd, th * dh, tw * dw])..];
                        let (from, to) = (lanes.as_ptr(), row.as_mut_ptr());
                        for run in runs {
                            debug_assert!(run.from + (run.len - 1) * win.strides[2] < lanes.len());
                            // SAFETY: the plane reaches to the last tap of the last output.
                            unsafe {
                                run.copy(s, win.strides[2], from.add(run.from), to.add(run.to));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Columns of one line of outputs.
#[derive(Clone, Copy)]
struct Run {
    /// The first of them in the sliver.
    to: usize,
    /// Where its first tap lies.
    from: usize,
    len: usize,
}

impl Run {
    /// # Safety
    /// `from` must have `len` lanes `stride` apart, and `to` as many.
    #[inline(always)]
    unsafe fn copy<S: Simd>(&self, s: S, stride: usize, from: *const i32, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe {
            if stride != 1 {
                for i in 0..self.len {
                    *to.add(i) = *from.add(i * stride);
                }
                return;
            }
            let mut i = 0;
            while i + S::LANES <= self.len {
                s.store_i32_ptr(to.add(i), s.load_i32_ptr(from.add(i)));
                i += S::LANES;
            }
            if i < self.len {
                // Bits are only moved: masks are there for f32.
                let bits = s.load_part_ptr(from.add(i).cast(), self.len - i);
                s.store_part_ptr(to.add(i).cast(), bits, self.len - i);
            }
        }
    }
}
