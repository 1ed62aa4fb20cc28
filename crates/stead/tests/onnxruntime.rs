//! ONNX Runtime as the oracle of `stead run --compare`, and as the back end of models that are served.
//!
//! With the feature `onnxruntime` these tests need the library of the wheel in `target/py/onnx`; `cargo xtask test` installs
//! it and sets `STEAD_TEST_DATA`.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic is the report

use std::path::Path;
use std::process::{Command, Output};

#[cfg(feature = "onnxruntime")]
use serde_json::Value;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::server::{Server, free_port};

/// Two layers with an error function between them, on whose last bits no two libraries agree.
fn network() -> ModelBuilder {
    let weights: Vec<f32> = (0..64).map(|i| (i as f32 * 0.37).sin()).collect();
    let matrix = |rows: usize| Tensor::from_slice(&weights[..rows * 8], &[rows, 8]).unwrap();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "4"])
        .init("w1", matrix(4))
        .init("w2", matrix(8))
        .node("MatMul", &["x", "w1"], &["h"])
        .node("Erf", &["h"], &["e"])
        .node("MatMul", &["e", "w2"], &["y"])
        .output("y", DType::F32)
}

fn write(path: &Path, model: &ModelBuilder) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, model.clone().bytes()).unwrap();
}

/// Runs the command without a library but the one of its flags.
fn stead(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    command.args(args).env_remove("ORT_DYLIB_PATH").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until the server tells that it listens; a model that cannot be loaded does not stop it.
fn serve(folder: &Path, flags: &[&str]) -> Server {
    Server::of_package_with(folder, flags)
}

#[test]
fn without_the_library_what_to_do_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m/1/model.onnx");
    write(&model, &network());
    let output = stead(&["run", model.to_str().unwrap(), "--compare", "onnxruntime"]);
    let error = text(&output.stderr);
    let wanted = match cfg!(feature = "onnxruntime") {
        true => "--onnxruntime-library",
        false => "cargo build --release --features onnxruntime",
    };
    assert!(output.status.code() == Some(1) && error.contains(wanted), "{error}");

    std::fs::write(folder.path().join("m/stead.toml"), "backend = \"onnxruntime\"\n").unwrap();
    let server = serve(folder.path(), &[]);
    let (status, answer) = server.request("GET", "/v1/models/m", "");
    let wanted = match cfg!(feature = "onnxruntime") {
        true => "--onnxruntime_library",
        false => "built without ONNX Runtime",
    };
    assert!(status == 200 && answer.to_string().contains(wanted), "{status} {answer}");
    assert_ne!(server.answer("GET", "/v2/models/m/ready", "").0, 200);
}

#[test]
fn a_library_that_is_named_and_is_none_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("m/1/model.onnx"), &network());
    let at = folder.path().to_str().unwrap();
    let flags = ["serve", at, "--rest_port", &free_port(), "--onnxruntime_library", "/nowhere.so"];
    let output = stead(&flags);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn comparisons_are_checked_before_anything_is_loaded() {
    for args in [
        ["run", "none.onnx", "--layers", "--json"],
        ["run", "none.onnx", "--rtol", "0.1"],
        ["run", "none.onnx", "--compare", "tract"],
    ] {
        assert_eq!(stead(&args).status.code(), Some(64), "{args:?}");
    }
    let nan = stead(&["run", "none.onnx", "--compare", "onnxruntime", "--atol", "nan"]);
    assert_eq!(nan.status.code(), Some(64));
}

#[cfg(feature = "onnxruntime")]
mod with_library {
    use super::*;
    use crate::server::library::onnxruntime as library;
    use std::path::PathBuf;

