//! Between two steps of a run the caller may do something else, runs of the same session among it.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use stead_engine::{LoadOptions, Model, RunContext, RunError, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Steps that lie in one arena: a nested run that wrote into the memory of the one around it would change its result.
fn session() -> Session {
    let weights: Vec<f32> = (0..64).map(|i| ((i * 37 % 101) as f32 - 50.0) / 100.0).collect();
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "8"])
        .init("w", Tensor::from_slice(&weights, &[8, 8]).unwrap())
        .node("MatMul", &["x", "w"], &["a"])
        .node("Softmax", &["a"], &["b"])
        .attr("axis", -1i64)
        .node("MatMul", &["b", "w"], &["c"])
        .node("Tanh", &["c"], &["d"])
        .node("MatMul", &["d", "w"], &["e"])
        .node("ReduceSum", &["e"], &["y"])
        .attr("keepdims", 0i64)
        .output("y", DType::F32)
        .bytes();
    let model = Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions::default()).unwrap()
}

fn run(session: &Session, seed: usize, rows: usize, cx: &RunContext<'_>) -> Result<f32, RunError> {
    let cells: Vec<f32> = (0..rows * 8).map(|i| ((i + seed) as f32 * 0.7).sin()).collect();
    let x = Tensor::from_slice(&cells, &[rows, 8]).unwrap();
    session.run_with(&[Some(x.view())], cx, |outputs| {
        outputs.get(0).unwrap().as_slice::<f32>().unwrap()[0]
    })
}

#[test]
fn runs_of_the_same_session_may_lie_in_the_pauses_of_another() {
    let session = session();
    let plain = RunContext::default();
    // The outer run, one in each of its pauses, and one in each pause of those.
    let expected: Vec<f32> =
        (0..3).map(|seed| run(&session, seed, 1 + seed % 2, &plain).unwrap()).collect();
    let (pauses, inner_pauses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(Vec::new());
    let innermost = || {
        inner_pauses.fetch_add(1, Ordering::Relaxed);
        found.lock().unwrap().push((2, run(&session, 2, 1, &plain).unwrap()));
    };
    let inner = || {
        pauses.fetch_add(1, Ordering::Relaxed);
        let cx = RunContext { pause: Some(&innermost), ..plain };
        let ran = run(&session, 1, 2, &cx).unwrap();
        found.lock().unwrap().push((1, ran));
    };
    let cx = RunContext { pause: Some(&inner), ..plain };
    let outer = run(&session, 0, 1, &cx).unwrap();
    assert_eq!(outer, expected[0]);
    let (pauses, inner_pauses) = (pauses.into_inner(), inner_pauses.into_inner());
    assert!(pauses >= 4, "{pauses} steps");
    assert_eq!(inner_pauses, pauses * pauses, "as many steps in each");
    let found = found.into_inner().unwrap();
    assert_eq!(found.len(), pauses + inner_pauses);
    for (seed, value) in found {
        assert_eq!(value, expected[seed], "run {seed}");
    }
}

#[test]
fn a_run_that_was_given_up_in_a_pause_ends_there() {
    let session = session();
    let pauses = AtomicUsize::new(0);
    let pause = || _ = pauses.fetch_add(1, Ordering::Relaxed);
    let cancelled = || pauses.load(Ordering::Relaxed) == 3;
    let cx =
        RunContext { pause: Some(&pause), cancelled: Some(&cancelled), ..RunContext::default() };
    assert!(matches!(run(&session, 0, 1, &cx), Err(RunError::Cancelled)));
    assert_eq!(pauses.into_inner(), 3);
}

#[test]
fn what_ran_in_a_pause_makes_a_model_no_slower_in_memory() {
    let session = session();
    let quick =
        RunContext { within: Some(std::time::Duration::from_secs(3600)), ..RunContext::default() };
    let pause = || {};
    let paused = RunContext { pause: Some(&pause), ..RunContext::default() };
    run(&session, 0, 1, &paused).unwrap();
    // Nobody knows yet how long a run takes.
    assert!(matches!(run(&session, 0, 1, &quick), Err(RunError::NotQuick)));
    run(&session, 0, 1, &RunContext::default()).unwrap();
    assert!(run(&session, 0, 1, &quick).is_ok());
}
