//! Latency against the number of documents that are ranked and reranked.

use std::fs;

use serde_json::Value;

use super::{Context, example};
use crate::chart::{Chart, stacked};
use crate::results::Table;
use crate::{paths, process};

/// Fewer documents, for a first look: a million take a minute to make up.
const QUICK: [&str; 2] = ["100000", "7"];
const WHOLE: [&str; 2] = ["1000000", "31"];

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let mut command = example("stead-search", "document_speed");
    command.args(if context.quick { QUICK } else { WHOLE });
    let told = process::capture(&mut command, "document_speed")?;
    let points: Vec<(f64, f64, f64)> = told.lines().filter_map(point).collect();
    let of = |is_reranked: bool| points.iter().filter(move |p| (p.1 > 0.0) == is_reranked);
    let first: Vec<(f64, f64)> = of(false).map(|p| (p.0, p.2)).collect();
    let second: Vec<(f64, f64)> = of(true).map(|p| (p.1, p.2)).collect();
    let (Some(ranked), Some(reranked)) = (fitted(&first), fitted(&second)) else {
        return Err("document_speed gave too few numbers".to_owned());
    };
    draw("ranked", "first phase: a dot product of 128", &first)?;
    draw("reranked", "second phase: 256-512-128-1", &second)?;
    let rows = |what: &str, points: &[(f64, f64)], line: &Fitted| -> Vec<Vec<String>> {
        let row = |(x, y): &(f64, f64)| {
            vec![
                what.to_owned(),
                format!("{x:.0}"),
                format!("{y:.3}"),
                format!("{:.3}", line.at(*x)),
            ]
        };
        points.iter().map(row).collect()
    };
    let mut all = rows("ranked", &first, &ranked);
    all.extend(rows("reranked, of 10,000", &second, &reranked));
    Ok(Table {
        title: "latency against documents ranked and reranked".to_owned(),
        note: format!(
            "The profiles of `examples/blog-recommendation` in one process on one thread, from the request to its JSON, medians, \
             `--example document_speed` of stead-search. Straight lines through the points: {:.1} ns for each document that is ranked (dot product \
             of 128; R2 {:.4}), {:.2} us for each that is reranked (256-512-128-1; R2 {:.4}). Drawn in [ranked](documents-slopes-ranked.svg) and \
             [reranked](documents-slopes-reranked.svg).",
            ranked.slope * 1e6,
            ranked.fit,
            reranked.slope * 1e3,
            reranked.fit
        ),
        header: vec!["what", "documents", "ms", "ms on the line"],
        rows: all,
    })
}

/// Draws points in `bench/`.
fn draw(file: &str, title: &str, points: &[(f64, f64)]) -> Result<(), String> {
    let chart = Chart {
        title: format!("Latency of a query on one thread, {title}"),
        axes: [format!("documents {file}"), "ms".to_owned()],
        is_logarithmic: false,
        lines: vec![("measured".to_owned(), points.to_vec())],
    };
    let path = paths::root().join(format!("bench/documents-slopes-{file}.svg"));
    fs::write(&path, stacked(&[chart])).map_err(|e| format!("{}: {e}", path.display()))
}

fn point(line: &str) -> Option<(f64, f64, f64)> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some((line["documents"].as_f64()?, line["reranked"].as_f64()?, line["ms"].as_f64()?))
}

/// A straight line by least squares of relative errors: points over four powers of ten weigh the same.
struct Fitted {
    slope: f64,
    intercept: f64,
    /// The share of the variance that it explains.
    fit: f64,
}

impl Fitted {
    fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

fn fitted(points: &[(f64, f64)]) -> Option<Fitted> {
    let weighted = |of: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
        points.iter().map(|p| of(p) / (p.1 * p.1)).sum()
    };
    let all = weighted(&|_| 1.0);
    let (x, y) = (weighted(&|p| p.0) / all, weighted(&|p| p.1) / all);
    let spread = weighted(&|p| (p.0 - x) * (p.0 - x));
    if points.len() < 3 || spread <= 0.0 {
        return None;
    }
    let slope = weighted(&|p| (p.0 - x) * (p.1 - y)) / spread;
    let intercept = y - slope * x;
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let around = |of: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
        points.iter().map(|p| (p.1 - of(p)) * (p.1 - of(p))).sum()
    };
    let fit = 1.0 - around(&|p| intercept + slope * p.0) / around(&|_| mean);
    Some(Fitted { slope, intercept, fit })
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn points_of_a_line_give_the_line() {
        let points: Vec<(f64, f64)> =
            [10.0, 100.0, 1000.0].iter().map(|x| (*x, 2.0 + 0.5 * x)).collect();
        let line = fitted(&points).unwrap();
        assert!((line.slope - 0.5).abs() < 1e-9 && (line.intercept - 2.0).abs() < 1e-9);
        assert!((line.fit - 1.0).abs() < 1e-9 && (line.at(4.0) - 4.0).abs() < 1e-9);
        assert!(fitted(&points[..2]).is_none());
    }
}
