//! Branches of a model that read nothing of each other may run at the same time, on any threads, with the same bits.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use proptest::test_runner::{Config, RngSeed, TestRunner};
use stead_engine::{
    LoadOptions, Model, Parallel, RunContext, RunError, Session, SessionOptions, StepRun,
};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Wide enough for a product of a few rows to be worth a thread.
const WIDTH: usize = 384;

fn weights(seed: usize, rows: usize, cols: usize) -> Tensor {
    let value = |i: usize| ((i * 2_654_435_761 + seed * 40_503) % 1009) as f32 / 5000.0 - 0.1;
    let values: Vec<f32> = (0..rows * cols).map(value).collect();
    Tensor::from_slice(&values, &[rows, cols]).unwrap()
}

/// A model of towers: each maps its own input through `layers` products with functions between them; a last product of
/// each is added up.
fn towers(count: usize, layers: usize) -> ModelBuilder {
    let mut model = ModelBuilder::new(17);
    let mut sum = String::new();
    for tower in 0..count {
        let mut value = format!("x{tower}");
        model = model.input(&value, DType::F32, &["rows", "384"]);
        for layer in 0..layers {
            let name = |what: &str| format!("{what}{tower}_{layer}");
            let (w, product, next) = (name("w"), name("p"), name("v"));
            model = model
                .init(&w, weights(tower * 31 + layer, WIDTH, WIDTH))
                .node("MatMul", &[&value, &w], &[&product])
                .node("Tanh", &[&product], &[&next]);
            value = next;
        }
        let joined = format!("s{tower}");
        sum = if sum.is_empty() {
            value
        } else {
            model = model.node("Mul", &[&sum, &value], &[&joined]);
            joined
        };
    }
    model.node("Identity", &[&sum], &["y"]).output("y", DType::F32)
}

fn session(model: ModelBuilder) -> Session {
    let model = Model::from_bytes(&model.bytes(), None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions::default()).unwrap()
}

fn run(session: &Session, inputs: &[Tensor], cx: &RunContext<'_>) -> Result<Vec<u32>, RunError> {
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    session.run_with(&views, cx, |outputs| {
        let output = outputs.get(0)?;
        Ok(output.as_slice::<f32>()?.iter().map(|x| x.to_bits()).collect())
    })?
}

fn inputs(count: usize, rows: usize) -> Vec<Tensor> {
    (0..count).map(|tower| weights(1000 + tower, rows, WIDTH)).collect()
}

/// As many threads as there are rounds of a loop, each with a thread of its own.
struct Threads;

impl Parallel for Threads {
    fn threads(&self) -> usize {
        4
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| (0..n).for_each(|i| drop(scope.spawn(move || f(i)))));
    }
}

/// One thread that takes the rounds of a loop in another order.
struct Backwards;

impl Parallel for Backwards {
    fn threads(&self) -> usize {
        2
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

#[test]
fn two_towers_run_at_the_same_time() {
    let session = session(towers(2, 3));
    let inputs = inputs(2, 32);
    let plan =
        session.plan_view(&inputs.iter().map(|t| Some(t.view())).collect::<Vec<_>>()).unwrap();
    let of = |tower: usize| plan.steps.iter().filter(|s| s.branch == Some((tower, 2))).count();
    // The last two products of each are one step.
    assert_eq!((of(1), of(2)), (2, 2), "{plan}");
    assert!(plan.to_string().contains("(branch 2 of 2)"), "{plan}");

    let expected = run(&session, &inputs, &RunContext::default()).unwrap();
    // Each of two threads waits behind its first step until the other one has come there too.
    let (seen, came) = (Mutex::new(Vec::<ThreadId>::new()), Condvar::new());
    let meet = |_: StepRun<'_>| {
        let me = std::thread::current().id();
        let mut seen = seen.lock().unwrap();
        if !seen.contains(&me) && seen.len() < 2 {
            seen.push(me);
            came.notify_all();
            let alone = |seen: &mut Vec<ThreadId>| seen.len() < 2;
            let waited = came.wait_timeout_while(seen, Duration::from_secs(60), alone).unwrap();
            assert!(!waited.1.timed_out(), "one branch ended before the other one began");
        }
    };
    let cx = RunContext { parallel: &Threads, profile: Some(&meet), ..RunContext::default() };
    assert_eq!(run(&session, &inputs, &cx).unwrap(), expected);
    assert_eq!(seen.into_inner().unwrap().len(), 2);
}

#[test]
fn bits_do_not_depend_on_threads_or_their_order() {
    let config = Config { cases: 24, rng_seed: RngSeed::Fixed(7), ..Config::default() };
    let mut runner = TestRunner::new(config);
    runner
        .run(&(1usize..5, 1usize..4, 1usize..40), |(count, layers, rows)| {
            let session = session(towers(count, layers));
            let inputs = inputs(count, rows);
            let expected = run(&session, &inputs, &RunContext::default()).unwrap();
            for parallel in [&Threads as &dyn Parallel, &Backwards] {
                let cx = RunContext { parallel, ..RunContext::default() };
                let found = run(&session, &inputs, &cx).unwrap();
                assert!(found == expected, "{count} towers of {layers} layers, {rows} rows");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_run_that_is_cancelled_ends_all_branches() {
    let session = session(towers(3, 3));
    let inputs = inputs(3, 32);
    let steps = AtomicUsize::new(0);
    let cancelled = || steps.fetch_add(1, Ordering::SeqCst) >= 2;
    let cx =
        RunContext { parallel: &Threads, cancelled: Some(&cancelled), ..RunContext::default() };
    assert!(matches!(run(&session, &inputs, &cx), Err(RunError::Cancelled)));
    // Three branches, each of which may have asked once more.
    assert!(steps.load(Ordering::SeqCst) <= 2 + 3 + 3);
    let again = run(&session, &inputs, &RunContext { parallel: &Threads, ..RunContext::default() });
    assert_eq!(again.unwrap(), run(&session, &inputs, &RunContext::default()).unwrap());
}
