//! A signal that comes in chunks gives what the whole signal gives, when the states go from step to step.
//!
//! Each test runs over fixed seeds. To repeat one: `STEAD_SEED=17 cargo test -p stead-engine --test lift`.
#![allow(clippy::unwrap_used)]

use stead_engine::{
    Lift, LiftedState, LoadError, LoadOptions, Model, RunContext, Session, SessionOptions,
    StateInit,
};
use stead_onnx::{Dim, Graph, ModelBuilder, dims_of};
use stead_tensor::{Bool, DType, Tensor, TensorView};

const SEEDS: u64 = 24;

fn seeds() -> Vec<u64> {
    let chosen = std::env::var("STEAD_SEED").ok().and_then(|s| s.parse().ok());
    chosen.map_or((1..=SEEDS).collect(), |seed| vec![seed])
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn tensor(&mut self, dims: &[usize]) -> Tensor {
        let count: usize = dims.iter().product();
        let unit = |v: u64| (v >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        let values: Vec<f32> = (0..count).map(|_| 0.8 * unit(self.next())).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }

    /// Lengths of one or more that add up to `total`.
    fn chunks(&mut self, total: usize) -> Vec<usize> {
        let mut left = total;
        let mut chunks = Vec::new();
        while left > 0 {
            let len = 1 + self.below(left.min(1 + total / 2));
            chunks.push(len);
            left -= len;
        }
        chunks
    }
}

fn load(bytes: &[u8], lift: Option<Lift>) -> Result<Model, LoadError> {
    Model::from_bytes(bytes, None, &LoadOptions { lift, ..LoadOptions::default() })
}

fn session(bytes: &[u8], lift: Option<Lift>) -> Session {
    Session::new(load(bytes, lift).unwrap(), &SessionOptions::default()).unwrap()
}

const KEEP: Option<Lift> = Some(Lift { zero_init: false });
const ZERO: Option<Lift> = Some(Lift { zero_init: true });

/// A part of a tensor along an axis.
fn part(t: &Tensor, axis: usize, from: usize, len: usize) -> Tensor {
    let dims = t.shape().dims().to_vec();
    let (outer, inner): (usize, usize) =
        (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
    let all = t.as_slice::<f32>().unwrap();
    let rows = (0..outer).flat_map(|o| {
        let start = (o * dims[axis] + from) * inner;
        all[start..start + len * inner].to_vec()
    });
    let mut part = dims.clone();
    part[axis] = len;
    Tensor::from_slice(&rows.collect::<Vec<_>>(), &part).unwrap()
}

/// A sequence: what carries states from one step to the next.
struct Sequence<'a> {
    session: &'a Session,
    states: Vec<Option<Tensor>>,
}

impl<'a> Sequence<'a> {
    fn new(session: &'a Session) -> Self {
        Sequence { session, states: vec![None; session.model().lifted().len()] }
    }

    /// One step with the model's own inputs by position; gives its own outputs.
    fn step(&mut self, own: &[Tensor]) -> Vec<Tensor> {
        let mut inputs: Vec<Option<TensorView<'_>>> = own.iter().map(|t| Some(t.view())).collect();
        inputs.extend(self.states.iter().map(|s| s.as_ref().map(Tensor::view)));
        let run = self.session.run_with(&inputs, &RunContext::default(), |outputs| {
            (0..outputs.len())
                .map(|i| outputs.get(i).unwrap().to_tensor().unwrap())
                .collect::<Vec<_>>()
        });
        let mut all = run.unwrap();
        let states = all.split_off(all.len() - self.states.len());
        self.states = states.into_iter().map(Some).collect();
        all
    }
}

/// A model with a signal as its first input, and the axes of time.
struct Case {
    label: String,
    bytes: Vec<u8>,
    x: Tensor,
    x_axis: usize,
    y_axis: usize,
    /// Valid steps of each row, where the model takes them as its second input.
    lengths: Option<Vec<i32>>,
    states: usize,
}

fn given(x: Tensor, lengths: Option<&[i32]>, from: usize) -> Vec<Tensor> {
    let steps = |x: &Tensor| x.shape().dims().iter().max().copied().unwrap_or(0) as i32;
    let mut inputs = vec![x];
    if let Some(lengths) = lengths {
        let _ = steps;
        let left: Vec<i32> = lengths.iter().map(|l| (l - from as i32).max(0)).collect();
        inputs.push(Tensor::from_slice(&left, &[left.len()]).unwrap());
    }
    inputs
}

/// The first output for a signal that comes in these chunks.
fn in_chunks(case: &Case, session: &Session, chunks: &[usize]) -> Vec<Tensor> {
    let mut sequence = Sequence::new(session);
    let mut from = 0;
    let mut results = Vec::new();
    for &len in chunks {
        let x = part(&case.x, case.x_axis, from, len);
        let mut own = given(x, case.lengths.as_deref(), from);
        if let Some(lengths) = own.get_mut(1) {
            let clamped: Vec<i32> =
                lengths.as_slice::<i32>().unwrap().iter().map(|&l| l.min(len as i32)).collect();
            *lengths = Tensor::from_slice(&clamped, &[clamped.len()]).unwrap();
        }
        results.push(sequence.step(&own).remove(0));
        from += len;
    }
    results
}

fn check(case: &Case, seed: u64, rng: &mut Rng) {
    let at = format!("{} (STEAD_SEED={seed})", case.label);
    let plain = session(&case.bytes, None);
    let lifted = session(&case.bytes, KEEP);
    assert_eq!(lifted.model().lifted().len(), case.states, "{at}");
    let whole_inputs = given(case.x.clone(), case.lengths.as_deref(), 0);
    let whole = Sequence::new(&plain).step(&whole_inputs).remove(0);
    let reset = Sequence::new(&lifted).step(&whole_inputs).remove(0);
    assert_eq!(whole, reset, "{at}: a first step is the run of the model as it was");

    let chunks = rng.chunks(case.x.shape()[case.x_axis]);
    let results = in_chunks(case, &lifted, &chunks);
    let mut from = 0;
    for (result, &len) in results.iter().zip(&chunks) {
        let expected = part(&whole, case.y_axis, from, len);
        assert_eq!(result.shape(), expected.shape(), "{at}, chunks {chunks:?}");
        let pairs =
            result.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-5, "{at}, chunks {chunks:?}: {a} for {b} at {from}");
        }
        from += len;
    }
    assert_eq!(results, in_chunks(case, &lifted, &chunks), "{at}: the same chunks again");
}

