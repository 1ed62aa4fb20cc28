//! The decoder of `examples/decoder` generates with its cache what it would without one.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_tensor::Tensor;

/// The logits behind the last of the tokens.
fn step(
    node: &Embedded,
    runtime: &tokio::runtime::Runtime,
    id: u64,
    n: u64,
    ids: &[i64],
) -> Vec<f32> {
    let request = InferRequest {
        model: "decoder".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("ids".to_owned(), Tensor::from_slice(ids, &[1, ids.len()]).unwrap())],
        outputs: Vec::new(),
        parameters: Parameters::from([
            ("sequence_id".into(), Param::U64(id)),
            ("sequence_start".into(), Param::Bool(n == 1)),
            ("sequence_step".into(), Param::U64(n)),
        ]),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    };
    let outputs = runtime.block_on(node.infer(request)).unwrap().outputs;
    assert_eq!(outputs.len(), 1, "the cache is not shown");
    let logits = outputs[0].1.as_slice::<f32>().unwrap();
    logits[logits.len() - logits.len() / ids.len()..].to_vec()
}

#[test]
fn the_example_generates_what_the_whole_prefix_gives() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/decoder/config.json");
    let node = Embedded::start(NodeConfig { threads: Some(2), ..NodeConfig::path(file) }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut prefix = vec![47i64, 78, 67, 69];
    let mut new = prefix.clone();
    for number in 1..=30 {
        let logits = step(&node, &runtime, 1, number, &new);
        let whole = step(&node, &runtime, 100 + number, 1, &prefix);
        for (a, b) in logits.iter().zip(&whole) {
            assert!((a - b).abs() <= 1e-4, "step {number}: {a} for {b}");
        }
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
        assert_eq!(logits.len(), 96);
        new = vec![best as i64];
        prefix.push(best as i64);
    }
    // Random weights, yet no fixed point: the text depends on the cache.
    assert!(prefix[4..].windows(2).any(|pair| pair[0] != pair[1]), "{prefix:?}");
}
