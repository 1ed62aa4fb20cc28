//! Models in components as a user meets them: a handler evaluates models of its application and of its package.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

use crate::server::{Server, package, stead};

/// Asks for models whatever the body says, and answers what comes out or what is wrong.
const ASK: &str = r#"
import json
import stead

class Ask(stead.RequestHandler):
    def __init__(self, models: stead.Models):
        self.models = models

    def handle(self, request):
        asked = json.loads(request.text())
        try:
            return stead.Response(json.dumps(self.answer(request.matched[0], asked)))
        except stead.HostError as error:
            return stead.Response(json.dumps({"code": error.code, "message": str(error)}))

    def answer(self, what, asked):
        if what == "names":
            return self.models.names()
        if asked.get("model") == "own":
            evaluator = self.models.open("own.onnx")
        else:
            evaluator = self.models.evaluator(asked["model"], asked.get("output"))
        if what == "describe":
            return evaluator.describe()
        for name, literal in asked["inputs"].items():
            evaluator.bind(name, stead.Tensor.from_literal(literal))
        return {name: value.to_literal() for name, value in evaluator.evaluate_all().items()}
"#;

const SERVICES: &str = "<services version='1.0'><container id='c' version='1.0'>
  <model-evaluation><onnx><models><model name='net'><intraop-threads>1</intraop-threads></model></models></onnx></model-evaluation>
  <python><!-- isolation --></python>
  <handler id='ask' python='ask:Ask'><binding>http://*/ask/*</binding></handler></container></services>";

const TREE: &str = r#"[{"nodeid": 0, "split": "age", "split_condition": 0.5, "yes": 1, "no": 2,
    "missing": 1, "children": [{"nodeid": 1, "leaf": -1.5}, {"nodeid": 2, "leaf": 2.0}]}]"#;

const FUNCTIONS: &str =
    "model f { inputs { v: tensor(x[]) l: tensor<float>(k{}) } constants { w: 3.0 }
    function weighted() { expression: sum(v) * w }
    function labelled() { expression: l * 2 } }";

/// y = x * factor, with rows of two whole numbers or floats.
fn times(dtype: DType, factor: &Tensor) -> Vec<u8> {
    let (name, kind) = ("y".to_owned(), ValueType::tensor(dtype, Some(dims_of(&["n", "2"]))));
    ModelBuilder::new(17)
        .input("x", dtype, &["n", "2"])
        .init("factor", factor.clone())
        .node("Mul", &["x", "factor"], &["y"])
        .output_of(&name, kind)
        .bytes()
}

fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

fn app(services: &str) -> tempfile::TempDir {
    let app = package(&[
        ("services.xml", services),
        ("models/trees.json", TREE),
        ("models/f.model", FUNCTIONS),
        ("models/tokenizer.json", "{}"),
        ("python/ask/__init__.py", ASK),
    ]);
    let floats = Tensor::from_slice(&[10f32], &[]).unwrap();
    let ints = Tensor::from_slice(&[10i32], &[]).unwrap();
    let write = |path: &str, bytes: Vec<u8>| std::fs::write(app.path().join(path), bytes).unwrap();
    write("models/net.onnx", times(DType::F32, &floats));
    write("models/ints.onnx", times(DType::I32, &ints));
    write("python/ask/own.onnx", times(DType::F32, &floats));
    app
}

fn ask(server: &Server, what: &str, asked: &Value) -> Value {
    let (status, told) = server.request("POST", &format!("/ask/{what}"), &asked.to_string());
    assert_eq!(status, 200, "{asked}: {told}");
    told
}

