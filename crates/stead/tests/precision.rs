//! `precision`: of `stead run` and `stead bench`, and of served models wherever their settings may stand.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;

use serde_json::{Value, json};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::server::{Server, stead};

/// A layer of 24 columns, whose weights bf16 has to round.
fn model() -> Vec<u8> {
    let weights: Vec<f32> = (0..16 * 24).map(|i| ((i * 37 % 101) as f32 - 50.0) / 77.0).collect();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "16"])
        .init("w", Tensor::from_slice(&weights, &[16, 24]).unwrap())
        .node("MatMul", &["x", "w"], &["y"])
        .output("y", DType::F32)
        .bytes()
}

fn write(folder: &Path, name: &str, text: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn run_and_bench_print_the_error_of_bf16() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "m.onnx", &model());
    let path = folder.path().join("m.onnx");
    let path = path.to_str().unwrap();
    for command in [&["run", path][..], &["bench", path, "--seconds", "0.01"][..]] {
        let of = |more: &[&str]| {
            let output = stead(&[command, &["--dim", "rows=9"], more].concat());
            assert!(output.status.success(), "{command:?} {more:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let json: Value = serde_json::from_str(&of(&["--precision", "bf16", "--json"])).unwrap();
        let [error] = json["error_against_f32"].as_array().unwrap().as_slice() else {
            panic!("{json}");
        };
        let number = |key: &str| error[key].as_f64().unwrap();
        assert_eq!(error["name"], "y");
        assert!(number("max_abs") > 0.0 && number("max_abs") < 0.05, "{error}");
        assert!(number("relative") > 0.0 && number("relative") < 0.02, "{error}");
        assert!(number("cosine") > 0.999 && number("cosine") < 1.000_001, "{error}");
        let text = of(&["--precision", "bf16"]);
        assert!(text.contains("error against f32\n  y: at most "), "{text}");
        for more in [&["--json"][..], &["--json", "--precision", "f32"][..]] {
            let json: Value = serde_json::from_str(&of(more)).unwrap();
            assert!(json.get("error_against_f32").is_none(), "{json}");
        }
    }
}

#[test]
fn what_a_model_cannot_be_computed_in_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "m.onnx", &model());
    let path = folder.path().join("m.onnx");
    let path = path.to_str().unwrap();
    let cases = [
        ("f64", "precision f64: the model has no such weights; supported: f32, bf16"),
        ("int8", "precision int8: the model has no such weights; supported: f32, bf16"),
        ("fp16", "precision \"fp16\" is not known; supported: f32, bf16, and f64 or int8"),
    ];
    for command in ["run", "bench"] {
        for (precision, expected) in cases {
            let output = stead(&[command, path, "--precision", precision]);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && text.contains(expected), "{command}: {text}");
        }
    }
    let output = stead(&["bench", path, "--ablate", "--precision", "bf16"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("leave out --precision"), "{text}");
    let target = ["--target", "http://127.0.0.1:1", "--model", "m", "--clients", "1"];
    let output = stead(&[&["bench", "--precision", "bf16"], &target[..]].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("its settings say"), "{text}");
}

/// The answer of a served model to one row.
fn answer(server: &Server, model: &str) -> Vec<f64> {
    let x: Vec<f64> = (0..16).map(|i| f64::from(i) / 8.0 - 0.9).collect();
    let input = json!({"name": "x", "datatype": "FP32", "shape": [1, 16], "data": x});
    let body = json!({ "inputs": [input] }).to_string();
    let (status, answer) = server.request("POST", &format!("/v2/models/{model}/infer"), &body);
    assert_eq!(status, 200, "{model}: {answer}");
    serde_json::from_value(answer["outputs"][0]["data"].clone()).unwrap()
}

#[test]
fn a_served_model_has_the_precision_that_its_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "models/plain/1/model.onnx", &model());
    write(folder.path(), "models/told/1/model.onnx", &model());
    write(folder.path(), "models/told/stead.toml", b"precision = \"bf16\"\n");
    let config = |name: &str, base: &str, more: Value| {
        let mut config = json!({"name": name, "base_path": format!("models/{base}")});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "config": config })
    };
    let hint = |value: &str| json!({"plugin_config": {"INFERENCE_PRECISION_HINT": value}});
    let list = json!([
        config("plain", "plain", json!({})),
        config("openvino_type", "plain", json!({"precision": "FP16"})),
        config("openvino_hint", "plain", hint("f16")),
        config("f32", "told", json!({"stead": {"precision": "f32"}})),
        config("toml", "told", json!({})),
        config("key", "plain", json!({"precision": "bf16"})),
        config("hint", "plain", hint("bf16")),
        config("option", "plain", json!({"stead": {"precision": "bf16"}})),
        config("refused", "plain", json!({"stead": {"precision": "f64"}})),
    ]);
    let text = json!({ "model_config_list": list }).to_string();
    write(folder.path(), "config.json", text.as_bytes());
    let server = Server::of_package(&folder.path().join("config.json"));
    let exact = answer(&server, "plain");
    for name in ["openvino_type", "openvino_hint", "f32"] {
        assert_eq!(answer(&server, name), exact, "{name}");
    }
    let rounded = answer(&server, "key");
    assert_ne!(rounded, exact);
    for (a, b) in rounded.iter().zip(&exact) {
        assert!((a - b).abs() < 0.02, "{a} {b}");
    }
    for name in ["toml", "hint", "option"] {
        assert_eq!(answer(&server, name), rounded, "{name}");
    }
    let told = server.text("/v1/models/refused");
    let expected = "precision f64: the model has no such weights; supported: f32, bf16";
    assert!(told.contains(expected), "{told}");

    // The flag says the same of the only model.
    let base = folder.path().join("models/plain");
    let base = base.to_str().unwrap();
    let of_flag = |precision: &str| {
        let flags = ["--model_name", "net", "--model_path", base, "--precision", precision];
        answer(&Server::of_flags(&flags), "net")
    };
    assert_eq!(of_flag("bf16"), rounded);
    assert_eq!(of_flag("FP32"), exact);
}

