//! A request asks where its time went.
#![allow(clippy::unwrap_used)] // a panic is the report

use serde_json::Value;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::server::Server;

#[test]
fn a_request_that_asks_is_told_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m/1/model.onnx");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "4"])
        .init("w", Tensor::from_slice(&[0.5_f32; 32], &[4, 8]).unwrap())
        .node("MatMul", &["x", "w"], &["h"])
        .node("Softmax", &["h"], &["y"])
        .output("y", DType::F32);
    std::fs::write(path, model.bytes()).unwrap();
    std::fs::write(folder.path().join("m/stead.toml"), "max_batch_size = 8\n").unwrap();
    let server = Server::of_package(folder.path());
    let infer = |parameters: &str| {
        let body = format!(
            r#"{{"parameters": {parameters}, "inputs": [{{"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [1, 2, 3, 4, 5, 6, 7, 8]}}]}}"#
        );
        server.request("POST", "/v2/models/m/infer", &body)
    };
    let (status, plain) = infer("{}");
    assert!(status == 200 && plain.get("parameters").is_none(), "{plain}");
    assert_eq!(infer(r#"{"stead_trace": false}"#), (200, plain.clone()));
    for _ in 0..3 {
        let (status, traced) = infer(r#"{"stead_trace": true}"#);
        assert_eq!((status, &traced["outputs"]), (200, &plain["outputs"]));
        let told = traced["parameters"]["stead_trace"].as_str().unwrap_or_default();
        let told: Value = serde_json::from_str(told).unwrap();
        let nodes = told["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 2, "{told}");
        assert!(nodes.iter().all(|n| n["calls"] == 1 && n["bytes"].as_u64() > Some(0)), "{told}");
        let flops: u64 = nodes.iter().filter_map(|n| n["flops"].as_u64()).sum();
        assert_eq!(flops, 2 * 2 * 4 * 8, "{told}");
        let ms = |key: &str| told[key].as_f64().unwrap();
        let steps: f64 = nodes.iter().filter_map(|n| n["ms"].as_f64()).sum();
        assert!(ms("run_ms") >= steps && ms("wait_ms") >= 0.0, "{told}");
    }
    assert_eq!(infer(r#"{"stead_trace": 1}"#).0, 400);
}
