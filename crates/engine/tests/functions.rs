//! Functions that the standard's cases do not reach: what is refused, and weights of 0 beside infinite scores.
#![allow(clippy::unwrap_used)]

use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

fn load(builder: ModelBuilder) -> Result<Model, String> {
    Model::from_bytes(&builder.bytes(), None, &LoadOptions::default()).map_err(|e| e.to_string())
}

fn losses() -> ModelBuilder {
    ModelBuilder::new(22)
        .input("scores", DType::F32, &["n", "classes"])
        .input("target", DType::I64, &["n"])
        .node("SoftmaxCrossEntropyLoss", &["scores", "target"], &["loss"])
}

#[test]
fn refused() {
    let group = |count: usize| {
        let names: Vec<String> = (0..count).map(|i| format!("t{i}")).collect();
        let mut builder = ModelBuilder::new(17)
            .import("ai.onnx.preview.training", 1)
            .input("r", DType::F32, &[])
            .input("t", DType::I64, &[]);
        for name in &names {
            builder = builder.input(name, DType::F32, &["n"]);
        }
        let inputs: Vec<&str> =
            ["r", "t"].into_iter().chain(names.iter().map(String::as_str)).collect();
        builder
            .node("Adam", &inputs, &["x"])
            .domain("ai.onnx.preview.training")
            .output("x", DType::F32)
    };
    let cases = [
        (
            "a reduction that is none",
            losses().attr("reduction", "median").output("loss", DType::F32),
            "reduction is \"median\"; supported: none, sum, mean",
        ),
        ("tensors without gradients", group(3), "3 tensors do not fall apart into 4 groups"),
        (
            "a window of an unknown type",
            ModelBuilder::new(17)
                .input("n", DType::I64, &[])
                .node("HannWindow", &["n"], &["w"])
                .attr("output_datatype", 99i64)
                .output("w", DType::F32),
            "output_datatype names element type 99",
        ),
        (
            "an input of a type that the function does not take",
            ModelBuilder::new(28)
                .input("a", DType::I32, &["n"])
                .node("SwiGLU", &["a", "a"], &["y"])
                .output("y", DType::I32),
            "input 0 of SwiGLU has element type i32",
        ),
    ];
    for (label, builder, text) in cases {
        let error = load(builder).err().unwrap_or_default();
        assert!(error.contains(text), "{label}: {error}");
    }
}

#[test]
fn ignored_targets_hide_infinite_scores() {
    let builder = ModelBuilder::new(22)
        .input("scores", DType::F32, &["n", "classes"])
        .input("target", DType::I64, &["n"])
        .node("NegativeLogLikelihoodLoss", &["scores", "target"], &["loss"])
        .attr("ignore_index", AttributeValue::Int(-7))
        .output("loss", DType::F32);
    let session = Session::new(load(builder).unwrap(), &SessionOptions::default()).unwrap();
    let scores = [f32::NEG_INFINITY, -1.0, -2.0, -4.0];
    let scores = Tensor::from_slice(&scores, &[2, 2]).unwrap();
    let cases = [("the second counts", [-7i64, 1], 4.0f32), ("the first counts", [1, -7], 1.0)];
    for (label, target, want) in cases {
        let target = Tensor::from_slice(&target, &[2]).unwrap();
        let inputs = [Some(scores.view()), Some(target.view())];
        let loss = session
            .run_with(&inputs, &RunContext::default(), |o| o.get(0).unwrap().to_tensor().unwrap())
            .unwrap();
        assert_eq!(loss.as_slice::<f32>().unwrap(), [want], "{label}");
    }
}
