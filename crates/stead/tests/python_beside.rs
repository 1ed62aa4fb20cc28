//! Components that ask others of their application, as a user meets them: models in Python and embedders, in the interpreter of the one
//! who asks or in interpreters of another kind.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server;
use crate::server::{Server, package, stead};

const CODE: &str = r#"
import json
import stead

class Twice(stead.Model):
    """Twice what it gets, or what another model makes of it. Needs no numpy."""
    inputs = {"x": stead.TensorSpec("float32", [None])}
    outputs = {"y": stead.TensorSpec("float32", [None]), "words": stead.TensorSpec("string", [None])}

    def __init__(self, models: stead.Models, settings: stead.Settings):
        self.models, self.inner = models, settings.get("inner")

    async def infer(self, inputs):
        x = inputs["x"].tolist()
        if 1 in x:
            raise stead.InvalidInput("x is 1")
        if 0 in x:
            raise KeyError("a secret")
        while -1 in x:
            pass
        if self.inner:
            found = await self.models.evaluator(self.inner, "y").bind("x", x).evaluate_async()
            x = [found.value(d0=at) for at in range(len(x))]
        return {"y": [2 * one for one in x], "words": [f"{one:g}" for one in x]}

class Steps(stead.Model):
    inputs = outputs = {"x": stead.TensorSpec("float32", [1])}
    state = {"s": stead.TensorSpec("float32", [1])}

    def infer(self, inputs, state):
        return inputs, state

class Total(stead.Model):
    inputs = {"x": stead.TensorSpec("float32", [1])}
    outputs = {"y": stead.TensorSpec("float32", [1])}
    state = {"s": stead.TensorSpec("float32", [1])}
    durability = "every_step"

    def infer(self, inputs, state):
        total = [state["s"].tolist()[0] + inputs["x"].tolist()[0]]
        return {"y": total}, {"s": total}

class Rows(stead.Model):
    inputs = {"x": stead.TensorSpec("int32", [None, 1])}
    outputs = {"y": stead.TensorSpec("int32", [None, 1])}
    max_batch = 2

    def infer(self, inputs):
        return {"y": inputs["x"]}

class Ask(stead.RequestHandler):
    def __init__(self, models: stead.Models):
        self.models = models

    def handle(self, request):
        asked = json.loads(request.text())
        try:
            return stead.Response(json.dumps(self.answer(asked)))
        except stead.HostError as error:
            return stead.Response(json.dumps({"code": error.code, "message": str(error)}))

    def answer(self, asked):
        if asked == "names":
            return self.models.names()
        evaluator = self.models.evaluator(asked["model"], asked.get("output"))
        if asked.get("plain"):
            evaluator = stead.models.evaluator(asked["model"])
        if "inputs" not in asked:
            return evaluator.describe()
        for name, value in asked["inputs"].items():
            evaluator.bind(name, value)
        found = evaluator.run()
        return {name: self.shown(value) for name, value in found.items()}

    def shown(self, value):
        value = value if isinstance(value, list) else value.tolist()
        return [one.decode() if isinstance(one, bytes) else one for one in value]

class Lengths(stead.Embedder):
    def embed(self, text, type):
        return [len(text)]

class Early(stead.RequestHandler):
    """Asks in its constructor."""
    def __init__(self, models: stead.Models, embedders: stead.Embedders):
        self.found = [
            embedders.embed("abc", "tensor(x[1])", "lengths").to_literal(),
            models.evaluator("twice", "y").bind("x", [2]).evaluate().to_literal(),
        ]

    def handle(self, request):
        return stead.Response(self.found)

class TooEarly(stead.Embedder):
    def __init__(self, embedders: stead.Embedders):
        self.found = embedders.embed("abc", "tensor(x[1])", "lengths")

    def embed(self, text, type):
        return self.found
"#;

/// Whether this machine has a Python; says so if it has none.
fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

