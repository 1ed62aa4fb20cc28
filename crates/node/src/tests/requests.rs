//! What requests are checked for, and what models tell about themselves.

use super::fake::{Folder, block_on, request, values};
use crate::{Code, IndexState, InferRequest, Method, Param, Protocol, VersionRef};
use std::time::{Duration, Instant};
use stead_tensor::Tensor;

fn folder() -> Folder {
    Folder::new(&[
        ("m/1/model.onnx", "add 1 count"),
        ("m/stead.toml", "[default_inputs]\nk = 0.5\n"),
    ])
}

#[test]
fn wrong_requests_are_told_what_is_wrong() {
    let folder = folder();
    let node = folder.start();
    let x = |dims: &[usize]| Tensor::from_slice(&vec![0f32; dims.iter().product()], dims).unwrap();
    let with = |inputs: Vec<(&str, Tensor)>, outputs: &[&str]| InferRequest {
        inputs: inputs.into_iter().map(|(n, t)| (n.to_owned(), t)).collect(),
        outputs: outputs.iter().map(|o| (*o).to_owned()).collect(),
        ..request("m", &[])
    };
    let unknown_model = request("nope", &[1.0]);
    let unknown_version = InferRequest { version: VersionRef::Number(9), ..request("m", &[1.0]) };
    let past = InferRequest { deadline: Some(Instant::now()), ..request("m", &[1.0]) };
    let cases = [
        (unknown_model, Code::NotFound, "Model with requested name is not found - model: nope"),
        (
            unknown_version,
            Code::NotFound,
            "Model with requested version is not found - model: m; version: 9",
        ),
        (
            with(vec![], &[]),
            Code::InvalidArgument,
            "Missing input with specific name - Required input: x",
        ),
        (
            with(vec![("X", x(&[1, 2]))], &[]),
            Code::InvalidArgument,
            "Unexpected input - model m has no input 'X'; it has: x, k",
        ),
        (
            with(vec![("x", x(&[1, 2])), ("x", x(&[1, 2]))], &[]),
            Code::InvalidArgument,
            "Duplicate input - input name: x",
        ),
        (
            with(vec![("x", x(&[2]))], &[]),
            Code::InvalidArgument,
            "Invalid number of shape dimensions - Expected: (-1,2); Actual: (2); input name: x",
        ),
        (
            with(vec![("x", x(&[1, 3]))], &[]),
            Code::InvalidArgument,
            "Invalid input shape - Expected: (-1,2); Actual: (1,3); input name: x",
        ),
        (
            with(vec![("x", Tensor::from_slice(&[1i32, 2], &[1, 2]).unwrap())], &[]),
            Code::InvalidArgument,
            "Invalid input precision - Expected: FP32; Actual: INT32; input name: x",
        ),
        (
            with(vec![("x", x(&[1, 2]))], &["z"]),
            Code::InvalidArgument,
            "Unexpected output - model m has no output 'z'; it has: y, count",
        ),
        (
            with(vec![("x", x(&[1, 2]))], &["y", "y"]),
            Code::InvalidArgument,
            "Duplicate output - output name: y",
        ),
        (past, Code::DeadlineExceeded, "Request timeout expired - model: m; waiting"),
    ];
    for (request, code, text) in cases {
        let error = block_on(node.infer(request)).unwrap_err();
        assert_eq!((error.code, error.to_string().as_str()), (code, text));
    }
    // A huge time to wait is no wait for ever and no overflow.
    let far = Some(Instant::now() + Duration::from_secs(1 << 30));
    let answer = block_on(node.infer(InferRequest { deadline: far, ..request("m", &[1.0]) }));
    assert_eq!(values(&answer.unwrap().outputs), [2.5]);
}

#[test]
fn outputs_come_in_the_order_wanted_and_ids_come_back() {
    let folder = folder();
    let node = folder.start();
    let mut request = request("m", &[1.0, 2.0]);
    request.outputs = vec!["count".to_owned(), "y".to_owned()];
    request.id = "seven".to_owned();
    let answer = block_on(node.infer(request)).unwrap();
    let names: Vec<_> = answer.outputs.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["count", "y"]);
    assert_eq!((answer.id.as_str(), answer.version), ("seven", 1));
}

