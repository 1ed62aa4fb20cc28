//! Ranked hits for people.

use std::fmt::Write;

use stead_expr::Value;

use super::Shown;
use crate::commands::text::{number, shortened};

/// The most characters of a tensor that are shown.
const MAX_SHOWN: usize = 120;

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
        out += &crate::commands::explain::text(&explained.json());
    }
    out
}

fn feature(value: &Value) -> String {
    value.as_double().map_or_else(|| shortened(&value.to_string(), MAX_SHOWN), number)
}
