//! Places on Earth.

/// A place in millionths of a degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// To the north.
    pub latitude: i32,
    /// To the east.
    pub longitude: i32,
}

/// Millionths in a degree.
const MICRO: f64 = 1e6;

impl Position {
    /// A place from degrees; nothing if there is no such place.
    #[must_use]
    pub fn from_degrees(latitude: f64, longitude: f64) -> Option<Position> {
        let is_place = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let micro = |degrees: f64| (degrees * MICRO).round() as i32;
        is_place.then(|| Position { latitude: micro(latitude), longitude: micro(longitude) })
    }

    /// A place as a text: `N37.416;W122.025`, in any order.
    #[must_use]
    pub fn parse(text: &str) -> Option<Position> {
        let (mut latitude, mut longitude) = (None, None);
        for part in text.split(';') {
            let mut characters = part.trim().chars();
            let direction = characters.next()?;
            let degrees: f64 = characters.as_str().parse().ok()?;
            let (of, sign) = match direction {
                'N' | 'n' => (&mut latitude, 1.0),
                'S' | 's' => (&mut latitude, -1.0),
                'E' | 'e' => (&mut longitude, 1.0),
                'W' | 'w' => (&mut longitude, -1.0),
                _ => return None,
            };
            if of.replace(sign * degrees).is_some() {
                return None;
            }
        }
        Position::from_degrees(latitude?, longitude?)
    }

    /// The place on a curve that passes near places one after the other: the bits of longitude and latitude in turn, the
    /// lowest that of the longitude (Vespa, `vespalib/src/vespa/vespalib/geo/zcurve.h`).
    #[must_use]
    pub fn curve(self) -> i64 {
        let spread = |number: i32| {
            let mut bits = u64::from(number as u32);
            for (shift, mask) in [
                (16, 0x0000_ffff_0000_ffff),
                (8, 0x00ff_00ff_00ff_00ff),
                (4, 0x0f0f_0f0f_0f0f_0f0f),
                (2, 0x3333_3333_3333_3333),
                (1, 0x5555_5555_5555_5555),
            ] {
                bits = (bits | (bits << shift)) & mask;
            }
            bits
        };
        (spread(self.longitude) | (spread(self.latitude) << 1)) as i64
    }

    /// The place whose [curve](Position::curve) has this number.
    #[must_use]
    pub fn from_curve(curve: i64) -> Position {
        let gather = |bits: u64| {
            let mut bits = bits & 0x5555_5555_5555_5555;
            for (shift, mask) in [
                (1, 0x3333_3333_3333_3333),
                (2, 0x0f0f_0f0f_0f0f_0f0f),
                (4, 0x00ff_00ff_00ff_00ff),
                (8, 0x0000_ffff_0000_ffff),
                (16, 0x0000_0000_ffff_ffff),
            ] {
                bits = (bits | (bits >> shift)) & mask;
            }
            bits as u32 as i32
        };
        let bits = curve as u64;
        Position { latitude: gather(bits >> 1), longitude: gather(bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn places_are_read() {
        for (text, expected) in [
            ("N63.418417;E10.433033", Some((63_418_417, 10_433_033))),
            ("w122.025;s37.5", Some((-37_500_000, -122_025_000))),
            ("N91;E0", None),
            ("N1;N2", None),
            ("N1", None),
            ("63.4;10.4", None),
            ("", None),
        ] {
            let found = Position::parse(text).map(|p| (p.latitude, p.longitude));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn bits_stand_in_turn_on_the_curve() {
        for (latitude, longitude, curve) in [
            (0, 0, 0),
            (0, 1, 1),
            (1, 0, 2),
            (1, 3, 0b111),
            (-1, -1, -1),
            (0, -1, 0x5555_5555_5555_5555),
        ] {
            let position = Position { latitude, longitude };
            assert_eq!(position.curve(), curve, "{latitude} {longitude}");
            assert_eq!(Position::from_curve(curve), position, "{curve}");
        }
    }
}
