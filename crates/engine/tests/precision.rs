//! Sessions in bf16 beside the same in f32: nearly the same results from half the bytes of weights.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::sync::Mutex;

use stead_engine::{
    Isa, LoadError, LoadOptions, Model, Precision, RunContext, Session, SessionOptions, StepRun,
};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Numbers in -1..1 without any order.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

/// A tensor of such numbers, scaled as weights of `fan` inputs are.
fn tensor(seed: u64, dims: &[usize], fan: usize) -> Tensor {
    let scale = 1.7 / (fan as f32).sqrt();
    let values: Vec<f32> = numbers(seed, dims.iter().product()).iter().map(|x| x * scale).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

/// 256-512-128-1, with Gemm and MatMul, whose last layer has one column only.
fn perceptron() -> ModelBuilder {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "256"])
        .init("w1", tensor(1, &[512, 256], 256))
        .init("b1", tensor(2, &[512], 16))
        .node("Gemm", &["x", "w1", "b1"], &["g1"])
        .attr("transB", 1i64)
        .node("Relu", &["g1"], &["r1"])
        .init("w2", tensor(3, &[512, 128], 512))
        .node("MatMul", &["r1", "w2"], &["m2"])
        .node("Tanh", &["m2"], &["y"])
        .init("w3", tensor(4, &[128, 1], 128))
        .node("MatMul", &["y", "w3"], &["z"])
        .output("y", DType::F32)
        .output("z", DType::F32)
}

/// A recurrent layer of 20 inputs and a state of 48, in both directions.
fn recurrent(op: &str, gates: usize, linear_before_reset: bool) -> ModelBuilder {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["steps", "batch", "20"])
        .init("w", tensor(5, &[2, gates * 48, 20], 20))
        .init("r", tensor(6, &[2, gates * 48, 48], 48))
        .init("b", tensor(7, &[2, 2 * gates * 48], 48))
        .node(op, &["x", "w", "r", "b"], &["y", "h"])
        .attr("direction", "bidirectional")
        .attr("hidden_size", 48i64);
    let model = if linear_before_reset { model.attr("linear_before_reset", 1i64) } else { model };
    model.output("y", DType::F32).output("h", DType::F32)
}

fn open(bytes: &[u8], isa: Isa, precision: Precision) -> Result<Session, LoadError> {
    let model = Model::from_bytes(bytes, None, &LoadOptions::default()).unwrap();
    let options = SessionOptions { isa: Some(isa), precision, ..SessionOptions::default() };
    Session::new(model, &options)
}

