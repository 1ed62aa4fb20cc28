//! The states of LSTM, GRU and RNN.

use super::harness::{Case, KEEP, Rng, Sequence, check, load, seeds, session};
use stead_engine::{LiftedState, StateInit};
use stead_onnx::{Dim, ModelBuilder, dims_of};
use stead_tensor::DType;

/// LSTM, GRU or RNN with random sizes and options.
pub fn layer(op: &str, rng: &mut Rng, batch_first: bool, constant: bool, lengths: bool) -> Case {
    let (steps, batch, input, hidden) =
        (2 + rng.below(12), 1 + rng.below(3), 1 + rng.below(5), 1 + rng.below(9));
    let gates = match op {
        "LSTM" => 4,
        "GRU" => 3,
        _ => 1,
    };
    let order = |a: usize, b: usize, c: usize| if batch_first { [b, a, c] } else { [a, b, c] };
    let names = if batch_first { ["b", "t", "i"] } else { ["t", "b", "i"] };
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &names)
        .init("w", rng.tensor(&[1, gates * hidden, input]))
        .init("r", rng.tensor(&[1, gates * hidden, hidden]))
        .init("b", rng.tensor(&[1, 2 * gates * hidden]));
    let mut inputs = vec!["x", "w", "r", "b", "", ""];
    if lengths {
        model = model.input("lengths", DType::I32, &["b"]);
        inputs[4] = "lengths";
    }
    if constant {
        model = model.init("h0", rng.tensor(&order(1, batch, hidden)));
        inputs[5] = "h0";
    }
    if op == "LSTM" {
        // Only one of the two states need be there.
        inputs.extend(["", ""]);
        if constant && rng.coin() {
            model = model.init("c0", rng.tensor(&order(1, batch, hidden)));
            inputs[6] = "c0";
        }
        if rng.coin() {
            model = model.init("p", rng.tensor(&[1, 3 * hidden]));
            inputs[7] = "p";
        }
    }
    let mut model = model
        .node(op, &inputs, &["y"])
        .named("memory")
        .attr("hidden_size", hidden as i64)
        .attr("layout", batch_first);
    if rng.coin() {
        model = model.attr("clip", 1.5f32);
    }
    if op == "LSTM" && rng.coin() {
        model = model.attr("input_forget", 1);
    }
    if op == "GRU" && rng.coin() {
        model = model.attr("linear_before_reset", 1);
    }
    let lengths = lengths.then(|| (0..batch).map(|_| rng.below(steps + 1) as i32).collect());
    Case {
        label: format!("{op}, batch first {batch_first}, constant {constant}, {lengths:?}"),
        bytes: model.output("y", DType::F32).bytes(),
        x: rng.tensor(&order(steps, batch, input)),
        x_axis: usize::from(batch_first),
        y_axis: usize::from(batch_first),
        lengths,
        states: if op == "LSTM" { 2 } else { 1 },
    }
}

#[test]
fn layers_carry_their_states() {
    for seed in seeds() {
        let mut rng = Rng(seed);
        for op in ["LSTM", "GRU", "RNN"] {
            for bits in 0..8 {
                let (first, constant, lengths) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                let case = layer(op, &mut rng, first, constant, lengths);
                check(&case, seed, &mut rng);
            }
        }
    }
}

fn one_layer(op: &str, direction: &str, steps: &str, outputs: &[&str]) -> ModelBuilder {
    let mut rng = Rng(7);
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let gates = if op == "LSTM" { 4 } else { 3 };
    ModelBuilder::new(17)
        .input("x", DType::F32, &[steps, "batch", "2"])
        .init("w", rng.tensor(&[directions, gates * 3, 2]))
        .init("r", rng.tensor(&[directions, gates * 3, 3]))
        .node(op, &["x", "w", "r"], outputs)
        .attr("hidden_size", 3)
        .attr("direction", direction)
}

#[test]
fn a_layer_that_runs_backwards_is_lifted_for_one_step_only() {
    let model = |direction, steps| {
        one_layer("GRU", direction, steps, &["y"]).named("back").output("y", DType::F32).bytes()
    };
    let (forward, reverse) =
        (session(&model("forward", "t"), KEEP), session(&model("reverse", "1"), KEEP));
    let (mut a, mut b) = (Sequence::new(&forward), Sequence::new(&reverse));
    let mut rng = Rng(1);
    for _ in 0..5 {
        let x = [rng.tensor(&[1, 2, 2])];
        assert_eq!(a.step(&x), b.step(&x));
    }
    for (direction, steps) in [("reverse", "t"), ("reverse", "2"), ("bidirectional", "1")] {
        let error = load(&model(direction, steps), KEEP).unwrap_err().to_string();
        assert!(error.starts_with("GRU node \"back\": the state of a layer"), "{error}");
        assert!(load(&model(direction, steps), None).is_ok());
    }
    // What a file declares of intermediate values is a claim; it is checked when the plan is made.
    let mut rng = Rng(2);
    let claim = ModelBuilder::new(17)
        .input("raw", DType::F32, &["t", "b", "2"])
        .init("w", rng.tensor(&[1, 9, 2]))
        .init("r", rng.tensor(&[1, 9, 3]))
        .node("Relu", &["raw"], &["x"])
        .value("x", stead_onnx::ValueType::tensor(DType::F32, Some(dims_of(&["1", "b", "2"]))))
        .node("GRU", &["x", "w", "r"], &["y"])
        .attr("direction", "reverse")
        .output("y", DType::F32)
        .bytes();
    let session = session(&claim, KEEP);
    let x = rng.tensor(&[2, 1, 2]);
    let error = session.run(&[("raw", x.view())], &[]).unwrap_err().to_string();
    assert!(error.contains("carries its state over one step only, got [2,1,2]"), "{error}");
}

#[test]
fn states_have_readable_names_and_dimensions() {
    let bytes = one_layer("LSTM", "forward", "t", &["", "y_h"]).output("y_h", DType::F32).bytes();
    let model = load(&bytes, KEEP).unwrap();
    let dims = vec![Dim::Known(1), Dim::Symbol("batch".into()), Dim::Known(3)];
    let state = |name: &str| LiftedState {
        name: name.to_owned(),
        input: name.to_owned(),
        output: format!("{name}_next"),
        init: StateInit::Zeros,
        batch_axis: Some(1),
        dims: Some(dims.clone()),
        dtype: DType::F32,
    };
    let names: Vec<_> = model.lifted().iter().map(|s| s.name.clone()).collect();
    assert_eq!(model.lifted(), [state(&names[0]), state(&names[1])]);
    let inputs: Vec<_> = model.inputs().iter().map(|i| (i.name.as_str(), i.optional)).collect();
    assert_eq!(inputs, [("x", false), (names[0].as_str(), true), (names[1].as_str(), true)]);
    assert_eq!(model.outputs().len(), 3);

    let twice = one_layer("GRU", "forward", "t", &["", "h"])
        .named("cell")
        .node("GRU", &["x", "w", "r"], &["", "g"])
        .named("cell")
        .attr("hidden_size", 3)
        .output("h", DType::F32)
        .output("g", DType::F32)
        .bytes();
    let model = load(&twice, KEEP).unwrap();
    let names: Vec<_> = model.lifted().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["cell/variable_0", "cell_2/variable_0"]);
}
