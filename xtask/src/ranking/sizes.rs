//! Rankers of several sizes that learned the same task: a larger one in bytes beside a smaller one in f32.

use std::process::Command;

use serde_json::Value;

use super::{Context, answer, made, text};
use crate::results::{Table, goal};
use crate::{paths, process, python};

/// Widths of the first hidden layer, as `ladder.py` trains them.
const WIDTHS: [usize; 5] = [32, 64, 128, 256, 512];

/// Documents of a query, which are one run.
const DOCUMENTS: usize = 100;

/// Rows of `calibration.npz`.
const CALIBRATION: usize = 4096;

/// How a file of f32 is quantised: what the table calls it, the name of its files, and the options of the command.
const MODES: [(&str, &str, &[&str]); 2] = [
    ("int8, dynamic", "dynamic", &["--mode", "dynamic", "--per-channel"]),
    ("int8, static", "static", &["--mode", "static"]),
];

/// A ranker that was measured.
#[derive(Debug, Clone, PartialEq)]
struct Ranker {
    width: usize,
    precision: &'static str,
    file: String,
    /// Median microseconds of a run.
    us: f64,
    ndcg: f64,
}

/// The table.
///
/// # Errors
/// Builds, training and runs that fail.
pub fn table(context: &Context) -> Result<Table, String> {
    let python = python::environment("onnx")?;
    let folder = context.folder.join("sizes");
    let script = made(&python, "ranking/ladder.py", &folder)?;
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--quiet", "-p", "stead"]), "cargo build")?;
    let path = |name: &str, end: &str| text(&folder.join(format!("{name}.{end}")));
    let stead = |arguments: &[&str]| {
        let mut command = Command::new(paths::stead("release"));
        process::capture(command.args(arguments), &arguments.join(" "))
    };
    let mut rankers = Vec::new();
    for width in WIDTHS {
        let original = format!("f32-{width}");
        let ranker =
            |precision, file: String| Ranker { width, precision, file, us: 0.0, ndcg: 0.0 };
        for (precision, name, options) in MODES {
            let file = format!("{name}-{width}");
            let rows = path("calibration", "npz");
            let (from, to) = (path(&original, "onnx"), path(&file, "onnx"));
            stead(
                &[&["quantize", &from][..], options, &["--calibrate", &rows, "-o", &to]].concat(),
            )?;
            rankers.push(ranker(precision, file));
        }
        rankers.push(ranker("f32", original));
    }
    let held_out = format!("@{}", path("held-out", "npz"));
    for ranker in &rankers {
        let (model, scores) = (path(&ranker.file, "onnx"), path(&ranker.file, "npz"));
        stead(&["run", &model, "--input", &held_out, "--output", &scores])?;
    }
    let mut judge = Command::new(&python);
    judge.arg(&script).arg("judge").arg(&folder).args(rankers.iter().map(|r| &r.file));
    let judged = answer("ladder.py", &process::capture(&mut judge, "ladder.py")?)?;
    let (rounds, seconds) = if context.quick { (1, "0.2") } else { (5, "0.5") };
    let rows = format!("rows={DOCUMENTS}");
    let mut times = vec![Vec::new(); rankers.len()];
    for _ in 0..rounds {
        for (ranker, times) in rankers.iter().zip(&mut times) {
            let model = path(&ranker.file, "onnx");
            let flags = ["--dim", &rows, "--threads", "1", "--seconds", seconds, "--json"];
            let told = answer("bench", &stead(&[&["bench", &model][..], &flags].concat())?)?;
            times.push(number(&told, "median_ms")? * 1e3);
        }
    }
    for (ranker, times) in rankers.iter_mut().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        ranker.us = times[times.len() / 2];
        ranker.ndcg = number(&judged, &ranker.file)?;
    }
    Ok(told(&rankers, rounds))
}

fn number(of: &Value, key: &str) -> Result<f64, String> {
    of[key].as_f64().ok_or_else(|| format!("no `{key}` among the numbers"))
}

/// The best ranker in f32 that takes no longer than this one.
fn rival<'r>(of: &Ranker, among: &'r [Ranker]) -> Option<&'r Ranker> {
    let others = among.iter().filter(|r| r.precision == "f32" && r.us <= of.us);
    others.max_by(|a, b| a.ndcg.total_cmp(&b.ndcg))
}

fn told(rankers: &[Ranker], rounds: usize) -> Table {
    let row = |ranker: &Ranker| {
        let beside = match rival(ranker, rankers).filter(|_| ranker.precision != "f32") {
            Some(rival) => format!(
                "{:+.4} beside f32 {} in {:.0} us {}",
                ranker.ndcg - rival.ndcg,
                rival.width,
                rival.us,
                goal(ranker.ndcg > rival.ndcg)
            ),
            None => "-".to_owned(),
        };
        vec![
            format!("64-{}-{}-1", ranker.width, ranker.width / 2),
            ranker.precision.to_owned(),
            format!("{:.1}", ranker.us),
            format!("{:.4}", ranker.ndcg),
            beside,
        ]
    };
    Table {
        title: "rankers of several sizes in bytes and in f32".to_owned(),
        note: format!(
            "Perceptrons that learned the same seeded task: how relevant a document is to a query, both vectors of 32, by `bench/peers/ranking/ladder.py`. \
             Quantised by `stead quantize` with {CALIBRATION} rows to calibrate. Microseconds for {DOCUMENTS} documents on one thread, the median of {rounds} rounds of \
             `stead bench` in turn; nDCG@10 over 200 queries that were not learned. The last column compares with the best network in f32 that takes no longer."
        ),
        header: vec!["layers", "precision", "us", "nDCG@10", "at the same latency"],
        rows: rankers.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_compared_with_the_best_that_is_as_quick() {
        let ranker =
            |width, precision, us, ndcg| Ranker { width, precision, file: String::new(), us, ndcg };
        let all = [
            ranker(32, "f32", 10.0, 0.7),
            ranker(64, "f32", 20.0, 0.8),
            ranker(128, "f32", 40.0, 0.9),
            ranker(128, "int8, dynamic", 21.0, 0.89),
            ranker(32, "int8, static", 9.0, 0.69),
        ];
        assert_eq!(rival(&all[3], &all), Some(&all[1]));
        assert_eq!(rival(&all[4], &all), None);
        let table = told(&all, 5);
        let last: Vec<&str> =
            table.rows.iter().filter_map(|r| r.last().map(String::as_str)).collect();
        assert_eq!(last, ["-", "-", "-", "+0.0900 beside f32 64 in 20 us met", "-"]);
        assert_eq!(table.rows[3][0], "64-128-64-1");
    }
}
