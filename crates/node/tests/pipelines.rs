//! Pipelines on real models, from `config.json` to answers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stead_node::{
    Code, Embedded, Error, IndexState, InferRequest, InferResponse, NodeConfig, Param, Parameters,
    Protocol, VersionRef, VersionState,
};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

fn f32s(dims: &[&str]) -> ValueType {
    ValueType::tensor(DType::F32, Some(dims_of(dims)))
}

/// y = x + `add`.
fn adder(add: f32, dims: &[&str]) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, dims)
        .init("k", Tensor::from_slice(&[add], &[1]).unwrap())
        .node("Add", &["x", "k"], &["y"])
        .output_of("y", f32s(dims))
        .bytes()
}

/// difference = a - b, product = a * b.
fn two() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("a", DType::F32, &["n", "1"])
        .input("b", DType::F32, &["n", "1"])
        .node("Sub", &["a", "b"], &["difference"])
        .node("Mul", &["a", "b"], &["product"])
        .output_of("difference", f32s(&["n", "1"]))
        .output_of("product", f32s(&["n", "1"]))
        .bytes()
}

/// The sum over the first dimension.
fn total() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["m", "n", "1"])
        .init("axes", Tensor::from_slice(&[0i64], &[1]).unwrap())
        .node("ReduceSum", &["x", "axes"], &["y"])
        .attr("keepdims", 0)
        .output_of("y", f32s(&["n", "1"]))
        .bytes()
}

/// The state is the sum of all inputs, and the output is the state. It fails for inputs of 100 and more, after the
/// sum was made.
fn summator() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["1", "1"])
        .input("sum", DType::F32, &["1", "1"])
        .init("table", Tensor::from_slice(&[0f32; 100], &[100]).unwrap())
        .node("Add", &["x", "sum"], &["sum_out"])
        .node("Cast", &["x"], &["index"])
        .attr("to", 7)
        .node("Gather", &["table", "index"], &["zero"])
        .node("Add", &["sum_out", "zero"], &["y"])
        .output_of("y", f32s(&["1", "1"]))
        .output_of("sum_out", f32s(&["1", "1"]))
        .bytes()
}

