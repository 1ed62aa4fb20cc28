//! A stateful model whose file fixes a batch of 1 serves many sequences in joint runs.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_tensor::Tensor;

const SEQUENCES: u64 = 40;
const STEPS: u64 = 6;

/// The silero of the examples.
fn start(folder: &Path, batching: &str) -> Arc<Embedded> {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/voice-activity/models/vad");
    let models = Path::new(models).canonicalize().unwrap();
    let config = format!(
        r#"{{"model_config_list": [{{"config": {{"name": "vad", "base_path": "{}", "stateful": true, "nireq": 1,
            "stead": {{{batching} "windows": [{{"input": "input", "length": 64}}]}}}}}}]}}"#,
        models.display()
    );
    let file = folder.join("config.json");
    std::fs::write(&file, config).unwrap();
    Embedded::start(NodeConfig { threads: Some(1), ..NodeConfig::path(file) }).unwrap()
}

fn request(id: u64, step: u64) -> InferRequest {
    let sample = |i: u64| ((i * 37 + id * 1009 + step * 131) % 401) as f32 / 401.0 - 0.5;
    let samples: Vec<f32> = (0..512).map(sample).collect();
    let mut parameters = Parameters::new();
    parameters.insert("sequence_id".into(), Param::U64(id));
    parameters.insert("sequence_start".into(), Param::Bool(step == 1));
    parameters.insert("sequence_end".into(), Param::Bool(step == STEPS));
    InferRequest {
        model: "vad".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("input".to_owned(), Tensor::from_slice(&samples, &[1, 512]).unwrap())],
        outputs: Vec::new(),
        parameters,
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

async fn infer(node: &Embedded, id: u64, step: u64) -> f32 {
    let answer = node.infer(request(id, step)).await.unwrap();
    let (name, tensor) = &answer.outputs[0];
    assert_eq!((&**name, tensor.shape().dims()), ("output", &[1usize, 1][..]));
    tensor.as_slice::<f32>().unwrap()[0]
}

#[tokio::test]
async fn joint_steps_give_what_each_gives_alone() {
    let folder = tempfile::tempdir().unwrap();
    let alone = start(folder.path(), "");
    let mut expected = Vec::new();
    for id in 1..=SEQUENCES {
        for step in 1..=STEPS {
            expected.push(infer(&alone, id, step).await);
        }
    }
    let batching = r#""max_batch_size": 16, "max_queue_delay_microseconds": 1000000,"#;
    let joint = start(folder.path(), batching);
    let input = &joint.model_metadata("vad", &VersionRef::Latest).unwrap().inputs[0];
    assert_eq!(input.shape, [-1, 512]);
    let of_one = |id| {
        let joint = Arc::clone(&joint);
        tokio::spawn(async move {
            let mut got = Vec::new();
            for step in 1..=STEPS {
                got.push(infer(&joint, id, step).await);
            }
            got
        })
    };
    let tasks: Vec<_> = (1..=SEQUENCES).map(of_one).collect();
    let mut got = Vec::new();
    for task in tasks {
        got.extend(task.await.unwrap());
    }
    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert!((got - expected).abs() <= 1e-5, "{i}: {got} for {expected}");
    }
    let stats = joint.statistics(Some("vad"), &VersionRef::Latest).unwrap().remove(0);
    assert_eq!(stats.inference_count, SEQUENCES * STEPS);
    assert!(stats.execution_count < SEQUENCES * STEPS / 4, "{} runs", stats.execution_count);
}

#[tokio::test]
async fn one_client_waits_for_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let batching = r#""max_batch_size": 16, "max_queue_delay_microseconds": 20000,"#;
    let node = start(folder.path(), batching);
    for step in 1..STEPS {
        infer(&node, 1, step).await;
    }
    let runs = || {
        let metrics = node.metrics().models.remove(0).versions.remove(0);
        (metrics.wait_time_us.sum, metrics.wait_time_us.counts.iter().sum::<u64>())
    };
    let (before, count) = runs();
    infer(&node, 1, STEPS).await;
    assert_eq!(runs().1, count + 1);
    assert!(runs().0 - before < 20_000.0, "the step ran at once");
}
