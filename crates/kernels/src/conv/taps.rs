//! Where the numbers under a window lie, for kernels that read them in place instead of making columns.
//!
//! The number at depth `p` (channel and tap) of column `j` (image and output) is at `offset(p) + base(j)`. That
//! holds only where nothing of the window is padding, so inputs with padding are copied into a larger plane first.

use super::ConvShape;
use crate::window::Window;

/// Extents of the plane that windows without padding slide over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) extents: [usize; 3],
    /// Whether the input must be copied into it.
    pub(super) is_copy: bool,
}

/// Offsets are kept as the bits of f32 numbers in the scratch; below this they are the bits of finite ones.
const MAX_OFFSET: usize = 0x7f80_0000;

impl Plane {
    /// The plane for a window; `None` when it would be far larger than input and columns together, as padding and
    /// dilation can make it, or too large for an offset.
    pub(super) fn new(win: &Window, channels: usize) -> Option<Plane> {
        let reach = |a: usize| {
            let taps = win.kernel[a].checked_sub(1)?.checked_mul(win.dilations[a])?;
            win.output[a].checked_sub(1)?.checked_mul(win.strides[a])?.checked_add(taps + 1)
        };
        let reaches = [reach(0)?, reach(1)?, reach(2)?];
        let is_copy = (0..3).any(|a| win.pads[a] > 0 || reaches[a] > win.input[a]);
        let extents = if is_copy { reaches } else { win.input };
        let len = extents.iter().try_fold(1usize, |len, n| len.checked_mul(*n))?;
        let usual = win.input_len().saturating_add(win.taps().saturating_mul(win.output_len()));
        let fits = channels.checked_mul(len).is_some_and(|n| n < MAX_OFFSET);
        (fits && (!is_copy || len <= usual.saturating_mul(4))).then_some(Plane { extents, is_copy })
    }

    /// Numbers in it.
    pub(super) fn len(&self) -> usize {
        self.extents.iter().product()
    }

    pub(super) fn place(&self, at: [usize; 3]) -> usize {
        (at[0] * self.extents[1] + at[1]) * self.extents[2] + at[2]
    }

    /// Writes the offsets of all channels and taps, and returns the largest.
    pub(super) fn offsets(&self, shape: &ConvShape, dst: &mut [f32]) -> usize {
        let win = &shape.window;
        let [_, kh, kw] = win.kernel;
        let [dd, dh, dw] = win.dilations;
        // All numbers are below 2^31, and so are sums of a channel's and a tap's.
        let (len, taps) = (self.len() as u32, win.taps());
        let (first, others) = dst.split_at_mut(taps);
        for (tap, dst) in first.iter_mut().enumerate() {
            let at = self.place([tap / (kh * kw) * dd, tap / kw % kh * dh, tap % kw * dw]);
            *dst = f32::from_bits(at as u32);
        }
        for (c, dst) in others.chunks_exact_mut(taps).enumerate() {
            let channel = (c as u32 + 1) * len;
            for (dst, tap) in dst.iter_mut().zip(&*first) {
                *dst = f32::from_bits(channel + tap.to_bits());
            }
        }
        dst.last().map_or(0, |last| last.to_bits() as usize)
    }

    /// The base of an output.
    pub(super) fn base(&self, win: &Window, output: usize) -> usize {
        let [_, oh, ow] = win.output;
        let at = [output / (oh * ow), output / ow % oh, output % ow];
        self.place(core::array::from_fn(|a| at[a] * win.strides[a]))
    }

    /// Copies planes of the input into planes of this form, with zeros for padding.
    pub(super) fn fill(&self, win: &Window, x: &[f32], dst: &mut [f32]) {
        let [id, ih, iw] = win.input;
        let [_, height, width] = self.extents;
        // What of a line is inside the input, and where that begins in it: the same for all lines.
        let from = win.pads[2].min(width);
        let to = (win.pads[2] + iw).min(width);
        let planes = x.chunks_exact((id * ih * iw).max(1)).zip(dst.chunks_exact_mut(self.len()));
        for (x, dst) in planes {
            for (line, dst) in dst.chunks_exact_mut(width).enumerate() {
                let d = (line / height).wrapping_sub(win.pads[0]);
                let h = (line % height).wrapping_sub(win.pads[1]);
                if d >= id || h >= ih {
                    dst.fill(0.0);
                    continue;
                }
                let src = &x[(d * ih + h) * iw..][..to - from];
                // Lines are a few numbers long: calls to copy and fill would take most of the time.
                for dst in &mut dst[..from] {
                    *dst = 0.0;
                }
                for (dst, src) in dst[from..to].iter_mut().zip(src) {
                    *dst = *src;
                }
                for dst in &mut dst[to..] {
                    *dst = 0.0;
                }
            }
        }
    }
}
