//! `stead rank` with models: the packages of Vespa's post on stateful model serving, a chain of two models, trees.
//! What is expected is computed here, from what the small models do.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|e| e.unwrap()) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(path, target).unwrap();
        }
    }
}

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    /// A package of the tests of stead-app with models in its files.
    fn of_package(name: &str, models: &[(&str, Vec<u8>)]) -> Case {
        let folder = tempfile::tempdir().unwrap();
        copy(
            &repository().join("crates/app/tests/data/packages").join(name),
            &folder.path().join("app"),
        );
        let case = Case { folder };
        models.iter().for_each(|(path, bytes)| case.write(&format!("app/{path}"), bytes));
        case
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    fn rank(
        &self,
        profile: &str,
        query: &Value,
        documents: &[Value],
        more: &[&str],
    ) -> (Value, String) {
        self.write("q.json", query.to_string().as_bytes());
        let lines: Vec<String> = documents.iter().map(ToString::to_string).collect();
        self.write("docs.jsonl", lines.join("\n").as_bytes());
        let path = |name: &str| self.folder.path().join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["rank", "--json", "--profile", profile, "--query"])
            .arg(path("q.json"))
            .arg("--docs")
            .arg(path("docs.jsonl"))
            .arg(path("app"))
            .args(more)
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        (serde_json::from_slice(&output.stdout).unwrap(), errors)
    }
}

/// The ids and scores of hits.
fn scores(answer: &Value) -> Vec<(&str, f64)> {
    let score = |hit: &'_ Value| hit["relevance"].as_f64().unwrap();
    let hits = answer["hits"].as_array().unwrap();
    hits.iter().map(|hit| (hit["id"].as_str().unwrap(), score(hit))).collect()
}

fn floats(name: &str, output: &[&str]) -> (String, ValueType) {
    (name.to_owned(), ValueType::tensor(DType::F32, Some(dims_of(output))))
}

#[test]
fn inputs_bound_to_the_query_and_to_the_document() {
    let (name, kind) = floats("output_0", &["batch", "16"]);
    let product = ModelBuilder::new(17)
        .input("input_0", DType::F32, &["1", "16"])
        .input("input_1", DType::F32, &["batch", "16"])
        .node("Mul", &["input_0", "input_1"], &["output_0"])
        .output_of(&name, kind)
        .bytes();
    let case = Case::of_package("bound", &[("files/my_model.onnx", product)]);
    let user: Vec<f64> = (0..16).map(f64::from).collect();
    let of = |id: &str, scale: f64| {
        let vector: Vec<f64> = (0..16).map(|x| scale * f64::from(x % 3)).collect();
        let score: f64 = user.iter().zip(&vector).map(|(a, b)| a * b).sum();
        (json!({"put": format!("id:t:my_doc::{id}"), "fields": {"my_doc_field": [vector]}}), score)
    };
    let (a, score_a) = of("a", 0.5);
    let (b, score_b) = of("b", 2.0);
    let query = json!({"input.query(my_query_input)": [user]});
    let (answer, errors) = case.rank("my_profile", &query, &[a, b], &["--schema", "my_doc"]);
    assert_eq!(scores(&answer), [("id:t:my_doc::b", score_b), ("id:t:my_doc::a", score_a)]);
    assert_eq!(errors, "");
}

#[test]
fn a_model_that_takes_the_output_of_another() {
    let (name, kind) = floats("hidden", &["n", "16"]);
    let tower = ModelBuilder::new(17)
        .input("features", DType::F32, &["n", "16"])
        .node("Relu", &["features"], &["hidden"])
        .output_of(&name, kind)
        .bytes();
    let (name, kind) = floats("score:0", &["n", "1"]);
    let head = ModelBuilder::new(17)
        .input("user.vector", DType::F32, &["n", "8"])
        .input("hidden", DType::F32, &["n", "16"])
        .init("axis", Tensor::from_slice(&[1_i64], &[1]).unwrap())
        .node("Concat", &["user.vector", "hidden"], &["all"])
        .attr("axis", 1)
        .node("ReduceSum", &["all", "axis"], &["score:0"])
        .attr("keepdims", 1)
        .output_of(&name, kind)
        .bytes();
    let case = Case::of_package("chain", &[("files/tower.onnx", tower), ("files/head.onnx", head)]);
    let of = |id: &str, begin: i32| {
        let features: Vec<i32> = (begin..begin + 16).collect();
        let positive: i32 = features.iter().filter(|x| **x > 0).sum();
        let document =
            json!({"put": format!("id:t:item::{id}"), "fields": {"features": [features]}});
        (document, f64::from(begin + 15), f64::from(positive))
    };
    let user = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.5];
    let (low, low_max, low_sum) = of("low", -8);
    let (high, high_max, high_sum) = of("high", -2);
    let query = json!({"ranking.features.query(user)": [user]});
    let documents = [low, high];
    let (answer, _) = case.rank("chained", &query, &documents, &[]);
    let of_user: f64 = user.iter().sum();
    assert_eq!(
        scores(&answer),
        [("id:t:item::high", of_user + high_sum), ("id:t:item::low", of_user + low_sum)]
    );
    let hits = &answer["hits"];
    assert_eq!(
        (&hits[0]["firstPhase"], &hits[1]["firstPhase"]),
        (&json!(high_max), &json!(low_max))
    );
    let (explained, _) = case.rank("chained", &query, &documents, &["--explain"]);
    let values = explained["explained"]["values"].as_array().unwrap();
    let of = |name: &str| values.iter().find(|v| v["name"] == name).unwrap();
    // The first phase computes the tower for both documents, and nobody after it does so again.
    assert_eq!(of("onnx(tower).hidden")["documents"], 2);
    assert_eq!(of("onnx(head).score")["documents"], 2);
    assert!(!of("onnx(head).score")["notes"].as_array().unwrap().is_empty());
    let hidden = &hits[1]["matchfeatures"]["document_part"];
    assert_eq!(hidden["type"], "tensor<float>(d0[1],d1[16])");
    assert_eq!(hidden["values"][0][15], 7.0);
}

