//! Moments from texts: `to_epoch_second`.

/// Seconds since 1970 of a moment such as `2023-12-24T17:00:43.5Z` or `2023-12-24T18:00:43+01:00`.
pub(super) fn epoch_second(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let (time, offset) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => {
            let at = time.rfind(['+', '-'])?;
            let (time, offset) = time.split_at(at);
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            let mut parts = offset[1..].split(':');
            let hours = digits(parts.next()?, 2, 18)?;
            let minutes = digits(parts.next().unwrap_or("00"), 2, 59)?;
            let seconds = digits(parts.next().unwrap_or("00"), 2, 59)?;
            if parts.next().is_some() {
                return None;
            }
            (time, sign * (hours * 3600 + minutes * 60 + seconds))
        }
    };
    let (sign, date) = match date.strip_prefix('-') {
        Some(date) => (-1, date),
        None => (1, date),
    };
    let mut parts = date.split('-');
    let year = sign * digits(parts.next()?, 4, 9999)?;
    let month = digits(parts.next()?, 2, 12).filter(|m| *m >= 1)?;
    let day = digits(parts.next()?, 2, 31).filter(|d| *d >= 1)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if parts.next().is_some() || day > length {
        return None;
    }
    let time = match time.split_once('.') {
        Some((time, fraction)) => {
            let is_fraction = fraction.len() <= 9 && fraction.bytes().all(|b| b.is_ascii_digit());
            is_fraction.then_some(time)?
        }
        None => time,
    };
    let mut parts = time.split(':');
    let hour = digits(parts.next()?, 2, 23)?;
    let minute = digits(parts.next()?, 2, 59)?;
    let second = digits(parts.next()?, 2, 59)?;
    if parts.next().is_some() {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

fn digits(text: &str, count: usize, most: i64) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|n| *n <= most)
}

/// The days from 1970-01-01 to a day of the Gregorian calendar: years that begin in March have their leap day at the end.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::epoch_second;

    #[test]
    fn moments_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2023-12-24T17:00:43.000Z", Some(1_703_437_243)),
            ("2023-12-24T18:00:43+01:00", Some(1_703_437_243)),
            ("2000-02-29T00:00:00Z", Some(951_782_400)),
            ("1969-12-31T23:59:59Z", Some(-1)),
            ("2023-02-29T00:00:00Z", None),
            ("2023-12-24", None),
            ("2023-12-24T17:00Z", None),
            ("2023-12-24T17:00:43", None),
            ("", None),
        ] {
            assert_eq!(epoch_second(text), expected, "{text}");
        }
    }
}
