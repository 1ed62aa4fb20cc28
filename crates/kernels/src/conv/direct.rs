//! Convolution by the definition, for the element types that have no kernel of their own.

use super::ConvShape;
use crate::chunks::{split_chunks, tasks};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// An element that is widened to `Sum` before it is multiplied.
pub trait Term<Sum>: Copy + Send + Sync {
    /// The same number.
    fn widen(self) -> Sum;
}

/// What products are summed in.
pub trait Sum: Copy + Send + Sync {
    /// `a * b + c`; integers wrap.
    fn mul_add(a: Self, b: Self, c: Self) -> Self;
    /// `a - b`; integers wrap.
    fn sub(a: Self, b: Self) -> Self;
}

impl Sum for i32 {
    #[inline(always)]
    fn mul_add(a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
    #[inline(always)]
    fn sub(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
}

impl Sum for f64 {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
    #[inline(always)]
    fn sub(a: f64, b: f64) -> f64 {
        a - b
    }
}

macro_rules! term {
    ($($t:ty => $sum:ty),*) => {$(
        impl Term<$sum> for $t {
            #[inline(always)]
            fn widen(self) -> $sum {
                self.into()
            }
        }
    )*};
}

term!(u8 => i32, i8 => i32, i32 => i32, f64 => f64);

/// The operands of [`conv`].
pub struct Operands<'a, X, W, S> {
    /// The input.
    pub x: &'a [X],
    /// Subtracted from each input.
    pub x_zero: S,
    /// The weights.
    pub w: &'a [W],
    /// Subtracted from the weights: one number for all, or one for each output channel.
    pub w_zero: &'a [W],
    /// The first term of each sum: nothing, or one number for each output channel.
    pub bias: Option<&'a [S]>,
}

/// `y = bias + sum of (x - x_zero) (w - w_zero)`; padding counts as `x_zero`.
///
/// # Panics
/// If an operand is smaller than `shape` says.
pub fn conv<X: Term<S>, W: Term<S>, S: Sum>(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    operands: &Operands<'_, X, W, S>,
    zero: S,
    y: &mut [S],
) {
    let channels = shape.groups * shape.out_channels;
    let (planes, len) = (shape.batch * channels, shape.window.output_len());
    assert!(operands.x.len() >= shape.input_len(), "input of a convolution");
    assert!(operands.w.len() >= shape.weights_len(), "weights of a convolution");
    let w_zeros = operands.w_zero.len();
    assert!(w_zeros == 1 || w_zeros >= channels, "zero points of a convolution");
    let work = planes.saturating_mul(shape.plane_work());
    split_chunks(par, tasks(par, work, planes), planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            dispatch(isa, Plane { shape, operands, plane, zero, y });
        }
    });
}

struct Plane<'a, X, W, S> {
    shape: &'a ConvShape,
    operands: &'a Operands<'a, X, W, S>,
    plane: usize,
    zero: S,
    y: &'a mut [S],
}

impl<X: Term<S>, W: Term<S>, S: Sum> SimdOp for Plane<'_, X, W, S> {
    type Output = ();

    #[inline(always)]
    fn eval<V: Simd>(self, _: V) {
        let (shape, o) = (self.shape, self.operands);
        let channels = shape.groups * shape.out_channels;
        let (image, channel) = (self.plane / channels, self.plane % channels);
        let group = channel / shape.out_channels;
        let w = &o.w[channel * shape.depth()..][..shape.depth()];
        let w_zero = o.w_zero[if o.w_zero.len() == 1 { 0 } else { channel }].widen();
        self.y.fill(o.bias.map_or(self.zero, |bias| bias[channel]));
        let in_len = shape.window.input_len();
        let taps = shape.window.taps();
        for c in 0..shape.in_channels {
            let plane = (image * shape.groups + group) * shape.in_channels + c;
            let x = &o.x[plane * in_len..][..in_len];
            for (tap, w) in w[c * taps..][..taps].iter().enumerate() {
                let w = S::sub(w.widen(), w_zero);
                add_tap(&shape.window, tap, x, o.x_zero, w, self.y);
            }
        }
    }
}

/// Adds `w` times what lies under one tap of the window to every output.
#[inline(always)]
fn add_tap<X: Term<S>, S: Sum>(win: &Window, tap: usize, x: &[X], x_zero: S, w: S, y: &mut [S]) {
    let [_, kh, kw] = win.kernel;
    let (td, th, tw) = (tap / (kh * kw), tap / kw % kh, tap % kw);
    let (d, h, c) = (win.outputs(0, td), win.outputs(1, th), win.outputs(2, tw));
    if c.0 == c.1 {
        return;
    }
    let stride = win.strides[2];
    for od in d.0..d.1 {
        for oh in h.0..h.1 {
            let row = (win.at(0, od, td) * win.input[1] + win.at(1, oh, th)) * win.input[2];
            let x = &x[row + win.at(2, c.0, tw)..];
            let out = (od * win.output[1] + oh) * win.output[2];
            let y = &mut y[out + c.0..out + c.1];
            if stride == 1 {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = S::mul_add(S::sub(x.widen(), x_zero), w, *y);
                }
            } else {
                for (y, x) in y.iter_mut().zip(x.iter().step_by(stride)) {
                    *y = S::mul_add(S::sub(x.widen(), x_zero), w, *y);
                }
            }
        }
    }
}
