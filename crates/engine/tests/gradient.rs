//! Gradient beside finite differences.
#![allow(clippy::unwrap_used)] // a panic is the report

use proptest::prelude::*;
use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder, ValueType};
use stead_tensor::{DType, Tensor};

const TRAINING: &str = "ai.onnx.preview.training";
/// Differences of f64 at this distance are off by about 1e-10 of what the functions below become.
const STEP: f64 = 1e-5;
const TOLERANCE: f64 = 1e-6;

fn int(value: i64) -> AttributeValue {
    AttributeValue::Int(value)
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

fn texts(values: &[&str]) -> AttributeValue {
    AttributeValue::Strings(values.iter().map(|text| text.as_bytes().to_vec()).collect())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::String(value.as_bytes().to_vec())
}

fn new(inputs: &[&str]) -> ModelBuilder {
    let any = || ValueType::tensor(DType::F64, None);
    let new = ModelBuilder::new(18).import(TRAINING, 1);
    inputs.iter().fold(new, |model, name| model.input_of(name, any()))
}

/// The node that gives `d0`, `d1`, ... by `xs`.
fn derived(model: ModelBuilder, given: &[&str], xs: &[&str], y: &str) -> ModelBuilder {
    let names: Vec<String> = (0..xs.len()).map(|at| format!("d{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let model = model
        .node("Gradient", given, &names)
        .domain(TRAINING)
        .attr("xs", texts(xs))
        .attr("y", text(y));
    names.iter().fold(model, |model, name| model.output(name, DType::F64))
}

fn load(model: ModelBuilder) -> Result<Session, String> {
    let model = Model::from_onnx(model.build().unwrap(), &LoadOptions::default());
    let session = model.and_then(|model| Session::new(model, &SessionOptions::default()));
    session.map_err(|e| e.to_string())
}

fn run(session: &Session, names: &[&str], inputs: &[Tensor], output: &str) -> Tensor {
    let given: Vec<_> = names.iter().copied().zip(inputs.iter().map(Tensor::view)).collect();
    session.run(&given, &[output]).unwrap().remove(0)
}

/// Compares the gradient of the sum of `y` by every input with differences.
fn check(label: &str, names: &[&str], inputs: &[Tensor], model: ModelBuilder) {
    let session = load(derived(model, names, names, "y").output("y", DType::F64));
    let session = session.unwrap_or_else(|e| panic!("{label}: {e}"));
    let sum = |inputs: &[Tensor]| -> f64 {
        run(&session, names, inputs, "y").as_slice::<f64>().unwrap().iter().sum()
    };
    for (at, input) in inputs.iter().enumerate() {
        let found = run(&session, names, inputs, &format!("d{at}"));
        assert_eq!(found.shape(), input.shape(), "{label}, by {}", names[at]);
        let values = input.as_slice::<f64>().unwrap();
        for (place, &found) in found.as_slice::<f64>().unwrap().iter().enumerate() {
            let moved = |by: f64| {
                let mut values = values.to_vec();
                values[place] += by;
                let mut inputs = inputs.to_vec();
                inputs[at] = Tensor::from_slice(&values, &input.shape()).unwrap();
                sum(&inputs)
            };
            let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            let off = (found - expected).abs();
            assert!(
                off <= TOLERANCE * (1.0 + expected.abs()),
                "{label}, by {}[{place}]: {found}, and {expected} by differences",
                names[at]
            );
        }
    }
}

/// Numbers from 0.5 to 2, or of both signs and never near 0, in an order without a pattern.
fn numbers(dims: &[usize], seed: usize, both_signs: bool) -> Tensor {
    let count: usize = dims.iter().product();
    let number = |at: usize| {
        let part = ((at * 7919 + seed * 104_729 + 13) % 1000) as f64 / 1000.0;
        let sign = if both_signs && (at + seed) % 2 == 1 { -1.0 } else { 1.0 };
        sign * (0.5 + 1.5 * part)
    };
    Tensor::from_slice(&(0..count).map(number).collect::<Vec<_>>(), dims).unwrap()
}

#[test]
fn rules_of_operators_are_those_of_differences() {
    type Build = fn(ModelBuilder) -> ModelBuilder;
    let one: [(&str, bool, Build); 19] = [
        ("Neg", true, |m| m.node("Neg", &["a"], &["v"])),
        ("Identity", true, |m| m.node("Identity", &["a"], &["v"])),
        ("Exp", true, |m| m.node("Exp", &["a"], &["v"])),
        ("Log", false, |m| m.node("Log", &["a"], &["v"])),
        ("Sqrt", false, |m| m.node("Sqrt", &["a"], &["v"])),
        ("Tanh", true, |m| m.node("Tanh", &["a"], &["v"])),
        ("Sigmoid", true, |m| m.node("Sigmoid", &["a"], &["v"])),
        ("Relu", true, |m| m.node("Relu", &["a"], &["v"])),
        ("all summed", true, |m| m.node("ReduceSum", &["a"], &["v"]).attr("keepdims", int(0))),
        ("the mean", true, |m| m.node("ReduceMean", &["a"], &["v"])),
        ("rows summed", true, |m| {
            m.init("axes", ints(&[-1])).node("ReduceSum", &["a", "axes"], &["v"])
        }),
        ("columns summed", true, |m| {
            let m = m.init("axes", ints(&[0])).node("ReduceSum", &["a", "axes"], &["v"]);
            m.attr("keepdims", int(0))
        }),
        ("nothing summed", true, |m| {
            let m = m.node("ReduceSum", &["a"], &["v"]).attr("noop_with_empty_axes", int(1));
            m.attr("keepdims", int(0))
        }),
        ("means of rows", true, |m| {
            let m = m.init("axes", ints(&[1])).node("ReduceMean", &["a", "axes"], &["v"]);
            m.attr("keepdims", int(0))
        }),
        ("Reshape", true, |m| m.init("to", ints(&[3, -1])).node("Reshape", &["a", "to"], &["v"])),
        ("Flatten", true, |m| m.node("Flatten", &["a"], &["v"]).attr("axis", int(0))),
        ("Transpose", true, |m| m.node("Transpose", &["a"], &["v"])),
        ("Unsqueeze", true, |m| m.init("at", ints(&[1])).node("Unsqueeze", &["a", "at"], &["v"])),
        ("Expand", true, |m| m.init("to", ints(&[4, 2, 3])).node("Expand", &["a", "to"], &["v"])),
    ];
    for (label, both_signs, build) in one {
        // Squared, so that elements differ in what they get.
        let model = build(new(&["a"])).node("Mul", &["v", "v"], &["y"]);
        check(label, &["a"], &[numbers(&[2, 3], 1, both_signs)], model);
    }
    let shapes: [[&[usize]; 2]; 6] = [
        [&[2, 3], &[2, 3]],
        [&[2, 3], &[3]],
        [&[], &[2, 3]],
        [&[2, 1], &[1, 3]],
        [&[4, 1, 3], &[2, 1]],
        [&[0, 3], &[3]],
    ];
    for op in ["Add", "Sub", "Mul", "Div", "Pow", "Sum"] {
        for [a, b] in shapes {
            let model = new(&["a", "b"]).node(op, &["a", "b"], &["v"]);
            let model = model.node("Mul", &["v", "v"], &["y"]);
            let inputs = [numbers(a, 1, false), numbers(b, 2, op != "Pow")];
            check(&format!("{op} of {a:?} and {b:?}"), &["a", "b"], &inputs, model);
        }
    }
    let chosen = new(&["a", "b"])
        .node("Less", &["a", "b"], &["less"])
        .node("Where", &["less", "a", "b"], &["v"])
        .node("Mul", &["v", "v"], &["y"]);
    check("Where", &["a", "b"], &[numbers(&[2, 3], 1, true), numbers(&[3], 5, true)], chosen);
    let squeezed = new(&["a"]).node("Squeeze", &["a"], &["v"]).node("Mul", &["v", "v"], &["y"]);
    check("Squeeze", &["a"], &[numbers(&[2, 1, 3], 1, true)], squeezed);
    let turned = new(&["a", "b"])
        .node("Transpose", &["a"], &["v"])
        .attr("perm", AttributeValue::Ints(vec![1, 2, 0]))
        .node("Mul", &["v", "b"], &["y"]);
    check(
        "perm",
        &["a", "b"],
        &[numbers(&[2, 3, 4], 1, true), numbers(&[3, 4, 2], 2, true)],
        turned,
    );
}

#[test]
fn products_have_gradients_in_all_their_forms() {
    let shapes: [[&[usize]; 2]; 9] = [
        [&[2, 3], &[3, 4]],
        [&[3], &[3, 4]],
        [&[2, 3], &[3]],
        [&[3], &[3]],
        [&[5, 2, 3], &[3, 4]],
        [&[2, 3], &[5, 3, 4]],
        [&[5, 1, 2, 3], &[6, 3, 4]],
        [&[3], &[5, 3, 4]],
        [&[5, 2, 3], &[3]],
    ];
    for [a, b] in shapes {
        let model = new(&["a", "b"]).node("MatMul", &["a", "b"], &["v"]);
        let model = model.node("Tanh", &["v"], &["y"]);
        let inputs = [numbers(a, 1, true), numbers(b, 2, true)];
        check(&format!("MatMul of {a:?} and {b:?}"), &["a", "b"], &inputs, model);
    }
    for turns in 0..4 {
        let [turn_a, turn_b] = [turns & 1, turns >> 1];
        let dims = |turned: i64, [rows, columns]: [usize; 2]| match turned {
            0 => [rows, columns],
            _ => [columns, rows],
        };
        for c in [&[][..], &[4], &[2, 1], &[2, 4]] {
            let model = new(&["a", "b", "c"])
                .node("Gemm", &["a", "b", "c"], &["v"])
                .attr("alpha", AttributeValue::Float(0.25))
                .attr("beta", AttributeValue::Float(-1.5))
                .attr("transA", int(turn_a))
                .attr("transB", int(turn_b))
                .node("Tanh", &["v"], &["y"]);
            let inputs = [
                numbers(&dims(turn_a, [2, 3]), 1, true),
                numbers(&dims(turn_b, [3, 4]), 2, true),
                numbers(c, 3, true),
            ];
            check(&format!("Gemm {turn_a} {turn_b} {c:?}"), &["a", "b", "c"], &inputs, model);
        }
    }
}

/// Derivatives at other values than those that the graph computes, of what does not depend on a value, and of derivatives.
#[test]
fn derivatives_are_taken_at_what_is_given() {
    let row = |values: &[f64]| Tensor::from_slice(values, &[values.len()]).unwrap();
    let cube = || {
        new(&["a", "b", "other"]).node("Mul", &["a", "a"], &["square"]).node(
            "Mul",
            &["square", "a"],
            &["y"],
        )
    };
    let inputs = [row(&[2., 3.]), row(&[5.]), row(&[10., -1.])];
    let names = ["a", "b", "other"];
    let by = |model: ModelBuilder, output: &str| {
        run(&load(model).unwrap(), &names, &inputs, output).as_slice::<f64>().unwrap().to_vec()
    };
    assert_eq!(by(derived(cube(), &["a"], &["a"], "y"), "d0"), [12., 27.]);
    assert_eq!(by(derived(cube(), &["other"], &["a"], "y"), "d0"), [300., 3.]);
    assert_eq!(by(derived(cube(), &["a", "b"], &["a", "b"], "y"), "d1"), [0.]);
    // What makes a leaf is left alone.
    assert_eq!(by(derived(cube(), &["square"], &["square"], "y"), "d0"), [2., 3.]);
    let both = derived(cube(), &["a", "square"], &["a", "square"], "y");
    assert_eq!(by(both, "d0"), [4., 9.]);
    assert_eq!(by(derived(cube(), &["a"], &["a"], "a"), "d0"), [1., 1.]);
    let held = cube()
        .node("Gradient", &["a", "other"], &["d"])
        .domain(TRAINING)
        .attr("xs", texts(&["a"]))
        .attr("zs", texts(&["square"]))
        .attr("y", text("y"))
        .output("d", DType::F64);
    assert_eq!(by(held, "d"), [10., -1.]);
    let second = cube()
        .node("Gradient", &["a"], &["slope"])
        .domain(TRAINING)
        .attr("xs", texts(&["a"]))
        .attr("y", text("y"));
    assert_eq!(by(derived(second, &["a"], &["a"], "slope"), "d0"), [12., 18.]);
}

#[test]
fn what_has_no_derivative_is_refused_by_name() {
    let softmax = new(&["a"]).node("Softmax", &["a"], &["y"]);
    let sized = new(&["a"])
        .node("Shape", &["a"], &["shape"])
        .node("Size", &["shape"], &["rank"])
        .node("Sub", &["rank", "rank"], &["first"])
        .init("flat", ints(&[-1]))
        .node("Reshape", &["first", "flat"], &["axes"])
        .node("ReduceSum", &["a", "axes"], &["y"])
        .attr("keepdims", int(0));
    let later = new(&["a"]);
    let cases = [
        (derived(softmax, &["a"], &["a"], "y"), "no derivative of Softmax; supported: Add"),
        (derived(sized, &["a"], &["a"], "y"), "axes of a reduction that are no constant"),
        (derived(later, &["a"], &["a"], "y"), "value \"y\" is not made before this node"),
        (derived(new(&["a", "b"]), &["a"], &["a", "b"], "a"), "1 inputs for 2 xs and 0 zs"),
    ];
    for (model, expected) in cases {
        let told = load(model).map(|_| ()).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Graphs of a few nodes over values that are broadcast to each other.
    #[test]
    fn gradients_of_any_graph_are_those_of_differences(
        steps in prop::collection::vec((0usize..8, any::<u16>(), any::<u16>()), 1..12),
        seed in 0usize..1000,
    ) {
        let names = ["a", "b", "c", "d"];
        let mut model = new(&names).init("last", ints(&[-1]));
        let mut values: Vec<String> = names.map(str::to_owned).to_vec();
        for (at, &(op, left, right)) in steps.iter().enumerate() {
            let of = |pick: u16| values[usize::from(pick) % values.len()].clone();
            let (left, right, made) = (of(left), of(right), format!("v{at}"));
            let bounded = format!("bounded{at}");
            model = match op {
                0 => model.node("Add", &[&left, &right], &[&made]),
                1 => model.node("Sub", &[&left, &right], &[&made]),
                // Bounded, so that what products and powers become stays small.
                2 => model.node("Mul", &[&left, &right], &[&bounded]).node("Tanh", &[&bounded], &[&made]),
                3 => model.node("Tanh", &[&left], &[&bounded]).node("Exp", &[&bounded], &[&made]),
                4 => model.node("Sigmoid", &[&left], &[&bounded]).node("Div", &[&bounded, "c"], &[&made]),
                5 => model.node("Sum", &[&left, &right, &left], &[&made]),
                6 => model.node("ReduceMean", &[&left], &[&made]),
                _ => model.node("Neg", &[&left], &[&made]),
            };
            values.push(made);
        }
        let last = values.last().unwrap().clone();
        let model = model.node("Identity", &[&last], &["y"]);
        let dims: [&[usize]; 4] = [&[2, 3], &[3], &[2, 1], &[]];
        let inputs: Vec<Tensor> =
            dims.iter().enumerate().map(|(at, dims)| numbers(dims, seed + at, true)).collect();
        check(&format!("{steps:?} with seed {seed}"), &names, &inputs, model);
    }
}
