//! Models and inputs that ask for more than there is are refused, by the name of what is too large: what random changes of node
//! models have found (`tests/node_models`).
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{LoadOptions, Model, RunError, Session, SessionOptions};
use stead_onnx::{AttributeValue, Graph, ModelBuilder};
use stead_tensor::{Bool, DType, Tensor};

fn ints(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

fn int(value: i64) -> Tensor {
    Tensor::scalar(value).unwrap()
}

/// Runs a model on its only input.
fn run(model: ModelBuilder, x: &Tensor) -> Result<Vec<Tensor>, RunError> {
    let model = Model::from_onnx(model.build().unwrap(), &LoadOptions::default()).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    session.run(&[("x", x.view())], &[])
}

fn refused(label: &str, model: ModelBuilder, x: &Tensor, expected: &str) {
    let error = run(model, x).unwrap_err().to_string();
    assert!(error.contains(expected), "{label}: {error}");
}

/// Resizes by the sizes that the input has, so that no constant tells them.
fn resize(mode: &str) -> ModelBuilder {
    ModelBuilder::new(19)
        .input("x", DType::I64, &["2"])
        .init("picture", Tensor::from_slice(&[0.0f32; 4], &[2, 2]).unwrap())
        .node("Resize", &["picture", "", "", "x"], &["y"])
        .attr("mode", mode)
        .output("y", DType::F32)
}

#[test]
fn axes_of_a_resize_have_an_end() {
    for mode in ["nearest", "linear", "cubic"] {
        let large = ints(&[2, 1 << 32]);
        refused(mode, resize(mode), &large, "entries; at most 16777216 can be planned");
    }
    // Of no elements one axis may be called as large as another.
    let empty = run(resize("nearest"), &ints(&[0, 1 << 40])).unwrap();
    assert_eq!(empty[0].shape().dims(), [0, 1 << 40]);
}

#[test]
fn pads_have_an_end() {
    let pad = || {
        ModelBuilder::new(19)
            .input("x", DType::I64, &["2"])
            .init("row", Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap())
            .node("Pad", &["row", "x"], &["y"])
            .attr("mode", "edge")
            .output("y", DType::F32)
    };
    refused("edge", pad(), &ints(&[1, 1 << 32]), "entries; at most 16777216 can be planned");
    assert_eq!(run(pad(), &ints(&[1, 0])).unwrap()[0].as_slice(), Ok(&[1.0f32, 1.0, 2.0][..]));
}

#[test]
fn windows_have_an_end() {
    let col2im = ModelBuilder::new(18)
        .input("x", DType::I64, &["3"])
        .init("columns", Tensor::from_slice(&[1.0f32; 5], &[1, 1, 5]).unwrap())
        .init("image", ints(&[1 << 40, 1 << 40, 1 << 40]))
        .node("Col2Im", &["columns", "image", "x"], &["y"])
        .output("y", DType::F32);
    refused("Col2Im", col2im, &ints(&[1 << 40, 1 << 40, 1 << 40]), "a window of");
}

#[test]
fn regions_without_an_end_are_soon_done() {
    let align = |sampling: i64| {
        ModelBuilder::new(16)
            .input("x", DType::F32, &["1", "4"])
            .init("map", Tensor::from_slice(&[1.0f32; 16], &[1, 1, 4, 4]).unwrap())
            .init("of", ints(&[0]))
            .node("RoiAlign", &["map", "x", "of"], &["y"])
            .attr("output_height", 30i64)
            .attr("output_width", 30i64)
            .attr("sampling_ratio", sampling)
            .output("y", DType::F32)
    };
    let region = Tensor::from_slice(&[-1e9f32, -1e9, 1e9, 1e9], &[1, 4]).unwrap();
    let y = run(align(0), &region).unwrap();
    assert_eq!(y[0].as_slice::<f32>().unwrap().len(), 900);
    let model = Model::from_onnx(align(1 << 33).build().unwrap(), &LoadOptions::default());
    let error = Session::new(model.unwrap(), &SessionOptions::default()).err().unwrap();
    assert!(error.to_string().contains("sampling_ratio of 8589934592; supported: up to 64"));
}

#[test]
fn transforms_have_an_end() {
    let dft = ModelBuilder::new(20)
        .input("x", DType::I64, &[])
        .init("signal", Tensor::from_slice(&[1.0f32; 4], &[1, 4, 1]).unwrap())
        .node("DFT", &["signal", "x"], &["y"])
        .output("y", DType::F32);
    refused("DFT", dft, &int(1 << 32), "a table of 4294967296 times 2 entries");
    let mel = ModelBuilder::new(17)
        .input("x", DType::I64, &[])
        .init("length", int(1 << 20))
        .init("rate", int(16_000))
        .init("low", Tensor::scalar(0.0f32).unwrap())
        .init("high", Tensor::scalar(8000.0f32).unwrap())
        .node("MelWeightMatrix", &["x", "length", "rate", "low", "high"], &["y"])
        .output("y", DType::F32);
    refused("MelWeightMatrix", mel, &int(500), "524289 frequencies of 500 bands are too many");
}

/// Taps of a window times groups of offsets are counted from the model alone.
#[test]
fn groups_of_offsets_have_an_end() {
    for groups in [3, 1 << 62, i64::MAX] {
        let model = ModelBuilder::new(19)
            .input("x", DType::F32, &["1", "1", "3", "3"])
            .init("w", Tensor::from_slice(&[1.0f32; 4], &[1, 1, 2, 2]).unwrap())
            .init("offsets", Tensor::from_slice(&[0.0f32; 32], &[1, 8, 2, 2]).unwrap())
            .node("DeformConv", &["x", "w", "offsets"], &["y"])
            .attr("offset_group", groups)
            .output("y", DType::F32);
        let x = Tensor::from_slice(&[1.0f32; 9], &[1, 1, 3, 3]).unwrap();
        refused("DeformConv", model, &x, &format!("do not fit [1,1,2,2] in {groups} groups"));
    }
}

/// Of a window that is far wider than the input only the taps over the input cost time.
#[test]
fn wide_windows_are_soon_done() {
    for (op, expected) in [("MaxPool", [4.0_f32; 5]), ("AveragePool", [2.5; 5])] {
        let model = ModelBuilder::new(19)
            .input("x", DType::F32, &["1", "1", "4"])
            .node(op, &["x"], &["y"])
            .attr("kernel_shape", AttributeValue::Ints(vec![1 << 40]))
            .attr("pads", AttributeValue::Ints(vec![1 << 39; 2]))
            .output("y", DType::F32);
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[1, 1, 4]).unwrap();
        let found = run(model, &x).unwrap();
        assert_eq!(found[0].as_slice::<f32>().unwrap(), expected, "{op}");
    }
}

