//! `/model-evaluation/v1/` as a user meets it: the example, packages with models of every kind, and what is wrong.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

use crate::server::{Server, package, stead};

const API: &str = "/model-evaluation/v1";

const SERVICES: &str = "<services version='1.0'><container id='c' version='1.0'><model-evaluation/></container></services>";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/model-evaluation")
}

/// What the server answers below the path of the API.
fn asked(
    server: &Server,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> (u16, String, String) {
    server.exchange(method, &format!("{API}{path}"), headers, body)
}

fn get(server: &Server, path: &str) -> (u16, Value) {
    // Quotes are no part of a URL.
    let (status, head, body) = asked(server, "GET", &path.replace('"', "%22"), "", b"");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}")))
}

fn post(server: &Server, path: &str, kind: &str, body: &str) -> (u16, Value) {
    let headers = format!("Content-Type: {kind}\r\n");
    let (status, _, body) = asked(server, "POST", path, &headers, body.as_bytes());
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}")))
}

/// A text as a value in a URL.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn close(found: &Value, expected: &Value, label: &str) {
    let (found, expected) = (numbers(found), numbers(expected));
    assert_eq!(found.len(), expected.len(), "{label}");
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-5, "{label}: {found:?} {expected:?}");
    }
}

#[test]
fn the_example_gives_what_onnx_runtime_gives() {
    let expected = std::fs::read_to_string(example().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let data = tempfile::tempdir().unwrap();
    let deployed = Server::start(data.path());
    assert_eq!(get(&deployed, "/").0, 404, "nothing is deployed yet");
    deployed.deploy(&example().join("app"));
    for server in [Server::of_package(&example().join("app")), deployed] {
        let base = format!("{}{API}", server.query);
        let models = json!({
            "pairwise_ranker": format!("{base}/pairwise_ranker"),
            "transformer": format!("{base}/transformer"),
        });
        assert_eq!(get(&server, ""), (200, models.clone()));
        assert_eq!(get(&server, "/"), (200, models));
        let output = json!({
            "function": "output",
            "info": format!("{base}/transformer/output"),
            "eval": format!("{base}/transformer/output/eval"),
            "arguments": [
                {"name": "input", "type": "tensor(d0[],d1[])"},
                {"name": "onnxModel(transformer).output", "type": "tensor<float>(d0[],d1[],d2[16])"},
            ],
        });
        let model = json!({"model": "transformer", "functions": [output]});
        assert_eq!(get(&server, "/transformer"), (200, model));
        let mut function = output.clone();
        function["model"] = json!("transformer");
        assert_eq!(get(&server, "/transformer/output/"), (200, function));

        let form = "application/x-www-form-urlencoded";
        let literal = encoded("{{d0:0,d1:0}:1,{d0:0,d1:1}:2,{d0:0,d1:2}:3}");
        for (way, (status, found)) in [
            ("GET", get(&server, &format!("/transformer/eval?input={literal}"))),
            ("GET of a function", get(&server, "/transformer/output/eval?input=[[1,2,3]]")),
            ("other capitals", get(&server, "/Transformer/OUTPUT/eval?INPUT=[[1,2,3]]")),
            ("a signature", get(&server, "/transformer/default/output/eval?input=[[1,2,3]]")),
            ("form", post(&server, "/transformer/eval", form, &format!("input={literal}&x=1"))),
            (
                "JSON",
                post(&server, "/transformer/eval", "application/json", "{\"input\": [[1,2,3]]}"),
            ),
            ("JSON by curl -d", post(&server, "/transformer/eval", form, "{\"input\": [[1,2,3]]}")),
        ] {
            assert_eq!(
                (status, &found["type"]),
                (200, &json!("tensor<float>(d0[1],d1[3],d2[16])")),
                "{way}: {found}"
            );
            close(&found["values"], &expected["output"], way);
        }
        let pair = std::fs::read_to_string(example().join("pair.json")).unwrap();
        let path = "/pairwise_ranker/eval?format.tensors=short-value";
        let (status, found) = post(&server, path, "application/json", &pair);
        assert_eq!(status, 200, "{found}");
        close(&found, &expected["doc1 above doc2"], "pair");

        // The same models for clients of other protocols.
        let (status, found) =
            server.request("POST", "/v1/models/transformer:predict", r#"{"instances": [[1,2,3]]}"#);
        assert_eq!(status, 200, "{found}");
        close(&found["predictions"], &expected["output"], "TensorFlow Serving");
        let infer = json!({"inputs": [{"name": "input", "datatype": "INT32", "shape": [1, 3], "data": [1, 2, 3]}]});
        let (status, found) =
            server.request("POST", "/v2/models/transformer/infer", &infer.to_string());
        assert_eq!(status, 200, "{found}");
        close(&found["outputs"][0]["data"], &expected["output"], "KServe");

        let metrics = server.text("/metrics");
        let counted = "stead_component_calls_succeeded{component=\"transformer\",kind=\"model-evaluation\"} 7";
        assert!(metrics.contains(counted), "{metrics}");
    }
}

const TREE: &str = r#"[{"nodeid": 0, "split": "age", "split_condition": 0.5, "yes": 1, "no": 2,
    "missing": 1, "children": [{"nodeid": 1, "leaf": -1.5}, {"nodeid": 2, "leaf": 2.0}]}]"#;

