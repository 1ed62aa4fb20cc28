//! `examples/train-cross-encoder`: a trained ranker is served as it was trained, and packages that make other rows are refused.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stead_tensor::npz;

use crate::server::{Server, free_port, stead};

const APP: [&str; 4] =
    ["services.xml", "schemas/passage.sd", "models/tokenizer.json", "models/ranker.onnx"];

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/train-cross-encoder").join(file)
}

fn lines(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(example(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ok(args: &[&str]) -> String {
    let done = stead(args);
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// The pairs as rows of the package, in a file.
fn encoded(folder: &Path) -> String {
    let (app, pairs) = (example("app"), example("held-out.jsonl"));
    let rows = folder.join("rows.npz").to_str().unwrap().to_owned();
    let (app, pairs) = (app.to_str().unwrap(), pairs.to_str().unwrap());
    ok(&["encode", app, "--profile", "ranker", pairs, "--output", &rows, "--inputs-only"]);
    rows
}

/// What a model makes of rows without a server.
fn offline(model: &Path, rows: &str, folder: &Path) -> Vec<f64> {
    let (scores, rows) = (folder.join("scores.npz"), format!("@{rows}"));
    ok(&["run", model.to_str().unwrap(), "--input", &rows, "--output", scores.to_str().unwrap()]);
    let arrays = npz::read(fs::File::open(&scores).unwrap(), 1 << 30).unwrap();
    arrays[0].1.as_slice::<f32>().unwrap().iter().map(|s| f64::from(*s)).collect()
}

/// The mean over queries of how many pairs of a right and a wrong passage are in order.
fn in_order(pairs: &[Value], scores: &[f64]) -> f64 {
    let mut by_query: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for (pair, score) in pairs.iter().zip(scores) {
        let of = by_query.entry(pair["query"].as_str().unwrap()).or_default();
        of[pair["label"].as_u64().unwrap() as usize].push(*score);
    }
    let count = by_query.len() as f64;
    let part = |[wrong, right]: [Vec<f64>; 2]| {
        let all = right.iter().flat_map(|r| wrong.iter().map(move |w| r > w));
        all.clone().filter(|is| *is).count() as f64 / all.count() as f64
    };
    by_query.into_values().map(part).sum::<f64>() / count
}

#[test]
fn scores_of_the_server_are_those_of_the_training_rows() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = lines("held-out.jsonl");
    let rows = encoded(folder.path());
    let expected = offline(&example("app/models/ranker.onnx"), &rows, folder.path());
    assert_eq!(expected.len(), pairs.len());

    let server = Server::of_package(&example("app"));
    for passage in lines("passages.jsonl") {
        let id = passage["put"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        let body = json!({"fields": passage["fields"]}).to_string();
        let path = format!("/document/v1/p/passage/docid/{id}");
        assert_eq!(server.request("POST", &path, &body).0, 200);
    }
    let mut online: BTreeMap<String, BTreeMap<u64, f64>> = BTreeMap::new();
    for pair in &pairs {
        let text = pair["query"].as_str().unwrap();
        let scores = online.entry(text.to_owned()).or_insert_with(|| {
            let query = json!({"yql": "select text from passage where true", "ranking": "ranker", "hits": 100,
                "input.query(q)": "embed(tokenizer, @text)", "text": text});
            let (status, answer) = server.request("POST", "/search/", &query.to_string());
            assert_eq!(status, 200, "{answer}");
            let hits = answer["root"]["children"].as_array().unwrap();
            let hit = |hit: &Value| {
                let id = hit["id"].as_str().unwrap().rsplit(':').next().unwrap();
                (id.parse().unwrap(), hit["relevance"].as_f64().unwrap())
            };
            hits.iter().map(hit).collect()
        });
        assert_eq!(scores.len(), lines("passages.jsonl").len(), "{text}");
    }
    let worst = pairs.iter().zip(&expected).map(|(pair, expected)| {
        let of_query = &online[pair["query"].as_str().unwrap()];
        (of_query[&pair["passage"].as_u64().unwrap()] - expected).abs()
    });
    let worst = worst.fold(0.0, f64::max);
    assert!(worst <= 1e-6, "offline and online differ by {worst}");
}

#[test]
fn training_puts_passages_of_held_out_queries_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (pairs, rows) = (lines("held-out.jsonl"), encoded(folder.path()));
    let part = |model: &str| in_order(&pairs, &offline(&example(model), &rows, folder.path()));
    let (before, after) = (part("untrained.onnx"), part("app/models/ranker.onnx"));
    assert!(before < 0.7, "{before}");
    assert!(after > 0.95, "{after}");
    // What is held out was not trained on.
    let trained: Vec<Value> = lines("pairs.jsonl");
    assert!(pairs.iter().all(|pair| trained.iter().all(|other| other["query"] != pair["query"])));
}

/// A copy of the package with a change to one of its texts.
fn changed((path, from, to): (&str, &str, &str)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in APP {
        let at = folder.path().join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let mut bytes = fs::read(example("app").join(name)).unwrap();
        if name == path {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{path} has no {from}");
            bytes = text.replace(from, to).into_bytes();
        }
        fs::write(at, bytes).unwrap();
    }
    folder
}

#[test]
fn other_rows_than_those_of_the_training_are_refused_by_name() {
    let (schema, tokenizer) = ("schemas/passage.sd", "models/tokenizer.json");
    let at = "schemas/passage.sd:20:14: onnx-model ranker was trained on other rows: ";
    let texts = "query(q), attribute(tokens)";
    for (label, change, expected) in [
        (
            "another length",
            (schema, "(48, ", "(40, "),
            vec!["of 48 tokens; tokenInputIds(40,query(q),attribute(tokens)) has 40"],
        ),
        (
            "another order",
            (schema, texts, "attribute(tokens), query(q)"),
            vec![
                "with the texts in the order query, document; tokenInputIds(48,attribute(tokens),query(q)) has document, query",
            ],
        ),
        (
            "other special tokens",
            (schema, "tokenInputIds(48", "customTokenInputIds(1, 2, 48"),
            vec![
                "with the special token 101 before the first text and 102 behind each; customTokenInputIds(1,2,48,query(q),attribute(tokens)) has 1 and 2",
            ],
        ),
        (
            "a shorter query",
            (schema, "query(q) tensor<float>(d0[12])", "query(q) tensor<float>(d0[8])"),
            vec!["with at most 12 tokens of the query; query(q) has 8"],
        ),
        (
            "a longer passage",
            (schema, "d0[32]", "d0[33]"),
            vec!["with at most 32 tokens of the document; attribute(tokens) has 33"],
        ),
        (
            "another text",
            (schema, "input text | embed", "input text | lowercase | embed"),
            vec![
                "with a document made by input text | embed; the indexing of field tokens is input text | lowercase | embed",
            ],
        ),
        (
            "another vocabulary",
            (tokenizer, "\"planet\": ", "\"planets\": "),
            vec![
                "with another tokenizer of the query (xxh3:",
                "with another tokenizer of the document (xxh3:",
            ],
        ),
        (
            "inputs that are swapped",
            (
                schema,
                "input token_type_ids: token_type_ids",
                "input token_type_ids: attention_mask",
            ),
            vec![
                "its input token_type_ids takes tokenAttentionMask(48,query(q),attribute(tokens))",
            ],
        ),
    ] {
        let package = changed(change);
        let path = package.path().to_str().unwrap();
        let done = stead(&["check", "--quiet", path]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{label}: {error}");
        let found: Vec<&str> = error.lines().filter(|line| line.contains("ranker")).collect();
        assert_eq!(found.len(), expected.len(), "{label}: {error}");
        for expected in expected {
            assert!(
                found.iter().any(|line| line.starts_with(&format!("{at}{expected}"))),
                "{label}: {error}"
            );
        }
    }
    // What another stead wrote is not guessed at.
    let package = changed(("", "", ""));
    let path = package.path().join("models/ranker.onnx");
    let mut bytes = fs::read(&path).unwrap();
    let key = b"{\"format\":1";
    let place = bytes.windows(key.len()).position(|window| window == key).unwrap();
    bytes[place + key.len() - 1] = b'2';
    fs::write(&path, bytes).unwrap();
    let done = stead(&["check", "--quiet", package.path().to_str().unwrap()]);
    let error = String::from_utf8(done.stderr).unwrap();
    let expected = "schemas/passage.sd:20:14: stead.encoding in the metadata of models/ranker.onnx: its format is 2, and this stead reads 1\n";
    assert!(error.starts_with(expected), "{error}");
    for (label, change) in [
        ("another name of the tokenizer's file", (schema, "# Tokenized once", "# Once tokenized")),
        (
            "what a tokenizer of texts leaves out",
            (tokenizer, "\"truncation\": null", "\"truncation\": {}"),
        ),
    ] {
        let package = changed(change);
        let done = stead(&["check", "--quiet", package.path().to_str().unwrap()]);
        assert!(done.status.success(), "{label}: {done:?}");
    }
}

/// Deployments compare as `stead check` does.
#[test]
fn a_package_with_other_rows_is_not_deployed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let package = changed(("schemas/passage.sd", "(48, ", "(40, "));
    let done = stead(&["deploy", package.path().to_str().unwrap(), "--target", &server.deploy]);
    assert!(!done.status.success());
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(error.contains("onnx-model ranker was trained on other rows: of 48 tokens"), "{error}");
    server.deploy(&example("app"));
}

#[test]
fn the_script_of_the_example_runs() {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new("sh")
        .arg(example("run.sh"))
        .env("STEAD", env!("CARGO_BIN_EXE_stead"))
        .env("PORT", free_port())
        .env("OUT", folder.path())
        .output()
        .unwrap();
    let (out, error) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{error}");
    let answer: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    let best = answer["root"]["children"][0]["fields"]["text"].as_str().unwrap();
    let topic = "star moon sky light night dust ring distance sun rocket";
    let of_topic =
        best.split(|c: char| !c.is_alphabetic()).filter(|w| topic.split(' ').any(|t| t == *w));
    assert!(of_topic.count() >= 3, "{best}");
}
