//! Pipelines whose models wait at a gate: what runs at the same time, and what is given up.

use super::fake::{Folder, Gate, POISON, block_on, request, runtime, values};
use crate::{Code, Embedded, InferRequest, Param, VersionRef};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_tensor::Shape;

/// `x -> a`, `x -> b`, both to the answer; `chain` is `x -> a -> sum`, where `sum` is stateful.
const CONFIG: &str = r#"{
    "model_config_list": [
        {"config": {"name": "a", "base_path": "a"}},
        {"config": {"name": "b", "base_path": "b"}},
        {"config": {"name": "sum", "base_path": "sum", "stateful": true}}
    ],
    "pipeline_config_list": [
        {"name": "wide", "inputs": ["x"], "nodes": [
            {"name": "a", "model_name": "a", "type": "DL model",
             "inputs": [{"x": {"node_name": "request", "data_item": "x"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]},
            {"name": "b", "model_name": "b", "type": "DL model",
             "inputs": [{"x": {"node_name": "request", "data_item": "x"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]}],
         "outputs": [{"y": {"node_name": "a", "data_item": "y"}},
                     {"z": {"node_name": "b", "data_item": "y"}}]},
        {"name": "branches", "inputs": ["x"], "demultiply_count": -1, "nodes": [
            {"name": "first", "model_name": "a", "type": "DL model",
             "inputs": [{"x": {"node_name": "request", "data_item": "x"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]},
            {"name": "second", "model_name": "b", "type": "DL model",
             "inputs": [{"x": {"node_name": "first", "data_item": "y"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]}],
         "outputs": [{"y": {"node_name": "second", "data_item": "y"}}]},
        {"name": "chain", "inputs": ["x"], "nodes": [
            {"name": "a", "model_name": "a", "type": "DL model",
             "inputs": [{"x": {"node_name": "request", "data_item": "x"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]},
            {"name": "s", "model_name": "sum", "type": "DL model",
             "inputs": [{"x": {"node_name": "a", "data_item": "y"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]}],
         "outputs": [{"y": {"node_name": "s", "data_item": "y"}}]}
    ]
}"#;

fn start(gate: &Arc<Gate>) -> (Folder, Arc<Embedded>) {
    let folder = Folder::new(&[
        ("a/1/model.onnx", "add 1"),
        ("b/1/model.onnx", "add 2"),
        ("sum/1/model.onnx", "add 0 sum"),
        ("config.json", CONFIG),
    ]);
    let node = folder.start_gated(gate);
    (folder, node)
}

fn step(id: u64, flag: Option<&str>, value: f32) -> InferRequest {
    let mut request = request("chain", &[value]);
    request.parameters.insert("sequence_id".into(), Param::U64(id));
    flag.map(|f| request.parameters.insert(format!("sequence_{f}").into(), Param::Bool(true)));
    request
}

#[test]
fn nodes_that_do_not_need_each_other_run_together() {
    let gate = Arc::new(Gate::default());
    let (_folder, node) = start(&gate);
    gate.shut();
    let runtime = runtime();
    let mut both = request("wide", &[1.0]);
    both.outputs.clear();
    let running = runtime.spawn({
        let node = Arc::clone(&node);
        async move { node.infer(both).await }
    });
    gate.wait_for_runs(2);
    gate.open();
    let answer = runtime.block_on(running).unwrap().unwrap();
    assert_eq!((values(&answer.outputs), values(&answer.outputs[1..])), (vec![2.0], vec![3.0]));
}

/// As in OpenVINO Model Server: the second node does not wait for all branches of the first.
#[test]
fn branches_go_on_each_on_its_own() {
    let gate = Arc::new(Gate::default());
    let (_folder, node) = start(&gate);
    gate.shut_for(20.0);
    let runtime = runtime();
    let mut three = request("branches", &[10.0, 20.0, 30.0]);
    three.inputs[0].1 = three.inputs[0].1.reshaped(Shape::new(&[3, 1, 2]).unwrap()).unwrap();
    let running = runtime.spawn({
        let node = Arc::clone(&node);
        async move { node.infer(three).await }
    });
    let runs =
        |model: &str| node.statistics(Some(model), &VersionRef::Latest).unwrap()[0].execution_count;
    let started = Instant::now();
    while runs("b") < 2 {
        assert!(started.elapsed() < Duration::from_secs(20), "the others go on");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(runs("a"), 2, "one is held back");
    gate.open();
    let answer = runtime.block_on(running).unwrap().unwrap();
    assert_eq!(values(&answer.outputs), [13.0, 23.0, 33.0]);
}

#[test]
fn the_deadline_ends_a_run_and_leaves_the_sequence() {
    let gate = Arc::new(Gate::default());
    let (_folder, node) = start(&gate);
    let sum = |id, flag, value| {
        block_on(node.infer(step(id, flag, value))).map(|a| values(&a.outputs)).map_err(|e| e.code)
    };
    assert_eq!(sum(7, Some("start"), 1.0), Ok(vec![2.0]));
    gate.shut();
    let mut late = step(7, None, 1.0);
    late.deadline = Some(Instant::now() + Duration::from_millis(20));
    let error = block_on(node.infer(late)).unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded, "{error}");
    gate.open();
    assert_eq!(sum(7, None, 1.0), Ok(vec![4.0]));
}

#[test]
fn a_client_that_goes_away_leaves_the_sequence() {
    let gate = Arc::new(Gate::default());
    let (_folder, node) = start(&gate);
    let runtime = runtime();
    let send = |request| {
        let node = Arc::clone(&node);
        runtime.spawn(async move { node.infer(request).await })
    };
    runtime.block_on(send(step(7, Some("start"), 1.0))).unwrap().unwrap();
    gate.shut();
    let running = send(step(7, None, 10.0));
    gate.wait_for_run();
    let waiting = send(step(7, None, 2.0));
    running.abort();
    assert!(runtime.block_on(running).is_err());
    gate.open();
    let answer = runtime.block_on(waiting).unwrap().unwrap();
    assert_eq!(values(&answer.outputs), [5.0], "the step that was given up has left nothing");
    let sequences = node.metrics().models.iter().find(|m| m.name == "chain").cloned().unwrap();
    let sequences = sequences.versions[0].sequences.unwrap();
    let counters = sequences.counters;
    assert_eq!((sequences.active, counters.steps, counters.failed), (1, 2, 1));
}

/// One request of many that fail, and many of which all fail, leave the others alone.
#[test]
fn failures_do_not_spread() {
    let gate = Arc::new(Gate::default());
    let (_folder, node) = start(&gate);
    let runtime = runtime();
    runtime.block_on(async {
        node.infer(step(7, Some("start"), 1.0)).await.unwrap();
        let mut sent = tokio::task::JoinSet::new();
        for _ in 0..500 {
            let node = Arc::clone(&node);
            sent.spawn(async move { node.infer(step(7, None, POISON)).await.unwrap_err() });
        }
        for error in sent.join_all().await {
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.to_string().ends_with("poison; pipeline: chain; node: a"), "{error}");
        }
        let answer = node.infer(step(7, Some("end"), 1.0)).await.unwrap();
        assert_eq!(values(&answer.outputs), [4.0]);
    });
}
