//! Embedders over HTTP: beside what `tokenizers` and ONNX Runtime computed for every kind of them, and those in Python.
//!
//! `cargo xtask test` makes the models and the reference and sets `STEAD_TEST_DATA`; without the variable there is nothing to
//! compare and the tests say so.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic in a test is its report

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

use crate::server::{Server, package, stead};

fn data() -> Option<PathBuf> {
    let Some(data) = std::env::var_os("STEAD_TEST_DATA") else {
        eprintln!("skipped: STEAD_TEST_DATA is not set (cargo xtask test sets it)");
        return None;
    };
    Some(PathBuf::from(data).join("models/embedders"))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

/// What is wrong with what a text became, if anything.
fn difference(case: &Value, found: &Value) -> Option<String> {
    let near = |found: &[f64], expected: &[f64]| {
        let cosine = cosine(found, expected);
        let most = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        match found.len() == expected.len() && cosine >= 0.9999 && most < 1e-4 {
            true => None,
            false => Some(format!("cosine {cosine}, difference {most}, {} cells", found.len())),
        }
    };
    if let Some(vector) = case.get("vector") {
        return near(&numbers(found), &numbers(vector));
    }
    if let Some(rows) = case.get("rows").and_then(Value::as_array) {
        let found = found.as_array().unwrap();
        if found.len() != rows.len() {
            return Some(format!("{} rows, expected {}", found.len(), rows.len()));
        }
        return found
            .iter()
            .zip(rows)
            .find_map(|(found, row)| near(&numbers(found), &numbers(row)));
    }
    if case["embedder"] == "tokens" {
        return (*found != case["words"]).then(|| format!("{found}"));
    }
    let words: BTreeMap<u64, (&str, f64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|w| {
            (
                w["index"].as_u64().unwrap(),
                (w["token"].as_str().unwrap(), w["value"].as_f64().unwrap()),
            )
        })
        .collect();
    let expected = case["words"].as_array().unwrap();
    let wrong = expected.iter().find(|word| {
        let known = words.get(&word[0].as_u64().unwrap());
        // What is at the threshold may be on either side of it.
        let (text, weight) = (word[1].as_str().unwrap(), word[2].as_f64().unwrap());
        !known.is_some_and(|(t, w)| *t == text && (w - weight).abs() < 1e-4) && weight > 2.7001
    });
    let more = words.len().abs_diff(expected.len());
    (wrong.is_some() || more > 2).then(|| format!("{wrong:?}, {more} words more or less"))
}

#[test]
fn texts_become_what_onnx_runtime_makes_of_them() {
    let Some(folder) = data() else { return };
    let reference = folder.join("reference.json");
    if !reference.exists() {
        eprintln!("skipped: ONNX Runtime has no wheel for this Python (3.11 or newer needed)");
        return;
    }
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(reference).unwrap()).unwrap();
    let server = Server::of_package(&folder.join("app"));
    let mut groups: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
    for case in &cases {
        let key = (case["embedder"].as_str().unwrap(), case["role"].as_str().unwrap());
        groups.entry(key).or_default().push(case);
    }
    assert_eq!(groups.len(), 12);
    let mut wrong = Vec::new();
    // All texts in one request, so that they are padded and in runs with others; the reference has each alone.
    for ((embedder, role), cases) in &groups {
        let texts: Vec<&Value> = cases.iter().map(|case| &case["text"]).collect();
        let body = json!({"inputs": texts, "embedder": embedder, "role": role});
        let (status, found) = server.request("POST", "/embed", &body.to_string());
        assert_eq!(status, 200, "{found}");
        for (case, found) in cases.iter().zip(found.as_array().unwrap()) {
            if let Some(text) = difference(case, found) {
                wrong.push(format!("{embedder} {role} {:.40}: {text}", case["text"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let tokens: u64 =
        groups[&("minilm", "query")].iter().map(|case| case["ids"].as_u64().unwrap()).sum();
    let texts: Vec<&Value> =
        groups[&("minilm", "query")].iter().map(|case| &case["text"]).collect();
    let body = json!({"model": "minilm", "input": texts}).to_string();
    let (status, found) = server.request("POST", "/v1/embeddings", &body);
    assert_eq!((status, &found["usage"]["prompt_tokens"]), (200, &json!(tokens)));
    for (case, one) in groups[&("minilm", "query")].iter().zip(found["data"].as_array().unwrap()) {
        assert_eq!(difference(case, &one["embedding"]), None);
    }
}

const EMBEDDERS: &str = r#"
import stead

class Lengths(stead.Embedder):
    def embed_all(self, texts, type):
        if any("broken" in text for text in texts):
            raise ValueError("a broken text")
        return [[len(text), len(texts)] for text in texts]

class Ask(stead.RequestHandler):
    def __init__(self, embedders: stead.Embedders):
        self.embedders = embedders

    def handle(self, request):
        found = self.embedders.embed("a ranking model", "tensor<float>(d[4])", request.parameter("id", ""))
        return stead.Response({"found": found.to_literal()})
"#;

/// Cut at 8 tokens.
const TOKENIZER: &str = include_str!("../../embed/tests/data/tokenizer.json");

const SCHEMA: &str = "schema t {
  document t { field text type string { indexing: index | summary }  field parts type array<string> { indexing: index } }
  field vector type tensor<float>(x[2]) { indexing: input text | embed lengths | attribute | summary }
  field each type tensor<float>(p{},x[2]) { indexing: input parts | embed lengths | attribute }
  rank-profile near { inputs { query(q) tensor<float>(x[2]) }  first-phase { expression: sum(query(q) * attribute(vector)) } }
}";

#[test]
fn embedders_in_python_are_asked_by_scripts_and_searches() {
    if !stead(&["python", "doctor", "--json"]).status.success() {
        eprintln!("skipped: no Python on this machine");
        return;
    }
    let services = "<services version='1.0'><container id='c' version='1.0'><search/><document-api/>
      <component id='lengths' python='lengths:Lengths'/>
      <component id='tokens' type='hugging-face-tokenizer'><model path='models/tokenizer.json'/></component>
      <handler id='ask' python='lengths:Ask'><binding>http://*/ask</binding></handler></container>
      <content id='d' version='1.0'><documents><document type='t' mode='index'/></documents></content></services>";
    let app = package(&[
        ("services.xml", services),
        ("schemas/t.sd", SCHEMA),
        ("python/lengths.py", EMBEDDERS),
        ("models/tokenizer.json", TOKENIZER),
    ]);
    let server = Server::of_package(app.path());
    let put = |number: usize, fields: Value| {
        let path = format!("/document/v1/n/t/docid/{number}");
        server.request("POST", &path, &json!({ "fields": fields }).to_string())
    };
    let get = |number: usize| {
        server.request("GET", &format!("/document/v1/n/t/docid/{number}?fieldSet=[all]"), "")
    };
    let (status, told) = put(1, json!({"text": "abc", "parts": ["a", "", "bcde"]}));
    assert_eq!(status, 200, "{told}");
    let found = get(1).1;
    assert_eq!(
        found["fields"]["vector"]["values"],
        json!([3.0, 3.0]),
        "all of a document in one call: {found}"
    );
    let each = json!({"0": [1.0, 3.0], "2": [4.0, 3.0]});
    assert_eq!(found["fields"]["each"]["blocks"], each, "{found}");
    let (status, told) = put(2, json!({"text": "broken"}));
    assert!(
        status == 500 && told["message"].as_str().unwrap().contains("field vector"),
        "{status} {told}"
    );
    assert_eq!(get(2).0, 404);
    let query = json!({"yql": "select * from t where true", "ranking": "near", "input.query(q)": "embed(lengths, @text)", "text": "abcd"});
    let (status, found) = server.request("POST", "/search/", &query.to_string());
    assert_eq!(
        (status, &found["root"]["children"][0]["relevance"]),
        (200, &json!(15.0)),
        "{found}"
    );
    let body =
        json!({"inputs": ["ab", "abc"], "type": "tensor<float>(x[2])", "embedder": "lengths"})
            .to_string();
    let (status, found) = server.request("POST", "/embed", &body);
    assert_eq!(status, 200, "{found}");
    assert_eq!(found[1]["values"], json!([3.0, 2.0]), "{found}");
    let (status, found) =
        server.request("POST", "/embed", r#"{"inputs": "ab", "embedder": "lengths"}"#);
    let text = "embedder lengths is in Python, which is asked for a type";
    assert_eq!((status, found), (400, json!({ "error": text })));
    // Components ask those that need no Python, by their ids.
    let ids = json!({"inputs": "a ranking model", "embedder": "tokens"}).to_string();
    let ids = numbers(&server.request("POST", "/embed", &ids).1[0]);
    let expected: Vec<String> = (0..4).map(|at| ids.get(at).unwrap_or(&0.0).to_string()).collect();
    let expected = format!("tensor<float>(d[4]):[{}]", expected.join(","));
    assert_eq!(server.request("GET", "/ask?id=tokens", ""), (200, json!({"found": expected})));
    let (status, told) = server.request("GET", "/ask", "");
    let text = "handler ask: there is no embedder \"\"; there are lengths, tokens";
    assert_eq!((status, &told["error"]), (500, &json!(text)));
}

const LANES: &str = r#"
import pathlib, time
import stead

class Waits(stead.Embedder):
    def embed_all(self, texts, type):
        for text in texts:
            begun, go = map(pathlib.Path, text.split("|")[1:])
            if text.startswith("query"):
                go.touch()
            else:
                begun.touch()
                until = time.monotonic() + 60
                while not go.exists():
                    if time.monotonic() > until:
                        raise TimeoutError("the query waits for the document")
                    time.sleep(0.002)
        return [[1, 1] for _ in texts]
"#;

#[test]
fn queries_do_not_wait_for_the_run_of_documents() {
    if !stead(&["python", "doctor", "--json"]).status.success() {
        eprintln!("skipped: no Python on this machine");
        return;
    }
    let services = "<services version='1.0'><container id='c' version='1.0'><document-api/><component id='lengths' python='waits:Waits'/></container>
      <content id='d' version='1.0'><documents><document type='t' mode='index'/></documents></content></services>";
    let schema = "schema t { document t { field text type string { indexing: index } }
      field vector type tensor<float>(x[2]) { indexing: input text | embed lengths | attribute } }";
    let app = package(&[
        ("services.xml", services),
        ("schemas/t.sd", schema),
        ("python/waits.py", LANES),
    ]);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
    let folder = tempfile::tempdir().unwrap();
    let (begun, go) = (folder.path().join("begun"), folder.path().join("go"));
    let text = |role: &str| format!("{role}|{}|{}", begun.display(), go.display());
    let document = json!({"fields": {"text": text("document")}}).to_string();
    let path = "/document/v1/n/t/docid/1?timeout=90s";
    std::thread::scope(|scope| {
        let fed = scope.spawn(|| server.request("POST", path, &document));
        while !begun.exists() {
            assert!(!fed.is_finished(), "the document is not embedded");
            std::thread::yield_now();
        }
        let query =
            json!({"inputs": text("query"), "role": "query", "type": "tensor<float>(x[2])"});
        let (status, found) = server.request("POST", "/embed", &query.to_string());
        assert_eq!(status, 200, "{found}");
        let (status, told) = fed.join().unwrap();
        assert_eq!(status, 200, "{told}");
    });
}

/// A model that gives each id as a vector of two cells.
fn small_model() -> Vec<u8> {
    let dims = &["batch", "seq"];
    ModelBuilder::new(17)
        .input("input_ids", DType::I64, dims)
        .input("attention_mask", DType::I64, dims)
        .init("one", Tensor::from_slice(&[1.0_f32, -0.5], &[2]).unwrap())
        .init("axis", Tensor::from_slice(&[2_i64], &[1]).unwrap())
        .node("Cast", &["input_ids"], &["numbers"])
        .attr("to", 1)
        .node("Unsqueeze", &["numbers", "axis"], &["column"])
        .node("Mul", &["column", "one"], &["last_hidden_state"])
        .output_of(
            "last_hidden_state",
            ValueType::tensor(DType::F32, Some(dims_of(&["batch", "seq", "2"]))),
        )
        .bytes()
}

#[test]
fn clients_of_openai_are_answered_as_they_expect() {
    let services = "<container id='c' version='1.0'>
      <component id='small' type='hugging-face-embedder'><transformer-model path='models/m.onnx'/><tokenizer-model path='models/tokenizer.json'/></component>
      <component id='tokens' type='hugging-face-tokenizer'><model path='models/tokenizer.json'/></component></container>";
    let app = package(&[("services.xml", services), ("models/tokenizer.json", TOKENIZER)]);
    std::fs::write(app.path().join("models/m.onnx"), small_model()).unwrap();
    let server = Server::of_package(app.path());
    let ask = |body: Value| server.request("POST", "/v1/embeddings", &body.to_string());
    let (status, found) = ask(json!({"model": "small", "input": [[3, 5], [7]], "user": "u"}));
    let expected = json!({
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [4.0, -2.0]},
            {"object": "embedding", "index": 1, "embedding": [7.0, -3.5]},
        ],
        "model": "small",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    });
    assert_eq!((status, found), (200, expected));
    let (_, found) = ask(json!({"model": "small", "input": [3, 5], "encoding_format": "base64"}));
    // 4.0 and -2.0 in little-endian floats.
    assert_eq!(found["data"][0]["embedding"], "AACAQAAAAMA=");
    let (_, found) = ask(json!({"model": "small", "input": [3, 5], "dimensions": 1}));
    assert_eq!(found["data"][0]["embedding"], json!([4.0]));
    let (_, one) = ask(json!({"model": "small", "input": "a ranking model"}));
    let (_, both) = ask(json!({"model": "small", "input": ["a", "a ranking model"]}));
    assert_eq!(one["data"][0]["embedding"], both["data"][1]["embedding"]);
    for (label, body, status, text) in [
        ("no JSON", "{".to_owned(), 400, "the body is no JSON"),
        ("a list", "[]".to_owned(), 400, "expected an object of JSON"),
        ("no model", json!({"input": "a"}).to_string(), 400, "you must provide a model parameter"),
        (
            "unknown model",
            json!({"model": "m", "input": "a"}).to_string(),
            404,
            "there is no embedder m; there are small, tokens",
        ),
        ("no input", json!({"model": "small"}).to_string(), 400, "there is no input"),
        (
            "an empty text",
            json!({"model": "small", "input": ["a", ""]}).to_string(),
            400,
            "input cannot be an empty string or array",
        ),
        (
            "a number",
            json!({"model": "small", "input": 7}).to_string(),
            400,
            "input must be a string, an array of strings, or an array of token ids",
        ),
        (
            "an id that is none",
            json!({"model": "small", "input": [9999]}).to_string(),
            400,
            "9999 is no token id",
        ),
        (
            "too many",
            json!({"model": "small", "input": vec!["a"; 2049]}).to_string(),
            400,
            "input must have 1 to 2048 elements, found 2049",
        ),
        (
            "no format",
            json!({"model": "small", "input": "a", "encoding_format": "hex"}).to_string(),
            400,
            "encoding_format must be float or base64, found hex",
        ),
        (
            "more cells",
            json!({"model": "small", "input": "a", "dimensions": 3}).to_string(),
            400,
            "dimensions must be at most 2, found 3",
        ),
        (
            "unknown member",
            json!({"model": "small", "input": "a", "stream": true}).to_string(),
            400,
            "stream is not known",
        ),
        (
            "no vector",
            json!({"model": "tokens", "input": "a"}).to_string(),
            400,
            "embedder tokens does not make one vector of a text; ask /embed",
        ),
    ] {
        let (found, told) = server.request("POST", "/v1/embeddings", &body);
        assert_eq!(
            (found, told["error"]["type"].as_str()),
            (status, Some("invalid_request_error")),
            "{label}: {told}"
        );
        let code = if status == 404 { json!("model_not_found") } else { Value::Null };
        assert_eq!(told["error"]["code"], code, "{label}");
        assert!(told["error"]["message"].as_str().unwrap().starts_with(text), "{label}: {told}");
    }
    for (body, text) in [
        (
            json!({"inputs": "a", "embedder": "small", "truncate": false}),
            "truncate false is not supported",
        ),
        (
            json!({"inputs": "a", "embedder": "small", "type": "tensor(x[3])"}),
            "the model gives 2 cells, and tensor(x[3]) has 3",
        ),
        (json!({"inputs": "a", "embedder": "small", "type": "tensor(x"}), "expected"),
        (json!({"inputs": "a", "role": "both"}), "role must be query or document, found both"),
        (json!({"inputs": "a"}), "name an embedder; there are small, tokens"),
    ] {
        let (status, told) = server.request("POST", "/embed", &body.to_string());
        assert!(
            status == 400 && told["error"].as_str().unwrap().contains(text),
            "{body}: {status} {told}"
        );
    }
    assert_eq!(server.request("GET", "/embed", "").0, 404);
    assert_eq!(server.request("GET", "/v1/embeddings", "").0, 406);
}

#[test]
fn texts_of_any_length_are_embedded_and_bytes_that_are_none_refused() {
    let services = "<container id='c' version='1.0'>
      <component id='small' type='hugging-face-embedder'><transformer-model path='models/m.onnx'/><tokenizer-model path='models/tokenizer.json'/>
        <max-tokens>16</max-tokens></component></container>";
    let app = package(&[("services.xml", services), ("models/tokenizer.json", TOKENIZER)]);
    std::fs::write(app.path().join("models/m.onnx"), small_model()).unwrap();
    let server = Server::of_package(app.path());
    let ask = |path: &str, body: &[u8]| {
        let kind = "Content-Type: application/json\r\n";
        let (status, _, told) = server.exchange("POST", path, kind, body);
        (status, serde_json::from_str::<Value>(&told).unwrap_or_else(|_| panic!("{told}")))
    };
    // Ten megabytes are cut at the tokens that the model is given, as the same words a few times are.
    let long = |times: usize| json!({"inputs": "a ranking model ".repeat(times)}).to_string();
    let (status, ten) = ask("/embed", long(650_000).as_bytes());
    assert_eq!(status, 200, "{ten}");
    assert_eq!(ask("/embed", long(100).as_bytes()).1, ten);
    let (status, empty) = ask("/embed", br#"{"inputs": ""}"#);
    assert_eq!((status, empty[0].as_array().map(Vec::len)), (200, Some(2)), "{empty}");
    for path in ["/embed", "/v1/embeddings"] {
        for (label, body) in [
            ("invalid UTF-8", &b"{\"inputs\": \"\xff\"}"[..]),
            ("a text that ends in a letter", b"{\"inputs\": \"\xc3\"}"),
            ("half a pair of surrogates", br#"{"inputs": "\ud800"}"#),
        ] {
            let (status, told) = ask(path, body);
            let text = told["error"]["message"].as_str().or(told["error"].as_str());
            assert!(
                status == 400 && text.is_some_and(|text| text.starts_with("the body is no JSON")),
                "{path} {label}: {status} {told}"
            );
        }
    }
}
