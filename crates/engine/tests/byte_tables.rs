//! Functions between bytes as tables, against the nodes of the file.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadOptions, Model, PassChoice, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// The bits of the first output, and the kernels that computed it.
fn run(model: &[u8], passes: PassChoice, x: &Tensor) -> (Vec<u8>, Vec<&'static str>) {
    let options = LoadOptions { passes, ..LoadOptions::default() };
    let model = Model::from_bytes(model, None, &options).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    let views = [Some(x.view())];
    let y = session
        .run_with(&views, &RunContext::default(), |outputs| outputs.get(0).unwrap().to_tensor())
        .unwrap()
        .unwrap();
    let kernels = session.plan_view(&views).unwrap().steps.iter().map(|s| s.kernel).collect();
    (y.bytes().to_vec(), kernels)
}

/// `x` as the floats `f`, which something makes `g` of, as bytes.
fn model(signed: bool, of: impl FnOnce(ModelBuilder) -> ModelBuilder) -> Vec<u8> {
    let dtype = if signed { DType::I8 } else { DType::U8 };
    let zero = if signed { Tensor::scalar(-7i8) } else { Tensor::scalar(121u8) };
    let b = ModelBuilder::new(17)
        .input("x", dtype, &["n", "m"])
        .init("scale", Tensor::scalar(0.037f32).unwrap())
        .init("half", Tensor::scalar(0.011f32).unwrap())
        .init("zero", zero.unwrap())
        .node("DequantizeLinear", &["x", "scale", "zero"], &["f"]);
    of(b).node("QuantizeLinear", &["g", "half", "zero"], &["y"]).output("y", dtype).bytes()
}

#[test]
fn tables_hold_what_the_nodes_compute() {
    let bits: Vec<u8> = (0..=255).collect();
    for signed in [false, true] {
        let x = match signed {
            false => Tensor::from_slice(&bits, &[8, 32]).unwrap(),
            true => {
                let signed: Vec<i8> = bits.iter().map(|bits| *bits as i8).collect();
                Tensor::from_slice(&signed, &[8, 32]).unwrap()
            }
        };
        let hard_swish = |b: ModelBuilder| {
            b.node("HardSigmoid", &["f"], &["h"])
                .attr("alpha", 0.166_666_67f32)
                .node("QuantizeLinear", &["h", "half", "zero"], &["q"])
                .node("DequantizeLinear", &["q", "half", "zero"], &["d"])
                .node("Mul", &["f", "d"], &["g"])
        };
        let tanh = |b: ModelBuilder| b.node("Tanh", &["f"], &["g"]);
        let number = |b: ModelBuilder| {
            b.node("Sub", &["f", "half"], &["s"]).node("Mul", &["s", "s"], &["g"])
        };
        let scale = |b: ModelBuilder| b.node("Identity", &["f"], &["g"]);
        for (label, model) in [
            ("hard swish", model(signed, hard_swish)),
            ("tanh", model(signed, tanh)),
            ("a number", model(signed, number)),
            ("another scale", model(signed, scale)),
        ] {
            let (want, _) = run(&model, PassChoice::None, &x);
            let (got, kernels) = run(&model, PassChoice::All, &x);
            assert_eq!(kernels, ["byte table"], "{label}");
            assert_eq!(got, want, "{label} signed {signed}");
            assert!(want.iter().any(|y| *y != want[0]), "{label}: all the same");
        }
    }
}