const LIGHTGBM: &str = r#"{"name": "tree", "version": "v3", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0,
    "max_feature_idx": 1, "objective": "regression", "average_output": false, "feature_names": ["size", "colour"],
    "feature_infos": {"size": {"min_value": 0, "max_value": 1, "values": []}, "colour": {"min_value": 0, "max_value": 1, "values": [0, 1]}},
    "tree_info": [{"tree_index": 0, "num_leaves": 2, "num_cat": 1, "shrinkage": 1, "tree_structure": {
        "split_index": 0, "split_feature": 1, "split_gain": 1, "threshold": "0", "decision_type": "==", "default_left": false,
        "missing_type": "None", "internal_value": 0, "internal_weight": 0, "internal_count": 2,
        "left_child": {"leaf_index": 0, "leaf_value": 1.25, "leaf_weight": 1, "leaf_count": 1},
        "right_child": {"leaf_index": 1, "leaf_value": -0.5, "leaf_weight": 1, "leaf_count": 1}}}],
    "pandas_categorical": [["red", "blue"]]}"#;

const FUNCTIONS: &str = "model f {
    inputs { v: tensor(x[3]) m: tensor(k{}) }
    constants { w: 3.0 }
    function scaled() { expression: v * w + n }
    function mapped() { expression: m + 1 }
}";

/// A package with models of every kind.
fn models() -> tempfile::TempDir {
    let app = package(&[
        ("services.xml", SERVICES),
        ("models/deep/tree.1.json", TREE),
        ("models/light.json", LIGHTGBM),
        ("models/f.model", FUNCTIONS),
        ("models/tokenizer.json", "{\"model\": {}}"),
    ]);
    let row = |dtype| ValueType::tensor(dtype, Some(dims_of(&["n"])));
    let sums = ModelBuilder::new(17)
        .input("a/1", DType::F32, &["n"])
        .input("b", DType::I64, &["n"])
        .node("Cast", &["b"], &["c"])
        .attr("to", 1)
        .node("Add", &["a/1", "c"], &["sum:0"])
        .output_of("sum:0", row(DType::F32))
        .node("Mul", &["a/1", "c"], &["product"])
        .output_of("product", row(DType::F32));
    let texts = ModelBuilder::new(17)
        .input("words", DType::String, &["n", "2"])
        .init("shape", Tensor::from_slice(&[-1_i64], &[1]).unwrap())
        .node("Reshape", &["words", "shape"], &["flat"])
        .output_of("flat", row(DType::String));
    for (name, model) in [("sums", sums.bytes()), ("Texts", texts.bytes())] {
        std::fs::write(app.path().join(format!("models/{name}.onnx")), model).unwrap();
    }
    app
}

