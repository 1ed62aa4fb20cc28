//! Models in Python as a user meets them: deployed with an application, and served as every other model is.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::server::{Server, free_port, package, stead};

const MODELS: &str = r#"
import os, time
import numpy as np
import stead

class Scale(stead.Model):
    inputs = {"x": stead.TensorSpec("float32", [None, 2])}
    outputs = {"y": stead.TensorSpec("float32", [None, 2])}
    max_batch = 8

    def __init__(self, settings: stead.Settings):
        self.factor = np.float32(settings["factor"])

    def infer(self, inputs):
        x = inputs["x"]
        if (x == -1).any():
            raise stead.InvalidInput("x is -1")
        if (x == -2).any():
            raise KeyError("a secret")
        if (x == -3).any():
            return {"y": x.astype("float64")}
        return {"y": x * self.factor}

class Words(stead.Model):
    """Not batched, with texts."""
    inputs = {"text": stead.TensorSpec("string", [None])}
    outputs = {"upper": stead.TensorSpec("string", [None]), "count": stead.TensorSpec("int64", [])}

    def infer(self, inputs):
        words = [text.decode().upper() for text in inputs["text"]]
        return {"upper": np.array(words), "count": np.int64(len(words))}

class Sum(stead.Model):
    inputs = {"x": stead.TensorSpec("float32", [None, 2])}
    outputs = {"y": stead.TensorSpec("float32", [None, 2])}
    state = {"state": stead.TensorSpec("float32", [None, 2])}
    max_batch = 4

    def infer(self, inputs, state):
        total = inputs["x"] + state["state"]
        return {"y": total}, {"state": total}

class Gate(stead.Model):
    """Tells how many rows it has got at once; 1 waits until a file is there."""
    inputs = {"x": stead.TensorSpec("int64", [None, 1])}
    outputs = {"rows": stead.TensorSpec("int64", [None])}
    max_batch = 8

    def __init__(self, settings: stead.Settings):
        self.file = settings["file"]

    def infer(self, inputs):
        x = inputs["x"]
        if (x == 1).any():
            open(self.file + ".begun", "w").close()
            while not os.path.exists(self.file):
                time.sleep(0.01)
        return {"rows": np.full(len(x), len(x))}
"#;

/// A Python with numpy: that of the data of tests.
fn python() -> Option<PathBuf> {
    let data = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from)?;
    Some(data.join("py/packages/bin/python")).filter(|path| path.is_file())
}

/// The same, or a word that the test is skipped.
macro_rules! python_or_skip {
    () => {
        match python() {
            Some(python) => python.to_str().unwrap().to_owned(),
            None => {
                eprintln!(
                    "skipped: STEAD_TEST_DATA has no py/packages (cargo xtask test data makes it)"
                );
                return;
            }
        }
    };
}

fn services(components: &str) -> String {
    format!(
        "<services version='1.0'><container id='c' version='1.0'>{components}</container></services>"
    )
}

fn scale(factor: &str) -> String {
    format!(
        "<component id='scale' python='models:Scale'><config name='c'><factor>{factor}</factor></config></component>"
    )
}

fn app(components: &str) -> tempfile::TempDir {
    package(&[("services.xml", &services(components)), ("python/models.py", MODELS)])
}

fn infer(server: &Server, model: &str, inputs: &Value) -> (u16, Value) {
    let path = format!("/v2/models/{model}/infer");
    server.request("POST", &path, &json!({"inputs": inputs}).to_string())
}

fn floats(rows: &[[f32; 2]]) -> Value {
    json!([{"name": "x", "datatype": "FP32", "shape": [rows.len(), 2], "data": rows}])
}