#[test]
fn a_precision_that_is_none_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "models/m/1/model.onnx", &model());
    let config = json!({"model_config_list": [
        {"config": {"name": "m", "base_path": "models/m", "stead": {"precision": "half"}}},
    ]});
    write(folder.path(), "config.json", config.to_string().as_bytes());
    let path = folder.path().join("config.json");
    let output = stead(&["serve", "--rest_port", "1", path.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("stead/precision") && text.contains("\"bf16\""), "{text}");
}

/// A package whose profiles use the model, of the schema or their own, with one document.
fn package(folder: &Path) {
    let profile = |head: &str, body: &str| format!("  rank-profile {head} {{\n{body}\n  }}\n");
    let file = "file: files/m.onnx\n input x: attribute(x)";
    let score = "first-phase { expression: sum(onnx(m)) }";
    let profiles = [
        profile("plain", score),
        profile("of_profile inherits plain", "precision: bf16"),
        profile("of_parent inherits of_profile", ""),
        profile("back inherits of_profile", "precision: f32"),
        profile(
            "of_model inherits of_profile",
            &format!("onnx-model m {{ {file}\n precision: f32 }}"),
        ),
        profile("model_inherited inherits of_model", "precision: bf16"),
        profile("own_model", &format!("precision: bf16\n onnx-model m {{ {file} }}\n {score}")),
        profile("no_model inherits of_profile", "first-phase { expression: attribute(exact) }"),
        profile("refused inherits plain", "precision: f64"),
    ];
    let schema = format!(
        "schema doc {{\n  document doc {{\n    field x type tensor<float>(d0[1],d1[16]) {{ indexing: attribute }}\n    \
         field exact type double {{ indexing: attribute }}\n  }}\n  onnx-model m {{ {file} }}\n{}}}\n",
        profiles.concat()
    );
    let services = "<services version=\"1.0\"><content id=\"c\" version=\"1.0\"><redundancy>1</redundancy>\
        <documents><document type=\"doc\" mode=\"index\"/></documents></content></services>";
    write(folder, "app/services.xml", services.as_bytes());
    write(folder, "app/schemas/doc.sd", schema.as_bytes());
    write(folder, "app/files/m.onnx", &model());
    let x: Vec<f64> = (0..16).map(|i| f64::from(i) / 8.0 - 0.9).collect();
    let document =
        json!({"put": "id:n:doc::0", "fields": {"x": [x], "exact": 1.0 + f64::powi(2.0, -40)}});
    write(folder, "docs.jsonl", document.to_string().as_bytes());
    write(folder, "q.json", b"{}");
}

#[test]
fn a_rank_profile_has_a_precision_for_models_that_say_none() {
    let folder = tempfile::tempdir().unwrap();
    package(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rank = |profile: &str| {
        let (query, documents) = (path("q.json"), path("docs.jsonl"));
        let files = ["--query", &query, "--docs", &documents];
        let flags = ["rank", "--json", "--profile", profile];
        stead(&[&flags[..], &files[..], &[&path("app")]].concat())
    };
    let score = |profile: &str| {
        let output = rank(profile);
        assert!(output.status.success(), "{profile}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["hits"][0]["relevance"].as_f64().unwrap()
    };
    let exact = score("plain");
    for profile in ["back", "of_model", "model_inherited"] {
        assert_eq!(score(profile), exact, "{profile}");
    }
    let rounded = score("of_profile");
    assert!(rounded != exact && (rounded - exact).abs() < 0.1, "{rounded} {exact}");
    for profile in ["of_parent", "own_model"] {
        assert_eq!(score(profile), rounded, "{profile}");
    }
    // Only models are meant: expressions are in double precision as before.
    assert_eq!(score("no_model"), 1.0 + f64::powi(2.0, -40));

    let output = rank("refused");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "precision f64: the model has no such weights; supported: f32, bf16";
    assert!(!output.status.success() && text.contains(expected), "{text}");
}
