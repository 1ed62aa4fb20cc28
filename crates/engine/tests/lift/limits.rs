//! What is no state stays what it was.

use super::harness::{KEEP, Rng, load};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

#[test]
fn what_is_no_memory_is_left_alone() {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", "b", "2"])
        .input("h", DType::F32, &["b", "3"])
        .init("w", Rng(1).tensor(&[1, 9, 2]))
        .init("r", Rng(2).tensor(&[1, 9, 3]))
        .init("axis", Tensor::from_slice(&[0i64], &[1]).unwrap())
        .node("Unsqueeze", &["h", "axis"], &["h0"])
        .node("GRU", &["x", "w", "r", "", "", "h0"], &["y", "y_h"])
        .named("gru")
        .node("Squeeze", &["y_h", "axis"], &["hn"])
        .output("y", DType::F32)
        .output("hn", DType::F32)
        .bytes();
    let model = load(&model, KEEP).unwrap();
    assert_eq!((model.lifted().len(), model.inputs().len(), model.outputs().len()), (0, 2, 2));
    let left: Vec<_> = model.unlifted().iter().map(|u| (&*u.node, &*u.reason)).collect();
    let paired = "state 0 is an input and an output of the model already";
    assert_eq!(left, [("GRU node \"gru\"", paired)]);

    // A loop that improves a guess which it makes from its input; and one that collects.
    let body = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .input("guess", DType::F32, &["n"])
        .input("seen", DType::F32, &["m"])
        .node("Mul", &["guess", "half"], &["better"])
        .node("Identity", &["go"], &["on"])
        .node("Concat", &["seen", "better"], &["more"])
        .attr("axis", 0)
        .output("on", DType::Bool)
        .output("better", DType::F32)
        .output("more", DType::F32)
        .graph();
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["n"])
        .init("half", Tensor::scalar(0.5f32).unwrap())
        .init("three", Tensor::scalar(3i64).unwrap())
        .init("none", Tensor::from_slice::<f32>(&[], &[0]).unwrap())
        .node("Sin", &["x"], &["guess0"])
        .node("Loop", &["three", "", "guess0", "none"], &["best", "all"])
        .named("improve")
        .attr("body", body)
        .output("best", DType::F32)
        .output("all", DType::F32)
        .bytes();
    let model = load(&bytes, KEEP).unwrap();
    assert!(model.lifted().is_empty());
    let left: Vec<_> = model.unlifted().iter().map(|u| &*u.reason).collect();
    let reasons = [
        "state 0 begins with what the model computes from its inputs",
        "state 1 only collects results of this request",
    ];
    assert_eq!(left, reasons);
}