struct Server {
    node: Arc<Embedded>,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

/// A node: `name model options`, then its inputs as `input=node.item`, then its outputs; each output's alias is
/// its own name.
fn node(text: &str, inputs: &str, outputs: &str) -> String {
    let mut words = text.splitn(3, ' ');
    let (name, model) = (words.next().unwrap(), words.next().unwrap());
    let options = words.next().map_or_else(String::new, |o| format!(", {o}"));
    let outputs: Vec<String> = outputs
        .split_whitespace()
        .map(|o| format!(r#"{{"data_item": "{o}", "alias": "{o}"}}"#))
        .collect();
    format!(
        r#"{{"name": "{name}", "model_name": "{model}", "type": "DL model"{options},
            "inputs": [{}], "outputs": [{}]}}"#,
        mappings(inputs),
        outputs.join(", ")
    )
}

fn mappings(text: &str) -> String {
    let mapping = |text: &str| {
        let (name, from) = text.split_once('=').unwrap();
        let (node, item) = from.split_once('.').unwrap();
        format!(r#"{{"{name}": {{"node_name": "{node}", "data_item": "{item}"}}}}"#)
    };
    text.split_whitespace().map(mapping).collect::<Vec<_>>().join(", ")
}

fn pipeline(inputs: &str, options: &str, nodes: &[String], outputs: &str) -> String {
    let inputs: Vec<String> = inputs.split_whitespace().map(|i| format!("\"{i}\"")).collect();
    format!(
        r#"{{"name": "p", "inputs": [{}]{options}, "nodes": [{}], "outputs": [{}]}}"#,
        inputs.join(", "),
        nodes.join(", "),
        mappings(outputs)
    )
}

/// All models, and these pipelines.
fn config(models: &[(&str, &str)], pipelines: &str) -> String {
    let model = |(name, options): &(&str, &str)| {
        format!(r#"{{"config": {{"name": "{name}", "base_path": "models/{name}"{options}}}}}"#)
    };
    let models: Vec<String> = models.iter().map(model).collect();
    format!(
        r#"{{"model_config_list": [{}], "pipeline_config_list": [{pipelines}]}}"#,
        models.join(", ")
    )
}

const ALL: &str = r#", "model_version_policy": {"all": {}}"#;
const STATEFUL: &str = r#", "stateful": true"#;
const MODELS: &[(&str, &str)] = &[
    ("one", ALL),
    ("ten", ""),
    ("two", ""),
    ("total", ""),
    ("deep", ""),
    ("sum", STATEFUL),
    ("log", STATEFUL),
];

impl Server {
    fn new(pipelines: &str) -> Server {
        Server::of(MODELS, pipelines)
    }

    fn of(models: &[(&str, &str)], pipelines: &str) -> Server {
        Server::with(models, pipelines, |_| {}, None)
    }

    fn with(
        models: &[(&str, &str)],
        pipelines: &str,
        more: impl FnOnce(&Path),
        state_path: Option<PathBuf>,
    ) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: Vec<u8>| {
            let path = folder.path().join("models").join(path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("model.onnx"), bytes).unwrap();
        };
        write("one/1", adder(1.0, &["n", "1"]));
        write("one/2", adder(2.0, &["n", "1"]));
        write("ten/1", adder(10.0, &["n", "1"]));
        write("two/1", two());
        write("total/1", total());
        write("deep/1", adder(100.0, &["m", "n", "1"]));
        write("sum/1", summator());
        write("log/1", summator());
        more(folder.path());
        std::fs::write(folder.path().join("config.json"), config(models, pipelines)).unwrap();
        let node = Embedded::start(NodeConfig {
            threads: Some(2),
            state_path,
            ..NodeConfig::path(folder.path().join("config.json"))
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        Server { node: node.unwrap(), runtime, folder }
    }

    fn infer(&self, request: InferRequest) -> Result<InferResponse, Error> {
        self.runtime.block_on(self.node.infer(request))
    }

    /// Why the pipeline is not served.
    fn problem(&self) -> String {
        let status = self.node.model_status("p", &VersionRef::Latest).unwrap();
        status[0].error_message.clone()
    }

    fn reload(&self, models: &[(&str, &str)], pipelines: &str) -> Vec<String> {
        let path = self.folder.path().join("config.json");
        std::fs::write(path, config(models, pipelines)).unwrap();
        let outcome = self.node.reload_config().unwrap();
        outcome.failures.into_iter().map(|(.., text)| text).collect()
    }

    fn metadata(&self) -> (Shapes, Shapes) {
        let metadata = self.node.model_metadata("p", &VersionRef::Latest).unwrap();
        let shapes = |list: Vec<stead_node::TensorInfo>| {
            list.into_iter().map(|t| (t.name, t.shape)).collect()
        };
        (shapes(metadata.inputs), shapes(metadata.outputs))
    }
}

type Shapes = Vec<(String, Vec<i64>)>;

fn request(inputs: &[(&str, &[f32], &[usize])]) -> InferRequest {
    let tensor = |(name, values, dims): &(&str, &[f32], &[usize])| {
        ((*name).to_owned(), Tensor::from_slice(values, dims).unwrap())
    };
    InferRequest {
        model: "p".to_owned(),
        version: VersionRef::Latest,
        id: "r".to_owned(),
        inputs: inputs.iter().map(tensor).collect(),
        outputs: Vec::new(),
        parameters: Parameters::new(),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

/// The outputs by name, with their shapes.
fn values(answer: &InferResponse) -> Vec<(&str, Vec<usize>, Vec<f32>)> {
    let value = |(name, tensor): &'_ (String, Tensor)| {
        let values = tensor.as_slice::<f32>().unwrap().to_vec();
        (tensor.shape().to_vec(), values, name.len())
    };
    let of = |entry: &'_ (String, Tensor)| value(entry);
    answer.outputs.iter().map(|o| (&*o.0, of(o).0, of(o).1)).collect()
}

/// One input goes to two nodes, whose results meet in a third one that has two outputs.
fn diamond() -> String {
    let nodes = [
        node("join two", "a=left.y b=right.y", "difference product"),
        node("left one \"version\": 1", "x=request.x", "y"),
        node("right ten", "x=request.x", "y"),
    ];
    pipeline("x", "", &nodes, "d=join.difference p=join.product l=left.y")
}

#[test]
fn fan_out_and_join() {
    let server = Server::new(&diamond());
    let answer = server.infer(request(&[("x", &[1.0, 2.0], &[2, 1])])).unwrap();
    let shape = vec![2, 1];
    assert_eq!(
        values(&answer),
        [
            ("d", shape.clone(), vec![-9.0, -9.0]),
            ("p", shape.clone(), vec![22.0, 36.0]),
            ("l", shape, vec![2.0, 3.0])
        ]
    );
    assert_eq!((&*answer.model, answer.version, &*answer.id), ("p", 1, "r"));
    // Versions of pipelines are ignored, and outputs can be chosen.
    let mut some = request(&[("x", &[1.0], &[1, 1])]);
    (some.version, some.outputs) = (VersionRef::Number(7), vec!["l".to_owned()]);
    let answer = server.infer(some).unwrap();
    assert_eq!(values(&answer), [("l", vec![1, 1], vec![2.0])]);
    let cases: [(&str, &[(&str, &[f32], &[usize])], &str); 4] = [
        ("missing", &[], "Missing input with specific name - Required input: x"),
        ("unknown", &[("z", &[1.0], &[1, 1])], "Unexpected input - model p has no input 'z'"),
        ("rank", &[("x", &[1.0], &[1])], "Invalid number of shape dimensions - Expected: (-1,1)"),
        ("shape", &[("x", &[1.0, 2.0], &[1, 2])], "Invalid input shape - Expected: (-1,1)"),
    ];
    for (label, inputs, start) in cases {
        let error = server.infer(request(inputs)).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{label}");
        assert!(error.to_string().starts_with(start), "{label}: {error}");
    }
}

#[test]
fn a_pipeline_is_described_and_metered_like_a_model() {
    let server = Server::new(&diamond());
    server.infer(request(&[("x", &[1.0], &[1, 1])])).unwrap();
    server.infer(request(&[])).unwrap_err();
    let (inputs, outputs) = server.metadata();
    assert_eq!(inputs, [("x".to_owned(), vec![-1, 1])]);
    assert_eq!(outputs.iter().map(|o| &*o.0).collect::<Vec<_>>(), ["d", "p", "l"]);
    assert!(server.node.model_ready("p", &VersionRef::Number(3)));
    let config = server.node.model_config("p", &VersionRef::Latest).unwrap();
    let parameters: Vec<_> = config.parameters.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(
        parameters,
        [
            "node.left: model one, version 1",
            "node.right: model ten, version 1",
            "node.join: model two, version 1"
        ]
    );
    let status = server.node.model_status("p", &VersionRef::Number(9)).unwrap();
    assert_eq!((status[0].version, status[0].state), (1, VersionState::Available));
    let index = server.node.repository_index(true);
    assert!(index.iter().any(|e| e.name == "p" && e.state == Some(IndexState::Ready)));
    let statistics = server.node.statistics(Some("p"), &VersionRef::Latest).unwrap();
    assert_eq!((statistics[0].success.count, statistics[0].fail.count), (1, 1));
    assert_eq!((statistics[0].inference_count, statistics[0].execution_count), (1, 1));
    let metrics = server.node.metrics();
    let row = metrics.models.iter().find(|m| m.name == "p").unwrap();
    let calls: u64 = row.versions[0].calls.iter().map(|(_, success, _)| success).sum();
    assert_eq!(calls, 1);
}

#[test]
fn branches_of_a_node() {
    // Three values of shape [1, 1], each of which runs through one node, and then together through another.
    let nodes = [
        node("split deep \"demultiply_count\": 3", "x=request.x", "y"),
        node("each ten", "x=split.y", "y"),
        node("all total \"gather_from_node\": \"split\"", "x=each.y", "y"),
    ];
    let input = request(&[("x", &[1.0, 2.0, 3.0], &[3, 1, 1])]);
    let server = Server::new(&pipeline("x", "", &nodes, "y=all.y"));
    let answer = server.infer(input.clone()).unwrap();
    assert_eq!(values(&answer), [("y", vec![1, 1], vec![336.0])]);
    // Without the gathering node the response gathers.
    let server = Server::new(&pipeline("x", "", &nodes[..2], "y=each.y s=split.y"));
    let answer = server.infer(input).unwrap();
    let shape = vec![3, 1, 1];
    assert_eq!(
        values(&answer),
        [("y", shape.clone(), vec![111.0, 112.0, 113.0]), ("s", shape, vec![101.0, 102.0, 103.0])]
    );
    let outputs: Vec<_> = server.metadata().1.into_iter().map(|(_, shape)| shape).collect();
    assert_eq!(outputs, [[3, -1, 1], [3, -1, 1]]);
    let error = server.infer(request(&[("x", &[1.0, 2.0], &[2, 1, 1])])).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(
        error.to_string().starts_with(
            "Wrong dimension size. Should match demultiply count - expected: 3; actual: 2; pipeline: p; node: split"
        ),
        "{error}"
    );
}

/// The count comes from the request, and from a node.
#[test]
fn dynamic_branches() {
    let each = node("each ten", "x=request.x", "y");
    let split = node("split deep \"demultiply_count\": -1", "x=request.x", "y");
    let after = node("each ten", "x=split.y", "y");
    let cases = [
        ("request", pipeline("x", ", \"demultiply_count\": -1", &[each], "y=each.y"), 10.0),
        ("node", pipeline("x", "", &[split, after], "y=each.y"), 110.0),
    ];
    for (label, text, add) in cases {
        let server = Server::new(&text);
        for count in [1usize, 2, 300] {
            let given: Vec<f32> = (0..count).map(|i| i as f32).collect();
            let answer = server.infer(request(&[("x", &given, &[count, 1, 1])])).unwrap();
            let expected: Vec<f32> = given.iter().map(|v| v + add).collect();
            assert_eq!(values(&answer), [("y", vec![count, 1, 1], expected)], "{label}");
        }
        let error = server.infer(request(&[("x", &[], &[0, 1, 1])])).unwrap_err();
        assert_eq!(error.code, Code::NoContent, "{label}");
        assert!(error.to_string().starts_with("Pipeline execution aborted due to no content"));
        let many = request(&[("x", &[0.0; 10_001], &[10_001, 1, 1])]);
        assert_eq!(server.infer(many).unwrap_err().code, Code::ResourceExhausted, "{label}");
        assert_eq!(server.metadata().1, [("y".to_owned(), vec![-1, -1, 1])], "{label}");
    }
}

#[test]
fn branches_in_branches() {
    let nodes = [
        node("each deep \"demultiply_count\": 3", "x=request.x", "y"),
        node("inner ten", "x=each.y", "y"),
    ];
    let outer = pipeline("x", ", \"demultiply_count\": 2", &nodes, "y=inner.y");
    let server = Server::new(&outer);
    let given: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let answer = server.infer(request(&[("x", &given, &[2, 3, 1, 1])])).unwrap();
    let expected = given.iter().map(|v| v + 110.0).collect();
    assert_eq!(values(&answer), [("y", vec![2, 3, 1, 1], expected)]);
    assert_eq!(server.metadata().0, [("x".to_owned(), vec![2, -1, -1, 1])]);
}

#[test]
fn pipelines_that_do_not_fit_their_models() {
    let base = "UNKNOWN - /pipeline_config_list/0";
    let split = "split deep \"demultiply_count\": 3";
    let whole = |nodes: &[String], out: &str| pipeline("x", "", nodes, out);
    let cases = [
        (
            "model",
            whole(&[node("a none", "x=request.x", "y")], "y=a.y"),
            "/nodes/0/model_name: Pipeline definition has reference to missing model - node \"a\": there is no model \"none\"",
        ),
        (
            "version",
            whole(&[node("a one \"version\": 3", "x=request.x", "y")], "y=a.y"),
            "/nodes/0/model_name: Pipeline definition has reference to missing model - node \"a\": Model with requested version is not found - model: one; version: 3",
        ),
        (
            "input",
            whole(&[node("a one", "z=request.x", "y")], "y=a.y"),
            "/nodes/0/inputs/0/z: Pipeline definition has connection to non existing model input - model \"one\" has no input \"z\"; it has: x",
        ),
        (
            "output",
            whole(&[node("a one", "x=request.x", "z")], "y=a.z"),
            "/nodes/0/outputs/0/data_item: Pipeline definition has reference to missing model output - model \"one\" has no output \"z\"; it has: y",
        ),
        (
            "open input",
            whole(&[node("a two", "a=request.x", "product")], "y=a.product"),
            "/nodes/0/inputs: Pipeline definition does not have connections for all inputs of underlying models - node \"a\", model \"two\": b",
        ),
        (
            "shape",
            whole(&[node("a one", "x=request.x", "y"), node("b total", "x=a.y", "y")], "y=b.y"),
            "/nodes/1/inputs/0/x: shape of input \"x\" and of what node \"a\" gives differ - expected: (-1,-1,1); actual: (-1,1)",
        ),
        (
            "metadata",
            whole(
                &[node("a one", "x=request.x", "y"), node("b total", "x=request.x", "y")],
                "y=a.y z=b.y",
            ),
            "/nodes/1/inputs/0/x: Multiple nodes connected to the same pipeline input require different tensor metadata - \"x\": (-1,1) and (-1,-1,1)",
        ),
        (
            "state",
            whole(&[node(split, "x=request.x", "y"), node("s sum", "x=split.y", "y")], "y=s.y"),
            "/nodes/1: node \"s\" runs in the branches of a demultiplexer, which the stateful model \"sum\" cannot",
        ),
        (
            "hidden input",
            whole(&[node("s sum", "x=request.x sum=request.x", "y")], "y=s.y"),
            "/nodes/0/inputs/1/sum: Pipeline definition has connection to non existing model input - model \"sum\" has no input \"sum\"; it has: x",
        ),
        (
            "count",
            whole(&[node("s sum \"demultiply_count\": 3", "x=request.x", "y")], "y=s.y"),
            "/nodes/0/outputs/0: Demultiply count does not match tensor first dimension - demultiply_count: 3; output \"y\" of model \"sum\" has (1,1)",
        ),
    ];
    for (label, text, expected) in cases {
        let server = Server::new(&text);
        let problem = server.problem();
        assert!(problem.starts_with(&format!("{base}{expected}")), "{label}: {problem}");
        assert!(!server.node.model_ready("p", &VersionRef::Latest), "{label}");
        let error = server.infer(request(&[])).unwrap_err();
        assert_eq!(error.code, Code::NotLoaded, "{label}");
        assert!(server.node.model_ready("two", &VersionRef::Latest), "others are served: {label}");
    }
    let refusing = [("sum", r#", "stateful": true, "stead": {"ovms_compat": true}"#)];
    let server = Server::of(&refusing, &whole(&[node("s sum", "x=request.x", "y")], "y=s.y"));
    assert!(server.problem().contains("Stateful model cannot be subscribed to pipeline"));
}

/// A sum of the inputs, and a sum of those sums.
fn sums() -> String {
    let nodes = [
        node("first sum", "x=request.x", "y"),
        node("second log", "x=first.y", "y"),
        node("plain one \"version\": 1", "x=request.x", "y"),
    ];
    pipeline("x", "", &nodes, "a=first.y b=second.y c=plain.y")
}

fn step(
    server: &Server,
    id: u64,
    flags: &[&str],
    step: Option<u64>,
    value: f32,
) -> Result<Vec<f32>, Code> {
    let mut request = request(&[("x", &[value], &[1, 1])]);
    request.id.clear();
    let p = &mut request.parameters;
    p.insert("sequence_id".into(), Param::U64(id));
    flags.iter().for_each(|f| drop(p.insert(format!("sequence_{f}").into(), Param::Bool(true))));
    step.map(|n| p.insert("sequence_step".into(), Param::U64(n)));
    let answer = server.infer(request).map_err(|e| e.code)?;
    assert_eq!(*answer.parameters.get("sequence_id").unwrap(), Param::U64(id));
    Ok(values(&answer).into_iter().map(|v| v.2[0]).collect())
}

#[test]
fn all_states_change_or_none() {
    let server = Server::new(&sums());
    let step = |flags: &[&str], value| step(&server, 7, flags, None, value);
    assert_eq!(step(&["start"], 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&[], 60.0), Ok(vec![61.0, 62.0, 61.0]));
    // The second node fails on 101 although the first has succeeded: neither has changed.
    assert_eq!(step(&[], 40.0), Err(Code::InvalidArgument));
    assert_eq!(step(&[], 1.0), Ok(vec![62.0, 124.0, 2.0]));
    // A failed END leaves the sequence, a failed START leaves none.
    assert_eq!(step(&["end"], 50.0), Err(Code::InvalidArgument));
    assert_eq!(step(&["end"], 1.0), Ok(vec![63.0, 187.0, 2.0]));
    assert_eq!(step(&[], 1.0), Err(Code::NotFound));
    assert_eq!(step(&["start"], 200.0), Err(Code::InvalidArgument));
    assert_eq!(step(&[], 1.0), Err(Code::NotFound));
    let metrics = server.node.metrics();
    let row = metrics.models.iter().find(|m| m.name == "p").unwrap();
    let sequences = row.versions[0].sequences.unwrap();
    assert_eq!((sequences.active, sequences.counters.started, sequences.counters.ended), (0, 1, 1));
    assert_eq!((sequences.counters.steps, sequences.counters.failed), (4, 3));
    // Outputs that are not wanted do not keep a state back.
    let mut quiet = request(&[("x", &[5.0], &[1, 1])]);
    quiet.parameters.insert("sequence_id".into(), Param::U64(7));
    quiet.parameters.insert("sequence_start".into(), Param::Bool(true));
    quiet.outputs = vec!["c".to_owned()];
    assert_eq!(values(&server.infer(quiet).unwrap())[0].2, [6.0]);
    assert_eq!(step(&[], 1.0), Ok(vec![6.0, 11.0, 2.0]));
}

#[test]
fn steps_of_pipelines_run_once() {
    let server = Server::new(&sums());
    let step = |flags: &[&str], n, value| step(&server, 7, flags, Some(n), value);
    assert_eq!(step(&["start"], 1, 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&["start"], 1, 1.0), Ok(vec![1.0, 1.0, 2.0]), "the stored answer");
    assert_eq!(step(&[], 2, 2.0), Ok(vec![3.0, 4.0, 3.0]));
    assert_eq!(step(&[], 2, 2.0), Ok(vec![3.0, 4.0, 3.0]), "the stored answer");
    assert_eq!(step(&[], 4, 2.0), Err(Code::FailedPrecondition));
    assert_eq!(step(&["end"], 3, 1.0), Ok(vec![4.0, 8.0, 2.0]));
    assert_eq!(step(&["end"], 3, 1.0), Ok(vec![4.0, 8.0, 2.0]), "the stored answer");
}

/// Many sequences at once, and several requests of one sequence in flight.
#[test]
fn sequences_are_never_mixed() {
    let server = Server::new(&sums());
    let send = async |id: u64, flag: Option<&str>, value: f32| {
        let mut request = request(&[("x", &[value], &[1, 1])]);
        request.parameters.insert("sequence_id".into(), Param::U64(id));
        flag.map(|f| request.parameters.insert(format!("sequence_{f}").into(), Param::Bool(true)));
        let answer = server.node.infer(request).await.unwrap();
        values(&answer).into_iter().map(|v| v.2[0]).collect::<Vec<_>>()
    };
    let sequence = async |id: u64| {
        let value = id as f32 / 8.0;
        let (mut first, mut second) = (value, value);
        assert_eq!(send(id, Some("start"), value).await[..2], [first, second]);
        for _ in 0..8 {
            let (a, b) = tokio::join!(send(id, None, value), send(id, None, value));
            for got in [a, b] {
                first += value;
                second += first;
                assert_eq!(got[..2], [first, second], "{id}");
            }
        }
        send(id, Some("end"), value).await;
    };
    server.runtime.block_on(async {
        tokio::join!(sequence(1), sequence(2), sequence(3), sequence(4));
    });
}

#[test]
fn a_sequence_can_be_copied_and_read() {
    let server = Server::new(&sums());
    let (latest, id) = (VersionRef::Latest, stead_node::SequenceId::Number);
    step(&server, 1, &["start"], None, 3.0).unwrap();
    assert_eq!(server.node.fork_sequence("p", &latest, &id(1), id(2)), Ok(1));
    let (at, values) = server.node.export_sequence("p", &latest, &id(1)).unwrap();
    let names: Vec<&str> = values.iter().map(|(n, _)| &**n).collect();
    assert_eq!((at, names), (1, vec!["first/sum", "second/sum"]));
    server.node.import_sequence("p", &latest, id(3), 1, values.clone()).unwrap();
    for n in 1..=3 {
        assert_eq!(step(&server, n, &[], None, 1.0), Ok(vec![4.0, 7.0, 2.0]), "{n}");
    }
    let less = server.node.import_sequence("p", &latest, id(4), 1, values[..1].to_vec());
    assert_eq!(less.unwrap_err().to_string(), "node \"second\": state \"sum\" is missing");
    // The models have sequences of their own.
    assert_eq!(server.node.sequences("sum", &latest, None, 9), Ok(vec![]));
    assert_eq!(server.node.sequences("p", &latest, None, 9).unwrap().len(), 3);
}

#[test]
fn reloads() {
    let server = Server::new(&diamond());
    let call = || {
        let answer = server.infer(request(&[("x", &[1.0], &[1, 1])])).map_err(|e| e.to_string())?;
        Ok::<_, String>(values(&answer)[0].2[0])
    };
    assert_eq!(call(), Ok(-9.0));
    // Another wiring.
    let swapped = diamond().replace("\"version\": 1", "\"version\": 2");
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-8.0));
    // A model goes away, and comes back.
    let without: Vec<_> = MODELS.iter().copied().filter(|m| m.0 != "ten").collect();
    let failures = server.reload(&without, &swapped);
    assert_eq!(failures.len(), 1);
    assert!(
        failures[0].contains("node \"right\": ") && failures[0].contains("model: ten"),
        "{failures:?}"
    );
    let error = call().unwrap_err();
    assert!(
        error.starts_with("Pipeline is not loaded yet - pipeline: p; ") && error.contains("ten"),
        "{error}"
    );
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-8.0));
    // A model is unloaded and loaded by request.
    server.node.unload_model("ten").unwrap();
    assert!(call().unwrap_err().contains("ten"));
    server.node.load_model("ten", &Parameters::new()).unwrap();
    assert_eq!(call(), Ok(-8.0));
    // A new version of a model without a version of its own.
    let path = server.folder.path().join("models/ten/2");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), adder(20.0, &["n", "1"])).unwrap();
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-18.0));
    // The pipeline itself is unloaded, and goes.
    server.node.unload_model("p").unwrap();
    assert!(call().is_err());
    server.reload(MODELS, &swapped);
    assert!(call().is_err());
    server.node.load_model("p", &Parameters::new()).unwrap();
    assert_eq!(call(), Ok(-18.0));
    server.reload(MODELS, "");
    assert!(call().unwrap_err().contains("retired"));
    assert!(server.node.repository_index(false).iter().all(|e| e.name != "p"));
}

