//! Models of application packages that ONNX Runtime evaluates: in rank profiles, for `model-evaluation` and KServe, and of embedders.
//!
//! With the feature `onnxruntime` these tests need the library of the wheel in `target/py/onnx`; `cargo xtask test` installs
//! it and sets `STEAD_TEST_DATA`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic is the report

use std::path::Path;

use stead_onnx::{ModelBuilder, ValueType, Weights, dims_of};
use stead_tensor::{DType, Tensor};

use crate::server::{Server, package, stead};

const SIZE: usize = 16;

/// The squared distance of `a` and twice `b`, by an operator that stead has not. Nothing tells the sizes of the output, and the weights lie
/// beside the file.
fn write_distance(path: &Path) {
    let twice: Vec<f32> =
        (0..SIZE * SIZE).map(|at| if at % (SIZE + 1) == 0 { 2.0 } else { 0.0 }).collect();
    let model = ModelBuilder::new(17)
        .import("com.microsoft", 1)
        .input("a", DType::F32, &["m", "16"])
        .input("b", DType::F32, &["n", "16"])
        .init("w", Tensor::from_slice(&twice, &[SIZE, SIZE]).unwrap())
        .node("MatMul", &["b", "w"], &["h"])
        .node("CDist", &["a", "h"], &["distance"])
        .domain("com.microsoft")
        .attr("metric", "sqeuclidean")
        .output("distance", DType::F32)
        .build()
        .unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    model.write(path, Weights::Beside).unwrap();
    assert!(path.with_extension("onnx.data").exists());
}

/// A model of texts whose vectors are the ids; the last axis is made by an operator of ONNX, or by one that stead has not.
fn ids(is_own: bool) -> Vec<u8> {
    let (kind, dims) = (DType::F32, Some(dims_of(&["batch", "length", "1"])));
    let model = ModelBuilder::new(17)
        .import("com.microsoft", 1)
        .input("input_ids", DType::I64, &["batch", "length"])
        .input("attention_mask", DType::I64, &["batch", "length"])
        .node("Mul", &["input_ids", "attention_mask"], &["seen"])
        .node("Cast", &["seen"], &["cells"])
        .attr("to", 1);
    let model = match is_own {
        true => model.init("axis", Tensor::from_slice(&[2_i64], &[1]).unwrap()).node(
            "Unsqueeze",
            &["cells", "axis"],
            &["last_hidden_state"],
        ),
        false => model
            .init("axis", Tensor::from_slice(&[2_i32], &[]).unwrap())
            .node("ExpandDims", &["cells", "axis"], &["last_hidden_state"])
            .domain("com.microsoft"),
    };
    model.output_of("last_hidden_state", ValueType::tensor(kind, dims)).bytes()
}

const TOKENIZER: &str = include_str!("../../embed/tests/data/tokenizer.json");

const SCHEMA: &str = "schema d {
  document d { field v type tensor<float>(d0[1],d1[16]) { indexing: attribute } }
  onnx-model distance {
    file: models/distance.onnx
    input a: query(q)
    input b: attribute(v)
    backend: onnxruntime
  }
  rank-profile far {
    inputs { query(q) tensor<float>(d0[1],d1[16]) }
    first-phase { expression: sum(onnx(distance).distance) }
  }
}";

const EVALUATION: &str = "<model-evaluation><onnx><models><model name='distance'><backend>onnxruntime</backend></model></models></onnx></model-evaluation>";

/// An embedder, and what evaluates its model.
fn embedder(id: &str, more: &str) -> String {
    format!(
        "<component id='{id}' type='hugging-face-embedder'><transformer-model path='files/{id}.onnx'/>\
         <tokenizer-model path='files/tokenizer.json'/>{more}</component>"
    )
}

/// A package with the distance, in a schema or without one.
fn app(container: &str, schema: Option<&str>) -> tempfile::TempDir {
    let content = match schema {
        Some(_) => {
            "<content id='c' version='1.0'><documents><document type='d' mode='index'/></documents></content>"
        }
        None => "",
    };
    let services = format!(
        "<services version='1.0'><container id='front' version='1.0'><search/><document-api/>{container}</container>{content}</services>"
    );
    let mut files = vec![("services.xml", services.as_str()), ("files/tokenizer.json", TOKENIZER)];
    files.extend(schema.map(|text| ("schemas/d.sd", text)));
    let app = package(&files);
    write_distance(&app.path().join("models/distance.onnx"));
    for (name, is_own) in [("own", true), ("other", false)] {
        std::fs::write(app.path().join(format!("files/{name}.onnx")), ids(is_own)).unwrap();
    }
    app
}

#[test]
fn without_the_library_such_packages_are_refused_by_the_name_of_the_model() {
    let what_to_do = match cfg!(feature = "onnxruntime") {
        true => "the library of ONNX Runtime is not known: name it with --onnxruntime_library",
        false => "this stead was built without ONNX Runtime: build it with `cargo build",
    };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let other = embedder("other", "<onnx-backend>onnxruntime</onnx-backend>");
    for (container, schema, name) in [
        ("", Some(SCHEMA), "onnx-model distance: backend onnxruntime: "),
        (EVALUATION, None, "model distance cannot be loaded: backend onnxruntime: "),
        (
            other.as_str(),
            None,
            "embedder other cannot be loaded: files/other.onnx: backend onnxruntime: ",
        ),
    ] {
        let app = app(container, schema);
        let path = app.path().to_str().unwrap();
        let output = stead(&["deploy", path, "--target", &server.deploy]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name}");
        assert!(told.contains(&format!("{name}{what_to_do}")), "{told}");
        if schema.is_some() {
            let output = stead(&["check", path]);
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(told.contains(&format!("d.sd:3:14: {name}{what_to_do}")), "{told}");
        }
    }
}

