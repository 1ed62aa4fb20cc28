//! Versions and models that come, change and go.

use super::fake::{Folder, Gate, block_on, loader, request, runtime, values};
use crate::{Code, Embedded, InferRequest, NodeConfig, VersionRef, VersionState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stead_app::Source;

fn ask(node: &Embedded, model: &str, version: u64) -> Result<f32, Code> {
    let version = VersionRef::Number(version);
    let request = InferRequest { version, ..request(model, &[0.0]) };
    block_on(node.infer(request)).map(|a| values(&a.outputs)[0]).map_err(|e| e.code)
}

fn states(node: &Embedded, model: &str) -> Vec<(u64, VersionState)> {
    let statuses = node.model_status(model, &VersionRef::Latest).unwrap();
    statuses.iter().map(|s| (s.version, s.state)).collect()
}

#[test]
fn versions_come_and_go() {
    use VersionState::*;
    let folder = Folder::new(&[("m/1/model.onnx", "add 1")]);
    let node = folder.start();
    assert_eq!(ask(&node, "m", 0), Ok(1.0));
    assert!(!node.reload_config().unwrap().changed);

    // A bad version does not displace the good one, and says why.
    folder.write("m/2/model.onnx", "broken");
    let outcome = node.reload_config().unwrap();
    assert_eq!(outcome.failures, [("m".to_owned(), 2, "not a model".to_owned())]);
    assert_eq!((ask(&node, "m", 0), ask(&node, "m", 2)), (Ok(1.0), Err(Code::NotLoaded)));
    assert_eq!(states(&node, "m"), [(1, Available), (2, Loading)]);
    let status = &node.model_status("m", &VersionRef::Number(2)).unwrap()[0];
    assert_eq!(
        (status.error_name(), status.error_message.as_str()),
        ("UNKNOWN", "UNKNOWN - not a model")
    );

    // Once mended it takes over.
    folder.write("m/2/model.onnx", "add 22");
    assert!(node.reload_config().unwrap().changed);
    assert_eq!((ask(&node, "m", 0), ask(&node, "m", 1)), (Ok(22.0), Err(Code::NotFound)));
    assert_eq!(states(&node, "m"), [(1, End), (2, Available)]);

    // Its folder goes: the older one comes back.
    folder.remove("m/2");
    assert!(node.reload_config().unwrap().changed);
    assert_eq!(ask(&node, "m", 0), Ok(1.0));

    // The file changes in place.
    folder.write("m/1/model.onnx", "add 111");
    node.reload_config().unwrap();
    assert_eq!(ask(&node, "m", 1), Ok(111.0));

    // The model goes, and comes back.
    folder.remove("m");
    node.reload_config().unwrap();
    assert_eq!(
        (ask(&node, "m", 0), ask(&node, "m", 1)),
        (Err(Code::NotFound), Err(Code::NotFound))
    );
    assert!(node.repository_index(false).is_empty());
    folder.write("m/1/model.onnx", "add 4");
    node.reload_config().unwrap();
    assert_eq!(ask(&node, "m", 1), Ok(4.0));
}

#[test]
fn models_are_unloaded_and_loaded_by_request() {
    let folder = Folder::new(&[("m/1/model.onnx", "add 1"), ("n/1/model.onnx", "add 2")]);
    let node = folder.start();
    node.unload_model("m").unwrap();
    node.unload_model("unknown").unwrap();
    node.reload_config().unwrap();
    assert_eq!((ask(&node, "m", 0), ask(&node, "n", 0)), (Err(Code::NotFound), Ok(2.0)));
    assert!(!node.model_ready("m", &VersionRef::Latest));
    node.load_model("m", &Default::default()).unwrap();
    assert_eq!(ask(&node, "m", 0), Ok(1.0));
    folder.write("m/1/model.onnx", "broken");
    for _ in 0..2 {
        let error = node.load_model("m", &Default::default()).unwrap_err();
        assert_eq!(error.to_string(), "failed to load 'm', version 1: not a model");
    }
    assert_eq!(ask(&node, "m", 0), Ok(1.0), "what was served stays");
}

#[test]
fn a_config_file_that_is_half_written_changes_nothing() {
    let config = |models: &str| format!(r#"{{"model_config_list": [{models}]}}"#);
    let a = r#"{"config": {"name": "a", "base_path": "models/a", "model_version_policy": {"all": {}}}}"#;
    let b = r#"{"config": {"name": "b", "base_path": "models/b"}}"#;
    let stateful = r#"{"config": {"name": "s", "base_path": "models/a", "mean": "[1,2]"}}"#;
    let missing = r#"{"config": {"name": "gone", "base_path": "models/gone"}}"#;
    let folder = Folder::new(&[
        ("config.json", &config(a)),
        ("models/a/1/model.onnx", "add 1"),
        ("models/a/2/model.onnx", "add 2"),
        ("models/b/1/model.onnx", "add 3"),
    ]);
    let node = folder.start();
    assert_eq!((ask(&node, "a", 1), ask(&node, "a", 2)), (Ok(1.0), Ok(2.0)));
    let full = config(&format!("{a},{b}"));
    for cut in (1..full.len()).step_by(7) {
        folder.write("config.json", &full[..cut]);
        let error = node.reload_config().unwrap_err();
        assert_eq!(error.code, Code::Internal, "{error}");
        assert_eq!((ask(&node, "a", 1), ask(&node, "b", 0)), (Ok(1.0), Err(Code::NotFound)));
    }
    folder.write("config.json", &config(&format!("{stateful},{a},{missing},{b}")));
    let outcome = node.reload_config().unwrap();
    let failed: Vec<_> = outcome.failures.iter().map(|(m, v, _)| (m.as_str(), *v)).collect();
    assert_eq!(failed, [("s", 0), ("gone", 0)]);
    assert_eq!((ask(&node, "b", 0), ask(&node, "s", 0)), (Ok(3.0), Err(Code::NotLoaded)));
    folder.write("config.json", &config(b));
    node.reload_config().unwrap();
    assert_eq!((ask(&node, "a", 2), ask(&node, "b", 0)), (Err(Code::NotFound), Ok(3.0)));
    std::fs::remove_file(folder.0.path().join("config.json")).unwrap();
    let source = Source::ConfigFile(folder.0.path().join("config.json"));
    let error = Embedded::start_with(NodeConfig::new(source), loader(&Arc::default())).unwrap_err();
    assert_eq!(error.to_string(), "Config file not found or cannot open");
}

#[test]
fn a_request_finishes_on_the_version_it_started_with() {
    let folder = Folder::new(&[("m/1/model.onnx", "add 1")]);
    let gate = Arc::new(Gate::default());
    let node = folder.start_gated(&gate);
    gate.shut();
    let runtime = runtime();
    let running = runtime.spawn({
        let node = Arc::clone(&node);
        async move { node.infer(request("m", &[0.0])).await }
    });
    gate.wait_for_run();
    folder.write("m/2/model.onnx", "add 2");
    node.reload_config().unwrap();
    assert_eq!(states(&node, "m")[0], (1, VersionState::Unloading));
    gate.open();
    let answer = runtime.block_on(running).unwrap().unwrap();
    assert_eq!((answer.version, values(&answer.outputs)[0]), (1, 1.0));
    assert_eq!(ask(&node, "m", 0), Ok(2.0));
}

/// Versions are added and removed by polling while requests go on: every answer is right for the version that
/// gave it, and no request fails.
#[test]
fn reload_under_load() {
    let folder = Folder::new(&[("m/1/model.onnx", "add 1 fast"), ("n/1/model.onnx", "add 7")]);
    let config = NodeConfig { poll: Some(Duration::from_millis(1)), ..folder.config() };
    let node = Embedded::start_with(config, loader(&Arc::default())).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = runtime();
    let clients: Vec<_> = (0..4)
        .map(|i| {
            let (node, stop) = (Arc::clone(&node), Arc::clone(&stop));
            runtime.spawn(async move {
                let model = if i == 3 { "n" } else { "m" };
                let mut answers = 0;
                while !stop.load(Ordering::Relaxed) {
                    let answer = node.infer(request(model, &[0.0])).await.unwrap();
                    let expected = if i == 3 { 7.0 } else { answer.version as f32 };
                    assert_eq!(values(&answer.outputs), [expected]);
                    answers += 1;
                    tokio::task::yield_now().await;
                }
                answers
            })
        })
        .collect();
    for version in 2..30 {
        folder.write(&format!("m/{version}/model.onnx"), &format!("add {version} fast"));
        while !node.model_ready("m", &VersionRef::Number(version)) {
            std::thread::yield_now();
        }
        folder.remove(&format!("m/{}", version - 1));
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(runtime.block_on(client).unwrap() > 0);
    }
}
