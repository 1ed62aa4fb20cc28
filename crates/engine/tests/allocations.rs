//! Running a plan that exists allocates nothing on the heap.
//!
//! `cargo xtask test` fetches real models and sets `STEAD_TEST_DATA`; without the variable only the models built
//! here are run.
#![allow(clippy::unwrap_used, clippy::expect_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use stead_engine::{Dim, LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::{Graph, ModelBuilder};
use stead_tensor::{DType, Shape, Tensor};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a model three times and counts the allocations of the last run. `dims` are the free dimensions in
/// order, 4 where the list ends.
fn check(label: &str, model: Model, dims: &[usize]) {
    let mut free = dims.iter().copied().chain(std::iter::repeat(4));
    let session = Session::new(model, &SessionOptions::default()).expect(label);
    let inputs: Vec<Tensor> = session
        .model()
        .inputs()
        .iter()
        .map(|spec| {
            let dim = |d: &Dim| d.known().or_else(|| free.next()).unwrap();
            let dims: Vec<usize> = spec.dims.iter().flatten().map(dim).collect();
            Tensor::zeros(spec.dtype, Shape::new(&dims).unwrap()).unwrap()
        })
        .collect();
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let cx = RunContext::default();
    let mut counted = 0;
    for _ in 0..3 {
        let before = ALLOCATIONS.get();
        session.run_with(&views, &cx, |outputs| outputs.len()).expect(label);
        counted = ALLOCATIONS.get() - before;
    }
    assert_eq!(counted, 0, "{label}: allocations in the third run");
}

fn built(label: &str, builder: ModelBuilder) {
    let bytes = builder.bytes();
    check(label, Model::from_bytes(&bytes, None, &LoadOptions::default()).expect(label), &[]);
}

fn weights(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 200.0).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

/// One layer of an encoder as PyTorch writes it: shapes computed from shapes, heads split by transposition.
fn encoder() -> ModelBuilder {
    let ints = |v: &[i64]| Tensor::from_slice(v, &[v.len()]).unwrap();
    let mut b = ModelBuilder::new(17)
        .input("ids", DType::I64, &["batch", "seq"])
        .init("table", weights(&[10, 8]))
        .init("zero", Tensor::scalar(0i64).unwrap())
        .init("one", Tensor::scalar(1i64).unwrap())
        .init("axis0", ints(&[0]))
        .init("tail", ints(&[2, 4]))
        .init("root", Tensor::scalar(2.0f32).unwrap())
        .init("gamma", weights(&[8]))
        .init("beta", weights(&[8]))
        .node("Gather", &["table", "ids"], &["x"])
        .node("Shape", &["x"], &["shape"])
        .node("Gather", &["shape", "zero"], &["batch"])
        .node("Gather", &["shape", "one"], &["seq"])
        .node("Unsqueeze", &["batch", "axis0"], &["batch1"])
        .node("Unsqueeze", &["seq", "axis0"], &["seq1"])
        .node("Concat", &["batch1", "seq1", "tail"], &["split"])
        .attr("axis", 0i64);
    for (name, perm) in [("q", [0i64, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])] {
        let [w, p, s, t] = ["w", "p", "s", "t"].map(|kind| format!("{name}{kind}"));
        b = b
            .init(&w, weights(&[8, 8]))
            .node("MatMul", &["x", &w], &[&p])
            .node("Reshape", &[&p, "split"], &[&s])
            .node("Transpose", &[&s], &[&t])
            .attr("perm", perm.to_vec());
    }
    b.node("MatMul", &["qt", "kt"], &["scores"])
        .node("Div", &["scores", "root"], &["scaled"])
        .node("Softmax", &["scaled"], &["weights"])
        .attr("axis", -1i64)
        .node("MatMul", &["weights", "vt"], &["heads"])
        .node("Transpose", &["heads"], &["joined"])
        .attr("perm", vec![0i64, 2, 1, 3])
        .node("Reshape", &["joined", "shape"], &["context"])
        .node("Add", &["context", "x"], &["sum"])
        .node("LayerNormalization", &["sum", "gamma", "beta"], &["y"])
        .output("y", DType::F32)
}

fn recurrent() -> ModelBuilder {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["steps", "batch", "3"])
        .init("w", weights(&[2, 16, 3]))
        .init("r", weights(&[2, 16, 4]))
        .node("LSTM", &["x", "w", "r"], &["y", "h", "c"])
        .attr("hidden_size", 4i64)
        .attr("direction", "bidirectional")
        .output("y", DType::F32)
        .output("h", DType::F32)
}

fn convolutional() -> ModelBuilder {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "3", "16", "16"])
        .init("w1", weights(&[8, 3, 3, 3]))
        .init("w2", weights(&[8, 1, 3, 3]))
        .init("w3", weights(&[12, 8, 1, 1]))
        .node("Conv", &["x", "w1"], &["c1"])
        .node("Relu", &["c1"], &["r1"])
        .node("Conv", &["r1", "w2"], &["c2"])
        .attr("group", 8i64)
        .node("MaxPool", &["c2"], &["p"])
        .attr("kernel_shape", vec![2i64, 2])
        .node("Conv", &["p", "w3"], &["c3"])
        .node("GlobalAveragePool", &["c3"], &["y"])
        .output("y", DType::F32)
}