/// The outputs of a run, and the kernels of its steps with their bytes.
fn run(session: &Session, x: &Tensor) -> (Vec<Vec<f32>>, Vec<(&'static str, u64)>) {
    let steps = Mutex::new(Vec::new());
    let note = |step: StepRun<'_>| steps.lock().unwrap().push((step.kernel, step.work.bytes));
    let cx = RunContext { profile: Some(&note), ..RunContext::default() };
    let outputs = session
        .run_with(&[Some(x.view())], &cx, |outputs| {
            let of = |i| outputs.get(i).unwrap().as_slice::<f32>().unwrap().to_vec();
            (0..session.model().outputs().len()).map(of).collect()
        })
        .unwrap();
    (outputs, steps.into_inner().unwrap())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| -> f64 {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn bf16_gives_nearly_the_same_from_half_the_weights() {
    let cases = [
        ("perceptron", perceptron(), vec![vec![1, 256], vec![4, 256], vec![40, 256]]),
        ("RNN", recurrent("RNN", 1, false), vec![vec![7, 1, 20], vec![1, 1, 20], vec![7, 6, 20]]),
        ("GRU", recurrent("GRU", 3, false), vec![vec![7, 1, 20], vec![7, 6, 20]]),
        ("GRU, linear", recurrent("GRU", 3, true), vec![vec![7, 1, 20], vec![7, 6, 20]]),
        ("LSTM", recurrent("LSTM", 4, false), vec![vec![7, 1, 20], vec![7, 6, 20]]),
    ];
    for (label, model, shapes) in cases {
        let bytes = model.bytes();
        for isa in Isa::available() {
            let wide = open(&bytes, isa, Precision::F32).unwrap();
            let half = open(&bytes, isa, Precision::Bf16).unwrap();
            for dims in &shapes {
                let label = format!("{label} {dims:?} {isa:?}");
                let x = tensor(9, dims, 1);
                let ((expected, wide_steps), (actual, half_steps)) =
                    (run(&wide, &x), run(&half, &x));
                assert!(expected != actual, "{label}: nothing was rounded");
                for (o, (e, a)) in expected.iter().zip(&actual).enumerate() {
                    let cosine = cosine(e, a);
                    assert!(cosine >= 0.999, "{label}, output {o}: cosine {cosine}");
                }
                // Activations are as large as ever; weights are most of what these steps read.
                let total = |steps: &[(&str, u64)]| steps.iter().map(|(_, b)| b).sum::<u64>();
                let (wide, half) = (total(&wide_steps), total(&half_steps));
                assert!(2 * half < wide + wide / 2, "{label}: {half} of {wide} bytes");
                let is_rounded = |(kernel, _): &(&str, u64)| {
                    let products = ["gemm bf16", "gemv bf16", "feed forward bf16"];
                    products.contains(kernel) || ["rnn", "gru", "lstm"].contains(kernel)
                };
                assert!(half_steps.iter().any(is_rounded), "{label}: {half_steps:?}");
            }
        }
    }
}

#[test]
fn products_of_few_columns_stay_in_f32() {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "64"])
        .init("w", tensor(1, &[64, 4], 64))
        .node("MatMul", &["x", "w"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let x = tensor(2, &[9, 64], 1);
    let of = |precision| run(&open(&model, Isa::detect(), precision).unwrap(), &x);
    assert_eq!(of(Precision::F32), of(Precision::Bf16));
}

#[test]
fn a_weight_of_two_nodes_is_packed_once_in_each_form() {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "64"])
        .init("w", tensor(1, &[64, 64], 64))
        .node("MatMul", &["x", "w"], &["y"])
        .node("Gemm", &["y", "w"], &["z"])
        .attr("transB", 1i64)
        .output("z", DType::F32)
        .bytes();
    let x = tensor(2, &[9, 64], 1);
    let of = |precision| run(&open(&model, Isa::detect(), precision).unwrap(), &x).0;
    let (wide, half) = (of(Precision::F32), of(Precision::Bf16));
    assert!(cosine(&wide[0], &half[0]) >= 0.999);
}

#[test]
fn a_precision_that_the_file_lacks_is_refused() {
    let doubles = ModelBuilder::new(17)
        .input("x", DType::F64, &["rows", "2"])
        .init("w", Tensor::from_slice(&[1f64, 2.0, 3.0, 4.0], &[2, 2]).unwrap())
        .node("MatMul", &["x", "w"], &["y"])
        .output("y", DType::F64);
    let bytes = ModelBuilder::new(17)
        .input("x", DType::U8, &["rows", "2"])
        .init("w", Tensor::from_slice(&[1i8, 2, 3, 4], &[2, 2]).unwrap())
        .node("MatMulInteger", &["x", "w"], &["y"])
        .output("y", DType::I32);
    let cases = [
        (
            "f32 in f64",
            perceptron(),
            Precision::F64,
            Some("precision f64: the model has no such weights; supported: f32, bf16"),
        ),
        (
            "f32 in int8",
            perceptron(),
            Precision::Int8,
            Some("precision int8: the model has no such weights; supported: f32, bf16"),
        ),
        ("f64 in f64", doubles.clone(), Precision::F64, None),
        (
            "f64 in int8",
            doubles.clone(),
            Precision::Int8,
            Some("precision int8: the model has no such weights; supported: f32, bf16, f64"),
        ),
        ("f64 in f32", doubles, Precision::F32, None),
        ("bytes in int8", bytes.clone(), Precision::Int8, None),
        (
            "bytes in f64",
            bytes,
            Precision::F64,
            Some("precision f64: the model has no such weights; supported: f32, bf16, int8"),
        ),
    ];
    for (label, model, precision, expected) in cases {
        let error = open(&model.bytes(), Isa::detect(), precision).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), expected, "{label}");
    }
}