#[test]
fn models_of_every_kind_are_served() {
    let app = models();
    let server = Server::of_package(app.path());
    let (_, listed) = get(&server, "");
    let names: Vec<&String> = listed.as_object().unwrap().keys().collect();
    assert_eq!(names, ["Texts", "deep_tree_1", "f", "light", "sums"]);
    let arguments = |path: &str| {
        let (status, told) = get(&server, path);
        assert_eq!(status, 200, "{told}");
        let one = |argument: &Value| {
            format!("{} {}", argument["name"].as_str().unwrap(), argument["type"].as_str().unwrap())
        };
        told["arguments"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    for (path, expected) in [
        ("/deep_tree_1/deep_tree_1", &["age tensor()"][..]),
        ("/light/light", &["colour tensor()"]),
        ("/f/scaled", &["n tensor()", "v tensor(x[3])"]),
        ("/f/mapped", &["m tensor(k{})"]),
        (
            "/sums/product",
            &[
                "a_1 tensor<float>(d0[])",
                "b tensor(d0[])",
                "onnxModel(sums).product tensor<float>(d0[])",
            ],
        ),
        (
            "/texts/flat",
            &["onnxModel(Texts).flat tensor<string>(d0[])", "words tensor<string>(d0[],d1[2])"],
        ),
    ] {
        assert_eq!(arguments(path), expected, "{path}");
    }
    let number = |value: f64| json!({"type": "tensor()", "values": [value]});
    for (path, expected) in [
        ("/deep_tree_1/eval", number(-1.5)),
        ("/deep_tree_1/eval?age=0.7", number(2.0)),
        ("/deep_tree_1/eval?missing-value=0.7&other=x", number(2.0)),
        ("/light/eval?colour=red", number(1.25)),
        ("/light/eval?colour=blue", number(-0.5)),
        ("/light/eval?colour=mauve", number(-0.5)),
        (
            "/f/scaled/eval?v=[1,2,3]&n=0.5",
            json!({"type": "tensor(x[3])", "values": [3.5, 6.5, 9.5]}),
        ),
        (
            "/f/scaled/eval?v=[1,2,3]&missing-value=1&format.tensors=long-value",
            json!([
                {"address": {"x": "0"}, "value": 4.0},
                {"address": {"x": "1"}, "value": 7.0},
                {"address": {"x": "2"}, "value": 10.0},
            ]),
        ),
        ("/f/mapped/eval?m=%7Ba:1%7D", json!({"type": "tensor(k{})", "cells": {"a": 2.0}})),
        (
            "/sums/sum_0/eval?a_1=[1,2]&b=[3,4]",
            json!({"type": "tensor<float>(d0[2])", "values": [4.0, 6.0]}),
        ),
        (
            "/sums/product/eval?a_1=[1,2]&b=[3,4]&format.tensors=hex-value",
            json!("4040000041000000"),
        ),
        (
            "/texts/eval?words=[[\"a\",\"b%20c\"]]",
            json!({"type": "tensor<string>(d0[2])", "values": ["a", "b c"]}),
        ),
    ] {
        assert_eq!(get(&server, path), (200, expected), "{path}");
    }
    let (status, head, body) =
        asked(&server, "GET", "/f/mapped/eval?m=%7Ba:1%7D&format.tensors=string", "", b"");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!((status, body.as_str()), (200, "tensor(k{}):{a:2.0}"));

    let json = "application/json";
    for (path, body, expected) in [
        (
            "/sums/sum_0/eval",
            json!({"a_1": "3F800000", "b": {"type": "tensor(d0[1])", "cells": [{"address": {"d0": 0}, "value": 4}]}}),
            json!({"type": "tensor<float>(d0[1])", "values": [5.0]}),
        ),
        (
            "/f/scaled/eval",
            json!({"v": "{{x:0}:1,{x:2}:3}", "missing-value": 0, "format.tensors": "short-value"}),
            json!([3.0, 0.0, 9.0]),
        ),
        ("/light/eval", json!({"colour": "red"}), number(1.25)),
        (
            "/Texts/eval",
            json!({"words": [["a", "b"], ["c", "\u{e9}"]], "format.tensors": "short-value"}),
            json!(["a", "b", "c", "\u{e9}"]),
        ),
    ] {
        assert_eq!(post(&server, path, json, &body.to_string()), (200, expected), "{path} {body}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let app = models();
    let server = Server::of_package(app.path());
    let known = "Available models: Texts, deep_tree_1, f, light, sums";
    let bound = |name: &str, kind: &str| {
        format!("Argument '{name}' must be bound to a value of type {kind}")
    };
    for (path, status, text) in [
        ("/none", 404, format!("No model named 'none'. {known}")),
        ("/none/f/eval", 404, format!("No model named 'none'. {known}")),
        ("/..%2f..%2fetc%2fpasswd/eval", 404, format!("No model named '../../etc/passwd'. {known}")),
        (
            "/sums/eval",
            404,
            "More than one function is available in model 'sums', but no name is given. Available functions: sum_0, product".to_owned(),
        ),
        ("/sums/x", 404, "No function 'x' in model 'sums'. Available functions: sum_0, product".to_owned()),
        (
            "/sums/a/b/c/eval",
            404,
            "No more than 2 names can be given when choosing a function, got [a, b, c]".to_owned(),
        ),
        ("/sums/sum_0/eval", 400, bound("a_1", "tensor<float>(d0[])")),
        ("/sums/sum_0/eval?a_1=[1]", 400, bound("b", "tensor(d0[])")),
        ("/sums/sum_0/eval?a_1=[1]&missing-value=5", 400, bound("b", "tensor(d0[])")),
        (
            "/sums/sum_0/eval?a_1=[[1]]&b=[1]",
            400,
            bound("a_1", "tensor<float>(d0[])") + ": expected brackets of tensor<float>(d0[1]), found sizes [1, 1]",
        ),
        (
            "/sums/sum_0/eval?a_1=[1]&b=[1.5]",
            400,
            "model sums cannot take the input b: 1.5 is no i64".to_owned(),
        ),
        (
            "/deep_tree_1/eval?age=old",
            400,
            bound("age", "tensor()") + ": \"old\" is no number; a text stands in quotes of its own",
        ),
        ("/deep_tree_1/eval?format.tensors=nice", 400, "Unknown tensor format 'nice'".to_owned()),
        ("/texts/eval", 400, bound("words", "tensor<string>(d0[],d1[2])")),
        (
            "/texts/eval?words=[[\"a\",\"b\"]]&format.tensors=hex",
            400,
            "texts are not written as hexadecimal digits".to_owned(),
        ),
        ("/deep_tree_1/eval?age=%ff", 400, "the parameters are not UTF-8".to_owned()),
        ("/%ff", 400, "the path is not UTF-8".to_owned()),
    ] {
        assert_eq!(get(&server, path), (status, json!({"error": text})), "{path}");
    }
    let sums = "/sums/sum_0/eval";
    for (kind, body, text) in [
        (
            "application/json",
            "{\"a_1\": [1], \"c\": 1}",
            "Function 'sum_0' has no argument 'c'. Its arguments: a_1, b",
        ),
        ("application/json", "[1]", "the body is no JSON object of arguments"),
        ("application/json", "{\"a_1\": ", "the body is no JSON object of arguments"),
        ("text/csv", "a_1", "a body of text/csv is not read"),
        ("application/x-www-form-urlencoded", "a_1=%f", "the parameters are not UTF-8"),
    ] {
        let (status, told) = post(&server, sums, kind, body);
        let told = told["error"].as_str().unwrap();
        assert!(status == 400 && told.starts_with(text), "{status} {told}");
    }
    for method in ["PUT", "DELETE", "PATCH"] {
        let (status, _, body) = asked(&server, method, "/sums", "", b"");
        assert_eq!(status, 405, "{method} {body}");
    }

    // Megabytes of one text, of brackets, of names and of numbers.
    let long = "x".repeat(10 << 20);
    let deep = "[".repeat(10 << 20);
    let cells = format!("[{}1]", "1,".repeat(5 << 20));
    for (kind, body, status, text) in [
        (
            "application/x-www-form-urlencoded",
            format!("a_1={long}"),
            400,
            "Argument 'a_1' must be bound",
        ),
        (
            "application/x-www-form-urlencoded",
            format!("a_1={deep}"),
            400,
            "Argument 'a_1' must be bound",
        ),
        ("application/x-www-form-urlencoded", long.clone(), 400, "Argument 'a_1' must be bound"),
        ("application/json", format!("{{\"a_1\": {deep}"), 400, "the body is no JSON object"),
        (
            "application/json",
            format!("{{\"a_1\": \"{long}\"}}"),
            400,
            "Argument 'a_1' must be bound",
        ),
        (
            "application/json",
            format!("{{\"{long}\": 1}}"),
            400,
            "Function 'sum_0' has no argument 'xxx",
        ),
    ] {
        let (found, told) = post(&server, sums, kind, &body);
        let told = told["error"].as_str().unwrap();
        assert!(
            found == status && told.starts_with(text) && told.len() < 500,
            "{found} {told:.300}"
        );
    }
    let body = format!("{{\"v\": {cells}, \"n\": 1}}");
    let text = bound("v", "tensor(x[3])") + ": tensor(x[3]) needs 3 cells in a block, got 5242881";
    let found = post(&server, "/f/scaled/eval", "application/json", &body);
    assert_eq!(found, (400, json!({"error": text})));
    let (status, told) = get(&server, "/deep_tree_1/eval?age=1");
    assert_eq!((status, &told["values"]), (200, &json!([2.0])), "it goes on");
}

#[test]
fn without_the_element_there_is_no_such_path() {
    let services = SERVICES.replace("<model-evaluation/>", "");
    let app = package(&[("services.xml", &services), ("models/t.json", TREE)]);
    let server = Server::of_package(app.path());
    for path in ["", "/", "/t", "/t/eval"] {
        assert_eq!(get(&server, path), (404, json!({"error": "Invalid request URL"})), "{path}");
    }
}

#[test]
fn another_package_brings_other_models() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    server.deploy(models().path());
    assert_eq!(get(&server, "/deep_tree_1/eval?age=1").0, 200);
    assert_eq!(server.request("GET", "/v2/models/sums", "").0, 200);
    let other = TREE.replace("2.0", "7.0");
    server
        .deploy(package(&[("services.xml", SERVICES), ("models/deep/tree.1.json", &other)]).path());
    let (status, told) = get(&server, "/deep_tree_1/eval?age=1");
    assert_eq!((status, &told["values"]), (200, &json!([7.0])));
    assert_eq!(get(&server, "/sums").0, 404);
    assert_eq!(server.request("GET", "/v2/models/sums", "").0, 404);
}

#[test]
fn settings_of_models_are_checked() {
    let of = |settings: &str| {
        let models = format!(
            "<onnx><models><model name='sums'>{settings}</model><model name='gone'/></models></onnx>"
        );
        let element = format!("<model-evaluation>{models}</model-evaluation>");
        SERVICES.replace("<model-evaluation/>", &element)
    };
    let app = models();
    let checked = |services: &str| {
        std::fs::write(app.path().join("services.xml"), services).unwrap();
        let data = tempfile::tempdir().unwrap();
        let server = Server::start(data.path());
        let told = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
        let text = [told.stdout, told.stderr].concat();
        (told.status.success(), String::from_utf8(text).unwrap())
    };
    for (settings, is_good, text) in [
        (
            "<intraop-threads>1</intraop-threads><interop-threads>2</interop-threads><execution-mode>parallel</execution-mode>",
            true,
            "prepared and activated",
        ),
        ("<gpu-device>0</gpu-device>", true, "gpu-device is not used: models run on CPUs"),
        (
            "<execution-mode>fast</execution-mode>",
            false,
            "execution-mode must be parallel or sequential, found fast",
        ),
        (
            "<intraop-threads>all</intraop-threads>",
            false,
            "intraop-threads must be a number, found all",
        ),
        ("<threads>1</threads>", false, "model sums has the unknown setting threads"),
    ] {
        let (succeeded, told) = checked(&of(settings));
        assert!(succeeded == is_good && told.contains(text), "{settings}: {told}");
        // Settings of a model that there is not are told of and do no harm.
        assert!(!is_good || told.contains("names the model gone, which is none of"), "{told}");
    }
}
