//! Stateful models from request to answer, on the real engine.

use super::fake::runtime;
use crate::{
    Code, Embedded, Error, InferRequest, InferResponse, NodeConfig, Param, Parameters, Protocol,
    SequenceId, VersionRef,
};
use std::sync::Arc;
use std::time::Duration;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// OpenVINO Model Server's `summator`: the state is the sum of all inputs, and the output is the state.
pub(super) fn summator() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("in", DType::F32, &["batch", "1"])
        .input("sum", DType::F32, &["batch", "1"])
        .node("Add", &["in", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["out"])
        .output("out", DType::F32)
        .output("sum_out", DType::F32)
        .bytes()
}

struct Server {
    node: Arc<Embedded>,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Server {
    fn new(options: &str) -> Server {
        Server::of(&summator(), options)
    }

    fn of(model: &[u8], options: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models/m/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), model).unwrap();
        std::fs::write(folder.path().join("config.json"), config_json(options)).unwrap();
        let config = NodeConfig {
            threads: Some(2),
            cleaner: Some(Duration::from_secs(3600)),
            ..NodeConfig::path(folder.path().join("config.json"))
        };
        let node = Embedded::start(config).unwrap();
        Server { node, runtime: runtime(), folder }
    }

    fn infer(&self, request: InferRequest) -> Result<InferResponse, Error> {
        self.runtime.block_on(self.node.infer(request))
    }

    /// A request in OpenVINO Model Server's form: the sum and the id, or the code.
    fn ovms(&self, id: u64, control: u32, value: f32) -> Result<(f32, u64), Code> {
        let mut request = request(value);
        request.protocol = Protocol::TfsGrpc;
        if id != 0 {
            request.inputs.push(("sequence_id".into(), Tensor::from_slice(&[id], &[1]).unwrap()));
        }
        if control != 0 {
            let control = Tensor::from_slice(&[control], &[1]).unwrap();
            request.inputs.push(("sequence_control_input".into(), control));
        }
        let answer = self.infer(request).map_err(|e| e.code)?;
        assert_eq!(answer.outputs[1].0, "sequence_id");
        assert_eq!(answer.outputs.len(), 2, "the state is not shown");
        Ok((sum(&answer), answer.outputs[1].1.as_slice::<u64>().unwrap()[0]))
    }

    /// A numbered request in Triton's form.
    fn step(&self, flags: &[&str], step: u64, value: f32) -> Result<(f32, u64), Code> {
        let mut request = request(value);
        let p = &mut request.parameters;
        p.insert("sequence_id".into(), Param::Str("call".into()));
        p.insert("sequence_step".into(), Param::U64(step));
        flags
            .iter()
            .for_each(|f| drop(p.insert(format!("sequence_{f}").into(), Param::Bool(true))));
        let answer = self.infer(request).map_err(|e| e.code)?;
        assert_eq!(*answer.parameters.get("sequence_id").unwrap(), Param::Str("call".into()));
        let Param::U64(step) = *answer.parameters.get("sequence_step").unwrap() else {
            panic!("a number")
        };
        Ok((sum(&answer), step))
    }

    fn reload(&self, options: &str) -> Result<bool, String> {
        let path = self.folder.path().join("config.json");
        std::fs::write(path, config_json(options)).unwrap();
        let outcome = self.node.reload_config().unwrap();
        match outcome.failures.into_iter().next() {
            Some((.., text)) => Err(text),
            None => Ok(outcome.changed),
        }
    }

    fn active(&self) -> u64 {
        self.node.metrics().models[0].versions[0].sequences.unwrap().active
    }
}

pub(super) fn config_json(options: &str) -> String {
    format!(
        r#"{{"model_config_list": [{{"config": {{"name": "m", "base_path": "models/m", "stateful": true {options}}}}}]}}"#
    )
}

pub(super) fn sum(answer: &InferResponse) -> f32 {
    answer.outputs[0].1.as_slice::<f32>().unwrap()[0]
}