#[test]
fn models_are_served_by_each_protocol() {
    let python = python_or_skip!();
    let app = app(&(scale("2") + "<component id='words' python='models:Words'/>"));
    let server = Server::of_package_with(app.path(), &["--python", &python]);

    let (status, told) = server.request("GET", "/v2/models/scale", "");
    assert_eq!(status, 200, "{told}");
    assert_eq!(
        (&told["name"], &told["platform"], &told["versions"]),
        (&json!("scale"), &json!("python"), &json!(["1"]))
    );
    let tensor = |name: &str| json!([{"name": name, "datatype": "FP32", "shape": [-1, 2]}]);
    assert_eq!((&told["inputs"], &told["outputs"]), (&tensor("x"), &tensor("y")));
    let (status, told) = infer(&server, "scale", &floats(&[[1.0, 2.5], [3.0, 4.0]]));
    assert_eq!(
        (status, &told["outputs"][0]["data"]),
        (200, &json!([2.0, 5.0, 6.0, 8.0])),
        "{told}"
    );
    let (status, told) =
        server.request("POST", "/v1/models/scale:predict", r#"{"instances": [[1, 2], [0, 7]]}"#);
    assert_eq!((status, &told["predictions"]), (200, &json!([[2.0, 4.0], [0.0, 14.0]])), "{told}");

    let text =
        json!([{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a", "\u{fc}"]}]);
    let (status, told) = infer(&server, "words", &text);
    assert_eq!(
        (status, &told["outputs"][0]["data"], &told["outputs"][1]["data"]),
        (200, &json!(["A", "\u{dc}"]), &json!([2])),
        "{told}"
    );

    for (rows, status, message) in [
        (json!([[-1, 0]]), 400, "component scale: x is -1"),
        (json!([[-2, 0]]), 500, "component scale: its code raised KeyError"),
        (
            json!([[-3, 0]]),
            500,
            "component scale: scale.infer: output y is float64[1, 2]; expected float32[any, 2]",
        ),
    ] {
        let inputs = json!([{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": rows}]);
        let (found, told) = infer(&server, "scale", &inputs);
        let error = told["error"].as_str().unwrap_or_default();
        assert!(found == status && error.contains(message), "{rows}: {found} {told}");
    }
    let wrong = json!([{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]);
    assert_eq!(infer(&server, "scale", &wrong).0, 400);
    let (status, told) = infer(&server, "scale", &floats(&[[1.0, 1.0]; 9]));
    assert_eq!(status, 400, "more rows than a batch has: {told}");

    // As any model, it can be unloaded and loaded again.
    assert_eq!(server.request("POST", "/v2/repository/index", "{}").1[0]["state"], "READY");
    let change =
        |what: &str| server.answer("POST", &format!("/v2/repository/models/scale/{what}"), "{}").0;
    assert_eq!(change("unload"), 200);
    assert_ne!(infer(&server, "scale", &floats(&[[1.0, 1.0]])).0, 200);
    assert_eq!(change("load"), 200);
    assert_eq!(infer(&server, "scale", &floats(&[[1.0, 1.0]])).0, 200);
}

/// Answers over HTTP and gRPC are those of the same model as ONNX, alone and in sequences.
#[test]
fn models_answer_as_those_of_onnx_do() {
    let python = python_or_skip!();
    let folder = tempfile::tempdir().unwrap();
    let two = Tensor::from_slice(&[2f32], &[1]).unwrap();
    let scaled = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "2"])
        .init("factor", two)
        .node("Mul", &["x", "factor"], &["y"])
        .output("y", DType::F32);
    let sum = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "2"])
        .input("state", DType::F32, &["batch", "2"])
        .node("Add", &["x", "state"], &["state_out"])
        .node("Identity", &["state_out"], &["y"])
        .output("y", DType::F32)
        .output("state_out", DType::F32);
    let write = |name: &str, model: ModelBuilder| {
        let path = folder.path().join(name);
        std::fs::write(&path, model.bytes()).unwrap();
        path
    };
    let (scaled, sum) = (write("scaled.onnx", scaled), write("sum.onnx", sum));
    let app = app(&(scale("2") + "<component id='sum' python='models:Sum'/>"));
    let grpc = free_port();
    let server = Server::of_package_with(app.path(), &["--python", &python, "--port", &grpc]);
    let grpc = format!("http://127.0.0.1:{grpc}");
    let bench = |protocol: &str, model: &str, load: &[&str], expect: &Path| {
        let target = if protocol == "http" { &server.query } else { &grpc };
        let mut args =
            vec!["bench", "--target", target, "--model", model, "--protocol", protocol, "--json"];
        args.extend(load);
        args.extend(["--expect", expect.to_str().unwrap()]);
        let output = stead(&args);
        assert!(output.status.success(), "{protocol} {model}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        ["steps", "errors", "mismatches"].map(|key| report[key].as_u64().unwrap())
    };
    for protocol in ["http", "grpc"] {
        let load = ["--concurrency", "4", "--steps", "25"];
        assert_eq!(bench(protocol, "scale", &load, &scaled), [100, 0, 0], "{protocol}");
        let load = ["--sequences", "8", "--steps", "10", "--interval", "20ms"];
        assert_eq!(bench(protocol, "sum", &load, &sum), [80, 0, 0], "{protocol}");
    }
}

/// Waits for something that is about to be so.
fn until(is_so: &dyn Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn requests_that_wait_are_joined() {
    let python = python_or_skip!();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let gate = format!(
        "<component id='gate' python='models:Gate'><config name='c'><file>{}</file></config></component>",
        file.display()
    );
    let app = app(&gate);
    let flags = ["--python", &python, "--python_interpreters", "1"];
    let server = Server::of_package_with(app.path(), &flags);
    let ask = |x: i64| {
        let inputs = json!([{"name": "x", "datatype": "INT64", "shape": [1, 1], "data": [x]}]);
        let (status, told) = infer(&server, "gate", &inputs);
        assert_eq!(status, 200, "{told}");
        told["outputs"][0]["data"][0].as_i64().unwrap()
    };
    let queued = "stead_queue_depth{name=\"gate\",version=\"1\"} 3";
    let has_queued = || server.text("/metrics").lines().any(|line| line == queued);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(1));
        until(&|| folder.path().join("open.begun").exists());
        let others: Vec<_> = (0..3).map(|_| scope.spawn(|| ask(0))).collect();
        until(&has_queued);
        std::fs::write(&file, "").unwrap();
        assert_eq!(first.join().unwrap(), 1);
        let found: Vec<i64> = others.into_iter().map(|other| other.join().unwrap()).collect();
        assert_eq!(found, [3, 3, 3]);
    });
}

#[test]
fn models_come_and_go_with_deployments() {
    let python = python_or_skip!();
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &["--python", &python]);
    let deploy = |components: &str| {
        let app = app(components);
        let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
        let told = String::from_utf8_lossy(&deployed.stderr).into_owned();
        deployed.status.success().then_some(()).ok_or(told)
    };
    let ask = || {
        let (status, told) = infer(&server, "scale", &floats(&[[1.0, 2.0]]));
        (status, told["outputs"][0]["data"][1].as_f64())
    };
    for factor in ["2", "3", "0.5"] {
        deploy(&scale(factor)).unwrap();
        assert_eq!(ask(), (200, Some(2.0 * factor.parse::<f64>().unwrap())));
    }
    for (label, components, expected) in [
        (
            "a class of another kind",
            "<component id='m' python='models:np.ndarray'/>".to_owned(),
            "there is no models:np.ndarray".to_owned(),
        ),
        (
            "a setting that is missing",
            "<component id='m' python='models:Scale'/>".to_owned(),
            "factor".to_owned(),
        ),
        ("an id twice", scale("1") + &scale("1"), "two components have the id scale".to_owned()),
    ] {
        let told = deploy(&components).unwrap_err();
        assert!(told.contains(&expected) || told.contains("component m"), "{label}: {told}");
        assert_eq!(ask(), (200, Some(1.0)), "{label}");
    }
    deploy("<document-api/>").unwrap();
    assert_eq!(ask().0, 404);
    deploy(&scale("4")).unwrap();
    assert_eq!(ask(), (200, Some(8.0)));
}

/// Beside models that are files, declared in `stead.toml`.
#[test]
fn a_name_belongs_to_one_model() {
    let python = python_or_skip!();
    let other = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "2"])
        .node("Identity", &["x"], &["y"])
        .output("y", DType::F32);
    let other = other.bytes();
    let folder = |id: &str| {
        let toml = format!(
            "[[python.components]]\nid = \"{id}\"\nclass = \"models:Scale\"\nsettings = {{ factor = 4 }}\n"
        );
        let folder = package(&[("stead.toml", &toml), ("python/models.py", MODELS)]);
        std::fs::write(folder.path().join("scale.onnx"), &other).unwrap();
        folder
    };
    let both = folder("scale");
    let port = free_port();
    let path = both.path().to_str().unwrap();
    let ended = stead(&["serve", path, "--rest_port", &port, "--python", &python]);
    let told = String::from_utf8_lossy(&ended.stderr);
    let expected = "component scale is a model, and the server has another one of this name";
    assert!(!ended.status.success() && told.contains(expected), "{told}");

    let beside = folder("four");
    let server = Server::of_package_with(beside.path(), &["--python", &python]);
    let ask = |model: &str| {
        let (_, told) = infer(&server, model, &floats(&[[1.0, 2.0]]));
        told["outputs"][0]["data"][1].as_f64()
    };
    assert_eq!((ask("scale"), ask("four")), (Some(2.0), Some(8.0)));
}

