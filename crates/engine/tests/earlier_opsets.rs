//! Models of opsets before 7, against values computed by hand.
#![allow(clippy::unwrap_used)]

use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

fn load(builder: ModelBuilder) -> Result<Model, String> {
    Model::from_bytes(&builder.bytes(), None, &LoadOptions::default()).map_err(|e| e.to_string())
}

/// One node of two inputs, the second a constant.
fn node(
    opset: i64,
    op: &str,
    b: (&[f32], &[usize]),
    attributes: &[(&str, AttributeValue)],
) -> ModelBuilder {
    let mut builder = ModelBuilder::new(opset).input("a", DType::F32, &["n", "m", "k"]);
    let mut inputs = vec!["a"];
    if !b.1.is_empty() {
        builder = builder.init("b", Tensor::from_slice(b.0, b.1).unwrap());
        inputs.push("b");
    }
    builder = builder.node(op, &inputs, &["y"]);
    for (name, value) in attributes {
        builder = builder.attr(name, value.clone());
    }
    builder.output("y", DType::F32)
}

fn int(value: i64) -> AttributeValue {
    AttributeValue::Int(value)
}

#[test]
fn operators_are_what_they_were() {
    let none: (&[f32], &[usize]) = (&[], &[]);
    let axis = |axis: i64| vec![("broadcast", int(1)), ("axis", int(axis))];
    let hint = ("consumed_inputs", AttributeValue::Ints(vec![0, 0]));
    let cases = [
        (
            "of one shape",
            node(6, "Add", (&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]), &[]),
            vec![0.0, 3.0, 1.0, 7.0],
        ),
        (
            "at the end",
            node(6, "Sub", (&[1.0, 2.0], &[2]), &[("broadcast", int(1))]),
            vec![-2.0, -1.0, -3.0, 1.0],
        ),
        ("from an axis", node(6, "Mul", (&[1.0, 2.0], &[2]), &axis(1)), vec![-1.0, 1.0, -4.0, 6.0]),
        (
            "from the first axis",
            node(6, "Div", (&[2.0], &[1]), &axis(0)),
            vec![-0.5, 0.5, -1.0, 1.5],
        ),
        (
            "up to the last axis",
            node(6, "Add", (&[1.0, 2.0], &[2]), &axis(2)),
            vec![0.0, 3.0, -1.0, 5.0],
        ),
        (
            "of the first version",
            node(1, "Add", (&[1.0, 2.0], &[2]), &[hint.clone(), ("broadcast", int(1))]),
            vec![0.0, 3.0, -1.0, 5.0],
        ),
        ("a power", node(1, "Pow", (&[2.0, 3.0], &[2]), &axis(1)), vec![1.0, 1.0, -8.0, 27.0]),
        (
            "a slope of a channel",
            node(6, "PRelu", (&[0.5, 0.25], &[2]), &[]),
            vec![-0.5, 1.0, -0.5, 3.0],
        ),
        ("a slope of all", node(6, "PRelu", (&[0.5], &[1]), &[]), vec![-0.5, 1.0, -1.0, 3.0]),
        ("a hint", node(1, "Relu", none, &[hint]), vec![0.0, 1.0, 0.0, 3.0]),
        (
            "bounds",
            node(1, "Clip", none, &[("min", AttributeValue::Float(-1.0))]),
            vec![-1.0, 1.0, -1.0, 3.0],
        ),
        (
            "nothing dropped",
            node(6, "Dropout", none, &[("is_test", int(1))]),
            vec![-1.0, 1.0, -2.0, 3.0],
        ),
        (
            "a shape",
            node(1, "Reshape", none, &[("shape", AttributeValue::Ints(vec![4, -1]))]),
            vec![-1.0, 1.0, -2.0, 3.0],
        ),
        ("several", node(1, "Max", (&[0.0; 4], &[1, 2, 2]), &[]), vec![0.0, 1.0, 0.0, 3.0]),
    ];
    for (label, builder, expected) in cases {
        let model = load(builder).unwrap_or_else(|error| panic!("{label}: {error}"));
        let session = Session::new(model, &SessionOptions::default()).unwrap();
        let a = Tensor::from_slice(&[-1.0f32, 1.0, -2.0, 3.0], &[1, 2, 2]).unwrap();
        let y = session
            .run_with(&[Some(a.view())], &RunContext::default(), |o| {
                o.get(0).unwrap().to_tensor().unwrap()
            })
            .unwrap();
        assert_eq!(y.as_slice::<f32>().unwrap(), expected, "{label}");
    }
}

