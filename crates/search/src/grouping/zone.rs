//! Time zones of groupings.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A time zone.
#[derive(Debug, Clone, PartialEq)]
pub enum Zone {
    /// Its clocks are so many seconds ahead of UTC.
    Ahead(i64),
    /// A region, whose clocks change.
    Region(TimeZone),
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::Ahead(0)
    }
}

impl Zone {
    /// A zone by a name of Java's `TimeZone`: a difference such as `GMT+01:00`, or a region of the tables of IANA. Capitals do not matter.
    #[must_use]
    pub fn new(name: &str) -> Option<Zone> {
        let region = || TimeZoneDatabase::bundled().get(name.trim()).ok().map(Zone::Region);
        difference(name).map(Zone::Ahead).or_else(region)
    }

    /// How many seconds its clocks are ahead at a moment, in seconds since 1970.
    #[must_use]
    pub fn ahead(&self, moment: i64) -> i64 {
        match self {
            Zone::Ahead(seconds) => *seconds,
            Zone::Region(region) => {
                let moment = Timestamp::from_second(moment).unwrap_or(Timestamp::UNIX_EPOCH);
                i64::from(region.to_offset(moment).seconds())
            }
        }
    }
}

/// The seconds of a difference from UTC.
fn difference(zone: &str) -> Option<i64> {
    let upper = zone.trim().to_ascii_uppercase();
    let rest = upper.strip_prefix("GMT").or_else(|| upper.strip_prefix("UTC"))?;
    let (sign, rest) = match rest.as_bytes().first() {
        None => return Some(0),
        Some(b'+') => (1, &rest[1..]),
        Some(b'-') => (-1, &rest[1..]),
        Some(_) => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() > 2 => rest.split_at_checked(rest.len() - 2)?,
        None => (rest, "0"),
    };
    let number = |text: &str, below: i64| {
        let number = text.parse().ok().filter(|number| (0..below).contains(number));
        number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

#[cfg(test)]
mod tests {
    use super::Zone;

    #[test]
    fn zones_are_differences_or_regions() {
        // 2024-01-01 and 2024-07-01.
        let (winter, summer) = (1_704_067_200, 1_719_792_000);
        for (zone, expected) in [
            ("utc", Some([0, 0])),
            ("GMT", Some([0, 0])),
            ("GMT-1", Some([-3600, -3600])),
            ("gmt+05:30", Some([19_800, 19_800])),
            ("UTC+0530", Some([19_800, 19_800])),
            ("Europe/Oslo", Some([3600, 7200])),
            ("america/new_york", Some([-18_000, -14_400])),
            ("Asia/Kolkata", Some([19_800, 19_800])),
            ("Australia/Lord_Howe", Some([39_600, 37_800])),
            ("GMT+24", None),
            ("GMT+1:60", None),
            ("GMT++1", None),
            ("Europe/Atlantis", None),
            ("", None),
        ] {
            let found = Zone::new(zone).map(|zone| [zone.ahead(winter), zone.ahead(summer)]);
            assert_eq!(found, expected, "{zone}");
        }
        assert_eq!(Zone::new("Europe/Oslo").unwrap().ahead(i64::MAX), 3600);
    }
}
