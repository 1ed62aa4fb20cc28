//! Kernels of support vector machines.

use crate::Parallel;
use crate::chunks::{split_chunks, tasks};
use crate::scalar_math::Float;

/// A measure of how alike two vectors are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// `x . v`
    Linear,
    /// `(gamma x . v + coef0) ^ degree`
    Poly {
        /// The factor.
        gamma: f32,
        /// What is added.
        coef0: f32,
        /// The exponent.
        degree: f32,
    },
    /// `exp(-gamma |x - v|^2)`
    Rbf {
        /// The factor.
        gamma: f32,
    },
    /// `tanh(gamma x . v + coef0)`
    Sigmoid {
        /// The factor.
        gamma: f32,
        /// What is added.
        coef0: f32,
    },
}

/// Numbers that a row of values costs besides products, for the choice of the number of threads.
const CALL: usize = 16;

/// The value of the kernel for each row of `x`, `[rows, features]`, and each vector of `vectors`, `[count, features]`:
/// `out` is `[rows, count]`. Sums are of f64, so that a value is rounded once.
///
/// # Panics
/// If a slice is not as long as that.
pub fn kernel_values(
    par: &dyn Parallel,
    kernel: Kernel,
    features: usize,
    x: &[f32],
    vectors: &[f32],
    out: &mut [f32],
) {
    if features == 0 || vectors.is_empty() {
        return;
    }
    let (rows, count) = (x.len() / features, vectors.len() / features);
    assert_eq!(x.len(), rows * features, "whole rows");
    assert_eq!(vectors.len(), count * features, "whole vectors");
    assert_eq!(out.len(), rows * count, "a value for each row and vector");
    let work = out.len().saturating_mul(features + CALL);
    split_chunks(par, tasks(par, work, rows), rows, out, count, &|range, out| {
        for (row, out) in range.zip(out.chunks_exact_mut(count)) {
            let x = &x[row * features..][..features];
            for (vector, out) in vectors.chunks_exact(features).zip(out) {
                *out = value(kernel, x, vector);
            }
        }
    });
}

fn value(kernel: Kernel, x: &[f32], vector: &[f32]) -> f32 {
    let dot = || sum(x, vector, |x, v| x * v);
    match kernel {
        Kernel::Linear => dot(),
        Kernel::Poly { gamma, coef0, degree } => Float::pow(gamma * dot() + coef0, degree),
        Kernel::Rbf { gamma } => Float::exp(-gamma * sum(x, vector, |x, v| (x - v) * (x - v))),
        Kernel::Sigmoid { gamma, coef0 } => Float::tanh(gamma * dot() + coef0),
    }
}

fn sum(x: &[f32], vector: &[f32], f: impl Fn(f64, f64) -> f64) -> f32 {
    x.iter().zip(vector).map(|(x, v)| f(f64::from(*x), f64::from(*v))).sum::<f64>() as f32
}

/// Numbers that [`pair_probabilities`] works in.
pub const fn pair_room(classes: usize) -> usize {
    2 * classes * classes + classes
}

/// Rounds of [`pair_probabilities`] at most, as in LIBSVM.
const ROUNDS: usize = 100;

/// Probabilities of classes from those of pairs, by the second method of Wu, Lin and Weng, "Probability estimates for
/// multi-class classification by pairwise coupling" (JMLR 5, 2004), as LIBSVM has it, in f32 as ONNX Runtime has it.
///
/// `of` gives for a pair of classes, by its number in the order 01, 02 ... 12 ..., how probable the first is.
///
/// # Panics
/// If `room` is shorter than [`pair_room`] or `p` has another length than `classes`.
pub fn pair_probabilities(
    classes: usize,
    of: impl Fn(usize) -> f32,
    room: &mut [f32],
    p: &mut [f32],
) {
    assert_eq!(p.len(), classes, "a probability for each class");
    let (r, rest) = room[..pair_room(classes)].split_at_mut(classes * classes);
    let (q, qp) = rest.split_at_mut(classes * classes);
    let mut pair = 0;
    for i in 0..classes {
        for j in i + 1..classes {
            let first = of(pair);
            (r[i * classes + j], r[j * classes + i]) = (first, 1.0 - first);
            pair += 1;
        }
    }
    p.fill(1.0 / classes as f32);
    for i in 0..classes {
        let mut diagonal = 0.0;
        for j in (0..classes).filter(|&j| j != i) {
            let other = r[j * classes + i];
            diagonal += other * other;
            q[i * classes + j] = -other * r[i * classes + j];
        }
        q[i * classes + i] = diagonal;
    }
    let enough = 0.005 / classes as f32;
    for _ in 0..ROUNDS {
        let mut pqp = 0.0;
        for i in 0..classes {
            qp[i] = q[i * classes..][..classes].iter().zip(&*p).map(|(q, p)| q * p).sum();
            pqp += p[i] * qp[i];
        }
        if qp.iter().all(|x| (x - pqp).abs() < enough) {
            return;
        }
        for i in 0..classes {
            let diagonal = q[i * classes + i];
            let step = (pqp - qp[i]) / diagonal;
            p[i] += step;
            pqp = (pqp + step * (step * diagonal + 2.0 * qp[i])) / (1.0 + step) / (1.0 + step);
            for j in 0..classes {
                qp[j] = (qp[j] + step * q[i * classes + j]) / (1.0 + step);
                p[j] /= 1.0 + step;
            }
        }
    }
}
