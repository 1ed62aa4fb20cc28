//! `stead bench MODEL` looks at where the time of runs goes, and at what instruction sets and passes bring.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Two linear layers, the first with a bias and an activation that passes fuse. What lies between them is an output too, so that they
/// stay two steps.
fn write(path: &Path) {
    let weights = |rows: usize, cols: usize| {
        Tensor::from_slice(&vec![0.01_f32; rows * cols], &[rows, cols]).unwrap()
    };
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "64"])
        .init("w1", weights(64, 96))
        .init("b1", Tensor::from_slice(&[0.5_f32; 96], &[96]).unwrap())
        .init("w2", weights(96, 8))
        .node("MatMul", &["x", "w1"], &["p"])
        .node("Add", &["p", "b1"], &["s"])
        .node("Relu", &["s"], &["h"])
        .node("MatMul", &["h", "w2"], &["y"])
        .output("y", DType::F32)
        .output("h", DType::F32);
    std::fs::write(path, model.bytes()).unwrap();
}

fn bench(folder: &Path, args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_stead"))
        .current_dir(folder)
        .args(["bench", "model.onnx", "--dim", "rows=32", "--seconds", "0.01"])
        .args(args)
        .output()
        .unwrap()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let output = bench(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_profile_tells_calls_and_rates_of_kernels_and_nodes() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("model.onnx"));
    let report = json(folder.path(), &["--profile", "--json"]);
    let profile = &report["profile"];
    let kernels = profile["kernels"].as_array().unwrap();
    let nodes = profile["nodes"].as_array().unwrap();
    // Bias and activation are part of the first product.
    let [product] = kernels.as_slice() else { panic!("{kernels:?}") };
    assert_eq!((&product["kernel"], product["calls"].as_f64()), (&"gemm packed".into(), Some(2.0)));
    assert_eq!(nodes.len(), 2, "{nodes:?}");
    let flops = |node: &Value| {
        (node["gflops"].as_f64().unwrap() * node["ms"].as_f64().unwrap() * 1e6).round()
    };
    let mut counted: Vec<f64> = nodes.iter().map(flops).collect();
    counted.sort_by(f64::total_cmp);
    assert_eq!(counted, [2.0 * 32.0 * 96.0 * 8.0, 2.0 * 32.0 * 64.0 * 96.0]);
    let share: f64 = kernels.iter().map(|kernel| kernel["share"].as_f64().unwrap()).sum();
    assert!(share > 0.0 && share <= 1.0, "{share}");
    assert!(json(folder.path(), &["--json"]).get("profile").is_none());

    let one = json(folder.path(), &["--profile=1", "--json"]);
    assert_eq!(one["profile"]["nodes"].as_array().map(Vec::len), Some(1));
    let text = bench(folder.path(), &["--profile"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("GFLOP/s") && text.contains("(between steps)"), "{text}");
}

#[test]
fn the_ladder_shows_what_passes_bring() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("model.onnx"));
    let report = json(folder.path(), &["--ablate", "--json"]);
    let ladder = report["ladder"].as_array().unwrap();
    let of = |variant: &str| {
        let rung = ladder.iter().find(|rung| rung["variant"] == variant);
        let rung = rung.unwrap_or_else(|| panic!("no {variant}: {ladder:?}"));
        assert!(rung["median_ms"].as_f64().unwrap() > 0.0, "{rung}");
        (rung["nodes"].as_u64().unwrap(), rung["steps"].as_u64().unwrap())
    };
    assert_eq!(of("no passes"), (4, 4));
    assert_eq!(of("basic passes"), (4, 4));
    assert_eq!(of("all passes"), (2, 2));
    assert_eq!(of("without product epilogues"), (4, 4));
    assert_eq!(of("without gelu"), (2, 2));
    assert_eq!(of("scalar, all passes"), (2, 2));
    let text = bench(folder.path(), &["--ablate"]).stdout;
    assert!(String::from_utf8(text).unwrap().contains("without attention"));
}