fn branching() -> ModelBuilder {
    let branch = |op: &str| -> Graph {
        ModelBuilder::new(17).node(op, &["x"], &["r"]).output("r", DType::F32).graph()
    };
    ModelBuilder::new(17)
        .input("x", DType::F32, &["n"])
        .input("c", DType::Bool, &[])
        .node("If", &["c"], &["y"])
        .attr("then_branch", branch("Exp"))
        .attr("else_branch", branch("Neg"))
        .output("y", DType::F32)
}

/// A step of a selective scan, as in Mamba: `h = exp(delta * A) * h + delta * B * x` and `y = h C`.
fn selective_step(step: ModelBuilder) -> ModelBuilder {
    step.node("Mul", &["delta", "a"], &["scaled"])
        .node("Exp", &["scaled"], &["decay"])
        .node("Mul", &["decay", "h"], &["kept"])
        .node("Mul", &["delta", "b"], &["weighted"])
        .node("Mul", &["weighted", "x"], &["added"])
        .node("Add", &["kept", "added"], &["state"])
        .node("MatMul", &["state", "c"], &["out"])
        .output("state", DType::F32)
        .output("out", DType::F32)
}

/// What the steps read, with the step as the first axis.
const SCANNED: [(&str, [&str; 3]); 4] = [
    ("delta", ["steps", "4", "1"]),
    ("b", ["steps", "1", "3"]),
    ("x", ["steps", "4", "1"]),
    ("c", ["steps", "3", "1"]),
];

fn selective_scan() -> ModelBuilder {
    let mut step = ModelBuilder::new(17).input("h", DType::F32, &["1", "4", "3"]);
    let mut model =
        ModelBuilder::new(17).init("a", weights(&[4, 3])).init("h0", weights(&[1, 4, 3]));
    for (name, dims) in SCANNED {
        step = step.input(name, DType::F32, &dims[1..]);
        model = model.input(&format!("{name}s"), DType::F32, &dims);
    }
    model
        .node("Scan", &["h0", "deltas", "bs", "xs", "cs"], &["last", "y"])
        .attr("body", selective_step(step).graph())
        .attr("num_scan_inputs", 4i64)
        .output("last", DType::F32)
        .output("y", DType::F32)
}

fn selective_loop() -> ModelBuilder {
    let mut step = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("goes_on", DType::Bool, &[])
        .input("h", DType::F32, &["1", "4", "3"])
        .node("Identity", &["goes_on"], &["goes_on_still"])
        .output("goes_on_still", DType::Bool);
    let mut model =
        ModelBuilder::new(17).init("a", weights(&[4, 3])).init("h0", weights(&[1, 4, 3]));
    for (name, dims) in SCANNED {
        let all = format!("{name}s");
        step = step.node("Gather", &[&all, "i"], &[name]);
        model = model.input(&all, DType::F32, &dims);
    }
    model
        .init("axis", Tensor::from_slice(&[0i64], &[1]).unwrap())
        .node("Shape", &["deltas"], &["dims"])
        .attr("end", 1i64)
        .node("Squeeze", &["dims", "axis"], &["count"])
        .node("Loop", &["count", "", "h0"], &["last", "y"])
        .attr("body", selective_step(step).graph())
        .output("last", DType::F32)
        .output("y", DType::F32)
}

#[test]
fn the_steady_state_allocates_nothing() {
    built("an encoder layer", encoder());
    built("a recurrent network", recurrent());
    built("a convolutional network", convolutional());
    built("a branch by value", branching());
    // Nothing for a node of an iteration, whatever their number.
    for steps in [1, 64] {
        for (label, builder) in [("Scan", selective_scan()), ("Loop", selective_loop())] {
            let bytes = builder.bytes();
            let model = Model::from_bytes(&bytes, None, &LoadOptions::default()).expect(label);
            check(&format!("{label} of {steps} steps"), model, &[steps; SCANNED.len()]);
        }
    }
    let Some(data) = std::env::var_os("STEAD_TEST_DATA") else { return };
    let models: [(&str, &[usize]); 4] = [
        ("minilm/model.onnx", &[2, 16, 2, 16, 2, 16]),
        ("satellite/model.onnx", &[2, 2]),
        ("silero-vad/silero_vad/data/silero_vad_16k_op15.onnx", &[1, 576, 1]),
        ("silero-vad/silero_vad/data/silero_vad_openvino_16k.onnx", &[]),
    ];
    for (name, dims) in models {
        let path = std::path::Path::new(&data).join("models").join(name);
        check(name, Model::load(&path, &LoadOptions::default()).expect(name), dims);
    }
}