pub(super) fn request(value: f32) -> InferRequest {
    InferRequest {
        model: "m".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("in".to_owned(), Tensor::from_slice(&[value], &[1, 1]).unwrap())],
        outputs: Vec::new(),
        parameters: Parameters::new(),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

#[test]
fn standard_flow() {
    let server = Server::new("");
    assert_eq!(server.ovms(42, 1, 1.0), Ok((1.0, 42)));
    assert_eq!(server.ovms(42, 0, 2.0), Ok((3.0, 42)));
    assert_eq!(server.ovms(42, 2, 4.0), Ok((7.0, 42)));
    assert_eq!(server.active(), 0);
    assert_eq!(server.ovms(42, 0, 1.0), Err(Code::NotFound));
}

/// SequenceMissing, IdNotProvided, IdNotProvided2, IdAlreadyExists, badControlInput.
#[test]
fn refusals_of_openvino_model_server() {
    let server = Server::new(r#", "max_sequence_number": 2, "stead": {"sequence_ids": "counter"}"#);
    assert_eq!(server.ovms(7, 1, 0.0), Ok((0.0, 7)));
    let cases = [
        ("SequenceMissing", 9, 0, Code::NotFound),
        ("SequenceMissing at END", 9, 2, Code::NotFound),
        ("IdNotProvided", 0, 0, Code::InvalidArgument),
        ("IdNotProvided2", 0, 2, Code::InvalidArgument),
        ("IdAlreadyExists", 7, 1, Code::AlreadyExists),
        ("badControlInput", 7, 999, Code::InvalidArgument),
    ];
    for (label, id, control, code) in cases {
        assert_eq!(server.ovms(id, control, 0.0), Err(code), "{label}");
    }
    assert_eq!(server.ovms(0, 1, 5.0), Ok((5.0, 1)), "an id of the server");
    assert_eq!(server.ovms(0, 1, 5.0), Err(Code::Unavailable), "the table is full");
    // An invalid tensor neither begins nor advances a sequence.
    let mut wrong = request(1.0);
    wrong.parameters.insert("sequence_id".into(), Param::U64(7));
    wrong.inputs[0].1 = Tensor::from_slice(&[1.0f64], &[1, 1]).unwrap();
    assert_eq!(server.infer(wrong).map_err(|e| e.code), Err(Code::InvalidArgument));
    assert_eq!(server.ovms(7, 0, 2.0), Ok((2.0, 7)));
}

/// positiveValidate, Preprocessing and Postprocessing of OpenVINO Model Server's tests of a model instance, and
/// modelInstanceFactory.
#[test]
fn scenarios_of_a_stateful_instance() {
    let server = Server::new("");
    let is_stateful = |server: &Server| server.node.is_stateful("m", &VersionRef::Latest);
    assert!(is_stateful(&server), "modelInstanceFactory");
    assert!(!is_stateful(&Server::new(r#", "stateful": false"#)), "modelInstanceFactory");
    let state = |id: u64| {
        let found = server.node.export_sequence("m", &VersionRef::Latest, &SequenceId::Number(id));
        found.ok().map(|(_, values)| values[0].1.as_slice::<f32>().unwrap()[0])
    };
    assert_eq!(server.ovms(5, 1, 1.0), Ok((1.0, 5)), "positiveValidate: START");
    assert_eq!(state(5), Some(1.0), "PostprocessingStartAndNoControl: a START saves the state");
    assert_eq!(
        server.ovms(5, 0, 2.0),
        Ok((3.0, 5)),
        "PreprocessingIntermediateRequest: it is restored"
    );
    assert_eq!(state(5), Some(3.0), "PostprocessingStartAndNoControl: so does what goes on");
    assert_eq!(server.ovms(5, 2, 4.0), Ok((7.0, 5)), "positiveValidate: END");
    assert_eq!(state(5), None, "PostprocessingLastRequest: nothing is left");
    assert_eq!(server.ovms(5, 1, 9.0), Ok((9.0, 5)), "PreprocessingFirstRequest: it begins anew");
}

#[test]
fn numbered_steps_run_once() {
    let server = Server::new("");
    assert_eq!(server.step(&["start"], 1, 1.0), Ok((1.0, 1)));
    assert_eq!(server.step(&[], 2, 2.0), Ok((3.0, 2)));
    assert_eq!(server.step(&[], 2, 2.0), Ok((3.0, 2)), "the stored answer");
    assert_eq!(server.step(&[], 1, 1.0), Err(Code::FailedPrecondition), "not kept");
    assert_eq!(server.step(&[], 4, 1.0), Err(Code::FailedPrecondition), "a gap");
    assert_eq!(server.step(&["end"], 3, 1.0), Ok((4.0, 3)));
    assert_eq!(server.step(&["end"], 3, 1.0), Ok((4.0, 3)), "the END too");
    assert_eq!(server.active(), 0);
}

#[test]
fn the_state_is_no_part_of_the_public_signature() {
    let server = Server::new("");
    let metadata = server.node.model_metadata("m", &VersionRef::Latest).unwrap();
    let names =
        |list: &[crate::TensorInfo]| list.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&metadata.inputs), ["in"]);
    assert_eq!(names(&metadata.outputs), ["out"]);
    let config = server.node.model_config("m", &VersionRef::Latest).unwrap();
    let batching = config.sequence_batching.unwrap();
    assert_eq!(
        (batching.max_candidate_sequences, batching.max_sequence_idle_microseconds),
        (500, 0)
    );
    assert_eq!(config.parameters[0].0, "state.sum");
    let mut explicit = request(1.0);
    explicit.inputs.push(("sum".into(), Tensor::from_slice(&[1.0f32], &[1, 1]).unwrap()));
    explicit.parameters.insert("sequence_id".into(), Param::U64(7));
    explicit.parameters.insert("sequence_start".into(), Param::Bool(true));
    assert_eq!(server.infer(explicit).map_err(|e| e.code), Err(Code::InvalidArgument));
}

/// statefulInferMultipleThreads: 60 threads, 25 requests each; the states are never mixed.
#[test]
fn many_clients_in_batches() {
    let options = r#", "stead": {"max_batch_size": 16, "max_queue_delay_microseconds": 500}"#;
    let server = Server::new(options);
    let node = &server.node;
    let sequence = async |id: u64| {
        let mut expected = 0.0;
        for step in 0..25u64 {
            let value = (id * 31 + step) as f32;
            let mut request = request(value);
            request.parameters.insert("sequence_id".into(), Param::U64(id));
            request.parameters.insert("sequence_start".into(), Param::Bool(step == 0));
            request.parameters.insert("sequence_end".into(), Param::Bool(step == 24));
            expected += value;
            assert_eq!(sum(&node.infer(request).await.unwrap()), expected, "{id} {step}");
        }
    };
    server.runtime.block_on(async {
        tokio::join!(
            async { for_all(1..=20, &sequence).await },
            async { for_all(21..=40, &sequence).await },
            async { for_all(41..=60, &sequence).await },
        )
    });
    assert_eq!(server.active(), 0);
    let versions = &server.node.metrics().models[0].versions[0];
    assert_eq!(versions.sequences.unwrap().counters.steps, 1500);
    assert!(versions.batch_size.counts.iter().skip(1).sum::<u64>() > 0, "some ran together");
}

/// statefulInferMultipleThreadsSequenceTimeout, with 60 threads of 25 sequences each: the cleaner scans all the time.
/// A sequence that it ends is told to be missing; whatever is answered is right, and at the end nothing is left.
#[test]
fn the_cleaner_scans_while_60_threads_run_25_sequences_each() {
    let server = Server::new(r#", "max_sequence_number": 100"#);
    let node = &server.node;
    let over = std::sync::atomic::AtomicBool::new(false);
    let ended = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..60u64)
            .map(|thread| {
                let ended = &ended;
                scope.spawn(move || {
                    let mut builder = tokio::runtime::Builder::new_current_thread();
                    let runtime = builder.enable_all().build().unwrap();
                    for sequence in 0..25 {
                        let id = 1 + thread * 25 + sequence;
                        let mut expected = 0.0;
                        for step in 0..5u64 {
                            let mut request = request((id + step) as f32);
                            let p = &mut request.parameters;
                            p.insert("sequence_id".into(), Param::U64(id));
                            p.insert("sequence_start".into(), Param::Bool(step == 0));
                            p.insert("sequence_end".into(), Param::Bool(step == 4));
                            expected += (id + step) as f32;
                            match runtime.block_on(node.infer(request)) {
                                Ok(answer) => assert_eq!(sum(&answer), expected, "{id} {step}"),
                                Err(error) => {
                                    assert_eq!(error.code, Code::NotFound, "{id} {step}: {error}");
                                    assert!(step > 0, "a START is never lost");
                                    ended.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                                    break;
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let cleaner = scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                node.scan_sequences();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        clients.into_iter().for_each(|client| client.join().unwrap());
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        cleaner.join().unwrap();
    });
    node.scan_sequences();
    node.scan_sequences();
    let metrics = node.metrics().models[0].versions[0].sequences.unwrap();
    assert_eq!((metrics.active, metrics.waiting), (0, 0));
    let c = metrics.counters;
    assert_eq!((c.started, c.ended + c.expired), (1500, 1500));
    assert!(ended.into_inner() <= c.expired, "what is missing was ended by the cleaner");
}

async fn for_all(ids: std::ops::RangeInclusive<u64>, f: &impl AsyncFn(u64)) {
    let mut all: Vec<_> = ids.map(|id| Box::pin(f(id))).collect();
    std::future::poll_fn(|cx| {
        all.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[test]
fn requests_of_one_client_keep_their_order() {
    let server = Server::new("");
    server.ovms(1, 1, 0.0).unwrap();
    let step = |value: f32| {
        let mut request = request(value);
        request.parameters.insert("sequence_id".into(), Param::U64(1));
        server.node.infer(request)
    };
    // Ten requests at once, as on a stream: each sees the sum of all before it.
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
    let mut all: Vec<_> = values.iter().map(|v| Box::pin(step(*v))).collect();
    let mut sums = vec![0.0; all.len()];
    server.runtime.block_on(std::future::poll_fn(|cx| {
        let mut open = false;
        for (future, seen) in all.iter_mut().zip(&mut sums).filter(|(_, s)| **s == 0.0) {
            match future.as_mut().poll(cx) {
                std::task::Poll::Ready(answer) => *seen = sum(&answer.unwrap()),
                std::task::Poll::Pending => open = true,
            }
        }
        if open { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    }));
    assert_eq!(sums, [1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0, 36.0, 45.0, 55.0]);
}

#[test]
fn deadlines_before_a_step_have_no_effect() {
    let server = Server::new("");
    server.ovms(1, 1, 1.0).unwrap();
    let mut late = request(100.0);
    late.parameters.insert("sequence_id".into(), Param::U64(1));
    late.deadline = Some(std::time::Instant::now());
    assert_eq!(server.infer(late).map_err(|e| e.code), Err(Code::DeadlineExceeded));
    assert_eq!(server.ovms(1, 0, 1.0), Ok((2.0, 1)));
}

#[test]
fn the_cleaner_ends_idle_sequences() {
    let server = Server::new("");
    for id in 1..=10 {
        server.ovms(id, 1, 1.0).unwrap();
    }
    server.node.scan_sequences();
    for id in 1..=7 {
        server.ovms(id, 0, 1.0).unwrap();
    }
    server.node.scan_sequences();
    assert_eq!(server.active(), 7, "idleSequencesCleanup");
    assert_eq!(server.ovms(9, 0, 1.0), Err(Code::NotFound));
}

#[test]
fn forks_and_files() {
    let server = Server::new("");
    let (node, latest) = (&server.node, VersionRef::Latest);
    let id = SequenceId::Number;
    server.ovms(1, 1, 5.0).unwrap();
    assert_eq!(node.fork_sequence("m", &latest, &id(1), id(2)), Ok(1));
    assert_eq!(server.ovms(1, 0, 1.0), Ok((6.0, 1)));
    assert_eq!(server.ovms(2, 0, 10.0), Ok((15.0, 2)));
    let (step, values) = node.export_sequence("m", &latest, &id(2)).unwrap();
    assert_eq!((step, &*values[0].0), (2, "sum"));
    node.import_sequence("m", &latest, id(3), step, values.clone()).unwrap();
    assert_eq!(server.ovms(3, 0, 1.0), Ok((16.0, 3)));
    let again = node.import_sequence("m", &latest, id(3), step, values.clone());
    assert_eq!(again.map_err(|e| e.code), Err(Code::AlreadyExists));
    let wrong = vec![("sum".to_owned(), Tensor::from_slice(&[1i64], &[1, 1]).unwrap())];
    for values in [wrong, vec![], [values.clone(), values].concat()] {
        let refused = node.import_sequence("m", &latest, id(4), 1, values);
        assert_eq!(refused.map_err(|e| e.code), Err(Code::InvalidArgument));
    }
    assert_eq!(node.sequences("m", &latest, None, 10).unwrap().len(), 3);
    node.end_sequence("m", &latest, &id(3)).unwrap();
    assert!(node.sequence("m", &latest, &id(3)).is_err());
}

/// Settings that contradict each other are refused when the model is loaded.
#[test]
fn settings_that_do_not_suit() {
    let error = |options: &str| {
        let server = Server::new(options);
        server.node.model_status("m", &VersionRef::Latest).unwrap()[0].error_message.clone()
    };
    let cases = [
        (
            r#", "stateful": false, "max_sequence_number": 5"#,
            "non stateful model - max_sequence_number",
        ),
        (
            r#", "batch_size": "auto", "stead": {"ovms_compat": true}"#,
            "Dynamic shape and dynamic batch",
        ),
        (r#", "stead": {"states": [{"input": "x", "output": "sum_out"}]}"#, "the input \"x\""),
        (
            r#", "stead": {"states": [{"input": "sum", "output": "sum_out", "batch_axis": 2}]}"#,
            "axis 2",
        ),
        (r#", "stead": {"windows": [{"input": "in", "length": 1}]}"#, "leaves no room"),
    ];
    for (options, expected) in cases {
        let text = error(options);
        assert!(text.contains(expected), "{options}: {text}");
    }
}

/// loadModel, reload: 44 sequences, then 11. OpenVINO Model Server loses all sequences; here none is.
#[test]
fn limits_change_in_place() {
    let server = Server::new(r#", "max_sequence_number": 44"#);
    for id in 1..=20 {
        server.ovms(id, 1, id as f32).unwrap();
    }
    assert_eq!(server.reload(r#", "max_sequence_number": 11"#), Ok(true));
    assert_eq!(server.ovms(20, 0, 1.0), Ok((21.0, 20)));
    assert_eq!(server.ovms(21, 1, 1.0), Err(Code::Unavailable));
}

#[test]
fn a_new_version_takes_new_sequences_and_the_old_one_finishes_its_own() {
    let server = Server::new("");
    server.ovms(1, 1, 1.0).unwrap();
    let path = server.folder.path().join("models/m/2");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), summator()).unwrap();
    assert_eq!(server.reload(""), Ok(true));
    let step = |id: u64, start: bool, version: VersionRef| {
        let mut request = InferRequest { version, ..request(1.0) };
        request.parameters.insert("sequence_id".into(), Param::U64(id));
        request.parameters.insert("sequence_start".into(), Param::Bool(start));
        let answer = server.infer(request).map_err(|e| e.code)?;
        Ok::<_, Code>((answer.version, sum(&answer)))
    };
    assert_eq!(step(1, false, VersionRef::Latest), Ok((1, 2.0)));
    assert_eq!(step(1, false, VersionRef::Number(1)), Ok((1, 3.0)));
    assert_eq!(step(2, true, VersionRef::Latest), Ok((2, 1.0)));
    assert_eq!(step(3, true, VersionRef::Number(1)), Err(Code::NotFound), "it is retired");
    assert_eq!(server.ovms(1, 2, 1.0), Ok((4.0, 1)));
    assert_eq!(step(1, false, VersionRef::Latest), Err(Code::NotFound));
}

#[test]
fn the_same_version_loaded_anew_keeps_its_sequences() {
    let server = Server::new("");
    server.ovms(1, 1, 1.0).unwrap();
    assert_eq!(server.reload(r#", "stead": {"max_batch_size": 8}"#), Ok(true));
    assert_eq!(server.ovms(1, 0, 1.0), Ok((2.0, 1)));
    assert_eq!(server.ovms(2, 1, 1.0), Ok((1.0, 2)));
    let refused = server.reload(r#", "stateful": false"#).unwrap_err();
    assert_eq!(refused, "Model type cannot be changed after it is loaded");
    assert_eq!(server.ovms(2, 0, 1.0), Ok((2.0, 2)), "the old one is served on");
}

/// Every counter of the page, while a model is loaded anew, replaced by another version, removed and brought back.
#[test]
fn counters_never_go_back() {
    let server = Server::new(r#", "stead": {"sequence_ids": "counter"}"#);
    let mut shown = std::collections::BTreeMap::new();
    let mut look = |when: &str| {
        let model = server.node.metrics().models.remove(0);
        for v in &model.versions {
            let c = v.sequences.unwrap().counters;
            let requests: u64 = v.calls.iter().map(|(_, ok, bad)| ok + bad).sum();
            let counters = [
                ("started", c.started),
                ("ended", c.ended),
                ("steps", c.steps),
                ("refused", c.refused),
                ("plan hits", v.plan_hits),
                ("plan misses", v.plan_misses),
                ("requests", requests),
                ("runs", v.inference_time_us.counts.iter().sum()),
            ];
            for (name, value) in counters {
                let before = shown.insert((v.version, name), value).unwrap_or(0);
                assert!(value >= before, "{when}: {name} of version {}", v.version);
            }
        }
        model.versions
    };
    let flow = |id| {
        server.ovms(id, 1, 1.0).unwrap();
        server.ovms(id, 0, 1.0).unwrap();
        assert!(server.ovms(id + 1000, 0, 1.0).is_err());
    };
    flow(1);
    look("at first");
    assert_eq!(server.reload(r#", "stead": {"max_batch_size": 8}"#), Ok(true));
    flow(2);
    let versions = look("loaded anew, the old one finishes");
    let sequences = versions[0].sequences.unwrap();
    assert_eq!((sequences.active, sequences.counters.steps), (2, 4), "both are counted");
    server.ovms(1, 2, 1.0).unwrap();
    look("the old one has finished");
    let path = server.folder.path().join("models/m");
    std::fs::create_dir_all(path.join("2")).unwrap();
    std::fs::write(path.join("2/model.onnx"), summator()).unwrap();
    assert_eq!(server.reload(""), Ok(true));
    flow(3);
    assert_eq!(look("a new version").len(), 2);
    server.ovms(2, 2, 1.0).unwrap();
    server.ovms(3, 2, 1.0).unwrap();
    std::fs::write(server.folder.path().join("config.json"), r#"{"model_config_list": []}"#)
        .unwrap();
    server.node.reload_config().unwrap();
    assert_eq!(look("removed").len(), 2);
    assert_eq!(server.reload(""), Ok(true));
    flow(4);
    let versions = look("brought back");
    let steps: Vec<u64> = versions.iter().map(|v| v.sequences.unwrap().counters.steps).collect();
    assert_eq!(steps, [6, 5], "of all instances");
}