fn check(server: &Server) {
    assert_eq!(ask(server, "names", &json!({})), json!(["f", "ints", "net", "trees"]));
    let port = |name: &str, dtype: &str, shape: &[i64]| json!({"name": name, "dtype": dtype, "shape": shape});
    let net = json!({"inputs": [port("x", "float32", &[-1, 2])], "outputs": [port("y", "float32", &[-1, 2])]});
    assert_eq!(ask(server, "describe", &json!({"model": "net"})), net);
    assert_eq!(ask(server, "describe", &json!({"model": "own"})), net);
    let functions = ask(server, "describe", &json!({"model": "f"}));
    assert_eq!(
        functions["inputs"][1],
        json!({"name": "l", "dtype": "float32", "shape": [], "type": "tensor<float>(k{})"})
    );

    let floats = "tensor<float>(d0[1],d1[2]):[[1,2.5]]";
    for (label, asked, expected) in [
        (
            "a network",
            json!({"model": "net", "inputs": {"x": floats}}),
            json!({"y": "tensor<float>(d0[1],d1[2]):[[10,25]]"}),
        ),
        (
            "other capitals",
            json!({"model": "Net", "inputs": {"x": floats}}),
            json!({"y": "tensor<float>(d0[1],d1[2]):[[10,25]]"}),
        ),
        (
            "of its own package",
            json!({"model": "own", "inputs": {"x": floats}}),
            json!({"y": "tensor<float>(d0[1],d1[2]):[[10,25]]"}),
        ),
        (
            "whole numbers for floats",
            json!({"model": "net", "inputs": {"x": "tensor<int8>(a[1],b[2]):[[1,-2]]"}}),
            json!({"y": "tensor<float>(d0[1],d1[2]):[[10,-20]]"}),
        ),
        (
            "floats that are whole",
            json!({"model": "ints", "inputs": {"x": "tensor<float>(a[1],b[2]):[[1,3]]"}}),
            json!({"y": "tensor<int32>(d0[1],d1[2]):[[10,30]]"}),
        ),
        (
            "trees",
            json!({"model": "trees", "inputs": {"age": "tensor():0.7"}}),
            json!({"trees": "2"}),
        ),
        (
            "a function",
            json!({"model": "f", "output": "weighted", "inputs": {"v": "tensor(x[3]):[1,2,3]"}}),
            json!({"weighted": "18"}),
        ),
        (
            "what can be computed",
            json!({"model": "f", "inputs": {"v": "tensor(x[1]):[1]"}}),
            json!({"weighted": "3"}),
        ),
        (
            "labels",
            json!({"model": "f", "inputs": {"l": "tensor<float>(k{}):{a:1,b:2}"}}),
            json!({"labelled": "tensor<float>(k{}):{a:2,b:4}"}),
        ),
    ] {
        assert_eq!(ask(server, "evaluate", &asked), expected, "{label}");
    }
    for (asked, code, message) in [
        (
            json!({"model": "nets", "inputs": {}}),
            "not_found",
            "no model named 'nets'. Available models: f, ints, net, trees",
        ),
        (json!({"model": "net", "inputs": {}}), "invalid", "model net needs the input x; it has x"),
        (
            json!({"model": "net", "inputs": {"z": floats}}),
            "invalid",
            "model net has no input z; it has x",
        ),
        (
            json!({"model": "net", "output": "z", "inputs": {"x": floats}}),
            "invalid",
            "model net has no output z; it has y",
        ),
        (
            json!({"model": "net", "inputs": {"x": "tensor(a[3]):[1,2,3]"}}),
            "invalid",
            "model net cannot take the input x: expected [n,2], found [3]",
        ),
        (
            json!({"model": "net", "inputs": {"x": "tensor(a{}):{x:1}"}}),
            "invalid",
            "model net cannot take the input x: expected an array, found a tensor(a{})",
        ),
        (
            json!({"model": "ints", "inputs": {"x": floats}}),
            "invalid",
            "model ints cannot take the input x: 2.5 is no i32",
        ),
        (
            json!({"model": "trees", "inputs": {"age": "tensor(a[1]):[1]"}}),
            "invalid",
            "model trees cannot take the input age: expected a double, found an array f64[1]",
        ),
        (json!({"model": "f", "inputs": {}}), "invalid", "model f needs the input v; it has v, l"),
    ] {
        let told = ask(server, "evaluate", &asked);
        assert_eq!(told, json!({"code": code, "message": message}), "{asked}");
    }
}

/// The same answers from interpreters inside the server and from processes.
#[test]
fn handlers_evaluate_models() {
    if !has_python() {
        return;
    }
    let apart = "<package name='ask' isolation='process'/>";
    for isolation in ["", apart] {
        let services = SERVICES.replace("<!-- isolation -->", isolation);
        let app = app(&services);
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
        check(&server);
        // Many at a time, each with an answer of its own.
        std::thread::scope(|scope| {
            for client in 0..4 {
                let server = &server;
                scope.spawn(move || {
                    for number in 0..25 {
                        let x = client * 100 + number;
                        let input = format!("tensor<float>(d0[1],d1[2]):[[{x},1]]");
                        let model = if number % 2 == 0 { "net" } else { "own" };
                        let told = ask(
                            server,
                            "evaluate",
                            &json!({"model": model, "inputs": {"x": input}}),
                        );
                        let expected = format!("tensor<float>(d0[1],d1[2]):[[{},10]]", 10 * x);
                        assert_eq!(told, json!({"y": expected}));
                    }
                });
            }
        });
    }
}

