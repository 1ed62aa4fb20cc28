//! Recurrent layers whose weights were quantised: they stay bytes, and states are those of the numbers that they stand for.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::sync::Mutex;

use stead_engine::{
    Isa, Lift, LoadOptions, Model, PassChoice, RunContext, Session, SessionOptions, StepRun,
};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Element, Tensor};

/// Whole numbers without any order.
fn fixed(count: usize, seed: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| (i * 7919 + seed * 104_729) % 2003)
}

fn tensor<T: Element>(dims: &[usize], seed: usize, of: impl Fn(usize) -> T) -> Tensor {
    let values: Vec<T> = fixed(dims.iter().product(), seed).map(of).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

fn scale(n: usize) -> f32 {
    (1 + n % 7) as f32 / 512.0
}

/// What a layer is made of.
#[derive(Debug, Clone, Copy)]
struct Layer {
    op: &'static str,
    directions: usize,
    input: usize,
    hidden: usize,
    steps: usize,
    batch: usize,
}

impl Layer {
    fn rows(&self) -> usize {
        let gates = match self.op {
            "LSTM" => 4,
            "GRU" => 3,
            _ => 1,
        };
        gates * self.hidden
    }

    /// Input weights without a sign and recurrent weights with one, behind DequantizeLinear.
    fn weight_only(&self) -> ModelBuilder {
        let Layer { op, directions, input, hidden, .. } = *self;
        let rows = self.rows();
        // Sums of many products stay where functions are not flat, and do not carry a rounding on from step to step.
        let smaller = |n| scale(n) * 2.0 / hidden as f32;
        let direction = if directions == 2 { "bidirectional" } else { "forward" };
        ModelBuilder::new(17)
            .input("x", DType::F32, &["t", "n", &input.to_string()])
            .init("w", tensor(&[directions, rows, input], 1, |n| (n % 256) as u8))
            .init("r", tensor(&[directions, rows, hidden], 2, |n| (n % 256) as u8 as i8 ^ -128))
            .init("ws", tensor(&[rows], 3, smaller))
            .init("rs", tensor(&[rows], 4, smaller))
            .init("wz", tensor(&[rows], 0, |_| 128u8))
            .node("DequantizeLinear", &["w", "ws", "wz"], &["wf"])
            .attr("axis", 1i64)
            .node("DequantizeLinear", &["r", "rs"], &["rf"])
            .attr("axis", 1i64)
            .node(op, &["x", "wf", "rf"], &["y", "h"])
            .named("memory")
            .attr("hidden_size", hidden as i64)
            .attr("direction", direction)
            .output("y", DType::F32)
    }

    fn x(&self) -> Tensor {
        let of = |n: usize| ((n % 200) as f32 - 100.0) / 100.0;
        tensor(&[self.steps, self.batch, self.input], 5, of)
    }

    fn weight_bytes(&self) -> u64 {
        (self.directions * self.rows() * (self.input + self.hidden)) as u64
    }
}

fn open(bytes: &[u8], isa: Isa, options: &LoadOptions) -> Session {
    let model = Model::from_bytes(bytes, None, options).unwrap();
    Session::new(model, &SessionOptions { isa: Some(isa), ..SessionOptions::default() }).unwrap()
}

/// The first output, and bytes that the step of the layer reads.
fn run(session: &Session, x: &Tensor) -> (Vec<f32>, u64) {
    let read = Mutex::new(0);
    let note = |step: StepRun<'_>| {
        if ["rnn", "gru", "lstm"].contains(&step.kernel) {
            *read.lock().unwrap() += step.work.bytes;
        }
    };
    let cx = RunContext { profile: Some(&note), ..RunContext::default() };
    let mut inputs = vec![Some(x.view())];
    inputs.resize(session.model().inputs().len(), None);
    let y = session
        .run_with(&inputs, &cx, |outputs| {
            outputs.get(0).unwrap().as_slice::<f32>().unwrap().to_vec()
        })
        .unwrap();
    (y, read.into_inner().unwrap())
}

fn near(label: &str, got: &[f32], want: &[f32], bound: f32) {
    assert_eq!(got.len(), want.len(), "{label}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= bound, "{label}, {at}: {got}, expected {want}");
    }
}

