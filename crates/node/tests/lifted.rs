//! Models whose memory is inside them: `low_latency_transformation` makes it the state of sequences.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_node::{
    Code, Embedded, Error, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef,
};
use stead_onnx::{Dim, ModelBuilder, ValueType};
use stead_tensor::{DType, Tensor};

const WIDTH: usize = 2;
const STEPS: usize = 12;

/// Numbers without a pattern, the same in each run.
fn noise(seed: usize, dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let value = |i: usize| ((i * 37 + seed * 101) % 61) as f32 / 61.0 - 0.5;
    Tensor::from_slice(&(0..count).map(value).collect::<Vec<_>>(), dims).unwrap()
}

fn signal(seed: usize) -> Tensor {
    noise(seed, &[1, STEPS, WIDTH])
}

fn shaped(dims: &[&str]) -> ValueType {
    let dim = |d: &&str| match d.parse() {
        Ok(n) => Dim::Known(n),
        Err(_) => Dim::Symbol((*d).to_owned()),
    };
    ValueType::tensor(DType::F32, Some(dims.iter().map(dim).collect()))
}

/// An LSTM as exporters write it for inputs with the batch in front; `h0` is a constant of the model.
fn lstm(initial: bool) -> Vec<u8> {
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "time", "2"])
        .init("w", noise(1, &[1, 12, WIDTH]))
        .init("r", noise(2, &[1, 12, 3]))
        .init("axis", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .node("Transpose", &["x"], &["time_first"])
        .attr("perm", vec![1i64, 0, 2]);
    let mut inputs = vec!["time_first", "w", "r"];
    if initial {
        model = model.init("h0", noise(3, &[1, 1, 3]));
        inputs.extend(["", "", "h0"]);
    }
    model
        .node("LSTM", &inputs, &["y4"])
        .named("memory")
        .attr("hidden_size", 3)
        .node("Squeeze", &["y4", "axis"], &["y3"])
        .node("Transpose", &["y3"], &["y"])
        .attr("perm", vec![1i64, 0, 2])
        .output_of("y", shaped(&["batch", "time", "3"]))
        .bytes()
}

/// A recurrence written by hand, whose first value has the batch of the request.
fn scan() -> Vec<u8> {
    let body = ModelBuilder::new(17)
        .input("s", DType::F32, &["batch", "2"])
        .input("xt", DType::F32, &["batch", "2"])
        .node("MatMul", &["s", "matrix"], &["moved"])
        .node("Add", &["moved", "xt"], &["s_next"])
        .node("Tanh", &["s_next"], &["yt"])
        .output_of("s_next", shaped(&["batch", "2"]))
        .output_of("yt", shaped(&["batch", "2"]))
        .graph();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "time", "2"])
        .init("matrix", noise(4, &[WIDTH, WIDTH]))
        .init("which", Tensor::from_slice(&[0i64, 2], &[2]).unwrap())
        .node("Shape", &["x"], &["dims"])
        .node("Gather", &["dims", "which"], &["state_dims"])
        .node("ConstantOfShape", &["state_dims"], &["s0"])
        .attr("value", Tensor::from_slice(&[0.25f32], &[1]).unwrap())
        .node("Scan", &["s0", "x"], &["", "y"])
        .named("recurrence")
        .attr("num_scan_inputs", 1)
        .attr("scan_input_axes", vec![1i64])
        .attr("scan_output_axes", vec![1i64])
        .attr("body", body)
        .output_of("y", shaped(&["batch", "time", "2"]))
        .bytes()
}

/// A loop over time.
fn looped() -> Vec<u8> {
    let body = ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .input("s", DType::F32, &["1", "2"])
        .node("Gather", &["x", "i"], &["xt"])
        .attr("axis", 1)
        .node("Mul", &["s", "decay"], &["kept"])
        .node("Add", &["kept", "xt"], &["s_next"])
        .node("Identity", &["s_next"], &["yt"])
        .node("Identity", &["go"], &["on"])
        .output("on", DType::Bool)
        .output_of("s_next", shaped(&["1", "2"]))
        .output_of("yt", shaped(&["1", "2"]))
        .graph();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["1", "time", "2"])
        .init("decay", noise(5, &[WIDTH]))
        .init("s0", noise(6, &[1, WIDTH]))
        .init("one", Tensor::scalar(1i64).unwrap())
        .node("Shape", &["x"], &["dims"])
        .node("Gather", &["dims", "one"], &["steps"])
        .node("Loop", &["steps", "", "s0"], &["", "y3"])
        .named("over time")
        .attr("body", body)
        .node("Transpose", &["y3"], &["y"])
        .attr("perm", vec![1i64, 0, 2])
        .output_of("y", shaped(&["1", "time", "2"]))
        .bytes()
}