/// Weights that lie beside a model in its package, from interpreters inside the server and from processes.
#[test]
fn models_are_opened_with_their_external_data() {
    if !has_python() {
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../search/tests/data/onnx");
    let read = |name: &str| std::fs::read(data.join(name)).unwrap();
    let (model, weights) = (read("external.onnx"), read("external.weights"));
    // y = x W, with W of three rows.
    let number = |at: usize| f32::from_le_bytes(weights[4 * at..][..4].try_into().unwrap());
    let asked = json!({"model": "own", "inputs": {"x": "tensor<float>(d0[1],d1[3]):[[0,1,0]]"}});
    for isolation in ["", "<package name='ask' isolation='process'/>"] {
        let app = app(&SERVICES.replace("<!-- isolation -->", isolation));
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(app.path().join("python/ask").join(name), bytes).unwrap();
        };
        write("own.onnx", &model);
        write("external.weights", &weights);
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
        // From several interpreters.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let found = || ask(&server, "evaluate", &asked)["y"].as_str().unwrap().to_owned();
                scope.spawn(move || {
                    let found = found();
                    let (kind, cells) = found.split_once(':').unwrap();
                    assert_eq!(kind, "tensor<float>(d0[1],d1[2])");
                    let cells: [[f32; 2]; 1] = serde_json::from_str(cells).unwrap();
                    assert_eq!(cells, [[number(2), number(3)]]);
                });
            }
        });
        // The same model with other weights is another one.
        let other: Vec<u8> =
            [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        write("external.weights", &other);
        let server = Server::of_package(app.path());
        let expected = json!({"y": "tensor<float>(d0[1],d1[2]):[[3,4]]"});
        assert_eq!(ask(&server, "evaluate", &asked), expected);
        drop(server);

        std::fs::remove_file(app.path().join("python/ask/external.weights")).unwrap();
        let server = Server::of_package(app.path());
        let told = ask(&server, "evaluate", &asked);
        let message = "model own.onnx: its external data 'external.weights' is not beside it";
        assert_eq!(told, json!({"code": "not_found", "message": message}), "{isolation}");
        drop(server);
        for location in ["../own.weights12", "/etc/own.weights"] {
            let text = String::from_utf8_lossy(&model).into_owned();
            assert_eq!((text.matches("external.weights").count(), location.len()), (1, 16));
            let at = model.windows(16).position(|part| part == b"external.weights").unwrap();
            let mut escaping = model.clone();
            escaping[at..at + 16].copy_from_slice(location.as_bytes());
            write("own.onnx", &escaping);
            let server = Server::of_package(app.path());
            let told = ask(&server, "evaluate", &asked);
            let message = format!("external data \"{location}\" leaves the model's folder");
            assert_eq!(told["code"], "invalid", "{told}");
            assert!(told["message"].as_str().unwrap().contains(&message), "{told}");
        }
    }
}

#[test]
fn models_that_cannot_be_loaded_refuse_a_package() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let services = "<services version='1.0'><container id='c' version='1.0'><model-evaluation/></container></services>";
    let deploy = |files: &[(&str, &str)]| {
        let app = package(files);
        let path = app.path().to_str().unwrap();
        let deployed = stead(&["deploy", path, "--target", &server.deploy]);
        (deployed.status.success(), String::from_utf8_lossy(&deployed.stderr).into_owned())
    };
    for (file, text, expected) in [
        ("models/broken.onnx", "no model", "models/broken.onnx: model broken cannot be loaded"),
        ("models/f.model", "model f { function a() { expression: b( } }", "models/f.model"),
        ("models/f.onnx", "x", "models/f.model and models/f.onnx are both the model f"),
    ] {
        let (is_deployed, told) =
            deploy(&[("services.xml", services), ("models/f.model", FUNCTIONS), (file, text)]);
        assert!(!is_deployed && told.contains(expected), "{file}: {told}");
    }
    let (is_deployed, told) = deploy(&[("services.xml", services), ("models/f.model", FUNCTIONS)]);
    assert!(is_deployed, "{told}");
}

/// The handler of the example; its other components go through chains.
#[test]
fn the_example_evaluates_its_model_over_http() {
    if !has_python() {
        return;
    }
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/model-evaluation-python");
    let expected = std::fs::read_to_string(example.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let services = "<services version='1.0'><container id='default' version='1.0'><model-evaluation/>
        <handler id='evaluate' python='model_evaluation.handler:Evaluate'><binding>http://*/models/*</binding></handler>
        </container></services>";
    let source = |name: &str| {
        std::fs::read_to_string(example.join("app/python/model_evaluation").join(name)).unwrap()
    };
    let (embedding, handler) = (source("embedding.py"), source("handler.py"));
    let app = package(&[
        ("services.xml", services),
        ("python/model_evaluation/__init__.py", ""),
        ("python/model_evaluation/embedding.py", &embedding),
        ("python/model_evaluation/handler.py", &handler),
    ]);
    std::fs::create_dir(app.path().join("models")).unwrap();
    for name in ["transformer.onnx", "pairwise_ranker.onnx"] {
        std::fs::copy(example.join("app/models").join(name), app.path().join("models").join(name))
            .unwrap();
    }
    let server = Server::of_package(app.path());
    let tokens = "%7B%7Bx:0%7D:1,%7Bx:1%7D:2,%7Bx:2%7D:3%7D";
    let (status, told) =
        server.request("GET", &format!("/models/?model=transformer&input={tokens}"), "");
    assert_eq!(
        (status, &told["type"]),
        (200, &json!("tensor<float>(d0[1],d1[3],d2[16])")),
        "{told}"
    );
    let first = told["values"][0][0].as_array().unwrap();
    for (found, expected) in first.iter().zip(expected["embedding"].as_array().unwrap()) {
        let difference = found.as_f64().unwrap() - expected.as_f64().unwrap();
        assert!(difference.abs() < 1e-4, "{told}");
    }
    let (status, told) = server.request("GET", "/models/?model=other", "");
    assert_eq!(status, 400, "{told}");
    assert!(told["error"].as_str().unwrap().contains("the parameter model is 'other'"), "{told}");
}