/// By ONNX Runtime 1.31.1.
#[test]
fn states_are_those_of_onnx_runtime() {
    let cases = [
        (
            "LSTM",
            [
                -0.2736781,
                -0.1810624,
                -0.1583121,
                -0.1519752,
                -0.05324516,
                -0.03380267,
                0.2137169,
                0.1311155,
            ],
        ),
        (
            "GRU",
            [
                -0.1573661,
                -0.1112067,
                -0.05449156,
                -0.03121791,
                0.486789,
                0.2508242,
                0.09333376,
                0.003827048,
            ],
        ),
        (
            "RNN",
            [
                0.7106404,
                0.4805139,
                0.8544663,
                -0.04222214,
                -0.722147,
                -0.4873105,
                -0.9418736,
                -0.2501623,
            ],
        ),
    ];
    for (op, want) in cases {
        let layer = Layer { op, directions: 2, input: 3, hidden: 2, steps: 2, batch: 1 };
        for isa in Isa::available() {
            let session = open(&layer.weight_only().bytes(), isa, &LoadOptions::default());
            near(&format!("{op} {isa:?}"), &run(&session, &layer.x()).0, &want, 1e-6);
        }
    }
}

#[test]
fn weights_stay_bytes_and_states_the_same() {
    for op in ["LSTM", "GRU", "RNN"] {
        for (directions, steps, batch) in [(1, 1, 1), (2, 7, 1), (1, 3, 6), (2, 5, 3)] {
            let layer = Layer { op, directions, input: 33, hidden: 70, steps, batch };
            let bytes = layer.weight_only().bytes();
            let none = LoadOptions { passes: PassChoice::None, ..LoadOptions::default() };
            let (want, wide) = run(&open(&bytes, Isa::detect(), &none), &layer.x());
            for isa in Isa::available() {
                let label = format!("{layer:?} {isa:?}");
                let (got, small) = run(&open(&bytes, isa, &LoadOptions::default()), &layer.x());
                near(&label, &got, &want, 1e-5);
                let saved = 2 * layer.weight_bytes();
                assert!(small + saved < wide, "{label}: {small} bytes, {wide} before");
            }
        }
    }
}

#[test]
fn dynamic_layers_stay_bytes_too() {
    let (directions, input, hidden) = (2, 12, 40);
    let rows = 4 * hidden;
    for (each, dims) in [("direction", &[2][..]), ("row", &[2, 160])] {
        let dynamic = ModelBuilder::new(17)
            .import("com.microsoft", 1)
            .input("x", DType::F32, &["t", "n", "12"])
            .init("w", tensor(&[directions, input, rows], 1, |n| (n % 255) as u8 as i8))
            .init("r", tensor(&[directions, hidden, rows], 2, |n| (n % 255) as u8 as i8))
            .init("s", tensor(dims, 3, scale))
            .init("z", tensor(dims, 3, |_| 0i8));
        let names = ["x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"];
        let dynamic = dynamic
            .node("DynamicQuantizeLSTM", &names, &["y"])
            .domain("com.microsoft")
            .attr("hidden_size", hidden as i64)
            .attr("direction", "bidirectional")
            .output("y", DType::F32)
            .bytes();
        let x = tensor(&[4, 2, input], 5, |n| (n % 200) as f32 / 100.0 - 1.0);
        let none = LoadOptions { passes: PassChoice::None, ..LoadOptions::default() };
        let (want, wide) = run(&open(&dynamic, Isa::detect(), &none), &x);
        let (got, small) = run(&open(&dynamic, Isa::detect(), &LoadOptions::default()), &x);
        near(each, &got, &want, 1e-5);
        let bytes = (directions * rows * (input + hidden)) as u64;
        assert!(small + 2 * bytes < wide, "{each}: {small} bytes, {wide} before");
    }
}

#[test]
fn layers_whose_states_are_lifted_stay_bytes() {
    for op in ["LSTM", "GRU", "RNN"] {
        let layer = Layer { op, directions: 1, input: 9, hidden: 50, steps: 3, batch: 1 };
        let bytes = layer.weight_only().bytes();
        let lift = Some(Lift { recurrences: true, ..Lift::default() });
        let options = LoadOptions { lift, ..LoadOptions::default() };
        let lifted = open(&bytes, Isa::detect(), &options);
        let states = lifted.model().lifted().len();
        assert_eq!(states, if op == "LSTM" { 2 } else { 1 }, "{op}");
        let (got, small) = run(&lifted, &layer.x());
        let plain = open(&bytes, Isa::detect(), &LoadOptions::default());
        let (want, same) = run(&plain, &layer.x());
        near(op, &got, &want, 1e-6);
        let bound = same + 8 * layer.hidden as u64 * 4;
        assert!(small <= bound, "{op}: {small} bytes, {same} without states");
    }
}