#[test]
fn a_model_reads_the_tokens_of_query_and_document() {
    let ids = ["batch", "length"];
    let (name, kind) = floats("output_0", &["batch", "1"]);
    let sum = ModelBuilder::new(17)
        .input("input_0", DType::I64, &ids)
        .input("input_1", DType::I64, &ids)
        .init("axis", Tensor::from_slice(&[1_i64], &[1]).unwrap())
        .node("Mul", &["input_0", "input_1"], &["seen"])
        .node("ReduceSum", &["seen", "axis"], &["sum"])
        .attr("keepdims", 1)
        .node("Cast", &["sum"], &["output_0"])
        .attr("to", 1)
        .output_of(&name, kind)
        .bytes();
    let case = Case::of_package("reranker", &[("files/my_model.onnx", sum)]);
    let padded = |tokens: &[u32], length: usize| {
        let mut cells = tokens.to_vec();
        cells.resize(length, 0);
        cells
    };
    let document = |id: u32, tokens: &[u32]| json!({"put": format!("id:t:my_document::{id}"), "fields": {"text_tokens": padded(tokens, 256)}});
    // More than the second phase takes.
    let documents: Vec<Value> = (0..12).map(|id| document(id, &[1000 + id, 7])).collect();
    let query = json!({"input.query(query_tokens)": padded(&[2000, 3000], 32)});
    let (answer, errors) = case.rank("my_profile", &query, &documents, &["--hits", "12"]);
    // [CLS] query [SEP] document [SEP]
    let score = |id: u32| f64::from(101 + 2000 + 3000 + 102 + 1000 + id + 7 + 102);
    let found = scores(&answer);
    // The first phase is the same for all, so that the first ten documents are taken.
    let expected: Vec<(String, f64)> =
        (0..10).rev().map(|id| (format!("id:t:my_document::{id}"), score(id))).collect();
    let found: Vec<(String, f64)> = found.iter().map(|(id, s)| ((*id).to_owned(), *s)).collect();
    assert_eq!(found[..10], expected);
    assert!(found[10..].iter().all(|(_, s)| *s == 0.0));
    assert_eq!(
        errors,
        "note: closeness(field,text_embedding) is 0 for every document: there is no index and there are no terms of a query where documents are ranked from a file; yql with nearestNeighbor(field, name) gives it a value\n"
    );
}

#[test]
fn trees_take_functions_and_missing_values() {
    let case = Case { folder: tempfile::tempdir().unwrap() };
    let schema = "schema doc {
  document doc {
    field a type double { indexing: attribute }
    field b type double { indexing: attribute }
  }
  rank-profile trees {
    function f1() { expression: attribute(a) }
    function f2() { expression: attribute(b) }
    first-phase { expression: xgboost(\"trees.json\") }
    second-phase { expression: xgboost(\"trees.json\") * 2 }
    match-features: xgboost(\"trees.json\") f1
  }
}";
    let services = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
        <documents><document type='doc' mode='index'/></documents></content></services>";
    case.write("app/schemas/doc.sd", schema.as_bytes());
    case.write("app/services.xml", services.as_bytes());
    let trees = repository().join("crates/trees/tests/data/vespa/xgboost/xgboost.test.json");
    case.write("app/models/trees.json", &fs::read(trees).unwrap());
    // The scores of Vespa's own test of this file.
    let cases = [
        (json!({"a": 0, "b": 0}), 1.0),
        (json!({"a": 0, "b": 1}), 2.0),
        (json!({"a": 1, "b": 0}), 3.0),
        (json!({"a": 1, "b": 1}), 4.0),
        (json!({"a": 0}), 5.0),
        (json!({"a": 1}), 6.0),
        (json!({"b": 0}), 7.0),
        (json!({"b": 1}), 9.0),
        (json!({}), 11.0),
    ];
    let documents: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(at, (fields, _))| json!({"put": format!("id:t:doc::{at}"), "fields": fields}))
        .collect();
    let (answer, _) = case.rank("trees", &json!({}), &documents, &[]);
    let expected: Vec<(String, f64)> =
        (0..9).rev().map(|at| (format!("id:t:doc::{at}"), cases[at].1 * 2.0)).collect();
    let found: Vec<(String, f64)> =
        scores(&answer).iter().map(|(id, s)| ((*id).to_owned(), *s)).collect();
    assert_eq!(found, expected);
    assert_eq!(answer["hits"][0]["matchfeatures"]["xgboost(\"trees.json\")"], 11.0);
    assert_eq!(answer["hits"][0]["matchfeatures"]["f1"], "NaN");
}
