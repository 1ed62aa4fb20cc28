//! The folder of a stateful model of OpenVINO Model Server, served as it is.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_tensor::Tensor;

/// Nets and what OpenVINO computed of them.
const NETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/data/openvino");

/// OpenVINO's own sums are added in another order.
const TOLERANCE: f32 = 2e-5;

#[test]
fn sequences_go_on_from_what_assign_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let version = folder.path().join("stateful_model/1");
    std::fs::create_dir_all(&version).unwrap();
    for end in ["xml", "bin"] {
        let from = Path::new(NETS).join(format!("rm_lstm4f.{end}"));
        std::fs::copy(from, version.join(format!("rm_lstm4f.{end}"))).unwrap();
    }
    let config = r#"{"model_config_list": [{"config": {"name": "rm_lstm4f", "base_path": "stateful_model", "stateful": true}}]}"#;
    let file = folder.path().join("config.json");
    std::fs::write(&file, config).unwrap();
    let config = NodeConfig { threads: Some(1), ..NodeConfig::path(file) };
    let node = Embedded::start(config).unwrap();
    let status = node.model_status("rm_lstm4f", &VersionRef::Latest).unwrap();
    assert_eq!(status[0].error_message, "OK");

    let steps = std::fs::read(Path::new(NETS).join("rm_lstm4f.json")).unwrap();
    let steps: Vec<Value> = serde_json::from_slice(&steps).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (mut id, mut start) = (1, true);
    for step in &steps {
        if step["reset"] == true {
            // Another sequence: its memory is its own.
            (id, start) = (2, true);
            continue;
        }
        let numbers = |value: &Value| -> Vec<f32> {
            value["data"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
        };
        let x = numbers(&step["inputs"]["Parameter"]);
        let request = InferRequest {
            model: "rm_lstm4f".to_owned(),
            version: VersionRef::Latest,
            id: String::new(),
            inputs: vec![("Parameter".to_owned(), Tensor::from_slice(&x, &[1, x.len()]).unwrap())],
            outputs: Vec::new(),
            parameters: Parameters::from([
                ("sequence_id".into(), Param::U64(id)),
                ("sequence_start".into(), Param::Bool(start)),
            ]),
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        start = false;
        let answer = runtime.block_on(node.infer(request)).unwrap();
        let (name, y) = &answer.outputs[0];
        assert_eq!((answer.outputs.len(), name.as_str()), (1, "affinetransform"));
        let expected = numbers(&step["outputs"]["affinetransform"]);
        for (a, b) in y.as_slice::<f32>().unwrap().iter().zip(&expected) {
            assert!((a - b).abs() < TOLERANCE, "{a} for {b}");
        }
    }
}
