//! Causal convolution of each channel for itself, with what was before the first position carried from call to call.

use crate::gemm::{Activation, activate};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// The operands of [`causal`].
#[derive(Debug, Clone, Copy)]
pub struct Causal<'a> {
    /// Batch entries, channels, positions and taps.
    pub sizes: [usize; 4],
    /// `[batches, channels, positions]`
    pub x: &'a [f32],
    /// `[channels, taps]`; the last tap is the position itself.
    pub weights: &'a [f32],
    /// A number for each channel.
    pub bias: Option<&'a [f32]>,
    /// The `taps - 1` positions before the first, `[batches, channels, taps - 1]`; zeros when there are none.
    pub past: Option<&'a [f32]>,
    /// Whether SiLU follows.
    pub silu: bool,
}

/// Writes the results `[batches, channels, positions]`, and into `present` the last `taps - 1` positions of what was
/// before and `x` together.
///
/// # Panics
/// When lengths do not fit, or there are no taps.
pub fn causal(
    isa: Isa,
    parallel: &dyn Parallel,
    job: &Causal<'_>,
    out: &mut [f32],
    present: &mut [f32],
) {
    let [batches, channels, positions, taps] = job.sizes;
    let (rows, before) = (batches * channels, taps - 1);
    assert_eq!(job.x.len(), rows * positions, "length of the input");
    assert_eq!(job.weights.len(), channels * taps, "length of the weights");
    assert!(job.bias.is_none_or(|b| b.len() == channels), "length of the bias");
    assert!(job.past.is_none_or(|p| p.len() == rows * before), "length of what was before");
    assert_eq!((out.len(), present.len()), (rows * positions, rows * before), "results");
    let (out, present) = (Output::new(out), Output::new(present));
    for_ranges(parallel, rows, positions.saturating_mul(taps), &|from, to| {
        // SAFETY: ranges of rows are disjoint, and so are their parts of both results.
        let (out, present) = unsafe {
            (
                out.part(from * positions, (to - from) * positions),
                present.part(from * before, (to - from) * before),
            )
        };
        dispatch(isa, Rows { job, rows: (from, to), out, present });
    });
}

/// Some rows of all batch entries and channels, the first and the one behind the last.
struct Rows<'a, 'b> {
    job: &'a Causal<'b>,
    rows: (usize, usize),
    out: &'a mut [f32],
    present: &'a mut [f32],
}

impl SimdOp for Rows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Rows { job, rows: (first, end), out, present } = self;
        let [_, channels, positions, taps] = job.sizes;
        let before = taps - 1;
        for (i, row) in (first..end).enumerate() {
            let x = &job.x[row * positions..][..positions];
            let past = job.past.map(|p| &p[row * before..][..before]);
            let channel = row % channels;
            let weights = &job.weights[channel * taps..][..taps];
            let bias = job.bias.map_or(0.0, |b| b[channel]);
            let out = &mut out[i * positions..][..positions];
            filter(s, x, past, weights, bias, out);
            if job.silu {
                for part in out.chunks_mut(S::LANES) {
                    let y = activate(s, Activation::Silu, s.load_part(part));
                    s.store_part(part, y);
                }
            }
            let at = |i: usize| past.map_or(0.0, |p| p[i]);
            for (i, slot) in present[i * before..][..before].iter_mut().enumerate() {
                // Position `i + positions` of what was before and `x`.
                *slot = match (i + positions).checked_sub(before) {
                    Some(inside) => x[inside],
                    None => at(i + positions),
                };
            }
        }
    }
}

/// One row: the positions that see what was before one by one, the others a vector at a time.
#[inline(always)]
fn filter<S: Simd>(
    s: S,
    x: &[f32],
    past: Option<&[f32]>,
    weights: &[f32],
    bias: f32,
    out: &mut [f32],
) {
    let before = weights.len() - 1;
    let edge = before.min(out.len());
    let at = |i: usize| past.map_or(0.0, |p| p[i]);
    let (head, rest) = out.split_at_mut(edge);
    for (t, y) in head.iter_mut().enumerate() {
        let mut sum = bias;
        for (tap, w) in weights.iter().enumerate() {
            let position = t + tap;
            sum += w * if position < before { at(position) } else { x[position - before] };
        }
        *y = sum;
    }
    for (i, part) in rest.chunks_mut(S::LANES).enumerate() {
        let start = i * S::LANES;
        let mut sum = s.splat(bias);
        for (tap, w) in weights.iter().enumerate() {
            let seen = s.load_part(&x[start + tap..][..part.len()]);
            sum = s.fma(s.splat(*w), seen, sum);
        }
        s.store_part(part, sum);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Serial;
    use std::vec::Vec;

    fn numbers(n: usize, k: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * k) % 101) as f32 * 0.02 - 1.0).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        // Batch entries, channels, positions, taps; whether there are a bias, something before, and SiLU.
        let cases = [
            ("one of all", [1, 1, 1, 1], false, false, false),
            ("as many taps as positions", [1, 2, 4, 4], true, true, false),
            ("fewer positions than taps", [2, 3, 2, 5], false, true, true),
            ("nothing before", [2, 3, 2, 5], true, false, false),
            ("a step", [3, 5, 1, 4], true, true, true),
            ("vectors and a rest", [1, 2, 77, 3], true, true, true),
            ("one tap", [1, 2, 40, 1], true, true, false),
            ("no position", [2, 2, 0, 3], true, true, false),
        ];
        for isa in Isa::available() {
            for (label, sizes, bias, past, silu) in cases {
                let [batches, channels, positions, taps] = sizes;
                let before = taps - 1;
                let x = numbers(batches * channels * positions, 37);
                let weights = numbers(channels * taps, 11);
                let biases = numbers(channels, 13);
                let old = numbers(batches * channels * before, 53);
                let job = Causal {
                    sizes,
                    x: &x,
                    weights: &weights,
                    bias: bias.then_some(&biases),
                    past: past.then_some(&old),
                    silu,
                };
                let mut out = std::vec![f32::NAN; x.len()];
                let mut present = std::vec![f32::NAN; old.len()];
                causal(isa, &Serial, &job, &mut out, &mut present);
                for row in 0..batches * channels {
                    let mut line: Vec<f64> = old[row * before..][..before]
                        .iter()
                        .map(|&x| if past { x.into() } else { 0.0 })
                        .collect();
                    line.extend(x[row * positions..][..positions].iter().map(|&x| f64::from(x)));
                    let channel = row % channels;
                    for t in 0..positions {
                        let mut want = if bias { f64::from(biases[channel]) } else { 0.0 };
                        for tap in 0..taps {
                            want += line[t + tap] * f64::from(weights[channel * taps + tap]);
                        }
                        if silu {
                            want /= 1.0 + (-want).exp();
                        }
                        let got = f64::from(out[row * positions + t]);
                        assert!((got - want).abs() <= 2e-6, "{label}, {isa:?}: {got}, {want}");
                    }
                    let kept: Vec<f64> =
                        present[row * before..][..before].iter().map(|&x| x.into()).collect();
                    assert_eq!(kept, line[line.len() - before..], "{label}, {isa:?}");
                }
            }
        }
    }
}