/// LSTM, GRU or RNN with random sizes and options.
fn layer(op: &str, rng: &mut Rng, batch_first: bool, constant: bool, lengths: bool) -> Case {
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

fn scan_model(rng: &mut Rng, batch: usize, width: usize) -> ModelBuilder {
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

/// A GRU in one branch, a recurrence written by hand in the other; a condition chooses at each step.
fn branches(rng: &mut Rng, outside: bool) -> Vec<u8> {
    let hidden = 3usize;
    let then = ModelBuilder::new(17)
        .node("GRU", &["x", "w", "r", "", "", if outside { "h0" } else { "" }], &["y4"])
        .named("gru")
        .attr("hidden_size", hidden as i64)
        .node("Squeeze", &["y4", "axis"], &["r1"])
        .output("r1", DType::F32)
        .graph();
    let body = ModelBuilder::new(17)
        .input("s", DType::F32, &["b", "3"])
        .input("xt", DType::F32, &["b", "3"])
        .node("Mul", &["s", "decay"], &["kept"])
        .node("Add", &["kept", "xt"], &["s_next"])
        .node("Identity", &["s_next"], &["yt"])
        .output("s_next", DType::F32)
        .output("yt", DType::F32)
        .graph();
    let inner = ModelBuilder::new(17)
        .node("Scan", &["first", "x"], &["", "r2"])
        .named("scan")
        .attr("num_scan_inputs", 1)
        .attr("body", body)
        .output("r2", DType::F32);
    let inner = if outside {
        inner
    } else {
        // The initial value is computed in the branch, from the shape of the input.
        let mut model = inner.unchecked();
        let extra = ModelBuilder::new(17)
            .node("Shape", &["x"], &["dims"])
            .node("Gather", &["dims", "behind"], &["state_dims"])
            .node("ConstantOfShape", &["state_dims"], &["first"])
            .attr("value", Tensor::from_slice(&[0.25f32], &[1]).unwrap())
            .graph();
        model.graph.nodes.splice(0..0, extra.nodes);
        let mut graph = ModelBuilder::new(17);
        for output in model.graph.outputs.clone() {
            graph = graph.output_of(&output.name, output.ty);
        }
        let mut graph = graph.unchecked();
        graph.graph.nodes = model.graph.nodes;
        return if_model(rng, then, graph.graph, hidden, outside);
    };
    if_model(rng, then, inner.graph(), hidden, outside)
}

fn if_model(rng: &mut Rng, then: Graph, other: Graph, hidden: usize, outside: bool) -> Vec<u8> {
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", "b", "3"])
        .input("choice", DType::Bool, &[])
        .init("w", rng.tensor(&[1, 3 * hidden, 3]))
        .init("r", rng.tensor(&[1, 3 * hidden, hidden]))
        .init("axis", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .init("behind", Tensor::from_slice(&[1i64, 2], &[2]).unwrap())
        .init("decay", rng.tensor(&[3]));
    if outside {
        // One initial value is a constant, the other comes from the input in front of the branches.
        model = model
            .init("h0", rng.tensor(&[1, 2, hidden]))
            .init("zero", Tensor::scalar(0i64).unwrap())
            .node("Gather", &["x", "zero"], &["x0"])
            .node("Sin", &["x0"], &["first"]);
    }
    model
        .node("If", &["choice"], &["y"])
        .attr("then_branch", then)
        .attr("else_branch", other)
        .output("y", DType::F32)
        .bytes()
}

#[test]
fn states_pass_through_the_branch_that_does_not_touch_them() {
    for seed in seeds() {
        let mut rng = Rng(seed);
        for outside in [false, true] {
            let at = format!("outside {outside} (STEAD_SEED={seed})");
            let bytes = branches(&mut rng, outside);
            let (both, alone) = (session(&bytes, KEEP), session(&bytes, KEEP));
            assert_eq!(both.model().lifted().len(), 2, "{at}");
            let mut mixed = Sequence::new(&both);
            // Each branch for itself, in a sequence that never takes the other.
            let mut apart = [Sequence::new(&alone), Sequence::new(&alone)];
            let first = rng.tensor(&[1, 2, 3]);
            for step in 0..10 {
                let len = 1 + rng.below(4);
                // Where the first input begins the state, the sequences must begin with the same.
                let x = if step == 0 { first.clone() } else { rng.tensor(&[len, 2, 3]) };
                let choice = rng.coin();
                let own = |choice: bool| [x.clone(), Tensor::scalar(Bool::from(choice)).unwrap()];
                let result = mixed.step(&own(choice));
                if step == 0 && outside {
                    // The initial value is that of the first step, whichever branch it takes.
                    apart[usize::from(!choice)].step(&own(choice));
                }
                let expected = apart[usize::from(choice)].step(&own(choice));
                assert_eq!(result, expected, "{at}, step {step}");
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
fn zeros_may_take_the_place_of_the_initial_values() {
    let mut rng = Rng(3);
    let case = layer("LSTM", &mut rng, false, true, false);
    let scan = scan_model(&mut rng, 1, 2).bytes();
    let first = |bytes: &[u8], x: &Tensor, lift| {
        Sequence::new(&session(bytes, lift)).step(std::slice::from_ref(x)).remove(0)
    };
    let x = rng.tensor(&[4, 1, 2]);
    for (bytes, x) in [(&case.bytes, &case.x), (&scan, &x)] {
        assert_eq!(first(bytes, x, KEEP), first(bytes, x, None));
        assert_ne!(first(bytes, x, ZERO), first(bytes, x, None));
        let lifted = session(bytes, ZERO);
        assert!(lifted.model().lifted().iter().all(|s| s.init == StateInit::Zeros));
        // The same as zeros that the caller brings.
        let kept = session(bytes, KEEP);
        let mut sequence = Sequence::new(&kept);
        for (state, spec) in sequence.states.iter_mut().zip(lifted.model().lifted()) {
            let dim = |d: &Dim| d.known().unwrap_or(x.shape()[1]);
            let dims: Vec<usize> = spec.dims.as_ref().unwrap().iter().map(dim).collect();
            let shape = stead_tensor::Shape::new(&dims).unwrap();
            *state = Some(Tensor::zeros(spec.dtype, shape).unwrap());
        }
        assert_eq!(sequence.step(std::slice::from_ref(x)).remove(0), first(bytes, x, ZERO));
    }
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

#[test]
fn a_first_value_from_an_input_counts_on_the_first_step_only() {
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", "b", "2"])
        .input("h", DType::F32, &["1", "b", "3"])
        .init("w", Rng(1).tensor(&[1, 9, 2]))
        .init("r", Rng(2).tensor(&[1, 9, 3]))
        .node("GRU", &["x", "w", "r", "", "", "h"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let (plain, lifted) = (session(&bytes, None), session(&bytes, KEEP));
    assert_eq!(lifted.model().lifted()[0].init, StateInit::Computed);
    let mut rng = Rng(5);
    let (x, h, other) = (rng.tensor(&[2, 1, 2]), rng.tensor(&[1, 1, 3]), rng.tensor(&[1, 1, 3]));
    let whole = Sequence::new(&plain).step(&[x.clone(), h.clone()]).remove(0);
    let mut sequence = Sequence::new(&lifted);
    let first = sequence.step(&[part(&x, 0, 0, 1), h]).remove(0);
    let second = sequence.step(&[part(&x, 0, 1, 1), other]).remove(0);
    assert_eq!([first, second], [part(&whole, 0, 0, 1), part(&whole, 0, 1, 1)]);
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
