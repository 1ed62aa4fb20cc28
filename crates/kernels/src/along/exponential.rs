//! Softmax in f64.

use super::Dims;
use crate::scalar_math::Float;
use crate::softmax::Softmax;

/// [`softmax`](crate::softmax::softmax) in f64, one number at a time.
///
/// # Panics
/// When the lengths do not fit.
pub fn softmax_f64(form: Softmax, (outer, axis, inner): Dims, src: &[f64], dst: &mut [f64]) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), src.len(), "length of the destination");
    for o in 0..outer {
        for j in 0..inner {
            let at = |i: usize| (o * axis + i) * inner + j;
            let largest = match form {
                Softmax::Unshifted => 0.0,
                _ => (0..axis).map(|i| src[at(i)]).fold(f64::NEG_INFINITY, f64::max),
            };
            let sum: f64 = (0..axis).map(|i| Float::exp(src[at(i)] - largest)).sum();
            for i in 0..axis {
                let x = src[at(i)] - largest;
                dst[at(i)] = match form {
                    Softmax::Normal | Softmax::Unshifted => Float::exp(x) / sum,
                    Softmax::Log => x - Float::ln(sum),
                };
            }
        }
    }
}
