//! How far all vectors of a list are, without a graph and in f64: what features of rankings and exact searches of columns compute.

use stead_kernels::Isa;
use stead_kernels::vector::{Measure, Widen, dots_and_squares, rows};

use crate::cell::Cell;
use crate::compare::BATCH;
use crate::metric::{Metric, haversine, kilometres};

/// Writes how far each of `out.len()` vectors, which lie behind each other, is from that of a query; NaN where that is no number, and
/// where vectors have no numbers at all.
///
/// # Panics
/// If the lengths do not fit.
pub fn distances<T: Cell + Widen<f64>>(
    metric: Metric,
    query: &[f64],
    vectors: &[T],
    out: &mut [f64],
) {
    let (isa, size) = (Isa::detect(), query.len());
    assert_eq!(vectors.len(), size * out.len(), "the numbers of the vectors");
    if size == 0 {
        return out.fill(f64::NAN);
    }
    let square: f64 = query.iter().map(|x| x * x).sum();
    match metric {
        Metric::Euclidean => {
            rows(isa, Measure::SquaredDistance, query, vectors, out);
            out.iter_mut().for_each(|x| *x = x.sqrt());
        }
        Metric::DotProduct => {
            rows(isa, Measure::Dot, query, vectors, out);
            out.iter_mut().for_each(|x| *x = -*x);
        }
        Metric::PrenormalizedAngular => {
            rows(isa, Measure::Dot, query, vectors, out);
            let square = if square > 0.0 { square } else { 1.0 };
            for x in out {
                let distance = 1.0 - *x / square;
                // Not `max`, which makes 0 of what is no number.
                *x = if distance < 0.0 { 0.0 } else { distance };
            }
        }
        Metric::Angular => in_batches(vectors, size, out, |list, out| {
            let mut squares = [0.0; BATCH];
            let squares = &mut squares[..list.len()];
            dots_and_squares(isa, query, list, out, squares);
            for (x, of_vector) in out.iter_mut().zip(squares) {
                let length = (square * *of_vector).sqrt();
                let cosine = if length == 0.0 { 0.0 } else { *x / length };
                *x = cosine.clamp(-1.0, 1.0).acos();
            }
        }),
        Metric::Geo => {
            for (x, vector) in out.iter_mut().zip(vectors.chunks_exact(size)) {
                *x = match (query, vector) {
                    ([north, east], [to_north, to_east]) => {
                        let to = [Widen::<f64>::wide(*to_north), Widen::<f64>::wide(*to_east)];
                        kilometres(haversine([*north, *east], to))
                    }
                    _ => f64::MAX,
                };
            }
        }
        Metric::Hamming => {
            let query: Vec<T> = query.iter().map(|x| T::of(*x)).collect();
            in_batches(vectors, size, out, |list, out| {
                let mut differing = [0; BATCH];
                T::differing(isa, &query, list, &mut differing[..list.len()]);
                out.iter_mut().zip(differing).for_each(|(x, count)| *x = f64::from(count));
            });
        }
    }
}

/// Hands on at most [`BATCH`] vectors at a time, with where their distances are written.
fn in_batches<T>(
    vectors: &[T],
    size: usize,
    out: &mut [f64],
    mut compare: impl FnMut(&[&[T]], &mut [f64]),
) {
    let mut list: [&[T]; BATCH] = [&[]; BATCH];
    for (vectors, out) in vectors.chunks(BATCH * size).zip(out.chunks_mut(BATCH)) {
        list.iter_mut().zip(vectors.chunks_exact(size)).for_each(|(row, vector)| *row = vector);
        compare(&list[..out.len()], out);
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::distances;
    use crate::compare::BATCH;
    use crate::metric::Metric;

    fn all(name: &str, query: &[f64], vectors: &[f64]) -> Vec<f64> {
        let mut out = vec![-7.0; vectors.len() / query.len().max(1)];
        distances(Metric::of_name(Some(name)).unwrap(), query, vectors, &mut out);
        out
    }

    #[test]
    fn distances_are_those_of_their_definitions() {
        // A degree of a great circle is 6371.0088 km * pi / 180.
        let degree = 6371.0088 * std::f64::consts::PI / 180.0;
        for (name, query, vector, expected) in [
            ("euclidean", [0.0, 0.0], [3.0, 4.0], 5.0),
            ("angular", [1.0, 0.0], [0.0, 2.0], FRAC_PI_2),
            ("angular", [0.0, 0.0], [0.0, 2.0], FRAC_PI_2),
            ("angular", [1.0, 1.0], [-2.0, -2.0], 2.0 * FRAC_PI_2),
            ("dotproduct", [1.0, 2.0], [3.0, 4.0], -11.0),
            ("prenormalized-angular", [1.0, 0.0], [0.6, 0.8], 0.4),
            ("innerproduct", [2.0, 0.0], [3.0, 5.0], 0.0),
            ("geodegrees", [10.0, 20.0], [11.0, 20.0], degree),
            ("hamming", [7.0, -1.0], [0.0, -1.0], 1.0),
        ] {
            // More than are compared at a time, in a list of others.
            let (count, others) = (2 * BATCH + 3, [0.25, -8.0]);
            for at in [0, BATCH - 1, BATCH, count - 1] {
                let list = |i| if i == at { vector } else { others };
                let found = all(name, &query, &(0..count).flat_map(list).collect::<Vec<_>>());
                // The cosine of opposite vectors is -1 but for its rounding, of which the arc has the root.
                assert!((found[at] - expected).abs() < 1e-7, "{name} at {at}: {}", found[at]);
                let other = all(name, &query, &others)[0];
                let rest = found.iter().enumerate().filter(|(i, _)| *i != at);
                rest.for_each(|(i, x)| assert!((x - other).abs() < 1e-12, "{name} {i}: {x}"));
            }
        }
    }

    #[test]
    fn bits_of_bytes_and_cells_of_others_differ() {
        let mut out = [f64::NAN; 2];
        distances(Metric::Hamming, &[7.0, -1.0], &[0_i8, -1, 7, 0], &mut out);
        assert_eq!(out, [3.0, 8.0]);
        distances(Metric::Hamming, &[7.0, 0.1], &[0_f32, 0.1, 7.0, 0.1], &mut out);
        assert_eq!(out, [1.0, 0.0]);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        for name in ["euclidean", "angular", "dotproduct", "prenormalized-angular", "geodegrees"] {
            let found = all(name, &[1.0, 2.0], &[f64::NAN, 2.0, 1.0, 2.0]);
            assert!(found[0].is_nan() && !found[1].is_nan(), "{name}: {found:?}");
        }
        let mut out = [0.0; 2];
        distances::<f32>(Metric::Angular, &[], &[], &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
    }
}
