//! `distance` and `closeness` of positions to those of a query, over the surface of Earth
//! (Vespa, `searchlib/src/vespa/searchlib/features/distancefeature.cpp` and `closenessfeature.cpp`).

use stead_store::{Column, DataType, Elements, NumberList, Position};

use super::{Call, DocumentContext, Feature, default, time};
use crate::columns::Computed;
use crate::query::Test;

/// The mean radius of Earth in kilometres (IUGG), as Vespa has it.
const RADIUS: f64 = 6371.0088;

/// Millionths in a degree.
const MICRO: f64 = 1e6;

/// From this distance on nothing is close: about 1000 km (Vespa, documentation, `reference/ranking/rank-feature-configuration.html`).
const MOST: f64 = 9_013_305.0;

/// What bends the logarithm of `closeness.logscale` where nothing is said: about 5 km.
const SCALE: f64 = 5.0 * 9_013.305;

/// What is known where a document or the query has no place.
const NOWHERE: Nearest = Nearest {
    micro: 6_400_000_000.0,
    km: 40_000.0,
    index: -1.0,
    latitude: 90.0,
    longitude: -180.0,
};

/// The place of a document that is nearest to one of the query.
#[derive(Debug, Clone, Copy)]
struct Nearest {
    /// How far it is, in millionths of a degree of a great circle.
    micro: f64,
    km: f64,
    /// Its number among those of the document.
    index: f64,
    latitude: f64,
    longitude: f64,
}

/// Whether a name is that of an attribute of positions.
pub(super) fn is_position(call: &Call<'_>, name: &str) -> bool {
    let kind = call.documents.attributes().iter().find(|of| of.name == name).map(|of| &of.kind);
    match kind {
        Some(DataType::Array(of)) => **of == DataType::Position,
        kind => kind == Some(&DataType::Position),
    }
}

pub(super) fn build(call: &Call<'_>, name: &str) -> Result<Feature, String> {
    let name = name.to_owned();
    let most = call.property("maxDistance").unwrap_or(MOST).max(1.0);
    let half = call.property("halfResponse").map(|half| half.max(1.0).min(most / 2.0 - 1.0));
    let scale = half.map_or(SCALE, |half| time::scale(half, most));
    let is_closeness = call.name.name == "closeness";
    let output = call.name.output.to_owned();
    let feature = Feature::documents(move |cx| {
        let of = |nearest: Nearest| match output.as_str() {
            "logscale" => time::logarithmic(nearest.micro, most, scale),
            "km" => nearest.km,
            "index" => nearest.index,
            "latitude" => nearest.latitude,
            "longitude" => nearest.longitude,
            _ if is_closeness => (1.0 - nearest.micro / most).max(0.0),
            _ => nearest.micro,
        };
        distances(cx, &name, of)
    });
    Ok(feature.noted(default::build(call)?))
}

/// A number of the nearest place of each document.
fn distances(
    cx: &DocumentContext<'_>,
    name: &str,
    of: impl Fn(Nearest) -> f64,
) -> Result<Computed, String> {
    let centers = centers(cx, name);
    let column = match cx.column(name) {
        Ok(column) if !centers.is_empty() => column,
        _ => return Ok(cx.numbers(|_| of(NOWHERE))),
    };
    cx.numbers_of(column, |found| {
        let places = places(found);
        let mut nearest = NOWHERE;
        let mut least = f64::MAX;
        for center in &centers {
            for (index, place) in places.iter().enumerate() {
                let km = kilometres(*center, *place);
                if km < least {
                    least = km;
                    nearest = Nearest {
                        micro: km * MICRO * 180.0 / (std::f64::consts::PI * RADIUS),
                        km,
                        index: index as f64,
                        latitude: f64::from(place.latitude) / MICRO,
                        longitude: f64::from(place.longitude) / MICRO,
                    };
                }
            }
        }
        of(nearest)
    })
}

/// The places of a document.
pub(crate) fn places(found: Option<(&Column, usize)>) -> Vec<Position> {
    let place = |list: &NumberList, at: usize| list.integer(at).map(Position::from_curve);
    match found {
        Some((Column::Numbers(numbers), row)) => {
            numbers.integer(row).map(Position::from_curve).into_iter().collect()
        }
        Some((Column::Many(many), row)) => match many.elements() {
            Elements::Numbers(list) => many.places(row).filter_map(|at| place(list, at)).collect(),
            Elements::Texts(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The places that a query asks for in a field; where it asks in none but others, those.
fn centers(cx: &DocumentContext<'_>, name: &str) -> Vec<Position> {
    let Some(matcher) = cx.query.matcher else { return Vec::new() };
    let circles = matcher.tree().terms.iter().filter_map(|term| match &term.test {
        Test::Circle(circle) => Some((term.attribute == name, circle.center())),
        _ => None,
    });
    let (own, others): (Vec<_>, Vec<_>) = circles.partition(|(is_own, _)| *is_own);
    let chosen = if own.is_empty() { others } else { own };
    chosen.into_iter().map(|(_, center)| center).collect()
}

/// The length of the shortest way between two places (the haversine formula).
pub(crate) fn kilometres(a: Position, b: Position) -> f64 {
    let radians = |micro: i32| (f64::from(micro) / MICRO).to_radians();
    let haversine = |angle: f64| (angle / 2.0).sin().powi(2);
    let (north, other) = (radians(a.latitude), radians(b.latitude));
    let east = radians(a.longitude) - radians(b.longitude);
    let central = haversine(north - other) + north.cos() * other.cos() * haversine(east);
    2.0 * central.sqrt().min(1.0).asin() * RADIUS
}

#[cfg(test)]
mod tests {
    use stead_store::Position;

    use super::kilometres;

    #[test]
    fn ways_are_those_of_great_circles() {
        for (a, b, expected) in [
            ((0.0, 0.0), (0.0, 0.0), Some(0.0)),
            ((0.0, 0.0), (0.0, 180.0), Some(std::f64::consts::PI * 6371.0088)),
            ((90.0, 0.0), (0.0, 17.0), Some(std::f64::consts::FRAC_PI_2 * 6371.0088)),
            ((63.4, 10.4), (37.4, -122.0), None),
        ] {
            let place = |(north, east): (f64, f64)| Position::from_degrees(north, east).unwrap();
            let (from, to) = (place(a), place(b));
            // The law of cosines, which is exact for ways that are not short.
            let cosines = |a: (f64, f64), b: (f64, f64)| {
                let (n, m) = (a.0.to_radians(), b.0.to_radians());
                let east = (a.1 - b.1).to_radians();
                (n.sin() * m.sin() + n.cos() * m.cos() * east.cos()).clamp(-1.0, 1.0).acos()
                    * 6371.0088
            };
            let found = kilometres(from, to);
            assert!((found - cosines(a, b)).abs() < 1e-3, "{a:?} {b:?}: {found}");
            assert!(expected.is_none_or(|km| (found - km).abs() < 1e-6), "{a:?} {b:?}: {found}");
            assert_eq!(found, kilometres(to, from));
        }
    }
}
