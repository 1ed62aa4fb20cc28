//! Distances between vectors (Vespa, documentation, `reference/schemas/schemas.html#distance-metric`).

/// How far two vectors are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The length of the difference
    Euclidean,
    /// The angle, 0 to pi
    Angular,
    /// The negated sum of the products
    DotProduct,
    /// 1 less the cosine, of vectors of the same length
    PrenormalizedAngular,
    /// Kilometres between two points in degrees to the north and to the east
    Geo,
    /// How many bits differ, of bytes, and how many cells, of others
    Hamming,
}

/// The radius of the Earth in kilometres, as Vespa has it.
const EARTH: f64 = 6371.0088;

impl Metric {
    /// The metric of `distance-metric`, `euclidean` where there is none.
    #[must_use]
    pub fn of_name(name: Option<&str>) -> Option<Metric> {
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

    /// The greater, the nearer: `closeness` and the raw score of a distance.
    #[must_use]
    pub fn closeness(self, distance: f64) -> f64 {
        if self == Metric::DotProduct { -distance } else { 1.0 / (1.0 + distance) }
    }
}

/// The haversine of the angle between two points in degrees: it orders as the distance does.
pub(crate) fn haversine(from: [f64; 2], to: [f64; 2]) -> f64 {
    let [[north, east], [to_north, to_east]] = [from, to].map(|point| point.map(f64::to_radians));
    let (across, along) = (((to_north - north) / 2.0).sin(), ((to_east - east) / 2.0).sin());
    across * across + north.cos() * to_north.cos() * along * along
}

/// The kilometres of a [`haversine`].
pub(crate) fn kilometres(haversine: f64) -> f64 {
    2.0 * EARTH * haversine.clamp(0.0, 1.0).sqrt().asin()
}