#[cfg(feature = "onnxruntime")]
mod with_library {
    use super::*;
    use crate::server::library::onnxruntime;
    use serde_json::{Value, json};

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    }

    #[test]
    fn profiles_evaluations_and_embedders_compute_with_operators_that_only_it_has() {
        let Some(library) = onnxruntime() else { return };
        let container = [
            EVALUATION,
            &embedder("own", ""),
            &embedder("other", "<onnx-backend>onnxruntime</onnx-backend>"),
        ]
        .concat();
        let app = app(&container, Some(SCHEMA));
        let flags = ["--onnxruntime_library", &library, "--threads", "2"];
        let server = Server::of_package_with(app.path(), &flags);

        // Ranking: more documents than threads.
        let vector = |scale: f64| (0..SIZE).map(|x| scale * x as f64).collect::<Vec<_>>();
        let query = vector(1.0);
        let expected = |scale: f64| -> f64 {
            query.iter().zip(vector(scale)).map(|(a, b)| (a - 2.0 * b).powi(2)).sum()
        };
        let scales = [0.0, 0.25, 0.5, 1.0, 2.0, -1.0];
        for (number, scale) in scales.iter().enumerate() {
            let body = json!({"fields": {"v": {"values": vector(*scale)}}}).to_string();
            let path = format!("/document/v1/n/d/docid/{number}");
            let (status, told) = server.request("POST", &path, &body);
            assert_eq!(status, 200, "{told}");
        }
        let body = json!({"yql": "select * from d where true", "ranking": "far",
            "input.query(q)": json!([query]).to_string()});
        let (status, found) = server.request("POST", "/search/", &body.to_string());
        assert_eq!(status, 200, "{found}");
        let hits = found["root"]["children"].as_array().unwrap_or_else(|| panic!("{found}"));
        let got: Vec<f64> = hits.iter().filter_map(|hit| hit["relevance"].as_f64()).collect();
        let mut wanted: Vec<f64> = scales.iter().map(|scale| expected(*scale)).collect();
        wanted.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(got, wanted, "{found}");

        // The same model for whoever asks, by two protocols.
        let (a, b) = (vector(1.0), vector(0.25));
        let body = json!({"a": [a], "b": [b]}).to_string();
        let path = "/model-evaluation/v1/distance/eval?format.tensors=short-value";
        let (status, found) = server.request("POST", path, &body);
        assert_eq!((status, &found), (200, &json!([[expected(0.25)]])), "{found}");
        let (_, metadata) = server.request("GET", "/v2/models/distance", "");
        assert_eq!(metadata["platform"], "onnxruntime_onnx", "{metadata}");
        let input = |name: &str, data: &[f64]| json!({"name": name, "datatype": "FP32", "shape": [1, SIZE], "data": data});
        let body = json!({"inputs": [input("a", &a), input("b", &b)]}).to_string();
        let (status, found) = server.request("POST", "/v2/models/distance/infer", &body);
        assert_eq!(status, 200, "{found}");
        assert_eq!(numbers(&found["outputs"][0]["data"]), [expected(0.25)], "{found}");
        let wrong = body.replace("[1,16]", "[16,1]");
        let (status, found) = server.request("POST", "/v2/models/distance/infer", &wrong);
        assert_eq!(status, 400, "{found}");

        // Texts of several lengths, which share runs.
        let embed = |id: &str| {
            let texts = ["a", "a ranking model", "to be or not to be", "the model"];
            let body = json!({"inputs": texts, "embedder": id}).to_string();
            let (status, found) = server.request("POST", "/embed", &body);
            assert_eq!(status, 200, "{found}");
            found.as_array().unwrap().iter().map(numbers).collect::<Vec<_>>()
        };
        let own = embed("own");
        assert!(own.len() == 4 && own.iter().flatten().all(|cell| *cell > 0.0), "{own:?}");
        assert_eq!(embed("other"), own);
    }

    #[test]
    fn documents_of_a_file_are_ranked_by_the_library_of_the_environment() {
        let Some(library) = onnxruntime() else { return };
        let app = app("", Some(SCHEMA));
        let query = json!({"input.query(q)": [vec![1.0; SIZE]]});
        let document = json!({"put": "id:n:d::0", "fields": {"v": {"values": vec![1.0; SIZE]}}});
        let write = |name: &str, value: &Value| {
            let path = app.path().join(name);
            std::fs::write(&path, value.to_string()).unwrap();
            path
        };
        let rank = |more: &str| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stead"));
            command.args(["rank", more, "--profile", "far", "--query"]);
            command.arg(write("q.json", &query)).arg("--docs").arg(write("d.json", &document));
            command.arg(app.path()).env("ORT_DYLIB_PATH", &library).output().unwrap()
        };
        let output = rank("--json");
        assert!(output.status.success(), "{output:?}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["hits"][0]["relevance"], json!(16.0), "{found}");
        let output = rank("--explain");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("one document a run: backend onnxruntime computes it"), "{told}");
    }
}
