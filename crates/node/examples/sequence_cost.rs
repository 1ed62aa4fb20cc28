//! What a step of a sequence costs beside the model: silero by `Session::run` with the state carried by the caller, and
//! by `Embedded::infer`, in turn on one thread, each on inputs that were made before. Prints one line of JSON; times are
//! medians of rounds, in microseconds for a step.
//!
//! `cargo run --release -p stead-node --example sequence_cost [ROUNDS]`
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a measurement ends with its first error, and tells

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_tensor::Tensor;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Steps of a round, which lasts a few milliseconds: rounds that something else disturbs do not move the median.
const STEPS: usize = 64;
const ROUNDS: usize = 1000;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/voice-activity");

/// New samples of a step, and those of the step before that the model sees again.
const NEW: usize = 512;
const KEPT: usize = 64;

fn samples() -> Vec<f32> {
    (0..NEW).map(|i| ((i * 7919) % 2003) as f32 / 10_000.0 - 0.1).collect()
}

/// The new samples of a step.
fn input() -> Tensor {
    Tensor::from_slice(&samples(), &[1, NEW]).unwrap()
}

/// A step of sequence 7.
fn request(is_start: bool) -> InferRequest {
    let mut parameters = Parameters::new();
    parameters.insert("sequence_id".into(), Param::U64(7));
    if is_start {
        parameters.insert("sequence_start".into(), Param::Bool(true));
    }
    InferRequest {
        model: "vad".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("input".to_owned(), input())],
        outputs: Vec::new(),
        parameters,
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

/// A client of the engine: keeps the state, puts the window in front.
struct Bare {
    session: Session,
    state: Tensor,
    window: Vec<f32>,
}

impl Bare {
    fn new() -> Bare {
        let file = Path::new(EXAMPLE).join("models/vad/1/silero_vad_openvino_16k.onnx");
        let model = Model::load(&file, &LoadOptions::default()).unwrap();
        let session = Session::new(model, &SessionOptions::default()).unwrap();
        let state = Tensor::from_slice(&[0.0f32; 256], &[2, 1, 128]).unwrap();
        Bare { session, state, window: vec![0.0; KEPT] }
    }

    fn step(&mut self, new: &Tensor) -> f32 {
        let new = new.as_slice::<f32>().unwrap();
        let all: Vec<f32> = self.window.iter().chain(new).copied().collect();
        let input = Tensor::from_slice(&all, &[1, KEPT + NEW]).unwrap();
        let inputs = [("input", input.view()), ("state", self.state.view())];
        let mut outputs = self.session.run(&inputs, &["output", "stateN"]).unwrap();
        self.state = outputs.pop().unwrap();
        self.window.copy_from_slice(&all[NEW..]);
        outputs[0].view().as_slice::<f32>().unwrap()[0]
    }
}

async fn infer(node: &Arc<Embedded>, request: InferRequest) -> f32 {
    let answer = node.infer(request).await.unwrap();
    answer.outputs[0].1.view().as_slice::<f32>().unwrap()[0]
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6 / STEPS as f64
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let node = Embedded::start(NodeConfig::path(Path::new(EXAMPLE).join("config.json"))).unwrap();
    let mut bare = Bare::new();
    assert_eq!(bare.step(&input()), infer(&node, request(true)).await, "both are the same step");
    let (mut engine, mut layer) = (Vec::new(), Vec::new());
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |n| n.parse().unwrap());
    for _ in 0..rounds {
        let requests: Vec<InferRequest> = (0..STEPS).map(|_| request(false)).collect();
        let inputs: Vec<Tensor> = (0..STEPS).map(|_| input()).collect();
        let begin = Instant::now();
        let ours: Vec<f32> = inputs.into_iter().map(|new| bare.step(&new)).collect();
        engine.push(begin.elapsed());
        let begin = Instant::now();
        let mut theirs = Vec::with_capacity(STEPS);
        for request in requests {
            theirs.push(infer(&node, request).await);
        }
        layer.push(begin.elapsed());
        assert_eq!(ours, theirs, "both carry the same state");
    }
    let (engine, layer) = (median(&mut engine), median(&mut layer));
    println!(
        "{{\"session_run_us\":{engine:.3},\"sequence_step_us\":{layer:.3},\"difference_us\":{:.3}}}",
        layer - engine
    );
}
