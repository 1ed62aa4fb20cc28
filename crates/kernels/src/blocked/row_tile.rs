//! Tiles of a row of a depthwise convolution whose window is known when compiled: 3x3 or 5x5, each output or every
//! second one.
//!
//! An FMA has one operand in memory, so loads and FMAs are as many and the units of both are busy as long as nothing else
//! is done between them: loops over taps are unrolled, ranges of taps are found once for a row, and only pixels that can
//! lie at a border ask whether a tap is inside.

use super::BLOCK;
use crate::gemm::Activation;
use crate::simd::Simd;
use crate::window::Window;

/// Whether rows of such a window are computed by these tiles, on vectors of so many lanes.
pub(super) fn fits(win: &Window, lanes: usize) -> bool {
    let [_, kh, kw] = win.kernel;
    let (stride, pad, width) = (win.strides[2], win.pads[2], win.output[2]);
    let is_known = lanes >= 8 && kh == kw && matches!(kw, 3 | 5) && matches!(stride, 1 | 2);
    // Taps that the last output lacks.
    let reach = (width.saturating_sub(1) * stride + kw).saturating_sub(pad + win.input[2]);
    let most = edge(kw, stride) * stride;
    is_known && win.dilations[2] == 1 && width >= 7 && pad <= most && reach <= most
}

/// Outputs at each end of a row that may lack taps: those of half a window.
const fn edge(taps: usize, stride: usize) -> usize {
    (taps / 2).div_ceil(stride)
}

/// Outputs of the tiles of a row: of the widths that there are the one that computes the fewest twice, since the last
/// tile overlaps the one before it.
pub(super) fn tile_width(width: usize, lanes: usize) -> usize {
    // 14 sums and a weight of 32 registers, 8 and a weight of 16.
    let widths: &[usize] = if lanes == 16 { &[14, 8, 7] } else { &[8, 7] };
    let fitting = widths.iter().copied().filter(|n| *n <= width);
    fitting.min_by_key(|n| width.div_ceil(*n) * n).unwrap_or(7)
}

/// What a row of outputs is computed from: one vector of the channels of a block.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The first pixel of the first input row that a tap reads.
    pub x: *const f32,
    /// Numbers from the input row of one tap to that of the next.
    pub pitch: usize,
    /// Weights of the first of these taps.
    pub weights: *const f32,
    /// Rows of taps that lie inside.
    pub taps: usize,
    /// Pixels of an input row, and those of padding before it.
    pub input: usize,
    pub pad: usize,
    pub bias: *const f32,
    /// The row of outputs.
    pub y: *mut f32,
}

impl Row {
    /// Computes `width` outputs, limited by the activation if it only limits.
    ///
    /// # Safety
    /// `taps` rows of `input` pixels begin at `x`, `taps` rows of `K` weights at `weights`, `width` outputs at `y` and a
    /// vector at `bias`; the window [fits](fits), and `N` is not above `width`.
    #[inline(always)]
    pub unsafe fn compute<S: Simd, const K: usize, const STRIDE: usize, const N: usize>(
        self,
        s: S,
        width: usize,
        activation: Activation,
    ) {
        // The first and the last output that have all taps.
        let first = self.pad.div_ceil(STRIDE);
        let end = (self.input + self.pad + STRIDE).saturating_sub(K) / STRIDE;
        let mut at = 0;
        loop {
            // SAFETY: `at + N` is not above `width`; a tile without checks lies between the outputs that lack taps.
            unsafe {
                let acc = match at >= first && at + N <= end {
                    true => self.sums::<S, K, STRIDE, N, false>(s, at),
                    false => self.sums::<S, K, STRIDE, N, true>(s, at),
                };
                self.store(s, acc, at, activation);
            }
            if at + N >= width {
                return;
            }
            at = (at + N).min(width - N);
        }
    }

    /// The sums of `N` outputs from `at` on. Taps are asked for where they may lie outside if `EDGE`.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn sums<
        S: Simd,
        const K: usize,
        const STRIDE: usize,
        const N: usize,
        const EDGE: bool,
    >(
        &self,
        s: S,
        at: usize,
    ) -> [S::F32; N] {
        let mut acc = [s.zero(); N];
        let ends = edge(K, STRIDE);
        // Pixels of the first tap, counted from the beginning of the padding.
        let start = at * STRIDE;
        for tap in 0..self.taps {
            // SAFETY: the row and its weights exist. The pixel of a tap is inside the row: it is asked for, or the output
            // is neither one of the first nor one of the last.
            unsafe {
                let (row, weights) =
                    (self.x.add(tap * self.pitch), self.weights.add(tap * K * BLOCK));
                for t in 0..K {
                    let w = s.load_ptr(weights.add(t * BLOCK));
                    for (i, acc) in acc.iter_mut().enumerate() {
                        let column = (start + i * STRIDE + t).wrapping_sub(self.pad);
                        if EDGE && (i < ends || i + ends >= N) && column >= self.input {
                            continue;
                        }
                        debug_assert!(column < self.input);
                        *acc = s.fma(w, s.load_ptr(row.add(column * BLOCK)), *acc);
                    }
                }
            }
        }
        acc
    }

    /// Stores sums with the bias. They come by value, so that they stay in registers while they are made.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn store<S: Simd, const N: usize>(
        &self,
        s: S,
        acc: [S::F32; N],
        at: usize,
        activation: Activation,
    ) {
        let limits = activation.bounds().filter(|_| activation != Activation::None);
        // SAFETY: the outputs and the bias exist.
        unsafe {
            let bias = s.load_ptr(self.bias);
            for (i, sum) in acc.into_iter().enumerate() {
                let mut sum = s.add(sum, bias);
                if let Some((lo, hi)) = limits {
                    sum = s.min(s.splat(hi), s.max(s.splat(lo), sum));
                }
                s.store_ptr(self.y.add((at + i) * BLOCK), sum);
            }
        }
    }
}