#[test]
fn sequences_outlive_a_reload() {
    let server = Server::new(&sums());
    step(&server, 1, &["start"], None, 1.0).unwrap();
    let swapped = sums().replace("\"version\": 1", "\"version\": 2");
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(step(&server, 1, &[], None, 1.0), Ok(vec![2.0, 3.0, 2.0]), "as it began");
    assert_eq!(step(&server, 2, &["start"], None, 1.0), Ok(vec![1.0, 1.0, 3.0]), "as it is now");
    assert_eq!(step(&server, 1, &["end"], None, 1.0), Ok(vec![3.0, 6.0, 2.0]));
}

#[test]
fn deadlines_pass_through() {
    let server = Server::new(&sums());
    let mut late = request(&[("x", &[1.0], &[1, 1])]);
    late.parameters.insert("sequence_id".into(), Param::U64(1));
    late.parameters.insert("sequence_start".into(), Param::Bool(true));
    late.deadline = std::time::Instant::now().checked_sub(Duration::from_millis(1));
    assert_eq!(server.infer(late).unwrap_err().code, Code::DeadlineExceeded);
    assert_eq!(
        step(&server, 1, &["start"], None, 2.0),
        Ok(vec![2.0, 2.0, 3.0]),
        "nothing was left"
    );
}

