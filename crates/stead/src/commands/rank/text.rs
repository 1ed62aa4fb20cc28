//! Ranked hits for people.

use std::fmt::Write;

use stead_expr::Value;

use super::Shown;

/// What stands behind a line does not matter more than that it can be read.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{
        let _ = writeln!($out, $($text)*);
    }};
}

/// The hits of a query as lines.
pub(super) fn text(shown: &Shown<'_>) -> String {
    let (plan, ranked) = (shown.plan, shown.ranked);
    let mut out = String::new();
    line!(
        out,
        "query {}: {} of {} hits among {} documents by {}",
        shown.name,
        ranked.hits.len(),
        ranked.total,
        shown.documents.len(),
        plan.profile()
    );
    let mut columns: Vec<(&str, Vec<String>)> = Vec::new();
    let hits = &ranked.hits;
    let of = |score: fn(&stead_search::rank::RankedHit) -> Option<f64>| {
        hits.iter().map(|h| score(h).map_or_else(|| "-".to_owned(), number)).collect::<Vec<_>>()
    };
    columns.push(("relevance", of(|h| Some(h.relevance))));
    if plan.has_second_phase() || plan.has_global_phase() {
        columns.push(("first", of(|h| Some(h.first_phase))));
    }
    if plan.has_second_phase() {
        columns.push(("second", of(|h| h.second_phase)));
    }
    if plan.has_global_phase() {
        columns.push(("global", of(|h| h.global_phase)));
    }
    let widths: Vec<usize> = columns
        .iter()
        .map(|(name, cells)| cells.iter().map(String::len).chain([name.len()]).max().unwrap_or(0))
        .collect();
    let mut head = format!("{:>4}", "#");
    for ((name, _), width) in columns.iter().zip(&widths) {
        let _ = write!(head, "  {name:>width$}");
    }
    line!(out, "{head}  document");
    for (at, hit) in hits.iter().enumerate() {
        let mut row = format!("{:>4}", at + 1);
        for ((_, cells), width) in columns.iter().zip(&widths) {
            let _ = write!(row, "  {:>width$}", cells[at]);
        }
        line!(out, "{row}  {}", shown.documents.id(hit.document).unwrap_or_default());
        for (names, values) in [
            (plan.match_features(), &hit.match_features),
            (plan.summary_features(), &hit.summary_features),
            (plan.rank_features(), &hit.rank_features),
        ] {
            for (name, value) in names.iter().zip(values) {
                line!(out, "      {name} = {}", feature(value));
            }
        }
    }
    if let Some(explained) = shown.explained {
        out += &super::explain::text(explained);
    }
    out
}

/// The most characters of a tensor that are shown.
const MAX_SHOWN: usize = 120;

fn feature(value: &Value) -> String {
    let Some(number) = value.as_double() else {
        let text = value.to_string();
        return match text.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text,
        };
    };
    self::number(number)
}

/// Seven digits, which are as many as a float has; JSON has all of them.
fn number(number: f64) -> String {
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