fn component(id: &str, class: &str, inner: &str) -> String {
    format!(
        "<component id='{id}' python='{class}'><config name='c'><inner>{inner}</inner></config></component>"
    )
}

const ASK: &str = "<handler id='ask' python='near:Ask'><binding>http://*/ask</binding></handler>";
const FAR: &str = "<package name='far' isolation='process'/>";

/// An application whose package `near` runs inside the server, and `far` as `python` says.
fn app(python: &str, components: &str) -> tempfile::TempDir {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><python timeout='20 s'>{python}</python>{components}</container></services>"
    );
    package(&[("services.xml", &services), ("python/near.py", CODE), ("python/far.py", CODE)])
}

fn ask(server: &Server, asked: &Value) -> Value {
    let (status, told) = server.request("POST", "/ask", &asked.to_string());
    assert_eq!(status, 200, "{asked}: {told}");
    told
}

/// One interpreter of each kind is enough: nobody waits for another one.
#[test]
fn models_are_asked_for() {
    if !has_python() {
        return;
    }
    let components = [
        ASK.to_owned(),
        component("twice", "far:Twice", ""),
        component("four", "far:Twice", "twice"),
        component("steps", "far:Steps", ""),
        component("rows", "far:Rows", ""),
    ];
    for python in ["", FAR] {
        let app = app(python, &components.concat());
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        assert_eq!(ask(&server, &json!("names")), json!(["four", "rows", "steps", "twice"]));
        let port = |name: &str, dtype: &str| json!({"name": name, "dtype": dtype, "shape": [-1]});
        assert_eq!(
            ask(&server, &json!({"model": "twice"})),
            json!({"inputs": [port("x", "float32")], "outputs": [port("y", "float32"), port("words", "string")]}),
            "{python}"
        );
        let x = |x: Value| json!({ "x": x });
        for (asked, expected) in [
            (
                json!({"model": "twice", "inputs": x(json!([2, 2.5]))}),
                json!({"y": [4.0, 5.0], "words": ["2", "2.5"]}),
            ),
            (
                json!({"model": "twice", "plain": true, "inputs": x(json!([2]))}),
                json!({"y": [4.0], "words": ["2"]}),
            ),
            (
                json!({"model": "twice", "output": "words", "inputs": x(json!([3]))}),
                json!({"words": ["3"]}),
            ),
            (
                json!({"model": "four", "output": "y", "inputs": x(json!([3]))}),
                json!({"y": [12.0]}),
            ),
            (json!({"model": "rows", "inputs": x(json!([[1], [2]]))}), json!({"y": [[1], [2]]})),
        ] {
            assert_eq!(ask(&server, &asked), expected, "{python} {asked}");
        }
        for (asked, code, message) in [
            (
                json!({"model": "twice", "output": "z", "inputs": x(json!([2]))}),
                "invalid",
                "model twice has no output z; it has y, words",
            ),
            (
                json!({"model": "twice", "inputs": {"z": [2]}}),
                "invalid",
                "model twice has no input z; it has x",
            ),
            (
                json!({"model": "twice", "inputs": {}}),
                "invalid",
                "model twice needs the input x; it has x",
            ),
            (
                json!({"model": "twice", "inputs": x(json!([[2]]))}),
                "invalid",
                "model twice cannot take the input x: ",
            ),
            (
                json!({"model": "rows", "inputs": x(json!([[1.5]]))}),
                "invalid",
                "model rows cannot take the input x: ",
            ),
            (
                json!({"model": "rows", "inputs": x(json!([[1], [2], [3]]))}),
                "invalid",
                "model rows takes as many rows of each input, at most 2, and not 3",
            ),
            (
                json!({"model": "twice", "inputs": x(json!([1]))}),
                "invalid",
                "component twice: x is 1",
            ),
            (
                json!({"model": "twice", "inputs": x(json!([0]))}),
                "internal",
                "component twice: its code raised KeyError",
            ),
            (
                json!({"model": "steps", "inputs": x(json!([1]))}),
                "invalid",
                "model steps is one of sequences",
            ),
            (json!({"model": "none", "inputs": {}}), "not_found", "no model named 'none'"),
        ] {
            let told = ask(&server, &asked);
            let text = told["message"].as_str().unwrap_or_default();
            assert_eq!(told["code"], code, "{python} {asked}: {told}");
            assert!(text.starts_with(message), "{python} {asked}: {told}");
        }
        // Requests of clients and of components for the same models.
        std::thread::scope(|scope| {
            for client in 2..6 {
                let (server, x) = (&server, &x);
                scope.spawn(move || {
                    for _ in 0..10 {
                        let inputs = x(json!([client]));
                        let told =
                            ask(server, &json!({"model": "four", "output": "y", "inputs": inputs}));
                        assert_eq!(told, json!({"y": [4.0 * f64::from(client)]}));
                    }
                });
            }
        });
    }
}

