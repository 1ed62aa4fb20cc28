//! Models of TensorFlow and OpenVINO, served and read by every command as they lie in the repositories of their servers.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType};
use stead_tensor::{DType, Tensor, npz};

use crate::server::{Server, stead};

/// How far a number may be from that of TensorFlow or OpenVINO, which has weights in half precision here.
const TOLERANCE: f64 = 1e-3;

/// A model as its server's users have it: the files of a version, and what was recorded of it.
struct Recorded {
    name: &'static str,
    /// Files and where they lie among the recorded ones.
    files: &'static [(&'static str, &'static str)],
    record: &'static str,
}

const MODELS: [Recorded; 2] = [
    Recorded {
        name: "ranker",
        files: &[
            ("saved_model.pb", "tensorflow/mlp/saved_model.pb"),
            ("variables/variables.index", "tensorflow/mlp/variables/variables.index"),
            (
                "variables/variables.data-00000-of-00001",
                "tensorflow/mlp/variables/variables.data-00000-of-00001",
            ),
        ],
        record: "tensorflow/mlp.json",
    },
    Recorded {
        name: "scorer",
        files: &[("model.xml", "openvino/mlp_fp16.xml"), ("model.bin", "openvino/mlp_fp16.bin")],
        record: "openvino/mlp_fp16.json",
    },
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data")
}

impl Recorded {
    /// Writes the model as version 1 below `repository`.
    fn lay(&self, repository: &Path) {
        for (name, from) in self.files {
            let to = repository.join(self.name).join("1").join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(data().join(from), to).unwrap();
        }
    }

    /// What commands are given: the folder of a SavedModel, or the file.
    fn path(&self, repository: &Path) -> PathBuf {
        let version = repository.join(self.name).join("1");
        match self.files[0].0 {
            "saved_model.pb" => version,
            file => version.join(file),
        }
    }

    /// Inputs and outputs of each run: name, shape, numbers.
    fn runs(&self) -> Vec<(Vec<Array>, Vec<Array>)> {
        let text = fs::read_to_string(data().join(self.record)).unwrap();
        let runs: Vec<Value> = serde_json::from_str(&text).unwrap();
        runs.iter().map(|run| (arrays(&run["inputs"]), arrays(&run["outputs"]))).collect()
    }
}

struct Array {
    name: String,
    shape: Vec<usize>,
    data: Vec<f64>,
}

fn arrays(of: &Value) -> Vec<Array> {
    let numbers = |v: &Value| -> Vec<f64> {
        v.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let array = |(name, v): (&String, &Value)| Array {
        name: name.clone(),
        shape: numbers(&v["shape"]).iter().map(|&d| d as usize).collect(),
        data: numbers(&v["data"]),
    };
    of.as_object().unwrap().iter().map(array).collect()
}

/// The rows of a matrix.
fn rows(array: &Array) -> Vec<&[f64]> {
    array.data.chunks(array.shape[1]).collect()
}

/// All numbers of nested lists.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(flat).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn check(label: &str, found: &[f64], expected: &Array) {
    assert_eq!(found.len(), expected.data.len(), "{label}: {}", expected.name);
    for (a, b) in found.iter().zip(&expected.data) {
        let near = (a - b).abs() < TOLERANCE * b.abs().max(1.0);
        assert!(near, "{label}: {} is {a}, not {b}", expected.name);
    }
}