struct Server {
    node: Arc<Embedded>,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl Server {
    fn new(model: &[u8], options: &str) -> Server {
        Server::new_with(model, "", options)
    }

    /// With settings of OpenVINO Model Server, and options of stead's own.
    fn new_with(model: &[u8], settings: &str, options: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models/m/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), model).unwrap();
        let config = format!(
            r#"{{"model_config_list": [{{"config": {{"name": "m", "base_path": "models/m", "stateful": true,
               "low_latency_transformation": true{settings}, "stead": {{{options}}}}}}}]}}"#
        );
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let config =
            NodeConfig { threads: Some(2), ..NodeConfig::path(folder.path().join("config.json")) };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Server { node: Embedded::start(config).unwrap(), runtime, _folder: folder }
    }

    /// What is wrong with the model, or nothing.
    fn complaint(&self) -> String {
        self.node.model_status("m", &VersionRef::Latest).unwrap()[0].error_message.clone()
    }

    /// Each signal as a sequence of its own, all at the same time, in chunks of these lengths.
    fn play(&self, signals: &[Tensor], chunks: &[usize]) -> Vec<Vec<f32>> {
        let play = |(i, signal): (usize, &Tensor)| {
            let (node, signal, chunks) = (self.node.clone(), signal.clone(), chunks.to_vec());
            self.runtime.spawn(async move {
                let (mut from, mut answers) = (0, Vec::new());
                for (step, len) in chunks.iter().enumerate() {
                    let last = step + 1 == chunks.len();
                    let request = request(i + 1, step == 0, last, part(&signal, from, *len));
                    answers.extend(node.infer(request).await.map(|a| values(&a.outputs[0].1))?);
                    from += len;
                }
                Ok::<_, Error>(answers)
            })
        };
        let all: Vec<_> = signals.iter().enumerate().map(play).collect();
        all.into_iter().map(|task| self.runtime.block_on(task).unwrap().unwrap()).collect()
    }
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.as_slice::<f32>().unwrap().to_vec()
}

fn part(signal: &Tensor, from: usize, len: usize) -> Tensor {
    let all = signal.as_slice::<f32>().unwrap();
    Tensor::from_slice(&all[from * WIDTH..][..len * WIDTH], &[1, len, WIDTH]).unwrap()
}

fn request(id: usize, start: bool, end: bool, x: Tensor) -> InferRequest {
    let parameters = Parameters::from([
        ("sequence_id".into(), Param::U64(id as u64)),
        ("sequence_start".into(), Param::Bool(start)),
        ("sequence_end".into(), Param::Bool(end)),
    ]);
    InferRequest {
        model: "m".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("x".to_owned(), x)],
        outputs: Vec::new(),
        parameters,
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

/// The signal as a whole through the model as it was.
fn whole(model: &[u8], signal: &Tensor) -> Vec<f32> {
    let model = Model::from_bytes(model, None, &LoadOptions::default()).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    values(&session.run(&[("x", signal.view())], &["y"]).unwrap()[0])
}

fn assert_close(label: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{label}");
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-5, "{label}: {a} for {b} at {i}");
    }
}

#[test]
fn signals_in_chunks_give_what_the_whole_gives() {
    let batched = r#""max_batch_size": 4, "max_queue_delay_microseconds": 2000"#;
    let cases = [
        ("LSTM", lstm(false), ""),
        ("LSTM with an initial value", lstm(true), ""),
        ("Scan", scan(), ""),
        ("Loop", looped(), ""),
        ("LSTM in batches", lstm(false), batched),
        ("LSTM with an initial value in batches", lstm(true), batched),
        ("Scan in batches", scan(), batched),
    ];
    let signals: Vec<Tensor> = (0..6).map(signal).collect();
    for (label, model, options) in cases {
        let server = Server::new(&model, options);
        assert_eq!(server.complaint(), "OK", "{label}");
        for chunks in [vec![STEPS], vec![1; STEPS], vec![5, 1, 4, 2]] {
            let got = server.play(&signals, &chunks);
            for (signal, got) in signals.iter().zip(got) {
                assert_close(&format!("{label}, {chunks:?}"), &got, &whole(&model, signal));
            }
        }
        let metrics = server.node.metrics();
        let version = &metrics.models[0].versions[0];
        assert_eq!(version.sequences.unwrap().active, 0, "{label}");
        let runs = version.batch_size.counts.iter().sum::<u64>() as f64;
        assert_eq!(version.batch_size.sum > runs, !options.is_empty(), "{label}: joined steps");
    }
}

