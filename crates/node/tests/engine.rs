//! The node on real models, evaluated by the engine.
#![allow(clippy::unwrap_used)]

use stead_node::{Code, Embedded, InferRequest, NodeConfig, Parameters, Protocol, VersionRef};
use stead_onnx::{Dim, ModelBuilder, ValueType};
use stead_tensor::{DType, Tensor};

fn model() -> Vec<u8> {
    let weights = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2]).unwrap();
    let dims = vec![Dim::Symbol("batch".to_owned()), Dim::Known(2)];
    ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "3"])
        .init("w", weights)
        .node("MatMul", &["x", "w"], &["y"])
        .output_of("y", ValueType::tensor(DType::F32, Some(dims)))
        .bytes()
}

fn request(rows: usize, start: f32) -> InferRequest {
    let values: Vec<f32> = (0..rows * 3).map(|i| start + i as f32).collect();
    InferRequest {
        model: "net".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("x".to_owned(), Tensor::from_slice(&values, &[rows, 3]).unwrap())],
        outputs: vec![],
        parameters: Parameters::new(),
        deadline: None,
        protocol: Protocol::KserveHttp,
    }
}

#[test]
fn batches_and_single_requests_agree() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("net/1")).unwrap();
    std::fs::write(dir.path().join("net/1/model.onnx"), model()).unwrap();
    std::fs::create_dir_all(dir.path().join("bad/1")).unwrap();
    std::fs::write(dir.path().join("bad/1/model.onnx"), &model()[..40]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut answers = Vec::new();
    for toml in ["warmup = 3", "max_batch_size = 8\nmax_queue_delay_microseconds = 500"] {
        std::fs::write(dir.path().join("net/stead.toml"), toml).unwrap();
        let node = Embedded::start(NodeConfig::path(dir.path())).unwrap();
        assert!(
            node.model_ready("net", &VersionRef::Number(1)),
            "{:?}",
            node.repository_index(false)
        );
        let status = node.model_status("bad", &VersionRef::Latest).unwrap();
        assert_eq!(status[0].error_code, 2);
        assert!(!status[0].error_message.contains(&*dir.path().to_string_lossy()));
        for _ in 0..4 {
            let handles: Vec<_> = (0..8)
                .map(|i| {
                    let node = node.clone();
                    runtime.spawn(async move { node.infer(request(1 + i % 3, i as f32)).await })
                })
                .collect();
            for (i, handle) in handles.into_iter().enumerate() {
                let answer = runtime.block_on(handle).unwrap().unwrap();
                let y = answer.outputs[0].1.clone();
                let first = [2.0 * i as f32 + 2.0, 2.0 * i as f32 + 3.0];
                assert_eq!(y.as_slice::<f32>().unwrap()[..2], first);
                answers.push(y);
            }
        }
        let stats = node.statistics(Some("net"), &VersionRef::Latest).unwrap();
        assert_eq!(stats[0].success.count, 32);
    }
    let (plain, batched) = answers.split_at(32);
    assert_eq!(plain, batched);
}

#[test]
fn shapes_and_batch_sizes_of_the_configuration_hold() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("net/1")).unwrap();
    std::fs::write(dir.path().join("net/1/model.onnx"), model()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The setting, the shape told to clients or `None` when the model cannot be loaded, rows that fit and rows
    // that do not.
    let cases = [
        (r#""batch_size": 2"#, Some(vec![2, 3]), 2, 1),
        (r#""batch_size": "2:4""#, Some(vec![-1, 3]), 4, 5),
        (r#""shape": "(1,3)""#, Some(vec![1, 3]), 1, 2),
        (r#""shape": {"x": "(-1,3)"}"#, Some(vec![-1, 3]), 7, 0),
        (r#""batch_size": "auto""#, Some(vec![-1, 3]), 0, 0),
        (r#""shape": {"x": "(-1,4)"}"#, None, 0, 0),
        (r#""shape": {"z": "(-1,3)"}"#, None, 0, 0),
        (r#""shape": "(3)""#, None, 0, 0),
    ];
    for (setting, shape, fits, not) in cases {
        let config = format!(
            r#"{{"model_config_list": [{{"config": {{"name": "net", "base_path": "net", {setting}}}}}]}}"#
        );
        std::fs::write(dir.path().join("config.json"), config).unwrap();
        let node = Embedded::start(NodeConfig::path(dir.path())).unwrap();
        let metadata = node.model_metadata("net", &VersionRef::Latest);
        assert_eq!(metadata.ok().map(|m| m.inputs[0].shape.clone()), shape, "{setting}");
        if shape.is_none() {
            continue;
        }
        runtime.block_on(node.infer(request(fits, 0.0))).unwrap();
        if not > 0 {
            let error = runtime.block_on(node.infer(request(not, 0.0))).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.to_string().starts_with("Invalid input batch size"), "{error}");
        }
    }
}