#[test]
fn repositories_of_other_servers_are_served_as_they_are() {
    let repository = tempfile::tempdir().unwrap();
    MODELS.iter().for_each(|model| model.lay(repository.path()));
    let server = Server::of_flags(&[repository.path().to_str().unwrap()]);
    for model in &MODELS {
        let name = model.name;
        let (_, state) = server.request("GET", &format!("/v1/models/{name}"), "");
        assert_eq!(state["model_version_status"][0]["state"], "AVAILABLE", "{name}: {state}");
        let (_, metadata) = server.request("GET", &format!("/v1/models/{name}/metadata"), "");
        let signature = &metadata["metadata"]["signature_def"]["signatureDef"]["serving_default"];
        for (inputs, outputs) in model.runs() {
            for (side, arrays) in [("inputs", &inputs), ("outputs", &outputs)] {
                for array in arrays {
                    assert!(signature[side][&array.name].is_object(), "{name}: {metadata}");
                }
            }
            // By columns and by rows, as clients of TensorFlow Serving ask.
            let path = format!("/v1/models/{name}:predict");
            let columns: Value = inputs
                .iter()
                .map(|a| (a.name.clone(), json!(rows(a))))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let body = json!({ "inputs": columns }).to_string();
            let (status, answer) = server.request("POST", &path, &body);
            assert_eq!(status, 200, "{name}: {answer}");
            let found = &answer["outputs"];
            for output in &outputs {
                // A single output stands there without its name.
                let one = if outputs.len() == 1 { found } else { &found[&output.name] };
                check(name, &flat(one), output);
            }
            let by_rows: Vec<Value> = (0..inputs[0].shape[0])
                .map(|row| {
                    inputs
                        .iter()
                        .map(|a| (a.name.clone(), json!(rows(a)[row])))
                        .collect::<serde_json::Map<_, _>>()
                        .into()
                })
                .collect();
            let body = json!({ "instances": by_rows }).to_string();
            let (status, answer) = server.request("POST", &path, &body);
            assert_eq!(status, 200, "{name}: {answer}");
            assert_eq!(answer["predictions"].as_array().unwrap().len(), inputs[0].shape[0]);
            // The same over KServe.
            let tensor = |a: &Array| json!({"name": a.name, "datatype": "FP32", "shape": a.shape, "data": a.data});
            let body = json!({ "inputs": inputs.iter().map(tensor).collect::<Vec<_>>() });
            let (status, answer) =
                server.request("POST", &format!("/v2/models/{name}/infer"), &body.to_string());
            assert_eq!(status, 200, "{name}: {answer}");
            for output in &outputs {
                let list = answer["outputs"].as_array().unwrap();
                let found = list.iter().find(|o| o["name"] == *output.name).unwrap();
                check(name, &flat(&found["data"]), output);
            }
        }
    }
}

#[test]
fn sequences_are_shown_and_named_where_they_do_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let list = ValueType::Sequence(Box::new(ValueType::tensor(DType::F32, None)));
    let model = ModelBuilder::new(17)
        .input_of("list", list.clone())
        .input("x", DType::F32, &["n"])
        .node("SequenceInsert", &["list", "x"], &["longer"])
        .output_of("longer", list);
    fs::write(&path, model.bytes()).unwrap();
    let path = path.to_str().unwrap();
    let shown = String::from_utf8(stead(&["inspect", path]).stdout).unwrap();
    for part in ["  list seq(f32)\n", "  x f32[n]\n", "  longer seq(f32)\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let parsed: Value =
        serde_json::from_slice(&stead(&["inspect", path, "--json"]).stdout).unwrap();
    assert_eq!(parsed["inputs"][0]["form"], "sequence", "{parsed}");
    for command in ["run", "bench"] {
        let output = stead(&[command, path]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {text}");
        for part in ["input list", "`import stead` in Python runs models of sequences"] {
            assert!(text.contains(part), "{command}: {text}");
        }
    }
}

#[test]
fn commands_read_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for model in &MODELS {
        let name = model.name;
        model.lay(folder.path());
        let path = model.path(folder.path());
        let path = path.to_str().unwrap();
        let run = |args: &[&str]| {
            let output = stead(args);
            assert!(
                output.status.success(),
                "{args:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap()
        };
        let parsed = |args: &[&str]| serde_json::from_str::<Value>(&run(args)).unwrap();
        let (inputs, outputs) = model.runs().pop().unwrap();
        let file = folder.path().join("inputs.npz");
        let tensors: Vec<(String, Tensor)> = inputs
            .iter()
            .map(|a| {
                let data: Vec<f32> = a.data.iter().map(|&v| v as f32).collect();
                (a.name.clone(), Tensor::from_slice(&data, &a.shape).unwrap())
            })
            .collect();
        let views = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.view()));
        npz::write(File::create(&file).unwrap(), views).unwrap();
        let given = format!("@{}", file.to_str().unwrap());

        let inspected = parsed(&["inspect", path, "--json"]);
        assert_eq!(inspected["inputs"][0]["name"], *inputs[0].name, "{name}: {inspected}");
        let answer = parsed(&["run", path, "--input", &given, "--json"]);
        for output in &outputs {
            let list = answer["outputs"].as_array().unwrap();
            let found = list.iter().find(|o| o["name"] == *output.name).unwrap();
            check(name, &flat(&found["data"]), output);
        }
        run(&["bench", path, "--input", &given, "--seconds", "0.05"]);

        let small = folder.path().join("small.onnx");
        let small = small.to_str().unwrap();
        let report = parsed(&["quantize", path, "--mode", "dynamic", "-o", small, "--json"]);
        let on_disk: u64 = model
            .files
            .iter()
            .map(|(_, from)| fs::metadata(data().join(from)).unwrap().len())
            .sum();
        assert_eq!(report["bytes"]["original"], on_disk, "{name}: {report}");
        run(&["run", small, "--input", &given]);
    }
}
