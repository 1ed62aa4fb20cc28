//! Determinants.

use crate::scalar_math::Float;

/// The determinant of each matrix of `n * n` in row-major order: by elimination with the largest pivot, in f64.
///
/// # Panics
/// When `scratch` is not one matrix long, or the results are not one for each matrix.
pub fn determinants<T: Float>(n: usize, matrices: &[T], scratch: &mut [f64], out: &mut [T]) {
    assert_eq!(scratch.len(), n * n, "room for one matrix");
    assert_eq!(matrices.len(), out.len() * n * n, "a result for each matrix");
    for (i, result) in out.iter_mut().enumerate() {
        let matrix = &matrices[i * n * n..][..n * n];
        scratch.iter_mut().zip(matrix).for_each(|(to, from)| *to = from.wide());
        *result = T::of(eliminate(n, scratch));
    }
}

fn eliminate(n: usize, x: &mut [f64]) -> f64 {
    let mut product = 1.0;
    for column in 0..n {
        let size = |row: &usize| x[row * n + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        if pivot != column {
            (column..n).for_each(|j| x.swap(pivot * n + j, column * n + j));
            product = -product;
        }
        let head = x[column * n + column];
        product *= head;
        if head == 0.0 {
            return product;
        }
        for row in column + 1..n {
            let factor = x[row * n + column] / head;
            for j in column + 1..n {
                x[row * n + j] -= factor * x[column * n + j];
            }
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_small_matrices() {
        let cases: [(&str, usize, &[f64], f64); 5] = [
            ("none", 0, &[], 1.0),
            ("one number", 1, &[-3.0], -3.0),
            ("two rows", 2, &[1.0, 2.0, 3.0, 4.0], -2.0),
            ("a pivot further down", 2, &[0.0, 2.0, 3.0, 4.0], -6.0),
            ("rows that depend on each other", 2, &[1.0, 2.0, 2.0, 4.0], 0.0),
        ];
        for (label, n, matrix, want) in cases {
            let (mut scratch, mut out) = ([0.0; 4], [f64::NAN]);
            determinants(n, matrix, &mut scratch[..n * n], &mut out);
            assert!((out[0] - want).abs() < 1e-12, "{label}: {}", out[0]);
        }
    }
}
