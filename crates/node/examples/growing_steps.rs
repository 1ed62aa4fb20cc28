//! What growing states cost: the steps of a decoder whose cache of keys and values becomes longer with each, against as
//! many steps at one length.
//!
//! `cargo run --release -p stead-node --example growing_steps -- [STEPS]`
//!
//! The decoder has 4 layers of 4 heads of 64 elements; one token each is 1,000 steps. It prints one line of JSON:
//!
//! * `growing_ms`: all steps of one sequence through a server without sockets, from its START on. Each length is new to
//!   it, so that planning is part of it.
//! * `fixed_ms`: as many requests to the same server for the same model without sequences, at the mean length (half the
//!   number of steps), with the plan known: the same products over as many keys on average. The caches come with the
//!   request, shared and not copied, and their new values are not asked for; the model joins them with the new ones.
//! * `ratio`: the first to the second.
//! * `bare_ms`: runs of the bare engine at the mean length with the plan known and the caches lying where they grow:
//!   what the products alone cost, without server, thread or copy.
//! * `engine_ms`: the growing steps on the bare engine, and `planning_ms`: making plans as part of that. A server makes
//!   the next plan when it has answered a step.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a measurement ends with its first error, and tells

#[path = "../../engine/tests/decoder/mod.rs"]
mod decoder;

use decoder::{Sizes, decoder};
use std::time::Instant;
use stead_engine::{Growing, LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_tensor::{DType, Growth, Shape, Tensor};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: Sizes = Sizes { layers: 4, heads: 4, head: 64, vocabulary: 512, positions: 4096 };

fn token(step: usize) -> Tensor {
    Tensor::from_slice(&[(step * 7919 % SIZES.vocabulary) as i64], &[1, 1]).unwrap()
}

fn cache(length: usize) -> Tensor {
    let shape = Shape::new(&[1, SIZES.heads, length, SIZES.head]).unwrap();
    Tensor::zeros(DType::F32, shape).unwrap()
}

fn millis(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// Steps of one sequence through the server, and as many requests at the mean length.
fn served(steps: usize) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models/m/1");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), decoder(SIZES)).unwrap();
    let config = r#"{"model_config_list": [
        {"config": {"name": "grows", "base_path": "models/m", "stateful": true}},
        {"config": {"name": "fixed", "base_path": "models/m"}}]}"#;
    let file = folder.path().join("config.json");
    std::fs::write(&file, config).unwrap();
    let node = Embedded::start(NodeConfig { threads: Some(1), ..NodeConfig::path(file) }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = |model: &str, step: usize| InferRequest {
        model: model.to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("ids".to_owned(), token(step))],
        outputs: vec!["logits".to_owned()],
        parameters: Parameters::new(),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    };
    let begin = Instant::now();
    for step in 0..steps {
        let mut request = request("grows", step);
        request.parameters = Parameters::from([
            ("sequence_id".into(), Param::U64(1)),
            ("sequence_start".into(), Param::Bool(step == 0)),
        ]);
        runtime.block_on(node.infer(request)).unwrap();
    }
    let growing = millis(begin);
    let cache = cache(steps / 2);
    let fixed = |step: usize| {
        let mut request = request("fixed", step);
        for layer in 0..SIZES.layers {
            for part in ["key", "value"] {
                request.inputs.push((format!("past.{layer}.{part}"), cache.clone()));
            }
        }
        runtime.block_on(node.infer(request)).unwrap();
    };
    fixed(0);
    let begin = Instant::now();
    (0..steps).for_each(fixed);
    (growing, millis(begin))
}

fn session() -> Session {
    let model = Model::from_bytes(&decoder(SIZES), None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions::default()).unwrap()
}

/// Caches that grow in place during a run of the bare engine.
fn growing(caches: &[Tensor]) -> Vec<Growing> {
    let grow = |(i, cache): (usize, &Tensor)| {
        let growth = Growth::new(cache, 2).unwrap();
        Growing { input: 1 + i, output: 1 + i, growth }
    };
    caches.iter().enumerate().map(grow).collect()
}

/// One step of the bare engine; the caches that it leaves.
fn step(session: &Session, ids: &Tensor, caches: &[Tensor]) -> Vec<Tensor> {
    let mut growing = growing(caches);
    let mut inputs = vec![None; 1 + caches.len()];
    inputs[0] = Some(ids.view());
    session
        .run_growing(&inputs, &mut growing, &RunContext::default(), |outputs| {
            assert!((1..=caches.len()).all(|output| outputs.grown(output).is_some()));
        })
        .unwrap();
    growing.into_iter().map(|state| state.growth.finish()).collect()
}

/// Growing steps of the bare engine, and the time that planning took.
fn engine(steps: usize) -> (f64, f64) {
    let session = session();
    let mut caches = vec![cache(0); 2 * SIZES.layers];
    let begin = Instant::now();
    for n in 0..steps {
        caches = step(&session, &token(n), &caches);
    }
    (millis(begin), session.plan_stats().planning.as_secs_f64() * 1e3)
}

/// The mean length again and again, where the caches grow.
fn bare(steps: usize) -> f64 {
    let session = session();
    let grown = |c: Tensor| Growth::new(&c, 2).unwrap().finish();
    let caches: Vec<Tensor> = (0..2 * SIZES.layers).map(|_| grown(cache(steps / 2))).collect();
    let ids = token(1);
    let run = || {
        // Dropped without an end, so that each begins where the one before did.
        let mut growing = growing(&caches);
        let mut inputs = vec![None; 1 + caches.len()];
        inputs[0] = Some(ids.view());
        session.run_growing(&inputs, &mut growing, &RunContext::default(), |o| o.len()).unwrap()
    };
    run();
    let begin = Instant::now();
    (0..steps).for_each(|_| assert!(run() > 0));
    millis(begin)
}

fn main() {
    let steps: usize = std::env::args().nth(1).map_or(1000, |a| a.parse().unwrap());
    assert!(
        (1..=SIZES.positions).contains(&steps),
        "the decoder has {} positions",
        SIZES.positions
    );
    // In turn, and the best of each: what else the machine does only ever adds.
    let mut best = [f64::MAX; 5];
    for _ in 0..3 {
        let ((growing, fixed), bare) = (served(steps), bare(steps));
        let (engine, planning) = engine(steps);
        for (best, now) in best.iter_mut().zip([growing, fixed, bare, engine, planning]) {
            *best = best.min(now);
        }
    }
    let [growing, fixed, bare, engine, planning] = best;
    println!(
        "{{\"growing_ms\":{growing:.1},\"fixed_ms\":{fixed:.1},\"ratio\":{:.3},\"bare_ms\":{bare:.1},\
         \"engine_ms\":{engine:.1},\"planning_ms\":{planning:.1}}}",
        growing / fixed
    );
}
