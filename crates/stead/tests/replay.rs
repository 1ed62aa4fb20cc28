//! `stead bench --target` with requests that are replayed, against a server of every protocol; both the real binary.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::server::{Server, free_port, package, stead};

const SERVICES: &str = r#"<services version="1.0"><container id="front" version="1.0"><search/><document-api/><model-evaluation/></container>
  <content id="c" version="1.0"><documents><document type="music" mode="index"/></documents></content></services>"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
  }
}";

/// A server with a type of documents and a model that doubles rows of two numbers.
struct Both {
    server: Server,
    grpc: String,
    folder: tempfile::TempDir,
}

impl Both {
    fn start() -> Both {
        let folder = package(&[("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)]);
        let two = Tensor::from_slice(&[2.0f32], &[1]).unwrap();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["batch", "2"])
            .init("two", two)
            .node("Mul", &["x", "two"], &["y"])
            .output("y", DType::F32)
            .bytes();
        std::fs::create_dir(folder.path().join("models")).unwrap();
        std::fs::write(folder.path().join("models/double.onnx"), model).unwrap();
        let port = free_port();
        let server = Server::of_package_with(folder.path(), &["--port", &port]);
        Both { server, grpc: format!("http://127.0.0.1:{port}"), folder }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The report of a short load.
    fn bench(&self, protocol: &str, args: &[&str]) -> (Output, Value) {
        let target = if protocol == "http" { &self.server.query } else { &self.grpc };
        let fixed = ["bench", "--target", target, "--protocol", protocol, "--json"];
        let length = ["--seconds", "0.3", "--warm-up", "10ms"];
        let output = stead(&[&fixed[..], &length, args].concat());
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output, report)
    }
}

/// A KServe body with one row.
fn row(a: f32, b: f32) -> Value {
    json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [a, b]}]})
}

#[test]
fn files_of_every_form_are_replayed_over_every_protocol() {
    let both = Both::start();
    let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let bodies = lines(&[row(1.0, 2.0), row(3.0, 4.0)]);
    let searches = lines(&[
        json!({"yql": "select * from music where true", "hits": 1}),
        json!({"yql": "select * from music where year > 1990"}),
    ]);
    let evaluations = lines(&[
        json!({"path": "/model-evaluation/v1/double/eval?x=tensor(d0%5B1%5D,d1%5B2%5D):%5B%5B1,2%5D%5D"}),
        json!({"path": "/model-evaluation/v1/double/eval", "headers": {"content-type": "application/x-www-form-urlencoded"},
            "body": "x=tensor(d0[1],d1[2]):[[1,2]]"}),
    ]);
    let put = json!({"fields": {"title": "a", "year": 1}});
    let documents = lines(&[json!({"path": "/document/v1/music/music/docid/1", "body": put})]);
    for (label, protocol, text, more) in [
        ("KServe", "http", &*bodies, &["--model", "double"][..]),
        ("KServe", "grpc", &bodies, &["--model", "double"]),
        ("TensorFlow Serving", "http", "{\"instances\": [[1, 2]]}", &["--model", "double"]),
        ("searches", "http", &searches, &[]),
        (
            "fbench",
            "http",
            "/search/?yql=select%20*%20from%20music%20where%20true\n/state/v1/health\n",
            &[],
        ),
        (
            "fbench -P",
            "http",
            "/search/\n{\"yql\": \"select * from music where true\"}\n",
            &["--header", "x-a: b"],
        ),
        ("evaluations", "http", &evaluations, &[]),
        ("documents", "http", &documents, &[]),
    ] {
        let file = both.file("requests", text);
        let args = [&["--queries", &file, "--clients", "1,3"], more].concat();
        let (output, report) = both.bench(protocol, &args);
        assert!(output.status.success(), "{label}: {output:?}");
        let good = if protocol == "http" { "200" } else { "Ok" };
        let points = report["clients"].as_array().unwrap();
        for (point, clients) in points.iter().zip([1, 3]) {
            assert_eq!(point["clients"], clients, "{label}: {point}");
            assert!(point["requests"].as_u64() > Some(0), "{label}: {point}");
            assert_eq!(point["endings"], json!({good: point["requests"]}), "{label}: {point}");
            assert!(point["good_per_s"].as_f64() > Some(0.0), "{label}: {point}");
            assert!(point["p50_ms"].as_f64() <= point["p95_ms"].as_f64(), "{label}: {point}");
        }
        assert_eq!(points.len(), 2, "{label}");
    }
}

