//! Distances between vectors (Vespa, documentation, `reference/schemas/schemas.html#distance-metric`).

/// How far two vectors are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    Euclidean,
    Angular,
    DotProduct,
    /// Of vectors of the same length.
    PrenormalizedAngular,
    /// Of degrees to the north and to the east, in kilometres.
    Geo,
    /// Of bits.
    Hamming,
}

/// The radius of the Earth in kilometres, as Vespa has it.
const EARTH: f64 = 6371.0088;

impl Metric {
    /// The metric of `distance-metric`.
    pub(crate) fn of_name(name: Option<&str>) -> Option<Metric> {
        Some(match name {
            None | Some("euclidean") => Metric::Euclidean,
            Some("angular") => Metric::Angular,
            Some("dotproduct") => Metric::DotProduct,
            Some("prenormalized-angular" | "innerproduct") => Metric::PrenormalizedAngular,
            Some("geodegrees") => Metric::Geo,
            Some("hamming") => Metric::Hamming,
            Some(_) => return None,
        })
    }

    /// How far two vectors are from each other.
    pub(crate) fn distance(self, query: &[f64], vector: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        match self {
            Metric::Euclidean => {
                query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
            }
            Metric::Angular => {
                let length = (dot(query, query) * dot(vector, vector)).sqrt();
                let cosine = if length > 0.0 { dot(query, vector) / length } else { 0.0 };
                cosine.clamp(-1.0, 1.0).acos()
            }
            Metric::DotProduct => -dot(query, vector),
            Metric::PrenormalizedAngular => {
                let square = dot(query, query);
                let square = if square > 0.0 { square } else { 1.0 };
                (1.0 - dot(query, vector) / square).max(0.0)
            }
            Metric::Geo => match (query, vector) {
                ([north, east], [to_north, to_east]) => {
                    let [a, b, c, d] = [north, east, to_north, to_east].map(|x| x.to_radians());
                    let (across, along) = (((c - a) / 2.0).sin(), ((d - b) / 2.0).sin());
                    let half = across * across + a.cos() * c.cos() * along * along;
                    2.0 * EARTH * half.clamp(0.0, 1.0).sqrt().asin()
                }
                _ => f64::MAX,
            },
            Metric::Hamming => {
                let bits = |(a, b): (&f64, &f64)| ((*a as i8) ^ (*b as i8)).count_ones();
                f64::from(query.iter().zip(vector).map(bits).sum::<u32>())
            }
        }
    }

    /// The distance from the sum of products or, of `Euclidean`, of squares of differences.
    pub(crate) fn of_measure(self, query: &[f64], measure: f64) -> f64 {
        match self {
            Metric::Euclidean => measure.sqrt(),
            Metric::PrenormalizedAngular => {
                let square: f64 = query.iter().map(|x| x * x).sum();
                (1.0 - measure / if square > 0.0 { square } else { 1.0 }).max(0.0)
            }
            _ => -measure,
        }
    }

    /// The greater, the nearer.
    pub(crate) fn closeness(self, distance: f64) -> f64 {
        if self == Metric::DotProduct { -distance } else { 1.0 / (1.0 + distance) }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::Metric;

    #[test]
    fn distances_are_those_of_their_definitions() {
        // A degree of a great circle is 6371.0088 km * pi / 180.
        let degree = 6371.0088 * std::f64::consts::PI / 180.0;
        for (name, query, vector, distance, closeness) in [
            (None, [0.0, 0.0], [3.0, 4.0], 5.0, 1.0 / 6.0),
            (Some("angular"), [1.0, 0.0], [0.0, 2.0], FRAC_PI_2, 1.0 / (1.0 + FRAC_PI_2)),
            (Some("dotproduct"), [1.0, 2.0], [3.0, 4.0], -11.0, 11.0),
            (Some("prenormalized-angular"), [1.0, 0.0], [0.6, 0.8], 0.4, 1.0 / 1.4),
            (Some("geodegrees"), [10.0, 20.0], [11.0, 20.0], degree, 1.0 / (1.0 + degree)),
            (Some("hamming"), [7.0, -1.0], [0.0, -1.0], 3.0, 0.25),
        ] {
            let metric = Metric::of_name(name).unwrap();
            let found = metric.distance(&query, &vector);
            assert!((found - distance).abs() < 1e-9, "{name:?}: {found}");
            assert!((metric.closeness(found) - closeness).abs() < 1e-9, "{name:?}");
        }
        assert_eq!(Metric::of_name(Some("taxi")), None);
    }
}