fn infer(server: &Server, model: &str, x: f32) -> (u16, String) {
    let body = json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [x]}]});
    server.answer("POST", &format!("/v2/models/{model}/infer"), &body.to_string())
}

#[test]
fn circles_and_endless_models_are_errors() {
    if !has_python() {
        return;
    }
    let components = [
        component("own", "near:Twice", "own"),
        component("a", "near:Twice", "b"),
        component("b", "near:Twice", "a"),
        component("there", "near:Twice", "back"),
        component("back", "far:Twice", "there"),
        component("one_way", "near:Twice", "end"),
        component("end", "far:Twice", ""),
    ];
    let app = app(FAR, &components.concat());
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
    for (model, message) in [
        ("own", "component own: model own cannot be asked by itself: own asks own"),
        ("a", "component a: model a cannot be asked by itself: a asks b asks a"),
        (
            "there",
            "component there: component back: model there cannot be asked here: interpreters of its kind wait for the answer already",
        ),
    ] {
        let (status, told) = infer(&server, model, 3.0);
        assert!(status == 500 && told.contains(message), "{model}: {status} {told}");
    }
    let (status, told) = infer(&server, "one_way", 3.0);
    assert!(status == 200 && told.contains("[12.0]"), "{told}");
}

/// The time of the one who asks is that of the one who is asked.
#[test]
fn endless_models_end_at_the_deadline() {
    if !has_python() {
        return;
    }
    for (label, class) in [("here", "near:Twice"), ("apart", "far:Twice")] {
        let app = app(FAR, &format!("{ASK}{}", component("end", class, "")));
        let path = app.path().join("services.xml");
        let services = std::fs::read_to_string(&path).unwrap().replace("20 s", "2 s");
        std::fs::write(&path, services).unwrap();
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        let asked = json!({"model": "end", "inputs": {"x": [-1]}});
        let (status, told) = server.request("POST", "/ask", &asked.to_string());
        let is_late = status == 504 || told["code"] == "deadline";
        assert!(is_late, "{label}: {status} {told}");
        // A process that was ended needs a moment to be replaced, which may be longer than a request has.
        let asked = json!({"model": "end", "output": "y", "inputs": {"x": [3]}}).to_string();
        let again = || server.request("POST", "/ask", &asked);
        let answered = std::iter::repeat_with(again).find(|(status, told)| {
            assert!(*status == 504 || told["code"] != "internal", "{label}: {told}");
            *status == 200 && told["code"] != "deadline"
        });
        assert_eq!(answered.map(|(_, told)| told), Some(json!({"y": [6.0]})), "{label}");
    }
}