#[test]
fn what_trained_is_refused() {
    let none: (&[f32], &[usize]) = (&[], &[]);
    let negative = [("broadcast", int(1)), ("axis", int(-1))];
    for (label, builder, text) in [
        (
            "elements at random",
            node(6, "Dropout", none, &[]),
            "is_test 0: elements are dropped at random; supported: 1",
        ),
        (
            "an axis from the end",
            node(6, "Add", (&[1.0], &[1]), &negative),
            "axis -1; supported: 0 and more",
        ),
        ("never seen", node(1, "Pad", none, &[]), "supported opsets: 7 to 10"),
    ] {
        let error = load(builder).err().unwrap_or_default();
        assert!(error.contains(text), "{label}: {error}");
    }
}

/// Runs a Scan of opset 8 over two sequences of `s = (s + x) * w`, which collects `s` too.
fn scan(directions: &[i64], lengths: Option<[i64; 2]>) -> Vec<Vec<f32>> {
    let element = ["1"];
    let body = ModelBuilder::new(8)
        .input("s", DType::F32, &element)
        .input("x", DType::F32, &element)
        .input("w", DType::F32, &element)
        .node("Add", &["s", "x"], &["t"])
        .node("Mul", &["t", "w"], &["u"])
        .node("Identity", &["u"], &["o"])
        .output("u", DType::F32)
        .output("o", DType::F32);
    let floats = |values: &[f32], dims: &[usize]| Tensor::from_slice(values, dims).unwrap();
    let mut model = ModelBuilder::new(8)
        .init("s0", floats(&[1.0, 2.0], &[2, 1]))
        .init("ws", floats(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], &[2, 3, 1]))
        .input("xs", DType::F32, &["2", "3", "1"]);
    let mut first = "";
    if let Some(lengths) = lengths {
        model = model.init("lens", Tensor::from_slice(&lengths, &[2]).unwrap());
        first = "lens";
    }
    let model = model
        .node("Scan", &[first, "s0", "xs", "ws"], &["end", "all"])
        .attr("num_scan_inputs", int(2))
        .attr("directions", AttributeValue::Ints(directions.to_vec()))
        .attr("body", AttributeValue::Graph(body.build().unwrap().graph))
        .output("end", DType::F32)
        .output("all", DType::F32);
    let session = Session::new(load(model).unwrap(), &SessionOptions::default()).unwrap();
    let xs = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3, 1]);
    let found = session.run(&[("xs", xs.view())], &[]).unwrap();
    assert_eq!(found[1].shape().dims(), [2, 3, 1]);
    found.iter().map(|tensor| tensor.as_slice::<f32>().unwrap().to_vec()).collect()
}

/// The values are those of ONNX Runtime.
#[test]
fn scans_had_batches_and_lengths() {
    for (directions, lengths, end, all) in [
        (&[][..], None, [11.0, 46.0], [2.0, 8.0, 11.0, 12.0, 17.0, 46.0]),
        (&[], Some([3, 2]), [11.0, 17.0], [2.0, 8.0, 11.0, 12.0, 17.0, 0.0]),
        (&[0, 0], Some([1, 3]), [2.0, 46.0], [2.0, 0.0, 0.0, 12.0, 17.0, 46.0]),
        (&[1, 0], None, [13.0, 50.0], [4.0, 12.0, 13.0, 16.0, 21.0, 50.0]),
        (&[1, 0], Some([3, 2]), [13.0, 18.0], [4.0, 12.0, 13.0, 14.0, 18.0, 0.0]),
        (&[0, 1], Some([3, 2]), [11.0, 22.0], [2.0, 8.0, 11.0, 6.0, 22.0, 0.0]),
    ] {
        let found = scan(directions, lengths);
        assert_eq!(found, [end.to_vec(), all.to_vec()], "{directions:?} {lengths:?}");
    }
}
