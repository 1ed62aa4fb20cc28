//! Models in Python: an interpreter for each thread, one for all threads, and the same models on the engine.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Context, made, number, speed};
use crate::results::Table;
use crate::{paths, process};

/// Names of the models, and what they are.
const MODELS: [(&str, &str); 3] = [
    ("transformer", "transformer, 6 layers of 768, 64 tokens (170 MB)"),
    ("mobile", "convolutions like MobileNet's, 11 blocks at 112x112 (5 MB)"),
    ("recommender", "recommender like DLRM, 8 tables of 50,000, 64 rows (51 MB)"),
];

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let folder = context.folder.join("models");
    if !folder.join("recommender.pkg").exists() {
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        made(context, "make_models.py", &[folder.as_os_str()])?;
    }
    let rounds = if context.quick { 3 } else { 11 };
    let mut rows = Vec::new();
    for (name, what) in MODELS {
        let found = speed(
            &context.python,
            "model",
            rounds,
            &[folder.join(format!("{name}.pkg")).as_os_str(), "numpy_models".as_ref()],
        )?;
        let engine = on_the_engine(&folder, name, context.quick)?;
        let (one, two) = (number(&found, "one")?, number(&found, "two")?);
        let threads_2 = number(&found, "threads_2")?;
        let cell = |runs: f64, peer: f64| format!("{runs:.1} ({:.2}x)", runs / peer);
        rows.push(vec![
            what.to_owned(),
            format!("{one:.1}"),
            cell(threads_2, one),
            cell(two, one),
            cell(engine, two),
        ]);
    }
    Ok(Table {
        title: "models in Python and on the engine".to_owned(),
        note: format!(
            "Runs a second of three models in numpy (`bench/peers/interpreters/numpy_models.py`), each packaged with its weights; BLAS runs on one thread. \
             Windows of 0.8 s of all configurations in turn, medians of {rounds} rounds; in brackets over one thread. The engine runs the same \
             weights as ONNX for two callers, one thread each (`stead bench --clients 2`); in brackets over two interpreters."
        ),
        header: vec![
            "model",
            "one thread",
            "2 threads in one interpreter",
            "2 interpreters",
            "the engine, 2 callers",
        ],
        rows,
    })
}

/// Runs a second of a model on stead's engine for two callers.
fn on_the_engine(folder: &Path, name: &str, quick: bool) -> Result<f64, String> {
    let mut bench = Command::new(paths::stead("release"));
    bench.arg("bench").arg(folder.join(format!("{name}.onnx")));
    bench.args(["--clients", "2", "--seconds", if quick { "1" } else { "5" }, "--json"]);
    bench.arg("--input").arg(format!("@{}", folder.join(format!("{name}.npz")).display()));
    let told = process::capture(&mut bench, "stead bench")?;
    let found: Value =
        serde_json::from_str(&told).map_err(|_| "stead bench gave no numbers".to_owned())?;
    number(&found, "throughput_per_s")
}