/// Kernels write outputs that nobody wants too, in room of the right size.
#[test]
fn outputs_may_be_left_out() {
    let model = |outputs: &[&str]| {
        let model = ModelBuilder::new(27)
            .input("x", DType::F32, &["1", "1", "6"])
            .init("w", Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[1, 1, 4]).unwrap())
            .node("CausalConvWithState", &["x", "w"], outputs)
            .node("Abs", &["x"], &[]);
        outputs.iter().fold(model, |model, name| model.output(name, DType::F32))
    };
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 1, 6]).unwrap();
    let [both, one] = [&["y", "present"][..], &["y"]].map(|names| run(model(names), &x).unwrap());
    assert_eq!(both[0].as_slice::<f32>().unwrap(), [4.0, 11.0, 20.0, 30.0, 40.0, 50.0]);
    assert_eq!(one[0].as_slice::<f32>(), both[0].as_slice::<f32>());
}

/// A body that counts nothing and goes on, with `nodes` that carry the value `c`.
fn body(nodes: impl FnOnce(ModelBuilder) -> ModelBuilder) -> Graph {
    let body = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .input("c", DType::F32, &[])
        .node("Identity", &["go"], &["on"])
        .output("on", DType::Bool);
    nodes(body).output("next", DType::F32).graph()
}

#[test]
fn loops_in_loops_have_an_end() {
    let inner = body(|b| b.node("Neg", &["c"], &["next"]));
    let outer = body(|b| b.node("Loop", &["often", "yes", "c"], &["next"]).attr("body", inner));
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &[])
        .init("often", int(60_000))
        .init("yes", Tensor::scalar(Bool(1)).unwrap())
        .node("Loop", &["often", "yes", "x"], &["y"])
        .attr("body", outer)
        .output("y", DType::F32);
    let x = Tensor::scalar(1.0f32).unwrap();
    refused("loops", model, &x, "more than 4194304 nodes");
}

#[test]
fn sequences_that_change_in_loops_have_an_end() {
    use stead_onnx::ValueType;
    let list = || ValueType::Sequence(Box::new(ValueType::tensor(DType::F32, None)));
    let body = |nodes: fn(ModelBuilder) -> ModelBuilder| {
        let body = ModelBuilder::new(17)
            .input("i", DType::I64, &[])
            .input("go", DType::Bool, &[])
            .input_of("list", list())
            .node("Identity", &["go"], &["on"]);
        nodes(body).output("on", DType::Bool).output_of("other", list()).graph()
    };
    let longer = body(|body| body.node("SequenceInsert", &["list", "x"], &["other"]));
    let other = body(|body| {
        let body = body.init("first", int(0)).node("SequenceErase", &["list", "first"], &["rest"]);
        body.node("SequenceInsert", &["rest", "x"], &["other"])
    });
    let model = |often: i64, changed: i64| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .init("often", int(often))
            .init("changed", int(changed))
            .init("yes", Tensor::scalar(Bool(1)).unwrap())
            .node("SequenceEmpty", &[], &["none"])
            .node("Loop", &["often", "yes", "none"], &["grown"])
            .attr("body", longer.clone())
            .node("Loop", &["changed", "yes", "grown"], &["all"])
            .attr("body", other.clone())
            .node("SequenceLength", &["all"], &["y"])
            .output("y", DType::I64)
    };
    let x = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
    for (often, changed) in [(1000, 10), (60_000, 0)] {
        assert_eq!(run(model(often, changed), &x).unwrap(), [int(often)]);
    }
    refused("longer", model(70_000, 0), &x, "more than 65536 iterations");
    refused("changed", model(60_000, 60_000), &x, "33554432 copies of elements of sequences");
}
