//! Statistics by channel, and what is normalised by them.

use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Mean and variance (of the whole, not of a sample) of each channel over `(batch, channels, inner)`; zeros
/// of nothing. Sums are kept in f64.
///
/// # Panics
/// If the lengths do not fit together.
pub fn channel_stats(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, inner): (usize, usize, usize),
    src: &[f32],
    mean: &mut [f32],
    var: &mut [f32],
) {
    assert_eq!(src.len(), batch * channels * inner, "length of the source");
    assert!(mean.len() == channels && var.len() == channels, "length of mean or variance");
    let (mean, var) = (Output::new(mean), Output::new(var));
    for_ranges(par, channels, batch * inner, &|from, to| {
        // SAFETY: ranges of different tasks are disjoint.
        let (mean, var) = unsafe { (mean.part(from, to - from), var.part(from, to - from)) };
        for (c, (mean, var)) in (from..to).zip(mean.iter_mut().zip(var)) {
            (*mean, *var) = dispatch(isa, Channel { src, batch, channels, inner, c });
        }
    });
}

struct Channel<'a> {
    src: &'a [f32],
    batch: usize,
    channels: usize,
    inner: usize,
    c: usize,
}

impl SimdOp for Channel<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) -> (f32, f32) {
        let n = self.batch * self.inner;
        if n == 0 {
            return (0.0, 0.0);
        }
        let mean = self.sum(0.0, false) / n as f64;
        (mean as f32, (self.sum(mean, true) / n as f64) as f32)
    }
}

impl Channel<'_> {
    /// The sum of x - center or of its square.
    #[inline(always)]
    fn sum(&self, center: f64, squared: bool) -> f64 {
        let mut total = 0.0;
        for b in 0..self.batch {
            let row = &self.src[(b * self.channels + self.c) * self.inner..][..self.inner];
            // Eight chains, so that the compiler can use vectors.
            let mut acc = [0.0f64; 8];
            for chunk in row.chunks(8) {
                for (acc, x) in acc.iter_mut().zip(chunk) {
                    let x = f64::from(*x) - center;
                    *acc += if squared { x * x } else { x };
                }
            }
            total += acc.iter().sum::<f64>();
        }
        total
    }
}

/// Local response normalisation over `(batch, channels, inner)`:
/// `x / (bias + alpha / size * (sum of squares over size neighbouring channels))^beta` (ONNX LRN).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalResponse {
    /// Channels that count, the own one in the middle.
    pub size: usize,
    /// Factor of the mean square.
    pub alpha: f32,
    /// Exponent.
    pub beta: f32,
    /// What is added before.
    pub bias: f32,
}

/// See [`LocalResponse`].
///
/// # Panics
/// If the lengths do not fit together.
pub fn local_response(
    par: &dyn Parallel,
    form: LocalResponse,
    (batch, channels, inner): (usize, usize, usize),
    src: &[f32],
    dst: &mut [f32],
) {
    let n = batch * channels * inner;
    assert!(src.len() == n && dst.len() == n, "length of source or destination");
    let dst = Output::new(dst);
    for_ranges(par, batch * channels, inner * form.size, &|from, to| {
        for row in from..to {
            let (image, c) = (row / channels, row % channels);
            let first = c.saturating_sub((form.size - 1) / 2);
            let end = (c + form.size / 2 + 1).min(channels);
            // SAFETY: ranges of different tasks are disjoint.
            let dst = unsafe { dst.part(row * inner, inner) };
            for (i, y) in dst.iter_mut().enumerate() {
                let mut sum = 0.0;
                for other in first..end {
                    let x = src[(image * channels + other) * inner + i];
                    sum += x * x;
                }
                let base = form.bias + form.alpha / form.size as f32 * sum;
                *y = src[row * inner + i] / libm::powf(base, form.beta);
            }
        }
    });
}

/// Divides what lies along the middle of `(outer, axis, inner)` by its norm: the sum of magnitudes, or the root
/// of the sum of squares if `euclidean`. Zeros stay.
///
/// # Panics
/// If the lengths do not fit together.
pub fn lp_normalize(
    (outer, axis, inner): (usize, usize, usize),
    euclidean: bool,
    src: &[f32],
    dst: &mut [f32],
) {
    let n = outer * axis * inner;
    assert!(src.len() == n && dst.len() == n, "length of source or destination");
    for o in 0..outer {
        for i in 0..inner {
            let at = |a: usize| (o * axis + a) * inner + i;
            let terms = (0..axis).map(|a| f64::from(src[at(a)]));
            let norm = match euclidean {
                true => libm::sqrt(terms.map(|x| x * x).sum()),
                false => terms.map(libm::fabs).sum(),
            };
            for a in 0..axis {
                dst[at(a)] = if norm == 0.0 { 0.0 } else { (f64::from(src[at(a)]) / norm) as f32 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn statistics_of_channels() {
        let x = [1.0, 3.0, 10.0, 10.0, 5.0, 7.0, 10.0, 14.0];
        let (mut mean, mut var) = ([0.0; 2], [0.0; 2]);
        channel_stats(Isa::detect(), &Serial, (2, 2, 2), &x, &mut mean, &mut var);
        assert_eq!((mean, var), ([4.0, 11.0], [5.0, 3.0]));
    }

    #[test]
    fn neighbours_are_cut_at_the_edges() {
        let form = LocalResponse { size: 2, alpha: 2.0, beta: 1.0, bias: 1.0 };
        let mut y = [0.0; 3];
        local_response(&Serial, form, (1, 3, 1), &[1.0, 2.0, 3.0], &mut y);
        assert_eq!(y, [1.0 / 6.0, 2.0 / 14.0, 3.0 / 10.0]);
    }

    #[test]
    fn norms_along_an_axis() {
        let mut y = [0.0; 4];
        lp_normalize((1, 2, 2), true, &[3.0, 0.0, 4.0, 0.0], &mut y);
        assert_eq!(y, [0.6, 0.0, 0.8, 0.0]);
        lp_normalize((2, 2, 1), false, &[3.0, -1.0, 0.0, 2.0], &mut y);
        assert_eq!(y, [0.75, -0.25, 0.0, 1.0]);
    }
}
