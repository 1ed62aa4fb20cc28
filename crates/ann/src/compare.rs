//! One vector, made ready to be compared with others.

use std::borrow::Cow;

use stead_kernels::Isa;
use stead_kernels::vector::{Measure, Wide, dots_and_squares, scattered};

use crate::cell::{Cell, Number};
use crate::metric::{Metric, haversine, kilometres};

/// Vectors that are compared at a time.
pub(crate) const BATCH: usize = 64;

/// A vector to compare others with.
///
/// What comparing gives is an *order*: the less, the nearer. It is the distance only where [`Comparer::distance`] says so.
#[derive(Debug, Clone)]
pub(crate) struct Comparer<'v, T: Cell> {
    metric: Metric,
    isa: Isa,
    wide: Cow<'v, [T::Wide]>,
    /// Of `Hamming`
    own: Cow<'v, [T]>,
    /// The square of its length, of metrics that need it
    square: f64,
    /// The square of the length that all vectors have once a dimension is added to them, if it is added to this one too
    level: Option<f64>,
}

impl<'v, T: Cell> Comparer<'v, T> {
    /// A vector of a query.
    pub(crate) fn of_query(metric: Metric, isa: Isa, query: &[f64]) -> Comparer<'v, T> {
        let own = match metric {
            Metric::Hamming => query.iter().map(|x| T::of(*x)).collect(),
            _ => Vec::new(),
        };
        let wide = query.iter().map(|x| T::Wide::of(*x)).collect::<Vec<T::Wide>>();
        let square = query.iter().map(|x| x * x).sum();
        Comparer { metric, isa, wide: wide.into(), own: own.into(), square, level: None }
    }

    /// A vector of a document, compared with others. Of `DotProduct`: where the longest vector has the length of which `level` is the
    /// square, all get a dimension more, which makes them as long as that one; so that the nearest by product is the
    /// nearest by distance (Y. Bachrach et al., *Speeding up the Xbox recommender system using a Euclidean transformation for
    /// inner-product spaces*, RecSys 2014).
    pub(crate) fn of_vector(
        metric: Metric,
        isa: Isa,
        vector: &'v [T],
        level: f64,
    ) -> Comparer<'v, T> {
        let wide = match T::as_wide(vector) {
            Some(wide) => Cow::Borrowed(wide),
            None => vector.iter().map(|x| x.wide()).collect(),
        };
        let is_squared = matches!(metric, Metric::Angular | Metric::DotProduct);
        let square = if is_squared { square::<T>(isa, vector) } else { 0.0 };
        let level = (metric == Metric::DotProduct).then_some(level);
        Comparer { metric, isa, wide, own: Cow::Borrowed(vector), square, level }
    }

    /// Writes the order of each of at most [`BATCH`] vectors of the same length. Infinity stands for what is no number.
    pub(crate) fn orders(&self, list: &[&[T]], out: &mut [f64]) {
        let count = list.len();
        let mut first = [T::Wide::ZERO; BATCH];
        let first = &mut first[..count];
        match (self.metric, self.level) {
            (Metric::Euclidean, _) => {
                scattered(self.isa, Measure::SquaredDistance, &self.wide, list, first);
                write(out, first, |x| x);
            }
            (Metric::DotProduct, None) | (Metric::PrenormalizedAngular, _) => {
                scattered(self.isa, Measure::Dot, &self.wide, list, first);
                write(out, first, |x| -x);
            }
            (Metric::Angular, _) | (Metric::DotProduct, Some(_)) => {
                let mut squares = [T::Wide::ZERO; BATCH];
                let squares = &mut squares[..count];
                dots_and_squares(self.isa, &self.wide, list, first, squares);
                for ((out, dot), square) in out.iter_mut().zip(first).zip(squares) {
                    let (dot, square): (f64, f64) = ((*dot).into(), (*square).into());
                    *out = number(match self.level {
                        Some(level) => {
                            let rest = |square: f64| (level - square).max(0.0);
                            -(dot + (rest(square) * rest(self.square)).sqrt())
                        }
                        None => {
                            let length = (square * self.square).sqrt();
                            1.0 - if length == 0.0 { 0.0 } else { dot / length }
                        }
                    });
                }
            }
            (Metric::Geo, _) => {
                for (out, row) in out.iter_mut().zip(list) {
                    *out = match (&*self.wide, row) {
                        ([x, y], [z, w]) => {
                            let to = [z.wide().into(), w.wide().into()];
                            number(haversine([(*x).into(), (*y).into()], to))
                        }
                        _ => f64::INFINITY,
                    };
                }
            }
            (Metric::Hamming, _) => {
                let mut differing = [0; BATCH];
                T::differing(self.isa, &self.own, list, &mut differing[..count]);
                out.iter_mut().zip(differing).for_each(|(out, x)| *out = f64::from(x));
            }
        }
    }

    /// The distance that an order stands for, where this is the vector of a query.
    pub(crate) fn distance(&self, order: f64) -> f64 {
        match self.metric {
            Metric::Euclidean => order.sqrt(),
            Metric::Angular => (1.0 - order).clamp(-1.0, 1.0).acos(),
            Metric::PrenormalizedAngular => {
                let square = if self.square > 0.0 { self.square } else { 1.0 };
                (1.0 + order / square).max(0.0)
            }
            Metric::Geo => kilometres(order),
            Metric::DotProduct | Metric::Hamming => order,
        }
    }

    /// How it is compared, and by which instructions.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Its numbers, as they are compared.
    pub(crate) fn wide(&self) -> &[T::Wide] {
        &self.wide
    }

    /// The square of its length, of metrics that need it, and of the length that all vectors get by a dimension more, if they do.
    pub(crate) fn squares(&self) -> (f64, Option<f64>) {
        (self.square, self.level)
    }

    /// How many numbers the vector has.
    pub(crate) fn len(&self) -> usize {
        self.wide.len()
    }
}