#[test]
fn metadata_statistics_and_metrics() {
    let folder = Folder::new(&[
        ("m/1/model.onnx", "add 1"),
        ("m/2/model.onnx", "add 2"),
        ("m/2/mapping_config.json", r#"{"inputs": {"x": "image"}, "outputs": {"y": "score"}}"#),
        ("m/stead.toml", "max_batch_size = 4\nwarmup = 2"),
    ]);
    let node = folder.start();
    let metadata = node.model_metadata("m", &VersionRef::Latest).unwrap();
    assert_eq!((metadata.version, metadata.versions.as_slice()), (2, [2].as_slice()));
    assert_eq!(
        (metadata.inputs[0].name.as_str(), metadata.inputs[0].shape.as_slice()),
        ("image", [-1, 2].as_slice())
    );
    assert_eq!(metadata.outputs[0].name, "score");
    let config = node.model_config("m", &VersionRef::Number(2)).unwrap();
    assert_eq!((config.max_batch_size, config.inputs[0].shape.as_slice()), (4, [2].as_slice()));
    assert_eq!(config.default_model_filename, "model.onnx");
    let mut good = request("m", &[1.0]);
    (good.inputs[0].0, good.outputs) = ("image".to_owned(), vec![]);
    assert_eq!(values(&block_on(node.infer(good)).unwrap().outputs), [3.0]);
    block_on(node.infer(request("m", &[1.0]))).unwrap_err();
    let stats = node.statistics(Some("m"), &VersionRef::Latest).unwrap();
    let counts = (stats[0].success.count, stats[0].fail.count, stats[0].execution_count);
    assert_eq!((stats.len(), counts), (1, (1, 1, 1)));
    assert!(node.statistics(Some("n"), &VersionRef::Latest).is_err());
    node.record_call(Protocol::KserveHttp, Method::ModelReady, "m", None, true);
    node.record_call(Protocol::KserveHttp, Method::ModelMetadata, "m", Some(2), false);
    node.record_call(Protocol::KserveHttp, Method::ModelMetadata, "unknown", None, false);
    let metrics = node.metrics();
    assert_eq!(metrics.models.len(), 1);
    let find = |list: &[(crate::CallKey, u64, u64)], method| {
        list.iter()
            .find(|c| c.0.method == method && c.0.protocol == Protocol::KserveHttp)
            .map(|c| (c.1, c.2))
    };
    assert_eq!(find(&metrics.models[0].calls, Method::ModelReady), Some((1, 0)));
    assert_eq!(find(&metrics.models[0].versions[0].calls, Method::ModelMetadata), Some((0, 1)));
    assert_eq!(metrics.models[0].versions[0].current_requests, 0);
}

#[test]
fn settings_that_contradict_the_model_keep_it_from_loading() {
    let cases = [
        ("[default_inputs]\nz = 1", "default_inputs names \"z\", which the model does not have"),
        ("[default_inputs]\nk = [1.0, 2.0]", "default_inputs: Invalid number of shape dimensions"),
        ("max_queue_delay_microseconds = 5", "max_queue_delay_microseconds needs max_batch_size"),
        ("max_batch = 5", "stead.toml: unknown key /max_batch; known here: max_batch_size"),
        ("max_batch_size", "stead.toml: the file is not valid TOML"),
    ];
    for (toml, text) in cases {
        let folder = Folder::new(&[
            ("m/1/model.onnx", "add 1"),
            ("m/stead.toml", toml),
            ("good/1/model.onnx", "add 1"),
        ]);
        let node = folder.start();
        let index = node.repository_index(false);
        let bad = index.iter().find(|e| e.name == "m").unwrap();
        assert_eq!(bad.state, Some(IndexState::Unavailable), "{toml}");
        assert!(bad.reason.starts_with(text), "{toml}: {}", bad.reason);
        assert!(!node.model_ready("m", &VersionRef::Latest));
        assert_eq!(block_on(node.infer(request("m", &[1.0]))).unwrap_err().code, Code::NotLoaded);
        assert_eq!(values(&block_on(node.infer(request("good", &[1.0]))).unwrap().outputs), [2.0]);
    }
}

#[test]
fn overrides_by_request_are_refused() {
    let folder = folder();
    let node = folder.start();
    for key in ["config", "file:1/model.onnx"] {
        let parameters = [(key.into(), Param::Str("x".to_owned()))].into();
        let error = node.load_model("m", &parameters).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
    }
    let error = node.load_model("nope", &Default::default()).unwrap_err();
    assert_eq!(
        (error.code, error.to_string().as_str()),
        (Code::Internal, "failed to load 'nope', failed to poll from model repository")
    );
}