    fn compare(library: &str, model: &Path, more: &[&str]) -> (Option<i32>, Value) {
        let model = model.to_str().unwrap();
        let args =
            ["run", model, "--compare", "onnxruntime", "--onnxruntime-library", library, "--json"];
        let output = stead(&[&args, more].concat());
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|_| panic!("{}", text(&output.stderr))))
    }

    /// The small models that are committed.
    fn committed() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders = vec![root.join("examples")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "onnx") {
                    found.push(path);
                }
            }
        }
        found
    }

    #[test]
    fn all_committed_models_agree_node_by_node() {
        let Some(library) = library() else { return };
        let models = committed();
        assert!(models.len() > 2, "{models:?}");
        for model in models {
            let (code, report) = compare(&library, &model, &["--layers"]);
            assert_eq!((code, &report["agree"]), (Some(0), &true.into()), "{model:?} {report}");
            let layers = report["layers"].as_array().unwrap();
            assert!(!layers.is_empty(), "{model:?}");
            assert!(layers.iter().all(|l| l["first"] == false), "{model:?}");
        }
    }

    #[test]
    fn models_of_other_formats_agree_node_by_node() {
        let Some(library) = library() else { return };
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data");
        for model in ["tensorflow/mlp", "openvino/mlp_fp16.xml"] {
            let (code, report) = compare(&library, &data.join(model), &["--layers"]);
            assert_eq!((code, &report["agree"]), (Some(0), &true.into()), "{model} {report}");
            assert!(report["layers"].as_array().is_some_and(|l| l.len() > 2), "{model} {report}");
        }
    }

    #[test]
    fn without_tolerance_the_first_node_that_differs_is_named() {
        let Some(library) = library() else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        write(&path, &network());
        let (code, report) = compare(&library, &path, &["--layers", "--dim", "rows=64"]);
        assert_eq!((code, &report["agree"]), (Some(0), &true.into()), "{report}");
        let zero = ["--layers", "--dim", "rows=64", "--rtol", "0", "--atol", "0"];
        let (code, report) = compare(&library, &path, &zero);
        assert_eq!((code, &report["agree"]), (Some(1), &false.into()), "{report}");
        let layers = report["layers"].as_array().unwrap();
        let ops: Vec<&str> = layers.iter().map(|l| l["op"].as_str().unwrap()).collect();
        assert_eq!(ops, ["MatMul", "Erf", "MatMul"]);
        let first: Vec<&Value> = layers.iter().filter(|l| l["first"] == true).collect();
        let [first] = first.as_slice() else { panic!("{report}") };
        // The sums of the first product may agree to the last bit.
        assert!(first["name"] == "e" || first["name"] == "h", "{report}");
        assert!(first["max_abs"].as_f64().unwrap() > 0.0, "{report}");
        let at: Vec<u64> =
            first["at"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert!(at.len() == 2 && at[0] < 64 && at[1] < 8, "{report}");
        let cosine = report["outputs"][0]["cosine"].as_f64().unwrap();
        assert!(cosine > 0.999_999, "{report}");
        // The same for people.
        let model = path.to_str().unwrap();
        let args = ["run", model, "--compare", "onnxruntime", "--onnxruntime-library", &library];
        let output = stead(&[&args, &zero[..]].concat());
        let shown = text(&output.stdout);
        assert!(shown.contains("<-- the first that differs") && shown.contains("Erf e"), "{shown}");
    }

    const BODY: &str = r#"{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 4],
        "data": [0.5, -1, 2, 0.25, 1, 0, -0.5, 0.125]}]}"#;

    fn numbers(answer: &Value) -> Vec<f64> {
        let data = answer["outputs"][0]["data"].as_array();
        data.unwrap_or_else(|| panic!("{answer}")).iter().filter_map(Value::as_f64).collect()
    }

    #[test]
    fn a_served_model_answers_as_in_stead() {
        let Some(library) = library() else { return };
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        for model in [&own, &other] {
            write(&model.join("1/model.onnx"), &network());
        }
        let settings = "backend = \"onnxruntime\"\nmax_batch_size = 8\nwarmup = 1\n";
        std::fs::write(other.join("stead.toml"), settings).unwrap();
        let server = serve(folder.path(), &["--onnxruntime_library", &library, "--threads", "2"]);
        let (_, metadata) = server.request("GET", "/v2/models/other", "");
        assert_eq!(metadata["platform"], "onnxruntime_onnx", "{metadata}");
        assert_eq!(metadata["inputs"][0]["shape"], serde_json::json!([-1, 4]), "{metadata}");
        let (_, config) = server.request("GET", "/v2/models/other/config", "");
        assert_eq!(config["backend"], "onnxruntime", "{config}");
        let infer = |model: &str, body: &str| {
            server.request("POST", &format!("/v2/models/{model}/infer"), body)
        };
        let (status, expected) = infer("own", BODY);
        assert_eq!(status, 200, "{expected}");
        let expected = numbers(&expected);
        // More clients than sessions, which joins some into batches and lets others wait.
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let (status, answer) = infer("other", BODY);
                        assert_eq!(status, 200, "{answer}");
                        let near = |(a, b): (f64, &f64)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
                        let got = numbers(&answer);
                        assert_eq!(got.len(), expected.len());
                        assert!(got.into_iter().zip(&expected).all(near), "{answer}");
                    }
                });
            }
        });
        // What does not fit is the client's fault in both.
        let wrong = BODY.replace("[2, 4]", "[4, 2]");
        for model in ["own", "other"] {
            assert_eq!(infer(model, &wrong).0, 400, "{model}");
        }
    }

    #[test]
    fn a_shared_pool_of_threads_serves_too() {
        let Some(library) = library() else { return };
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("m/1/model.onnx"), &network());
        let flags = [
            "--onnxruntime_library",
            &library,
            "--onnxruntime_threads",
            "2",
            "--backend",
            "onnxruntime",
        ];
        let server = serve(folder.path(), &flags);
        let (_, metadata) = server.request("GET", "/v2/models/m", "");
        assert_eq!(metadata["platform"], "onnxruntime_onnx", "{metadata}");
        let (status, answer) = server.request("POST", "/v2/models/m/infer", BODY);
        assert!(status == 200 && numbers(&answer).len() == 16, "{answer}");
    }

    #[test]
    fn providers_that_the_library_has_not_are_refused_by_name() {
        let Some(library) = library() else { return };
        let folder = tempfile::tempdir().unwrap();
        let with = |name: &str, settings: &str| {
            write(&folder.path().join(name).join("1/model.onnx"), &network());
            std::fs::write(folder.path().join(name).join("stead.toml"), settings).unwrap();
        };
        let other = "backend = \"onnxruntime\"\n";
        with("cpu", &format!("{other}providers = [\"CPUExecutionProvider\"]\n"));
        let options =
            "{ name = \"OpenVINOExecutionProvider\", options = { device_type = \"CPU\" } }";
        with("openvino", &format!("{other}providers = [{options}, \"CPUExecutionProvider\"]\n"));
        with("own", "providers = [\"CPUExecutionProvider\"]\n");
        let server = serve(folder.path(), &["--onnxruntime_library", &library]);
        assert_eq!(server.request("POST", "/v2/models/cpu/infer", BODY).0, 200);
        for (model, expected) in [
            ("openvino", "execution provider OpenVINOExecutionProvider: the library has "),
            ("own", "providers: only with backend onnxruntime"),
        ] {
            let (_, answer) = server.request("GET", &format!("/v1/models/{model}"), "");
            assert!(answer.to_string().contains(expected), "{answer}");
        }
    }

    #[test]
    fn what_it_refuses_names_no_path() {
        let Some(library) = library() else { return };
        let folder = tempfile::tempdir().unwrap();
        let unknown = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .node("NoSuchOperator", &["x"], &["y"])
            .output("y", DType::F32);
        write(&folder.path().join("m/1/model.onnx"), &unknown);
        let flags = ["--onnxruntime_library", &library, "--backend", "onnxruntime"];
        let server = serve(folder.path(), &flags);
        let (_, answer) = server.request("GET", "/v1/models/m", "");
        let answer = answer.to_string();
        assert!(answer.contains("NoSuchOperator"), "{answer}");
        assert!(!answer.contains(folder.path().to_str().unwrap()), "{answer}");
    }
}
