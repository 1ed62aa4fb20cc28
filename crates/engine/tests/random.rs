//! What random operators draw, by its distribution: the standard does not say how numbers are made.
#![allow(clippy::unwrap_used)]

use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

fn session(builder: ModelBuilder) -> Session {
    let model = Model::from_bytes(&builder.bytes(), None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions::default()).unwrap()
}

fn run(session: &Session, inputs: &[Tensor]) -> Tensor {
    let views: Vec<_> = inputs.iter().map(|tensor| Some(tensor.view())).collect();
    session
        .run_with(&views, &RunContext::default(), |o| o.get(0).unwrap().to_tensor().unwrap())
        .unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    match tensor.dtype() {
        DType::F32 => tensor.as_slice::<f32>().unwrap().iter().map(|n| f64::from(*n)).collect(),
        DType::F64 => tensor.as_slice::<f64>().unwrap().to_vec(),
        DType::I32 => tensor.as_slice::<i32>().unwrap().iter().map(|n| f64::from(*n)).collect(),
        DType::I64 => tensor.as_slice::<i64>().unwrap().iter().map(|n| *n as f64).collect(),
        other => panic!("{other}"),
    }
}

const COUNT: usize = 40_000;

/// One operator with a seed that draws [`COUNT`] numbers.
fn drawing(op: &str, attributes: &[(&str, AttributeValue)], dtype: DType) -> ModelBuilder {
    let sizes = AttributeValue::Ints(vec![200, COUNT as i64 / 200]);
    let mut builder = ModelBuilder::new(22).node(op, &[], &["y"]).attr("shape", sizes);
    builder = builder.attr("dtype", AttributeValue::Int(dtype.onnx_number().into()));
    for (name, value) in attributes {
        builder = builder.attr(name, value.clone());
    }
    builder.output("y", dtype)
}

fn float(value: f32) -> AttributeValue {
    AttributeValue::Float(value)
}

#[test]
fn numbers_have_their_distribution() {
    let seed = ("seed", float(7.0));
    let within = [seed.clone(), ("low", float(-2.0)), ("high", float(4.0))];
    let around = [seed, ("mean", float(3.0)), ("scale", float(2.0))];
    for (label, builder, mean, deviation, range) in [
        (
            "uniform",
            drawing("RandomUniform", &within, DType::F32),
            1.0,
            6.0 / 12_f64.sqrt(),
            -2.0..=4.0,
        ),
        (
            "uniform, wide",
            drawing("RandomUniform", &within, DType::F64),
            1.0,
            6.0 / 12_f64.sqrt(),
            -2.0..=4.0,
        ),
        ("normal", drawing("RandomNormal", &around, DType::F32), 3.0, 2.0, -10.0..=16.0),
        ("normal, wide", drawing("RandomNormal", &around, DType::F64), 3.0, 2.0, -10.0..=16.0),
    ] {
        let all = numbers(&run(&session(builder), &[]));
        assert_eq!(all.len(), COUNT, "{label}");
        assert!(all.iter().all(|n| range.contains(n)), "{label}");
        let average = all.iter().sum::<f64>() / COUNT as f64;
        let variance = all.iter().map(|n| (n - average).powi(2)).sum::<f64>() / COUNT as f64;
        // Six standard deviations of the mean of so many, and as much of their deviation.
        let off = 6.0 * deviation / (COUNT as f64).sqrt();
        assert!((average - mean).abs() < off, "{label}: mean {average}");
        assert!(
            (variance.sqrt() - deviation).abs() < off,
            "{label}: deviation {}",
            variance.sqrt()
        );
    }
}

#[test]
fn chances_are_met() {
    let chances = Tensor::from_slice(&vec![0.25_f32; COUNT], &[COUNT]).unwrap();
    let coins = ModelBuilder::new(22)
        .input("x", DType::F32, &["n"])
        .node("Bernoulli", &["x"], &["y"])
        .attr("dtype", AttributeValue::Int(DType::I32.onnx_number().into()))
        .output("y", DType::I32);
    let ones = numbers(&run(&session(coins), &[chances])).iter().sum::<f64>() / COUNT as f64;
    assert!((ones - 0.25).abs() < 0.013, "{ones}");

    let dice = ModelBuilder::new(22)
        .input("x", DType::F32, &["batch", "classes"])
        .node("Multinomial", &["x"], &["y"])
        .attr("sample_size", AttributeValue::Int(COUNT as i64))
        .attr("dtype", AttributeValue::Int(DType::I64.onnx_number().into()))
        .output("y", DType::I64);
    let logits: Vec<f32> = [0.1_f32, 0.6, 0.3, 1.0, 0.0, 1.0].map(f32::ln).to_vec();
    let drawn = run(&session(dice), &[Tensor::from_slice(&logits, &[2, 3]).unwrap()]);
    assert_eq!(drawn.shape().dims(), [2, COUNT]);
    for (row, expected) in [[0.1, 0.6, 0.3], [0.5, 0.0, 0.5]].into_iter().enumerate() {
        let drawn = &numbers(&drawn)[row * COUNT..][..COUNT];
        for (class, chance) in expected.into_iter().enumerate() {
            let part = drawn.iter().filter(|n| **n == class as f64).count() as f64 / COUNT as f64;
            assert!((part - chance).abs() < 0.016, "{row} {class}: {part}");
        }
    }
}

#[test]
fn seeds_repeat_and_nothing_else_does() {
    let builder = |seed: Option<f32>| {
        let seed = seed.map(|seed| ("seed", float(seed)));
        drawing("RandomUniform", seed.as_slice(), DType::F32)
    };
    let [a, b, other, free, freer] =
        [Some(1.0), Some(1.0), Some(2.0), None, None].map(|seed| session(builder(seed)));
    let (first, second) = (numbers(&run(&a, &[])), numbers(&run(&a, &[])));
    assert_eq!((&first, &second), (&numbers(&run(&b, &[])), &numbers(&run(&b, &[]))));
    let runs = [
        first,
        second,
        numbers(&run(&other, &[])),
        numbers(&run(&free, &[])),
        numbers(&run(&freer, &[])),
    ];
    for (at, one) in runs.iter().enumerate() {
        assert!(runs[..at].iter().all(|before| before != one), "{at}");
    }
    // Two nodes alike draw twice.
    let like = ModelBuilder::new(22)
        .input("x", DType::I32, &["n"])
        .node("RandomNormalLike", &["x"], &["a"])
        .attr("dtype", AttributeValue::Int(1))
        .node("RandomNormalLike", &["x"], &["b"])
        .attr("dtype", AttributeValue::Int(1))
        .node("Sub", &["a", "b"], &["y"])
        .output("y", DType::F32);
    let x = Tensor::from_slice(&[0_i32; 50], &[50]).unwrap();
    assert!(numbers(&run(&session(like), &[x])).iter().all(|n| *n != 0.0));
}