/// Models and embedders are made first.
#[test]
fn constructors_ask_models_and_embedders() {
    if !has_python() {
        return;
    }
    let early =
        "<handler id='early' python='far:Early'><binding>http://*/early</binding></handler>";
    let lengths = "<component id='lengths' python='near:Lengths'/>";
    for python in ["", FAR] {
        let app = app(python, &format!("{early}{lengths}{}", component("twice", "near:Twice", "")));
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        let (status, told) = server.request("GET", "/early", "");
        let expected = json!(["tensor(x[1]):[3]", "tensor<float>(d0[1]):[4]"]);
        assert_eq!((status, told), (200, expected), "{python}");
    }
    // One that comes before another cannot ask for it.
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let app = app("", &format!("<component id='early' python='far:TooEarly'/>{lengths}"));
    let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&deployed.stderr);
    let expected = "the application has no embedder: a component whose class is a stead.Embedder; models and embedders are made before other components";
    assert!(!deployed.status.success() && told.contains(expected), "{told}");
}

/// A step of a sequence: its running total.
fn step(server: &Server, x: f32, start: bool) -> (u16, Value) {
    let body = json!({
        "parameters": {"sequence_id": 7, "sequence_start": start},
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [x]}],
    });
    let (status, told) = server.request("POST", "/v2/models/total/infer", &body.to_string());
    (status, told["outputs"][0]["data"][0].clone())
}

/// Sequences of a model whose class asks for it go on after `kill -9` with the code that made them, and with no other.
#[test]
fn states_of_sequences_outlive_the_server() {
    if !has_python() {
        return;
    }
    let states = tempfile::tempdir().unwrap();
    let flags = ["--state_path", states.path().to_str().unwrap()];
    let app = app("", &component("total", "near:Total", ""));
    let server = Server::of_package_with(app.path(), &flags);
    assert_eq!(step(&server, 2.0, true), (200, json!(2.0)));
    assert_eq!(step(&server, 3.0, false), (200, json!(5.0)));
    server.kill();
    drop(server);
    let server = Server::of_package_with(app.path(), &flags);
    assert_eq!(step(&server, 4.0, false), (200, json!(9.0)));
    server.kill();
    drop(server);
    std::fs::write(app.path().join("python/near.py"), format!("{CODE}\n# other code\n")).unwrap();
    let server = Server::of_package_with(app.path(), &flags);
    let (status, told) = step(&server, 4.0, false);
    assert_ne!(status, 200, "{told}");
    assert_eq!(step(&server, 4.0, true), (200, json!(4.0)));
    drop(server);
    // Without a place for them it is not promised.
    let path = app.path().to_str().unwrap();
    let ended = stead(&["serve", path, "--rest_port", &server::free_port()]);
    let told = String::from_utf8_lossy(&ended.stderr);
    let expected = "component total keeps its sequences over a restart (durability), for which the server needs --state_path";
    assert!(!ended.status.success() && told.contains(expected), "{told}");
}

#[test]
fn ids_belong_to_one_model_of_an_application() {
    if !has_python() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let app = app("", &format!("<model-evaluation/>{}", component("f", "near:Twice", "")));
    std::fs::create_dir(app.path().join("models")).unwrap();
    let model = "model f { function a() { expression: 1 } }";
    std::fs::write(app.path().join("models/f.model"), model).unwrap();
    let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&deployed.stderr);
    let expected = "component f: another model of the application has its id";
    assert!(!deployed.status.success() && told.contains(expected), "{told}");
}

/// Declared in `stead.toml`, without an application.
#[test]
fn components_of_a_model_server_ask_its_models() {
    if !has_python() {
        return;
    }
    let toml = r#"
[[python.handlers]]
id = "ask"
class = "near:Ask"
bindings = ["http://*/ask"]

[[python.components]]
id = "twice"
class = "near:Twice"

[[python.components]]
id = "four"
class = "near:Twice"
settings = { inner = "twice" }
"#;
    let folder = package(&[("stead.toml", toml), ("python/near.py", CODE)]);
    let server = Server::of_package_with(folder.path(), &["--python_interpreters", "2"]);
    let asked = json!({"model": "four", "output": "y", "inputs": {"x": [1.5]}});
    assert_eq!(ask(&server, &asked), json!({"y": [6.0]}));
    let (status, told) = infer(&server, "four", 2.0);
    assert!(status == 200 && told.contains("[8.0]") && told.contains("[\"4\"]"), "{told}");
}
