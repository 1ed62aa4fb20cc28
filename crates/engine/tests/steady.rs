//! A session that has seen all its shapes holds no more memory however often it runs.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Different shapes, each of which has a plan of its own.
const SHAPES: usize = 100;
/// Rounds over all shapes: 10,000 runs.
const ROUNDS: usize = 100;

/// Two dense layers with a softmax and a shape that is computed, over any number of rows.
fn model() -> Model {
    let weights = |rows: usize, cols: usize| {
        let values: Vec<f32> = (0..rows * cols).map(|i| (i % 13) as f32 * 0.01).collect();
        Tensor::from_slice(&values, &[rows, cols]).unwrap()
    };
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "len", "16"])
        .init("w1", weights(16, 48))
        .init("w2", weights(48, 8))
        .node("MatMul", &["x", "w1"], &["a"])
        .node("Relu", &["a"], &["b"])
        .node("MatMul", &["b", "w2"], &["c"])
        .node("Softmax", &["c"], &["d"])
        .attr("axis", 1i64)
        .node("Shape", &["c"], &["shape"])
        .node("Reshape", &["d", "shape"], &["y"])
        .output("y", DType::F32)
        .bytes();
    Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap()
}

/// The most bytes that live behind a round, among the first ten after the first and among all later ones.
fn most(max_plans: usize) -> (usize, usize) {
    let options = SessionOptions { max_plans, ..SessionOptions::default() };
    let session = Session::new(model(), &options).unwrap();
    let values = vec![0.5f32; SHAPES * 3 * 16];
    let (mut first, mut later) = (0, 0);
    for round in 0..ROUNDS {
        for shape in 0..SHAPES {
            let dims = [1 + shape % 3, 1 + shape, 16];
            let x = Tensor::from_slice(&values[..dims.iter().product()], &dims).unwrap();
            session.run_with(&[Some(x.view())], &RunContext::default(), |_| ()).unwrap();
        }
        let live = LIVE.load(Ordering::Relaxed);
        match round {
            0 => {}
            1..=10 => first = live.max(first),
            _ => later = live.max(later),
        }
    }
    (first, later)
}

#[test]
fn ten_thousand_runs_of_a_hundred_shapes_hold_what_the_first_rounds_hold() {
    let (first, later) = most(256);
    assert_eq!(first, later, "all plans are kept");
    let (bounded, later) = most(40);
    assert!(bounded < first, "plans are dropped: {bounded} of {first} bytes");
    // Which plans are kept varies a little with the order in which they were dropped.
    assert!(later <= bounded + bounded / 20, "from {bounded} to {later} bytes");
}
