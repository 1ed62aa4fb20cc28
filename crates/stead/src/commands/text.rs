//! Numbers and texts as people read them.

/// A number with seven digits, which are as many as a float has; JSON has all of them.
pub fn number(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() || size == 0.0 || (1e-4..1e9).contains(&size) {
        let digits = if size >= 1.0 { 6 - (size.log10() as usize).min(6) } else { 7 };
        let text = format!("{number:.digits$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        };
    }
    format!("{number:.6e}")
}

/// The first characters of a text, with dots where there were more.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        for (x, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.1 + 0.2, "0.3"),
            (-12.345_678_9, "-12.34568"),
            (1_234_567.0, "1234567"),
            (1e12, "1.000000e12"),
            (1e-7, "1.000000e-7"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(x), expected);
        }
    }
}