const EMBEDDERS: &str = r#"
import stead

class Lengths(stead.Embedder):
    """Where it runs, and how long a text is."""
    def __init__(self, settings: stead.Settings):
        self.scale = int(settings.get("scale", 1))

    async def embed(self, text, type):
        if text == "":
            raise stead.InvalidInput("an empty text")
        return [self.scale * len(text), 1]

class Ask(stead.RequestHandler):
    def __init__(self, embedders: stead.Embedders):
        self.embedders = embedders

    def handle(self, request):
        kind, embedder = request.parameter("type", "tensor<float>(x[2])"), request.parameter("embedder", "")
        try:
            return stead.Response({"found": self.embedders.embed(request.parameter("text", ""), kind, embedder).to_literal()})
        except stead.HostError as error:
            return stead.Response({"code": error.code, "message": str(error)})
"#;

/// Embedders answer where they are asked, in the same interpreter, or in processes of their own. One interpreter is enough:
/// nobody waits for another one.
#[test]
fn components_ask_embedders() {
    let has_python = stead(&["python", "doctor", "--json"]).status.success();
    if !has_python {
        eprintln!("skipped: no Python on this machine");
        return;
    }
    let ask = "<handler id='ask' python='ask:Ask'><binding>http://*/embed</binding></handler>";
    let one = "<component id='one' python='lengths:Lengths'/>";
    let ten = "<component id='ten' python='lengths:Lengths'><config name='c'><scale>10</scale></config></component>";
    for apart in ["", "<python><package name='lengths' isolation='process'/></python>"] {
        let source = |components: &str| {
            package(&[
                ("services.xml", &services(&format!("{apart}{components}"))),
                ("python/ask.py", EMBEDDERS),
                ("python/lengths.py", EMBEDDERS),
            ])
        };
        let app = source(&format!("{one}{ten}{ask}"));
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        for (query, expected) in [
            ("text=abc&embedder=one", json!({"found": "tensor<float>(x[2]):[3,1]"})),
            ("text=abc&embedder=ten&type=tensor(y[2])", json!({"found": "tensor(y[2]):[30,1]"})),
            (
                "text=abc&embedder=two",
                json!({"code": "not_found", "message": "there is no embedder \"two\"; there are one, ten"}),
            ),
            (
                "text=abc",
                json!({"code": "not_found", "message": "there is no embedder \"\"; there are one, ten"}),
            ),
        ] {
            let (status, told) = server.request("GET", &format!("/embed?{query}"), "");
            assert_eq!((status, told), (200, expected), "{apart} {query}");
        }
        let wrong = server.request("GET", "/embed?text=abc&embedder=one&type=tensor(y[3])", "");
        assert!(wrong.1.to_string().contains("has size 3, not 2") && wrong.0 != 404, "{wrong:?}");
        drop(server);
        let app = source(&format!("{ten}{ask}"));
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        let (status, told) = server.request("GET", "/embed?text=ab", "");
        assert_eq!(
            (status, told),
            (200, json!({"found": "tensor<float>(x[2]):[20,1]"})),
            "{apart}"
        );
    }
}
