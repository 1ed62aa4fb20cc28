//! `stead quantize` writes models that are smaller and tells how far their results are off.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor, npz};

/// Numbers from -1 to 1 of which none tells anything about the next.
fn numbers(seed: u64, dims: &[usize]) -> Tensor {
    let value = |i: usize| {
        let mut bits = (i as u64 + (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (bits >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let count = dims.iter().product::<usize>();
    Tensor::from_slice(&(0..count).map(value).collect::<Vec<f32>>(), dims).unwrap()
}

/// Two linear layers, and files of inputs: a batch, five of them, one with another name.
fn write(folder: &Path) {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "128"])
        .init("w1", numbers(1, &[128, 256]))
        .init("b1", numbers(2, &[256]))
        .init("w2", numbers(3, &[256, 16]))
        .node("Gemm", &["x", "w1", "b1"], &["s"])
        .node("Tanh", &["s"], &["h"])
        .node("MatMul", &["h", "w2"], &["y"])
        .output("y", DType::F32);
    std::fs::write(folder.join("model.onnx"), model.bytes()).unwrap();
    for (file, name, dims) in [
        ("batch.npz", "x", &[4, 128][..]),
        ("stack.npz", "x", &[5, 2, 128]),
        ("other.npz", "z", &[4, 128]),
    ] {
        let tensor = numbers(7, dims);
        let out = std::fs::File::create(folder.join(file)).unwrap();
        npz::write(out, [(name, tensor.view())]).unwrap();
    }
}

fn quantize(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead"))
        .current_dir(folder)
        .args(["quantize", "model.onnx"])
        .args(args)
        .output()
        .unwrap()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let output = quantize(folder, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_mode_writes_a_smaller_model_with_near_results() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    // Arguments, the share of the original's bytes at most, the cosine at least, runs.
    let cases: [(&[&str], f64, f64, u64); 7] = [
        (&["--mode", "dynamic"], 0.30, 0.999, 1),
        (&["--mode", "dynamic", "--per-channel", "--dim", "rows=9"], 0.35, 0.999, 1),
        (&["--mode", "dynamic", "--calibrate", "batch.npz"], 0.30, 0.999, 1),
        (
            &["--mode", "static", "--calibrate", "batch.npz", "--calibrate", "stack.npz"],
            0.35,
            0.999,
            6,
        ),
        (&["--mode", "weight-only"], 0.20, 0.97, 1),
        (&["--mode", "weight-only", "--bits", "8", "--block-size", "64"], 0.30, 0.9999, 1),
        (&["--mode", "weight-only", "--block-size", "16", "--external-data"], 0.30, 0.97, 1),
    ];
    for (args, share, cosine, runs) in cases {
        let report = json(folder.path(), &[args, &["-o", "small.onnx"]].concat());
        let number = |value: &Value| value.as_f64().unwrap();
        assert_eq!(report["quantized"].as_array().unwrap().len(), 2, "{args:?}");
        let bytes = &report["bytes"];
        assert!(
            number(&bytes["quantized"]) < share * number(&bytes["original"]),
            "{args:?} {bytes}"
        );
        let [output] = report["outputs"].as_array().unwrap().as_slice() else { panic!("{report}") };
        assert!(number(&output["cosine"]) > cosine && output["name"] == "y", "{args:?} {output}");
        assert!(number(&output["max_abs"]) > 0.0, "{args:?}: nothing was rounded");
        assert_eq!(report["inputs"]["runs"].as_u64(), Some(runs), "{args:?}");
        assert!(
            number(&report["speed_up"]["ratio"]) > 0.0
                && number(&report["speed_up"]["pairs"]) >= 3.0
        );
        let beside = folder.path().join("small.onnx.data");
        assert_eq!(beside.exists(), args.contains(&"--external-data"), "{args:?}");
        // The file runs by itself.
        let run = Command::new(env!("CARGO_BIN_EXE_stead"))
            .current_dir(folder.path())
            .args(["run", "small.onnx", "--dim", "rows=2"])
            .output()
            .unwrap();
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn the_text_says_what_it_was_compared_on() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let text = |args: &[&str]| {
        let output = quantize(folder.path(), args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let random = text(&["--mode", "dynamic", "-o", "small.onnx", "--seed", "3"]);
    for part in
        ["2 nodes quantised, 0 left", "random inputs (seed 3)", "y: cosine 0.999", "times as fast"]
    {
        assert!(random.contains(part), "{part}: {random}");
    }
    let given = text(&["--mode", "dynamic", "-o", "small.onnx", "--calibrate", "stack.npz"]);
    assert!(given.contains("compared on 5 runs of --calibrate"), "{given}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--mode", "static"], 64, "--calibrate inputs.npz"),
        (
            &["--mode", "static", "--bits", "8", "--calibrate", "batch.npz"],
            64,
            "--bits goes with --mode weight-only",
        ),
        (&["--mode", "weight-only", "--per-channel"], 64, "--per-channel goes with --mode dynamic"),
        (&["--mode", "weight-only", "--block-size", "24"], 64, "24 is no power of two"),
        (&["--mode", "weight-only", "--bits", "3"], 64, "4, 8"),
        (&["--mode", "int8"], 64, "weight-only"),
        (&["--mode", "dynamic", "--calibrate", "other.npz"], 1, "no input `z`; its inputs are x"),
        (&["--mode", "dynamic", "--calibrate", "none.npz"], 1, "none.npz"),
        (&["--mode", "dynamic", "--dim", "rows=2", "--calibrate", "batch.npz"], 64, "--calibrate"),
    ];
    for (args, code, expected) in cases {
        let output = quantize(folder.path(), &[args, &["-o", "small.onnx"]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(!folder.path().join("small.onnx").exists(), "{args:?}");
    }
    let onto = quantize(folder.path(), &["--mode", "dynamic", "-o", "model.onnx"]);
    assert!(String::from_utf8_lossy(&onto.stderr).contains("the model itself"));
}
