//! A node that serves pipelines, and requests for them.

use super::models::{adder, summator, total, two};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stead_node::{
    Code, Embedded, Error, InferRequest, InferResponse, NodeConfig, Param, Parameters, Protocol,
    VersionRef,
};
use stead_tensor::Tensor;

pub struct Server {
    pub node: Arc<Embedded>,
    pub runtime: tokio::runtime::Runtime,
    pub folder: tempfile::TempDir,
}

/// A node: `name model options`, then its inputs as `input=node.item`, then its outputs; each output's alias is
/// its own name.
pub fn node(text: &str, inputs: &str, outputs: &str) -> String {
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

pub fn mappings(text: &str) -> String {
    let mapping = |text: &str| {
        let (name, from) = text.split_once('=').unwrap();
        let (node, item) = from.split_once('.').unwrap();
        format!(r#"{{"{name}": {{"node_name": "{node}", "data_item": "{item}"}}}}"#)
    };
    text.split_whitespace().map(mapping).collect::<Vec<_>>().join(", ")
}

pub fn pipeline(inputs: &str, options: &str, nodes: &[String], outputs: &str) -> String {
    let inputs: Vec<String> = inputs.split_whitespace().map(|i| format!("\"{i}\"")).collect();
    format!(
        r#"{{"name": "p", "inputs": [{}]{options}, "nodes": [{}], "outputs": [{}]}}"#,
        inputs.join(", "),
        nodes.join(", "),
        mappings(outputs)
    )
}

/// All models, and these pipelines.
pub fn config(models: &[(&str, &str)], pipelines: &str) -> String {
    let model = |(name, options): &(&str, &str)| {
        format!(r#"{{"config": {{"name": "{name}", "base_path": "models/{name}"{options}}}}}"#)
    };
    let models: Vec<String> = models.iter().map(model).collect();
    format!(
        r#"{{"model_config_list": [{}], "pipeline_config_list": [{pipelines}]}}"#,
        models.join(", ")
    )
}

pub const ALL: &str = r#", "model_version_policy": {"all": {}}"#;
pub const STATEFUL: &str = r#", "stateful": true"#;
pub const MODELS: &[(&str, &str)] = &[
    ("one", ALL),
    ("ten", ""),
    ("two", ""),
    ("total", ""),
    ("deep", ""),
    ("sum", STATEFUL),
    ("log", STATEFUL),
];

impl Server {
    pub fn new(pipelines: &str) -> Server {
        Server::of(MODELS, pipelines)
    }

    pub fn of(models: &[(&str, &str)], pipelines: &str) -> Server {
        Server::with(models, pipelines, |_| {}, None)
    }

    pub fn with(
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

    pub fn infer(&self, request: InferRequest) -> Result<InferResponse, Error> {
        self.runtime.block_on(self.node.infer(request))
    }

    /// Why the pipeline is not served.
    pub fn problem(&self) -> String {
        let status = self.node.model_status("p", &VersionRef::Latest).unwrap();
        status[0].error_message.clone()
    }

    pub fn reload(&self, models: &[(&str, &str)], pipelines: &str) -> Vec<String> {
        let path = self.folder.path().join("config.json");
        std::fs::write(path, config(models, pipelines)).unwrap();
        let outcome = self.node.reload_config().unwrap();
        outcome.failures.into_iter().map(|(.., text)| text).collect()
    }

    pub fn metadata(&self) -> (Shapes, Shapes) {
        let metadata = self.node.model_metadata("p", &VersionRef::Latest).unwrap();
        let shapes = |list: Vec<stead_node::TensorInfo>| {
            list.into_iter().map(|t| (t.name, t.shape)).collect()
        };
        (shapes(metadata.inputs), shapes(metadata.outputs))
    }
}

pub type Shapes = Vec<(String, Vec<i64>)>;

pub fn request(inputs: &[(&str, &[f32], &[usize])]) -> InferRequest {
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
pub fn values(answer: &InferResponse) -> Vec<(&str, Vec<usize>, Vec<f32>)> {
    let value = |(name, tensor): &'_ (String, Tensor)| {
        let values = tensor.as_slice::<f32>().unwrap().to_vec();
        (tensor.shape().to_vec(), values, name.len())
    };
    let of = |entry: &'_ (String, Tensor)| value(entry);
    answer.outputs.iter().map(|o| (&*o.0, of(o).0, of(o).1)).collect()
}

pub fn step(
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

/// A sum of the inputs, and a sum of those sums.
pub fn sums() -> String {
    let nodes = [
        node("first sum", "x=request.x", "y"),
        node("second log", "x=first.y", "y"),
        node("plain one \"version\": 1", "x=request.x", "y"),
    ];
    pipeline("x", "", &nodes, "a=first.y b=second.y c=plain.y")
}

/// One input goes to two nodes, whose results meet in a third one that has two outputs.
pub fn diamond() -> String {
    let nodes = [
        node("join two", "a=left.y b=right.y", "difference product"),
        node("left one \"version\": 1", "x=request.x", "y"),
        node("right ten", "x=request.x", "y"),
    ];
    pipeline("x", "", &nodes, "d=join.difference p=join.product l=left.y")
}