#[test]
fn what_was_lifted_is_told_and_stays_hidden() {
    let server = Server::new(&lstm(true), "");
    let latest = VersionRef::Latest;
    let config = server.node.model_config("m", &latest).unwrap();
    let told: Vec<_> = config.parameters.iter().map(|(n, t)| (&**n, &**t)).collect();
    let hidden = "memory/variable_0 <- memory/variable_0_next f32[1,?,3], batch axis 1, begins with a given value";
    assert_eq!(told[0], ("state.memory/variable_0", hidden));
    assert_eq!(told[1].0, "state.memory/variable_1");
    assert!(told[1].1.ends_with("begins as the model itself does"), "{}", told[1].1);
    let metadata = server.node.model_metadata("m", &latest).unwrap();
    let names =
        |list: &[stead_node::TensorInfo]| list.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&metadata.inputs), names(&metadata.outputs)),
        (vec!["x".to_owned()], vec!["y".to_owned()])
    );
    // A client cannot reach a state by its name.
    let mut wrong = request(1, true, false, signal(0));
    wrong.inputs.push(("memory/variable_0".to_owned(), noise(1, &[1, 1, 3])));
    assert!(server.runtime.block_on(server.node.infer(wrong)).is_err());
}

#[test]
fn zeros_in_place_of_the_model_s_own_first_values() {
    let (own, none) = (lstm(true), lstm(false));
    let play = |model: &[u8], options: &str| {
        Server::new(model, options).play(&[signal(1)], &[5, 7]).remove(0)
    };
    let zeros = play(&own, r#""compat_zero_init": true"#);
    assert_close("compat_zero_init", &zeros, &whole(&none, &signal(1)));
    assert!(zeros[0] != whole(&own, &signal(1))[0]);
}

#[test]
fn models_that_cannot_be_lifted_are_refused_by_the_name_of_the_node() {
    let layer = |direction: &str, directions: usize| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["time", "batch", "2"])
            .init("w", noise(1, &[directions, 9, WIDTH]))
            .init("r", noise(2, &[directions, 9, 3]))
            .node("GRU", &["x", "w", "r"], &["y"])
            .named("both ways")
            .attr("hidden_size", 3)
            .attr("direction", direction)
            .output("y", DType::F32)
            .bytes()
    };
    let complaint = |model: &[u8], options: &str| Server::new(model, options).complaint();
    let text = complaint(&layer("bidirectional", 2), "");
    assert!(text.contains("GRU node \"both ways\": the state of a layer with direction"), "{text}");
    let text = complaint(&layer("reverse", 1), "");
    assert!(
        text.contains("GRU node \"both ways\": the state of a layer that runs backwards"),
        "{text}"
    );
    assert_eq!(complaint(&layer("forward", 1), ""), "OK");
    // Requests are joined along axis 0, and here that is time.
    let text = complaint(&layer("forward", 1), r#""max_batch_size": 4"#);
    assert!(text.contains("counts batch along axis 1"), "{text}");
}

/// A batch within one sequence, in chunks of other lengths; a step with another batch is refused.
#[test]
fn a_sequence_keeps_its_batch() {
    // With the option and without it, where the axis has a name and where the layer's Transpose has lost it.
    for options in [r#", "batch_size": "auto""#, ""] {
        let server = Server::new_with(&lstm(false), options, "");
        let step = |start: bool, rows: usize, len: usize| {
            let chunk = noise(7, &[rows, len, WIDTH]);
            let answer =
                server.runtime.block_on(server.node.infer(request(1, start, false, chunk)));
            Ok::<_, Error>(answer?.outputs[0].1.shape().to_vec())
        };
        assert_eq!(step(true, 2, 3), Ok(vec![2, 3, 3]));
        assert_eq!(step(false, 2, 5), Ok(vec![2, 5, 3]));
        for rows in [1, 3] {
            let error = step(false, rows, 5).unwrap_err();
            let text =
                format!("input \"x\" has shape [{rows}, 5, 2], its sequence began with [2, ?, 2]");
            assert_eq!((error.code, error.to_string()), (Code::InvalidArgument, text), "{options}");
        }
        assert_eq!(step(false, 2, 1), Ok(vec![2, 1, 3]));
    }
}
