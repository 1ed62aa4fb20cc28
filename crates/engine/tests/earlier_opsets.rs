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
