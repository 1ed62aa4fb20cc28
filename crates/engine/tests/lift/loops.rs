//! The values that Scan and Loop carry.

use super::harness::{Case, KEEP, Rng, check, load, seeds};
use stead_onnx::{Graph, ModelBuilder};
use stead_tensor::{Bool, DType, Tensor};

pub fn scan_model(rng: &mut Rng, batch: usize, width: usize) -> ModelBuilder {
    // s' = s w + x; y = tanh(s'): a recurrence written by hand, with a counter that scales the result.
    let body = ModelBuilder::new(17)
        .input("s", DType::F32, &["b", "w"])
        .input("n", DType::I64, &[])
        .input("xt", DType::F32, &["b", "w"])
        .init("one", Tensor::scalar(1i64).unwrap())
        .node("MatMul", &["s", "matrix"], &["moved"])
        .node("Add", &["moved", "xt"], &["s_next"])
        .node("Add", &["n", "one"], &["n_next"])
        .node("Cast", &["n_next"], &["count"])
        .attr("to", DType::F32)
        .node("Tanh", &["s_next"], &["squashed"])
        .node("Div", &["squashed", "count"], &["yt"])
        .output("s_next", DType::F32)
        .output("n_next", DType::I64)
        .output("yt", DType::F32)
        .graph();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["t", &batch.to_string(), &width.to_string()])
        .init("matrix", rng.tensor(&[width, width]))
        .init("s0", rng.tensor(&[batch, width]))
        .init("n0", Tensor::scalar(3i64).unwrap())
        .node("Scan", &["s0", "n0", "x"], &["", "", "y"])
        .named("recurrence")
        .attr("num_scan_inputs", 1)
        .attr("body", body)
        .output("y", DType::F32)
}

#[test]
fn scans_carry_their_states() {
    for seed in seeds() {
        let mut rng = Rng(seed);
        let (steps, batch, width) = (1 + rng.below(9), 1 + rng.below(3), 1 + rng.below(4));
        let case = Case {
            label: "Scan".to_owned(),
            bytes: scan_model(&mut rng, batch, width).bytes(),
            x: rng.tensor(&[steps, batch, width]),
            x_axis: 0,
            y_axis: 0,
            lengths: None,
            states: 2,
        };
        check(&case, seed, &mut rng);
    }
}

/// A loop over time that finds its slice by the iteration or by a counter of its own.
fn loop_model(rng: &mut Rng, width: usize, own_counter: bool, computed_zeros: bool) -> Vec<u8> {
    let position = if own_counter { "p" } else { "i" };
    let mut body = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .input("s", DType::F32, &["w"]);
    if own_counter {
        body = body.input("p", DType::I64, &[]);
    }
    body = body
        .init("one", Tensor::scalar(1i64).unwrap())
        .node("Gather", &["x", position], &["xt"])
        .node("Mul", &["s", "decay"], &["kept"])
        .node("Add", &["kept", "xt"], &["s_next"])
        .node("Identity", &["s_next"], &["yt"]);
    if own_counter {
        body = body.node("Add", &["p", "one"], &["p_next"]).node(
            "Less",
            &["p_next", "steps"],
            &["go_on"],
        );
    } else {
        body = body.node("Identity", &["go"], &["go_on"]);
    }
    body = body.output("go_on", DType::Bool).output("s_next", DType::F32);
    if own_counter {
        body = body.output("p_next", DType::I64);
    }
    let body: Graph = body.output("yt", DType::F32).graph();
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", &width.to_string()])
        .init("decay", rng.tensor(&[width]))
        .init("zero", Tensor::scalar(0i64).unwrap())
        .init("true", Tensor::scalar(Bool(1)).unwrap())
        .node("Shape", &["x"], &["dims"])
        .node("Gather", &["dims", "zero"], &["steps"]);
    if computed_zeros {
        model = model
            .init("first", Tensor::from_slice(&[1i64], &[1]).unwrap())
            .init("end", Tensor::from_slice(&[2i64], &[1]).unwrap())
            .node("Slice", &["dims", "first", "end"], &["width"])
            .node("ConstantOfShape", &["width"], &["s0"]);
    } else {
        model = model.init("s0", rng.tensor(&[width]));
    }
    let (inputs, outputs): (&[&str], &[&str]) = if own_counter {
        (&["", "true", "s0", "zero"], &["last", "end_at", "y"])
    } else {
        (&["steps", "", "s0"], &["last", "y"])
    };
    model
        .node("Loop", inputs, outputs)
        .named("over time")
        .attr("body", body)
        .output("y", DType::F32)
        .bytes()
}

#[test]
fn loops_carry_values_but_no_positions() {
    for seed in seeds() {
        let mut rng = Rng(seed);
        for bits in 0..4 {
            let (own_counter, computed) = (bits & 1 != 0, bits & 2 != 0);
            let (steps, width) = (1 + rng.below(9), 1 + rng.below(4));
            let case = Case {
                label: format!("Loop, own counter {own_counter}, computed zeros {computed}"),
                bytes: loop_model(&mut rng, width, own_counter, computed),
                x: rng.tensor(&[steps, width]),
                x_axis: 0,
                y_axis: 0,
                lengths: None,
                states: 1,
            };
            check(&case, seed, &mut rng);
        }
    }
}

#[test]
fn a_recurrence_inside_an_iteration_begins_anew_as_before() {
    let body = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .node("Gather", &["x", "i"], &["piece"])
        .node("GRU", &["piece", "w", "r"], &["", "h"])
        .named("inner")
        .node("Identity", &["go"], &["on"])
        .output("on", DType::Bool)
        .output("h", DType::F32)
        .graph();
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["2", "t", "b", "2"])
        .init("w", Rng(1).tensor(&[1, 9, 2]))
        .init("r", Rng(2).tensor(&[1, 9, 3]))
        .init("two", Tensor::scalar(2i64).unwrap())
        .node("Loop", &["two", ""], &["y"])
        .named("outer")
        .attr("body", body)
        .output("y", DType::F32)
        .bytes();
    let model = load(&bytes, KEEP).unwrap();
    assert!(model.lifted().is_empty());
    assert_eq!(model.unlifted()[0].node, "GRU node \"inner\"");
    assert_eq!(model.unlifted()[0].reason, "begins anew in each iteration of Loop node \"outer\"");
}