/// The square of the length of a vector.
pub(crate) fn square<T: Cell>(isa: Isa, vector: &[T]) -> f64 {
    let wide: Cow<'_, [T::Wide]> = match T::as_wide(vector) {
        Some(wide) => Cow::Borrowed(wide),
        None => vector.iter().map(|x| x.wide()).collect(),
    };
    let mut out = [T::Wide::ZERO];
    scattered(isa, Measure::Dot, &wide, &[vector], &mut out);
    number(out[0].into())
}

fn write<W: Number>(out: &mut [f64], from: &[W], order: impl Fn(f64) -> f64) {
    out.iter_mut().zip(from).for_each(|(out, x)| *out = number(order((*x).into())));
}

/// What is no number is nowhere near.
fn number(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use half::bf16;
    use stead_kernels::Isa;

    use super::Comparer;
    use crate::cell::Cell;
    use crate::metric::Metric;

    fn distance<T: Cell>(metric: Metric, x: &[f64], y: &[f64]) -> f64 {
        let comparer = Comparer::<T>::of_query(metric, Isa::detect(), x);
        let y: Vec<T> = y.iter().map(|y| T::of(*y)).collect();
        let mut out = [f64::NAN];
        comparer.orders(&[&y], &mut out);
        comparer.distance(out[0])
    }

    #[test]
    fn distances_are_those_of_their_definitions() {
        // A degree of a great circle is 6371.0088 km * pi / 180.
        let degree = 6371.0088 * std::f64::consts::PI / 180.0;
        for (name, query, vector, expected, closeness) in [
            (None, [0.0, 0.0], [3.0, 4.0], 5.0, 1.0 / 6.0),
            (Some("angular"), [1.0, 0.0], [0.0, 2.0], FRAC_PI_2, 1.0 / (1.0 + FRAC_PI_2)),
            (Some("angular"), [0.0, 0.0], [0.0, 2.0], FRAC_PI_2, 1.0 / (1.0 + FRAC_PI_2)),
            (Some("dotproduct"), [1.0, 2.0], [3.0, 4.0], -11.0, 11.0),
            (Some("prenormalized-angular"), [1.0, 0.0], [0.5, 0.8125], 0.5, 1.0 / 1.5),
            (Some("innerproduct"), [2.0, 0.0], [1.0, 5.0], 0.5, 1.0 / 1.5),
            (Some("geodegrees"), [10.0, 20.0], [11.0, 20.0], degree, 1.0 / (1.0 + degree)),
        ] {
            let metric = Metric::of_name(name).unwrap();
            for (found, error) in [
                (distance::<f64>(metric, &query, &vector), 1e-9),
                (distance::<f32>(metric, &query, &vector), 1e-3),
                (distance::<bf16>(metric, &query, &vector), 1e-3),
            ] {
                assert!((found - expected).abs() < error, "{name:?}: {found}");
                assert!((metric.closeness(found) - closeness).abs() < error, "{name:?}");
            }
        }
        assert_eq!(Metric::of_name(Some("taxi")), None);
    }

    #[test]
    fn bits_of_bytes_and_cells_of_others_differ() {
        let (x, y) = ([7.0, -1.0, 2.0], [0.0, -1.0, 3.0]);
        assert_eq!(distance::<i8>(Metric::Hamming, &x, &y), 4.0);
        assert_eq!(distance::<f32>(Metric::Hamming, &x, &y), 2.0);
        assert_eq!(distance::<f64>(Metric::Hamming, &x, &y), 2.0);
    }

    #[test]
    fn what_is_no_number_is_nowhere_near() {
        let nan = f64::NAN;
        for name in ["euclidean", "angular", "dotproduct", "prenormalized-angular", "geodegrees"] {
            let metric = Metric::of_name(Some(name)).unwrap();
            let comparer = Comparer::<f32>::of_query(metric, Isa::detect(), &[1.0, nan]);
            let mut out = [0.0];
            comparer.orders(&[&[1.0, 2.0]], &mut out);
            assert_eq!(out, [f64::INFINITY], "{name}");
        }
    }

    /// With the dimension more, the nearest by order is the nearest by distance of vectors of the same length.
    #[test]
    fn products_of_documents_are_of_vectors_of_the_same_length() {
        let (x, y) = ([3.0_f32, 4.0], [1.0_f32, 2.0]);
        let comparer = Comparer::<f32>::of_vector(Metric::DotProduct, Isa::detect(), &x, 25.0);
        let mut out = [0.0; 2];
        comparer.orders(&[&x, &y], &mut out);
        assert_eq!(out, [-25.0, -11.0]);
        let comparer = Comparer::<f32>::of_vector(Metric::DotProduct, Isa::detect(), &y, 25.0);
        comparer.orders(&[&y, &[0.0, 0.0]], &mut out);
        assert!((out[0] + 25.0).abs() < 1e-5 && (out[1] + 5.0 * 20.0_f64.sqrt()).abs() < 1e-5);
    }
}
