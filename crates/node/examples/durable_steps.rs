//! What durability costs: steps per second of silero with `state_durability` memory and every_step in turn, the median of
//! `fdatasync` on the same disk, and the memory of idle sequences. The last line is JSON.
//!
//! `cargo run --release -p stead-node --example durable_steps -- FOLDER_FOR_STATES [SEQUENCES]`
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a measurement ends with its first error, and tells

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use stead_node::{
    Embedded, InferRequest, InferResponse, NodeConfig, Param, Parameters, Protocol, VersionRef,
};
use stead_tensor::Tensor;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sequences that have a step on its way at a time.
const CONCURRENT: u64 = 256;
const ROUND: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;

/// A numbered step; 0 stands for a START without a number, of which no answer is kept.
fn request(id: u64, step: u64) -> InferRequest {
    let mut parameters = Parameters::new();
    parameters.insert("sequence_id".into(), Param::U64(id));
    if step > 0 {
        parameters.insert("sequence_step".into(), Param::U64(step));
    }
    if step < 2 {
        parameters.insert("sequence_start".into(), Param::Bool(true));
    }
    InferRequest {
        model: "vad".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("input".to_owned(), Tensor::from_slice(&[0.1f32; 512], &[1, 512]).unwrap())],
        outputs: Vec::new(),
        parameters,
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

fn start(states: &Path, mode: &str) -> Arc<Embedded> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/voice-activity/models");
    let config = format!(
        r#"{{"model_config_list": [{{"config": {{"name": "vad", "base_path": "{}/vad", "stateful": true,
            "max_sequence_number": 2000000, "stead": {{"max_queue_size": 100000,
            "state_durability": "{mode}", "states": [{{"input": "state", "output": "stateN"}}],
            "windows": [{{"input": "input", "length": 64}}]}}}}}}]}}"#,
        models.canonicalize().unwrap().display()
    );
    std::fs::create_dir_all(states).unwrap();
    let file = states.join(format!("{mode}.json"));
    std::fs::write(&file, config).unwrap();
    let state_path = Some(states.join(mode));
    Embedded::start(NodeConfig { state_path, ..NodeConfig::path(file) }).unwrap()
}

async fn step(node: &Embedded, id: u64, step: u64) -> InferResponse {
    node.infer(request(id, step)).await.unwrap()
}

/// Steps per second of many sequences at once.
async fn rate(node: &Arc<Embedded>, first: u64) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let tasks: Vec<_> = (0..CONCURRENT)
        .map(|n| {
            let (node, done) = (Arc::clone(node), Arc::clone(&done));
            tokio::spawn(async move {
                let mut number = 1;
                while begin.elapsed() < ROUND {
                    step(&node, first + n, number).await;
                    number += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    done.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// The median of a write of 8 KiB and its sync.
fn sync_median(folder: &Path) -> Duration {
    let mut file = std::fs::File::create(folder.join("sync")).unwrap();
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            file.write_all(&[7; 8192]).unwrap();
            let begin = Instant::now();
            file.sync_data().unwrap();
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = Path::new(args.get(1).map_or("states", |a| a));
    let idle: u64 = args.get(2).map_or(100_000, |a| a.parse().unwrap());

    let node = start(folder, "memory");
    // The pools of the engine and of the allocator are full after some steps.
    for n in 0..1000 {
        step(&node, 10_000_000 + n, 0).await;
    }
    let before = resident();
    let mut next = 1;
    while next <= idle {
        let until = (next + 256).min(idle + 1);
        let tasks = (next..until).map(|id| {
            let node = Arc::clone(&node);
            tokio::spawn(async move { drop(step(&node, id, 0).await) })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        next = until;
    }
    let each = (resident().saturating_sub(before)) as f64 / idle as f64;
    let told = node.metrics().models[0].versions[0].sequences.unwrap().bytes / (idle + 1000);
    println!(
        "{idle} idle sequences: {each:.0} bytes each of resident memory (the metric says {told})"
    );
    drop(node);

    println!("fdatasync: median {:?}", sync_median(folder));
    let (memory, durable) = (start(folder, "memory"), start(folder, "every_step"));
    let mut rates = [0.0; 2];
    for round in 0..ROUNDS {
        let first = round as u64 * 1000 + 1;
        let (m, d) = (rate(&memory, first).await, rate(&durable, first).await);
        println!("memory {m:.0} steps/s, every_step {d:.0} steps/s, {:.0} %", 100.0 * d / m);
        rates = [rates[0] + m, rates[1] + d];
    }
    let sync = sync_median(folder);
    println!("fdatasync: median {sync:?}");
    let [memory, durable] = rates.map(|sum| sum / ROUNDS as f64);
    println!(
        r#"{{"sequences":{idle},"idle_bytes":{each:.0},"concurrent":{CONCURRENT},"memory_steps_per_s":{memory:.0},"every_step_steps_per_s":{durable:.0},"ratio":{:.3},"fdatasync_us":{:.0}}}"#,
        durable / memory,
        sync.as_secs_f64() * 1e6
    );
}
