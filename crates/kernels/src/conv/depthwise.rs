//! Convolution of channels that do not mix: one input plane to one or more output planes.

use super::ConvShape;
use crate::chunks::{split_chunks, tasks};
use crate::gemm::{Activation, activate_slice};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// Vectors of outputs that are summed together: enough to hide the latency of an FMA.
const STRIP: usize = 4;

/// Depthwise convolution of f32 planes.
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub(super) fn depthwise(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    x: &[f32],
    w: &[f32],
    bias: Option<&[f32]>,
    activation: Activation,
    y: &mut [f32],
) {
    let channels = shape.groups * shape.out_channels;
    let (planes, len) = (shape.batch * channels, shape.window.output_len());
    let (in_len, taps) = (shape.window.input_len(), shape.window.taps());
    let work = planes.saturating_mul(shape.plane_work());
    split_chunks(par, tasks(par, work, planes), planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            let channel = plane % channels;
            let x = &x[plane / shape.out_channels * in_len..][..in_len];
            let w = &w[channel * taps..][..taps];
            let bias = bias.map_or(0.0, |bias| bias[channel]);
            dispatch(isa, Plane { window: &shape.window, x, w, bias, y });
            activate_slice(isa, activation, y);
        }
    });
}

struct Plane<'a> {
    window: &'a Window,
    x: &'a [f32],
    w: &'a [f32],
    bias: f32,
    y: &'a mut [f32],
}

impl SimdOp for Plane<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match (self.window.strides[2], self.window.kernel[2]) {
            (1, 3) => s.call(Rows::<1, 3>(self)),
            (1, 5) => s.call(Rows::<1, 5>(self)),
            (1, _) => s.call(Rows::<1, 0>(self)),
            (2, 3) => s.call(Rows::<2, 3>(self)),
            (2, 5) => s.call(Rows::<2, 5>(self)),
            _ => s.call(Rows::<0, 0>(self)),
        }
    }
}

/// Rows of outputs with `STRIDE` steps and `TAPS` taps along the row, known when compiled unless 0.
struct Rows<'a, const STRIDE: usize, const TAPS: usize>(Plane<'a>);

impl<const STRIDE: usize, const TAPS: usize> SimdOp for Rows<'_, STRIDE, TAPS> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Plane { window: win, x, w, bias, y } = self.0;
        let taps = if TAPS == 0 { win.kernel[2] } else { TAPS };
        // Where every tap of a row lies inside; the edges on both sides are summed one by one.
        let (first, end) = (win.outputs(2, 0).0, win.outputs(2, taps - 1).1);
        let (first, end) = if first < end { (first, end) } else { (0, 0) };
        for (row, y) in y.chunks_exact_mut(win.output[2]).enumerate() {
            let (od, oh) = (row / win.output[1], row % win.output[1]);
            let line = Line { win, x, w, bias, od, oh };
            for (o, y) in y.iter_mut().enumerate().take(first) {
                *y = line.edge(o);
            }
            line.inner::<S, STRIDE, TAPS>(s, first, &mut y[first..end]);
            for (o, y) in y.iter_mut().enumerate().skip(end) {
                *y = line.edge(o);
            }
        }
    }
}

/// One row of outputs.
struct Line<'a> {
    win: &'a Window,
    x: &'a [f32],
    w: &'a [f32],
    bias: f32,
    od: usize,
    oh: usize,
}

impl Line<'_> {
    /// Output `o`, of which some taps lie outside.
    #[inline(always)]
    fn edge(&self, o: usize) -> f32 {
        let win = self.win;
        let (first, end) = win.taps_at(2, o);
        let mut sum = self.bias;
        let (d, h) = (win.taps_at(0, self.od), win.taps_at(1, self.oh));
        for td in d.0..d.1 {
            for th in h.0..h.1 {
                let row = win.at(0, self.od, td) * win.input[1] + win.at(1, self.oh, th);
                let w = (td * win.kernel[1] + th) * win.kernel[2];
                for tw in first..end {
                    sum += self.x[row * win.input[2] + win.at(2, o, tw)] * self.w[w + tw];
                }
            }
        }
        sum
    }

    /// Outputs from `first` on, all of whose taps along the row lie inside.
    #[inline(always)]
    fn inner<S: Simd, const STRIDE: usize, const TAPS: usize>(
        &self,
        s: S,
        first: usize,
        y: &mut [f32],
    ) {
        let mut at = 0;
        if STRIDE == 1 {
            while at + STRIP * S::LANES <= y.len() {
                self.strip::<S, STRIP, TAPS>(s, first + at, &mut y[at..]);
                at += STRIP * S::LANES;
            }
            while at + S::LANES <= y.len() {
                self.strip::<S, 1, TAPS>(s, first + at, &mut y[at..]);
                at += S::LANES;
            }
        } else if STRIDE == 2 {
            while at + 16 <= y.len() {
                self.block::<TAPS>(first + at, &mut y[at..]);
                at += 16;
            }
        }
        for (o, y) in y.iter_mut().enumerate().skip(at) {
            *y = self.edge(first + o);
        }
    }

    /// `N` vectors of outputs at stride 1.
    #[inline(always)]
    fn strip<S: Simd, const N: usize, const TAPS: usize>(&self, s: S, o: usize, y: &mut [f32]) {
        let win = self.win;
        let taps = if TAPS == 0 { win.kernel[2] } else { TAPS };
        let dilation = win.dilations[2];
        let mut acc = [s.splat(self.bias); N];
        let (d, h) = (win.taps_at(0, self.od), win.taps_at(1, self.oh));
        for td in d.0..d.1 {
            for th in h.0..h.1 {
                let row = win.at(0, self.od, td) * win.input[1] + win.at(1, self.oh, th);
                let x = &self.x[row * win.input[2] + win.at(2, o, 0)..];
                assert!(x.len() >= (taps - 1) * dilation + N * S::LANES);
                let w = &self.w[(td * win.kernel[1] + th) * win.kernel[2]..][..taps];
                for (tw, w) in w.iter().enumerate() {
                    let w = s.splat(*w);
                    for (i, acc) in acc.iter_mut().enumerate() {
                        // SAFETY: the last element is within the length asserted above.
                        let x = unsafe { s.load_ptr(x.as_ptr().add(tw * dilation + i * S::LANES)) };
                        *acc = s.fma(w, x, *acc);
                    }
                }
            }
        }
        for (i, acc) in acc.into_iter().enumerate() {
            s.store(&mut y[i * S::LANES..], acc);
        }
    }

    /// 16 outputs at stride 2, in a form that the compiler turns into shuffles.
    #[inline(always)]
    fn block<const TAPS: usize>(&self, o: usize, y: &mut [f32]) {
        let win = self.win;
        let mut acc = [self.bias; 16];
        let (d, h) = (win.taps_at(0, self.od), win.taps_at(1, self.oh));
        for td in d.0..d.1 {
            for th in h.0..h.1 {
                let row = win.at(0, self.od, td) * win.input[1] + win.at(1, self.oh, th);
                let x = &self.x[row * win.input[2] + win.at(2, o, 0)..];
                let w = &self.w[(td * win.kernel[1] + th) * win.kernel[2]..][..TAPS];
                for (tw, w) in w.iter().enumerate() {
                    let x = &x[tw * win.dilations[2]..][..31];
                    for (i, acc) in acc.iter_mut().enumerate() {
                        *acc += *w * x[2 * i];
                    }
                }
            }
        }
        y[..16].copy_from_slice(&acc);
    }
}
