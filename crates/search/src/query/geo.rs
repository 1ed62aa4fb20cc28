//! Places within a distance of another, or within a box
//! (Vespa, `vespajlib/src/main/java/com/yahoo/geo/DistanceParser.java`, `searchlib/src/vespa/searchlib/common/geo_location.cpp`).

use stead_store::Position;

/// Millionths in a degree.
const MICRO: f64 = 1e6;

/// The metres of a degree on the meridian, by the polar radius.
const DEGREE: f64 = std::f64::consts::PI * 6_356_752.0 / 180.0;

/// Units of distances, longer names first, with their metres.
const UNITS: [(&str, f64); 6] = [
    ("miles", 1609.344),
    ("deg", DEGREE),
    ("km", 1000.0),
    ("mi", 1609.344),
    ("d", DEGREE),
    ("m", 1.0),
];

/// A circle on Earth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    center: Position,
    /// In millionths of a degree; nothing for all of Earth.
    radius: Option<u32>,
    /// How much shorter a degree to the east is than one to the north, times 2^32.
    aspect: u64,
}

impl Circle {
    /// A circle. A negative radius is without end, as in Vespa.
    #[must_use]
    pub fn new(center: Position, radius_degrees: f64) -> Circle {
        let radius = (radius_degrees >= 0.0).then_some((radius_degrees * MICRO) as u32);
        let latitude = f64::from(center.latitude) / MICRO;
        let aspect = (latitude.to_radians().cos() * 4_294_967_296.0) as u64;
        Circle { center, radius, aspect }
    }

    /// Its middle.
    #[must_use]
    pub fn center(&self) -> Position {
        self.center
    }

    /// Whether a place is in it.
    #[must_use]
    pub fn has(&self, place: Position) -> bool {
        let Some(radius) = self.radius else { return true };
        let east = u64::from(place.longitude.abs_diff(self.center.longitude));
        // Of 32 bits each, so that the product fits.
        let east = (u128::from(east) * u128::from(self.aspect)) >> 32;
        let north = u128::from(place.latitude.abs_diff(self.center.latitude));
        east * east + north * north <= u128::from(radius) * u128::from(radius)
    }
}

/// A box on Earth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Box2 {
    /// The corner to the south and west.
    pub from: Position,
    /// The corner to the north and east.
    pub to: Position,
}

impl Box2 {
    /// Whether a place is in it.
    #[must_use]
    pub fn has(&self, place: Position) -> bool {
        (self.from.latitude..=self.to.latitude).contains(&place.latitude)
            && (self.from.longitude..=self.to.longitude).contains(&place.longitude)
    }
}

/// A distance such as `5 km` or `0.5deg`, in degrees.
pub(super) fn distance(text: &str) -> Option<f64> {
    let (number, metres) =
        UNITS.iter().find_map(|(unit, metres)| Some((text.trim().strip_suffix(unit)?, metres)))?;
    let number: f64 = number.trim().parse().ok()?;
    number.is_finite().then_some(number * metres / DEGREE)
}

/// Degrees such as `63.4`, `N63.4` or `W10.4`, and whether they are to the north, where a letter says it.
pub(super) fn degrees(text: &str) -> Option<(f64, Option<bool>)> {
    let text = text.trim();
    let (sign, is_north) = match text.as_bytes().first()? {
        b'N' | b'n' => (1.0, Some(true)),
        b'S' | b's' => (-1.0, Some(true)),
        b'E' | b'e' => (1.0, Some(false)),
        b'W' | b'w' => (-1.0, Some(false)),
        _ => (1.0, None),
    };
    let number = if is_north.is_some() { text.get(1..)? } else { text };
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((sign * number, is_north))
}

#[cfg(test)]
mod tests {
    use stead_store::Position;

    use super::{Box2, Circle, degrees, distance};

    #[test]
    fn circles_and_boxes_have_places() {
        let at = |latitude, longitude| Position::from_degrees(latitude, longitude).unwrap();
        // A degree to the east is half as long at 60 degrees to the north.
        let circle = Circle::new(at(60.0, 10.0), 1.0);
        for (latitude, longitude, expected) in [
            (60.0, 10.0, true),
            (60.99, 10.0, true),
            (61.01, 10.0, false),
            (60.0, 11.99, true),
            (60.0, 12.01, false),
            (-60.0, 10.0, false),
        ] {
            let place = at(latitude, longitude);
            assert_eq!(circle.has(place), expected, "{latitude} {longitude}");
            assert!(Circle::new(at(0.0, 0.0), -1.0).has(place));
        }
        let of = Box2 { from: at(-1.0, -2.0), to: at(1.0, 2.0) };
        assert!(of.has(at(1.0, -2.0)) && !of.has(at(1.1, 0.0)) && !of.has(at(0.0, 2.1)));
    }

    #[test]
    fn distances_and_degrees_are_read() {
        for (text, expected) in [
            ("0.5 deg", 0.5),
            ("-77 d", -77.0),
            ("100 miles", 1.450_561),
            ("5km", 0.045_066),
            ("10 m", 0.000_090),
        ] {
            assert!((distance(text).unwrap() - expected).abs() < 1e-5, "{text}");
        }
        for text in ["", "5", "km", "5 ly", "inf km"] {
            assert_eq!(distance(text), None, "{text}");
        }
        assert_eq!(degrees("S12.5"), Some((-12.5, Some(true))));
        assert_eq!(degrees("-12.5"), Some((-12.5, None)));
        assert_eq!(degrees("e"), None);
    }
}