/// A stateful node may split, and another one may gather; both may have one model.
#[test]
fn stateful_nodes_around_branches() {
    let nodes = [
        node("first sum \"demultiply_count\": 1", "x=request.x", "y"),
        node("each add", "x=first.y", "y"),
        node("last sum \"gather_from_node\": \"first\"", "x=each.y", "y"),
    ];
    let models = [("add", ""), ("sum", STATEFUL)];
    let folder = |folder: &Path| {
        let path = folder.join("models/add/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), adder(1.0, &["1"])).unwrap();
    };
    let server =
        Server::with(&models, &pipeline("x", "", &nodes, "a=last.y b=each.y"), folder, None);
    // The first node sums 1, 2, 3; with 1 added these are summed by the last one.
    for (n, expected) in [[2.0, 2.0], [5.0, 3.0], [9.0, 4.0]].into_iter().enumerate() {
        let flags: &[&str] = if n == 0 { &["start"] } else { &[] };
        assert_eq!(step(&server, 7, flags, None, 1.0), Ok(expected.to_vec()), "{n}");
    }
}

/// A restart finds the states of all nodes as they were after the same step.
#[test]
fn sequences_outlive_a_restart() {
    let durable = r#", "stateful": true, "stead": {"state_durability": "every_step"}"#;
    let models: Vec<_> =
        MODELS.iter().map(|(n, o)| (*n, if *n == "log" { durable } else { *o })).collect();
    let states = tempfile::tempdir().unwrap();
    let path = || Some(states.path().join("states"));
    let server = Server::with(&models, &sums(), |_| {}, path());
    assert_eq!(step(&server, 7, &["start"], Some(1), 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&server, 7, &[], Some(2), 2.0), Ok(vec![3.0, 4.0, 3.0]));
    assert_eq!(step(&server, 7, &[], Some(3), 100.0), Err(Code::InvalidArgument));
    drop(server);
    let server = Server::with(&models, &sums(), |_| {}, path());
    assert_eq!(step(&server, 7, &[], Some(2), 2.0), Ok(vec![3.0, 4.0, 3.0]), "the stored answer");
    assert_eq!(step(&server, 7, &["end"], Some(3), 1.0), Ok(vec![4.0, 8.0, 2.0]));
}

/// What a sequence of [`sums`] must be: steps done, both sums, and the last answer.
#[derive(Clone)]
struct Reference {
    step: u64,
    sums: [f32; 2],
    last: Vec<f32>,
}

/// Random starts, steps, repetitions, ends and forks, of which many fail in the first or in the second node, against
/// a reference that knows only whole steps.
#[test]
fn random_steps_equal_the_reference() {
    let server = Server::new(&sums());
    let mut live: BTreeMap<u64, Reference> = BTreeMap::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % below
    };
    let mut failed = [0; 2];
    for n in 0..4000 {
        let (id, kind, value) = (1 + random(4), random(20), random(40) as f32);
        // Inputs of 100 and more fail in a node, so these fail at once, and others when the sum has grown.
        let value = if random(10) == 0 { value + 100.0 } else { value };
        let known = live.get(&id).cloned();
        if let (Some(reference), 0) = (&known, kind) {
            let number = stead_node::SequenceId::Number;
            let to = 1 + random(4);
            let forked =
                server.node.fork_sequence("p", &VersionRef::Latest, &number(id), number(to));
            assert_eq!(forked.is_ok(), !live.contains_key(&to), "{n}");
            // A copy has no stored answers.
            live.entry(to).or_insert(Reference { last: Vec::new(), ..reference.clone() });
            continue;
        }
        if let (Some(reference), 1) = (&known, kind) {
            let again = step(&server, id, &[], Some(reference.step), value);
            match reference.last.is_empty() {
                true => assert_eq!(again, Err(Code::FailedPrecondition), "{n}"),
                false => assert_eq!(again, Ok(reference.last.clone()), "{n}"),
            }
            continue;
        }
        let flags: &[&str] = match (&known, kind) {
            (None, _) => &["start"],
            (Some(_), 2..4) => &["end"],
            (Some(_), _) => &[],
        };
        let before = known.map_or((0, [0.0; 2]), |r| (r.step, r.sums));
        let first = before.1[0] + value;
        let sums = [first, before.1[1] + first];
        let numbered = random(2) == 0;
        let got = step(&server, id, flags, numbered.then_some(before.0 + 1), value);
        if value >= 100.0 || first >= 100.0 {
            failed[usize::from(value < 100.0)] += 1;
            assert_eq!(got, Err(Code::InvalidArgument), "{n}");
            // Sums never shrink: one that has become too large fails for ever.
            if value < 100.0 && before.1[0] > 90.0 {
                let number = stead_node::SequenceId::Number(id);
                server.node.end_sequence("p", &VersionRef::Latest, &number).unwrap();
                live.remove(&id);
            }
            continue;
        }
        let answer = vec![sums[0], sums[1], value + 1.0];
        assert_eq!(got, Ok(answer.clone()), "{n}: {id} {flags:?}");
        if flags == ["end"] {
            live.remove(&id);
        } else {
            let last = if numbered { answer } else { Vec::new() };
            // One answer is kept, that of the last numbered step; it is found if nothing came after it.
            live.insert(id, Reference { step: before.0 + 1, sums, last });
        }
    }
    assert!(failed.iter().all(|n| *n > 100), "{failed:?}");
    let all = server.node.sequences("p", &VersionRef::Latest, None, 9).unwrap();
    let steps: Vec<_> = all.iter().map(|s| (s.id.clone(), s.step)).collect();
    let expected = live.iter().map(|(id, r)| (stead_node::SequenceId::Number(*id), r.step));
    assert_eq!(steps, expected.collect::<Vec<_>>());
}

