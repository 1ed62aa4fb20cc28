//! `distanceToPath(position)`: how far documents are from a path of the query, in millionths of a degree on a plane
//! (Vespa, `searchlib/src/vespa/searchlib/features/distancetopathfeature.cpp`).

use super::place::{is_position, places};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;

/// To the east and to the north.
type Point = [f64; 2];

/// Where a path is nearest to a place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Nearest {
    distance: f64,
    /// The part of the path before it.
    traveled: f64,
    /// The product of the piece of the path there and the way from the place to it: its sign is the side.
    product: f64,
}

/// What is known where there is no path or no place.
const NOWHERE: Nearest = Nearest { distance: 6_400_000_000.0, traveled: 1.0, product: 0.0 };

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0).to_owned();
    if !is_position(call, &name) {
        return Ok(usual);
    }
    let output: fn(Nearest) -> f64 = match call.name.output {
        "traveled" => |nearest| nearest.traveled,
        "product" => |nearest| nearest.product,
        _ => |nearest| nearest.distance,
    };
    Ok(Feature::documents(move |cx| numbers(cx, &name, output)).noted(usual))
}

fn numbers(
    cx: &DocumentContext<'_>,
    name: &str,
    output: fn(Nearest) -> f64,
) -> Result<Computed, String> {
    let written = cx.query.query.text(&format!("distanceToPath({name}).path"));
    let path = written.map_or(Ok(Vec::new()), |text| read(&text))?;
    let Ok(column) = cx.column(name) else { return Ok(cx.numbers(|_| output(NOWHERE))) };
    cx.numbers_of(column, |found| {
        let places = places(found).into_iter();
        let places = places.map(|place| [f64::from(place.longitude), f64::from(place.latitude)]);
        output(nearest(&path, &places.collect::<Vec<Point>>()))
    })
}

/// A path such as `(x1,y1,x2,y2)`.
fn read(text: &str) -> Result<Vec<Point>, String> {
    let wrong = || format!("expected a path such as (x1,y1,x2,y2), found {text:.40}");
    let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let numbers = inner.ok_or_else(wrong)?.split(',').map(|number| number.trim().parse());
    let numbers = numbers.collect::<Result<Vec<f64>, _>>().map_err(|_| wrong())?;
    let (points, rest) = numbers.as_chunks::<2>();
    if rest.is_empty() { Ok(points.to_vec()) } else { Err(wrong()) }
}

/// Where a path of at least two points is nearest to one of some places.
fn nearest(path: &[Point], places: &[Point]) -> Nearest {
    let mut best: Option<(f64, Nearest)> = None;
    let mut trip = 0.0;
    for (from, to) in path.iter().zip(path.iter().skip(1)) {
        let along = [to[0] - from[0], to[1] - from[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let length = square.sqrt();
        for place in places {
            let inner = (place[0] - from[0]) * along[0] + (place[1] - from[1]) * along[1];
            let part = if length < 1e-6 { 0.0 } else { (inner / square).clamp(0.0, 1.0) };
            let [east, north] = [0, 1].map(|axis| from[axis] + part * along[axis] - place[axis]);
            let squared = east * east + north * north;
            if best.is_none_or(|(least, _)| squared < least) {
                let nearest = Nearest {
                    distance: squared.sqrt(),
                    traveled: trip + part * length,
                    product: along[0] * north - along[1] * east,
                };
                best = Some((squared, nearest));
            }
        }
        trip += length;
    }
    match best {
        Some((_, nearest)) if trip > 0.0 => {
            Nearest { traveled: nearest.traveled / trip, ..nearest }
        }
        Some((_, nearest)) => Nearest { traveled: 0.0, ..nearest },
        None => NOWHERE,
    }
}

#[cfg(test)]
mod tests {
    use super::{NOWHERE, Nearest, nearest, read};

    #[test]
    fn the_nearest_place_of_a_path_is_known() {
        for (label, path, places, expected) in [
            ("no path", "()", vec![[1.0, 2.0]], None),
            ("one point", "(1,2)", vec![[1.0, 2.0]], None),
            ("no place", "(0,0,1,0)", vec![], None),
            ("beside", "(0,0,10,0)", vec![[4.0, 3.0]], Some((3.0, 0.4, -30.0))),
            ("the other side", "(0,0,10,0)", vec![[4.0, -3.0]], Some((3.0, 0.4, 30.0))),
            ("before", "(0,0,10,0)", vec![[-3.0, 4.0]], Some((5.0, 0.0, -40.0))),
            ("behind", "(0,0,10,0)", vec![[13.0, 4.0]], Some((5.0, 1.0, -40.0))),
            ("around a corner", "(0,0,10,0,10,30)", vec![[12.0, 20.0]], Some((2.0, 0.75, 60.0))),
            (
                "the nearer place",
                "(0,0,10,0)",
                vec![[4.0, 3.0], [5.0, 1.0]],
                Some((1.0, 0.5, -10.0)),
            ),
            ("a point", "(1,1,1,1)", vec![[4.0, 5.0]], Some((5.0, 0.0, 0.0))),
        ] {
            let path = if path == "()" { Vec::new() } else { read(path).unwrap() };
            let expected = expected.map_or(NOWHERE, |(distance, traveled, product)| Nearest {
                distance,
                traveled,
                product,
            });
            assert_eq!(nearest(&path, &places), expected, "{label}");
        }
        for text in ["1,2", "(1,2,3)", "(a,b)"] {
            assert!(read(text).unwrap_err().contains("expected a path"), "{text}");
        }
    }
}