#[test]
fn arrivals_are_those_of_the_seed_and_errors_are_not_good() {
    let both = Both::start();
    let mut counts = Vec::new();
    for protocol in ["http", "grpc"] {
        let args = ["--model", "double", "--dim", "x[0]=3", "--rate", "300", "--seed", "7"];
        let (output, report) = both.bench(protocol, &args);
        assert!(output.status.success(), "{protocol}: {output:?}");
        let load = &report["rates"][0];
        assert_eq!((&load["rate"], &load["good"]), (&json!(300.0), &load["requests"]));
        counts.push(load["requests"].clone());
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0].as_u64() > Some(40), "{counts:?}");

    // Every other request of a burst has no model.
    let good = json!({"path": "/v2/models/double/infer", "body": row(1.0, 2.0)});
    let bad = json!({"path": "/v2/models/none/infer", "body": row(1.0, 2.0)});
    let file = both.file("mixed", &format!("{good}\n{bad}\n"));
    for (protocol, endings) in
        [("http", json!({"200": 20, "404": 20})), ("grpc", json!({"Ok": 20, "NotFound": 20}))]
    {
        let args = ["--queries", &file, "--burst", "40", "--deadline", "1000s"];
        let (output, report) = both.bench(protocol, &args);
        assert_eq!(output.status.code(), Some(1), "{protocol}: {output:?}");
        let burst = &report["bursts"][0];
        assert_eq!((&burst["endings"], &burst["good"]), (&endings, &json!(20)), "{burst}");
        assert_eq!(burst["within_deadline"], 0.5, "{burst}");
        assert!(burst["first_error"].as_str().unwrap().contains("none"), "{burst}");
    }

    // A search whose objective nothing meets, and what it says of machines.
    let args = ["--queries", &file, "--rate", "2", "--slo", "p100=1us", "--target-rate", "1e4"];
    let (output, report) = both.bench("http", &args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = ["highest_rate", "machines", "headroom_percent"].map(|key| &report[key]);
    assert_eq!(told, [&json!(0), &Value::Null, &json!(20.0)], "{report}");
    assert_eq!(report["rates"][0]["meets"], false, "{report}");
}

#[test]
fn curves_are_drawn_in_the_terminal_and_as_svg() {
    let both = Both::start();
    let plot = both.folder.path().join("plot.svg");
    let target = ["bench", "--target", &both.server.query, "--model", "double"];
    let load = ["--clients", "1..4", "--seconds", "0.2", "--plot", plot.to_str().unwrap()];
    let output = stead(&[&target[..], &load].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<&str> =
        text.lines().skip_while(|line| !line.contains("good/s")).skip(1).collect();
    let first = |row: &&str| row.split_whitespace().next().map(str::to_owned);
    let clients: Vec<_> = rows.iter().filter_map(first).collect();
    assert_eq!(clients, ["1", "2", "4"], "{text}");
    assert!(rows.iter().all(|row| row.contains('#')), "{text}");
    let svg = std::fs::read_to_string(plot).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (search, broken) =
        (file("search", "{\"yql\": \"x\"}"), file("broken", "\n{\"path\": 1}\n"));
    let empty = file("empty", " \n");
    let missing = Path::new("/nowhere/requests").to_str().unwrap();
    let target = "http://127.0.0.1:9";
    for (args, code, told) in [
        (&["--clients", "1..0", "--model", "m"][..], 64, "expected a number, or a range"),
        (&["--clients", "1"], 64, "--queries <FILE>"),
        (&["--queries", &search], 64, "how much?"),
        (&["--queries", &search, "--clients", "1", "--rate", "2"], 64, "cannot be used with"),
        (&["--queries", &search, "--rate", "0"], 64, "above 0"),
        (&["--queries", &search, "--rate", "1", "--target-rate", "9"], 64, "--slo"),
        (&["--queries", &search, "--slo", "95=1ms"], 64, "such as p95=50ms"),
        (&["--queries", &search, "--rate", "1", "--plot", "x.svg"], 64, "--clients"),
        (&["--queries", &search, "--rate", "1", "--deadline", "1s"], 64, "--burst"),
        (&["--queries", &search, "--rate", "1", "--seconds", "0"], 64, "is not above 0"),
        (
            &["--queries", &search, "--rate", "1", "--protocol", "grpc-stream"],
            64,
            "--protocol http or grpc",
        ),
        (
            &["--queries", &search, "--rate", "1", "--protocol", "grpc", "--header", "a: b"],
            64,
            "--protocol http",
        ),
        (&["--queries", &search, "--rate", "1", "--protocol", "grpc"], 1, "not to /search/"),
        (&["--queries", &broken, "--rate", "1"], 1, "line 2: `path` must be a string"),
        (&["--queries", &empty, "--rate", "1"], 1, "there is no request in it"),
        (&["--queries", missing, "--rate", "1"], 1, missing),
        (&["--queries", &search, "--rate", "1"], 1, "is the server running?"),
        (&["--sequences", "4"], 64, "--model <NAME>"),
    ] {
        let output = stead(&[&["bench", "--target", target], args].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(told), "{args:?}: {error}");
    }
    let output = stead(&["bench", "model.onnx", "--clients", "1,2"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}