/// A sequence of a pipeline keeps the shapes of its START as one of a model does: a step that differs is refused by the
/// first node or by one behind it, and leaves the states of all.
#[test]
fn sequences_keep_the_shapes_of_their_start() {
    // The state is the sum over time of all inputs, and is added to the input.
    let free = |rows: &str| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &[rows, "time"])
            .input("sum", DType::F32, &[rows, "1"])
            .init("axes", Tensor::from_slice(&[1i64], &[1]).unwrap())
            .node("ReduceSum", &["x", "axes"], &["part"])
            .attr("keepdims", 1)
            .node("Add", &["part", "sum"], &["sum_out"])
            .node("Add", &["x", "sum_out"], &["y"])
            .output_of("y", f32s(&[rows, "time"]))
            .output_of("sum_out", f32s(&[rows, "1"]))
            .bytes()
    };
    let auto = r#", "stateful": true, "shape": "auto""#;
    let nodes = [node("first first", "x=request.x", "y"), node("second second", "x=first.y", "y")];
    let chain = pipeline("x", "", &nodes, "y=second.y");
    // (label, options of both models, the steps: rows, time, and the answer if there is one)
    type Step = (usize, usize, Option<f32>);
    let cases: [(&str, [&str; 2], [Step; 4]); 3] = [
        (
            "the batch",
            [STATEFUL, STATEFUL],
            [(2, 3, Some(16.0)), (3, 3, None), (1, 3, None), (2, 5, Some(66.0))],
        ),
        (
            "shape: auto",
            [auto, auto],
            [(2, 3, Some(16.0)), (2, 5, None), (1, 3, None), (2, 3, Some(40.0))],
        ),
        (
            "shape: auto of the second, when the first has run",
            [STATEFUL, auto],
            [(2, 3, Some(16.0)), (2, 5, None), (2, 4, None), (2, 3, Some(40.0))],
        ),
    ];
    for (label, [first, second], steps) in cases {
        let write = |folder: &Path| {
            for name in ["first", "second"] {
                let path = folder.join("models").join(name).join("1");
                std::fs::create_dir_all(&path).unwrap();
                std::fs::write(path.join("model.onnx"), free("batch")).unwrap();
            }
        };
        let models = [("first", first), ("second", second)];
        let server = Server::with(&models, &chain, write, None);
        assert_eq!(server.problem(), "OK", "{label}");
        for (n, (rows, time, expected)) in steps.into_iter().enumerate() {
            let mut request = request(&[("x", &vec![1.0; rows * time], &[rows, time])]);
            request.id.clear();
            request.parameters.insert("sequence_id".into(), Param::U64(7));
            request.parameters.insert("sequence_start".into(), Param::Bool(n == 0));
            let answer = server.infer(request);
            match expected {
                Some(value) => {
                    let y = answer.unwrap().outputs.remove(0).1;
                    assert_eq!(y.shape().to_vec(), [rows, time], "{label}, step {n}");
                    assert!(
                        y.as_slice::<f32>().unwrap().iter().all(|v| *v == value),
                        "{label}, step {n}: {y:?}"
                    );
                }
                None => {
                    let error = answer.unwrap_err();
                    assert_eq!(error.code, Code::InvalidArgument, "{label}, step {n}: {error}");
                }
            }
        }
    }
}
