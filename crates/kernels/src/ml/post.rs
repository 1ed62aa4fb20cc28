//! What happens to scores at the end: the `post_transform` of `ai.onnx.ml`.

use crate::scalar_math::Float;

/// A transformation of the scores of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// Nothing.
    None,
    /// `1 / (1 + exp(-x))` of each.
    Logistic,
    /// `exp(x_i) / sum exp(x_j)`.
    Softmax,
    /// The same over scores that are not 0; these stay 0.
    SoftmaxZero,
    /// The quantile of the normal distribution.
    Probit,
}

/// Scores nearer to 0 than this are 0 for [`Post::SoftmaxZero`], as for ONNX Runtime.
const NEAR_ZERO: f32 = 1e-7;

/// `1 / (1 + exp(-x))`, of the absolute value, so that nothing overflows.
pub fn logistic(x: f32) -> f32 {
    let of_absolute = 1.0 / (1.0 + Float::exp(-x.abs()));
    if x < 0.0 { 1.0 - of_absolute } else { of_absolute }
}

/// The quantile of the normal distribution by Winitzki's formula for the inverse error function with its constant
/// 0.147, which is right to about 2e-3, as ONNX Runtime has it; `p` in 0 to 1, NaN outside.
fn probit(p: f32) -> f32 {
    const A: f32 = 0.147;
    let x = 2.0 * p - 1.0;
    let log = Float::ln((1.0 - x) * (1.0 + x));
    let half = 2.0 / (core::f32::consts::PI * A) + 0.5 * log;
    let root = Float::sqrt(Float::sqrt(half * half - log / A) - half);
    core::f32::consts::SQRT_2 * if x < 0.0 { -root } else { root }
}

/// Transforms the scores of one row in place.
///
/// ```
/// use stead_kernels::ml::post::{Post, apply};
/// let mut scores = [0.0, 0.0];
/// apply(Post::Softmax, &mut scores);
/// assert_eq!(scores, [0.5, 0.5]);
/// ```
pub fn apply(post: Post, scores: &mut [f32]) {
    match post {
        Post::None => {}
        Post::Logistic => scores.iter_mut().for_each(|x| *x = logistic(*x)),
        Post::Probit => scores.iter_mut().for_each(|x| *x = probit(*x)),
        Post::Softmax => softmax(scores, |_| true),
        Post::SoftmaxZero => softmax(scores, |x| x.abs() > NEAR_ZERO),
    }
}

fn softmax(scores: &mut [f32], counts: impl Fn(f32) -> bool) {
    let greatest = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for x in scores.iter_mut() {
        if counts(*x) {
            *x = Float::exp(*x - greatest);
            sum += *x;
        } else {
            *x *= Float::exp(-greatest);
        }
    }
    scores.iter_mut().for_each(|x| *x /= sum);
}
