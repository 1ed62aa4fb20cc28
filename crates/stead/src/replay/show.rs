//! Measurements over numbers of clients as pictures.

use crate::chart::{Chart, stacked};

/// A measured number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Clients.
    pub clients: usize,
    /// Good answers a second.
    pub per_second: f64,
    /// Of good answers; not a number without any.
    pub p95_ms: f64,
}

/// The most signs of a bar.
const BAR: f64 = 24.0;

/// Both as SVG, one below the other.
pub fn svg(points: &[Point]) -> String {
    let line = |name: &str, value: fn(&Point) -> f64| {
        let points = points.iter().filter(|point| value(point).is_finite());
        (name.to_owned(), points.map(|point| (point.clients as f64, value(point))).collect())
    };
    let chart = |title: &str, unit: &str, line| Chart {
        title: title.to_owned(),
        axes: ["clients".to_owned(), unit.to_owned()],
        is_logarithmic: false,
        lines: vec![line],
    };
    stacked(&[
        chart("95th percentile of latency", "ms", line("p95", |point| point.p95_ms)),
        chart("good answers a second", "1/s", line("throughput", |point| point.per_second)),
    ])
}

/// Both for a terminal: a row for each number of clients, with bars.
pub fn text(points: &[Point]) -> String {
    let top = |value: fn(&Point) -> f64| {
        points.iter().map(value).filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let (most, slowest) = (top(|point| point.per_second), top(|point| point.p95_ms));
    let bar = |value: f64, top: f64| "#".repeat((value / top * BAR).round().max(0.0) as usize);
    let width = BAR as usize;
    let mut text = format!("{:>8} {:>12} {:width$} {:>10}\n", "clients", "good/s", "", "p95 ms");
    for Point { clients, per_second, p95_ms } in points {
        let (good, p95) = (bar(*per_second, most), bar(*p95_ms, slowest));
        let row = format!("{clients:>8} {per_second:>12.1} {good:width$} {p95_ms:>10.3} {p95}");
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Point> {
        let point = |(clients, per_second, p95_ms)| Point { clients, per_second, p95_ms };
        [(1, 100.0, 10.0), (4, 200.0, 20.0), (8, 0.0, f64::NAN)].map(point).to_vec()
    }

    #[test]
    fn bars_have_the_length_of_their_values() {
        let text = text(&points());
        let bars: Vec<Vec<usize>> = text
            .lines()
            .skip(1)
            .map(|line| {
                line.split_whitespace().filter(|w| w.starts_with('#')).map(str::len).collect()
            })
            .collect();
        assert_eq!(bars, [vec![12, 12], vec![24, 24], vec![]], "{text}");
        assert!(super::text(&[]).contains("clients"));
    }

    #[test]
    fn both_are_drawn() {
        let svg = svg(&points());
        assert_eq!((svg.matches("<svg ").count(), svg.matches("<polyline").count()), (1, 2));
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
