//! `examples/model-evaluation-python` as a user meets it: its handler, document processor and searchers over HTTP, with the models
//! evaluated by the server, beside what ONNX Runtime computed.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, stead};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/model-evaluation-python")
}

/// A Python with numpy: an environment of the test data, or that of the machine.
fn python() -> Option<PathBuf> {
    let data = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from);
    let environment = data.map(|data| data.join("py/trees/bin/python"));
    let candidates = environment.into_iter().chain([PathBuf::from("python3")]);
    let has_numpy = |python: &PathBuf| {
        let imported = Command::new(python).args(["-I", "-c", "import numpy"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    let found = candidates.into_iter().find(has_numpy)?;
    stead(&["python", "doctor", "--json"]).status.success().then_some(found)
}

/// The application in a folder, with its code where services.xml does not say.
fn app(python: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = example().join("app");
    let mut open = vec![from.clone()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let to = folder.path().join(path.strip_prefix(&from).unwrap());
            if path.is_dir() {
                std::fs::create_dir_all(&to).unwrap();
                open.push(path);
            } else {
                std::fs::copy(&path, &to).unwrap();
            }
        }
    }
    let services = folder.path().join("services.xml");
    let text = std::fs::read_to_string(&services).unwrap();
    let changed = text.replace("<model-evaluation/>", &format!("<model-evaluation/>{python}"));
    std::fs::write(services, changed).unwrap();
    folder
}

fn close(found: &Value, expected: &Value, label: &str) {
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    assert_eq!(found.len(), expected.len(), "{label}");
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-4, "{label}: {found:?} {expected:?}");
    }
}

#[test]
fn models_are_evaluated_in_every_kind_of_component() {
    let Some(python) = python() else {
        eprintln!("skipped: no Python with numpy on this machine");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(example().join(name)).unwrap();
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    let tokens = "{{x:0}:1,{x:1}:2,{x:2}:3}";
    assert_eq!(expected["tokens"], json!([1, 2, 3]));
    for isolation in [
        "<python timeout='60'/>",
        "<python timeout='60'><package name='model_evaluation' isolation='process'/></python>",
    ] {
        let app = app(isolation);
        let flags = ["--python", python.to_str().unwrap(), "--python_interpreters", "2"];
        let server = Server::of_package_with(app.path(), &flags);

        let encoded = tokens.replace('{', "%7B").replace('}', "%7D");
        let path = format!("/models/?model=transformer&input={encoded}");
        let (status, told) = server.request("GET", &path, "");
        assert_eq!(status, 200, "{isolation}: {told}");
        assert_eq!(told["type"], "tensor<float>(d0[1],d1[3],d2[16])");
        close(&told["values"][0][0], &expected["embedding"], "the handler");
        assert_eq!(server.request("GET", "/models/?model=other", "").0, 400);

        for line in read("documents.jsonl").lines() {
            let operation: Value = serde_json::from_str(line).unwrap();
            let id = operation["put"].as_str().unwrap();
            let path = format!("/document/v1/mydoc/mydoc/docid/{}", id.rsplit(':').next().unwrap());
            let body = json!({"fields": operation["fields"]}).to_string();
            let (status, told) = server.request("POST", &path, &body);
            assert_eq!(status, 200, "{isolation}: {told}");
            let (_, told) = server.request("GET", &path, "");
            close(&told["fields"]["embedding"]["values"], &expected["documents"][id], id);
        }

        let asked = json!({"searchChain": "mychain", "input": tokens, "timeout": "60 s"});
        let (status, told) = server.request("POST", "/search/", &asked.to_string());
        assert_eq!((status, &told["root"]["errors"]), (200, &Value::Null), "{isolation}: {told}");
        let hits = told["root"]["children"].as_array().unwrap();
        let wins = expected["wins"].as_object().unwrap();
        assert_eq!(hits.len(), wins.len());
        let won: Vec<f64> = hits.iter().map(|hit| hit["relevance"].as_f64().unwrap()).collect();
        assert!(won.is_sorted_by(|a, b| a >= b), "{won:?}");
        for (hit, won) in hits.iter().zip(&won) {
            let id = hit["id"].as_str().unwrap();
            assert_eq!(Some(*won), wins[id].as_f64(), "{id}");
            close(&hit["fields"]["embedding"]["values"], &expected["documents"][id], id);
        }
        // Those that win as often stand as the rank profile has them.
        let score = |at: usize| expected["scores"][hits[at]["id"].as_str().unwrap()].as_f64();
        assert!((1..hits.len()).all(|at| won[at - 1] > won[at] || score(at - 1) >= score(at)));

        let (status, told) = server.request("POST", "/search/", r#"{"searchChain": "mychain"}"#);
        assert_eq!((status, &told["root"]["errors"][0]["code"]), (400, &json!(4)), "{told}");
    }
}
