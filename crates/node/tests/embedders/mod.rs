//! Embedders of packages: in scripts of fields, in searches, and for clients.
#![allow(clippy::unwrap_used)] // a panic is the report

mod asked;
mod deployed;
mod package;
mod processor;

use std::sync::Arc;
use std::sync::mpsc::channel;

use package::{Model, POISON, ids, mean, package};
use stead_app::Source;
use stead_expr::{Value, compile};
use stead_node::{Code, Deployments, DocumentOptions, Embedded, NodeConfig, WhenBusy};
use stead_store::{FieldValue, Operation, Outcome};

const SERVICES: &str = "<services version='1.0'><container id='c' version='1.0'><search/><document-api/>
  <component id='dense' type='hugging-face-embedder'>
    <transformer-model path='models/dense.onnx'/><tokenizer-model path='models/tokenizer.json'/>
    <prepend><query>query </query></prepend></component>
  <component id='colbert' type='colbert-embedder'>
    <transformer-model path='models/colbert.onnx'/><tokenizer-model path='models/tokenizer.json'/>
    <max-query-tokens>6</max-query-tokens></component>
  <component id='splade' type='splade-embedder'>
    <transformer-model path='models/splade.onnx'/><tokenizer-model path='models/tokenizer.json'/>
    <term-score-threshold>1.2</term-score-threshold></component>
  <component id='tokens' type='hugging-face-tokenizer'><model path='models/tokenizer.json'/><model language='de' path='models/german.json'/></component>
 </container><content id='d' version='1.0'><documents><document type='t' mode='index'/></documents></content></services>";

const SCHEMA: &str = "schema t {
  document t {
    field text type string { indexing: index | summary }
    field parts type array<string> { indexing: index }
    field other type int { indexing: attribute }
    field spoken type string { indexing: summary }
  }
  field vector type tensor<float>(x[16]) { indexing: input text | embed dense | attribute | summary }
  field short type tensor<bfloat16>(x[4]) { indexing: (input text || \"\") . \" model\" | embed dense | attribute }
  field bits type tensor<int8>(x[2]) { indexing: input text | embed dense | attribute }
  field packed type tensor<int8>(x[1]) { indexing: input text | embed dense | pack_bits | attribute }
  field each type tensor<float>(p{},x[16]) { indexing: input parts | for_each { trim } | embed dense | attribute }
  field late type tensor<int8>(k{},x[2]) { indexing: input text | embed colbert | attribute }
  field lates type tensor<float>(k{},p{},x[3]) { indexing: input parts | embed colbert p | attribute }
  field words type tensor<float>(w{}) { indexing: input text | embed splade | attribute }
  field ids type tensor<float>(d0[12]) { indexing: input text | embed tokens | attribute }
  field told type tensor<float>(d0[12]) { indexing { input spoken | set_language; input text | embed tokens | attribute; } }
  rank-profile near {
    inputs { query(q) tensor<float>(x[16])  query(i) tensor<float>(d0[12])  query(k) tensor<float>(k{},x[16])  query(w) tensor<float>(w{}) }
    first-phase { expression: sum(query(q) * attribute(vector)) }
    function weights() { expression: sum(query(w)) }
    match-features: weights query(q) query(k) query(i)
  }
}";

fn models() -> Vec<(&'static str, Model)> {
    let two = &["input_ids", "attention_mask"];
    vec![
        ("models/dense.onnx", Model::default()),
        ("models/colbert.onnx", Model { output: "contextual", inputs: two, ..Model::default() }),
        ("models/splade.onnx", Model { output: "logits", words: 283, ..Model::default() }),
    ]
}

fn node() -> (tempfile::TempDir, Arc<Embedded>) {
    node_of(None)
}

/// A node with so many threads that compute.
fn node_of(threads: Option<usize>) -> (tempfile::TempDir, Arc<Embedded>) {
    let (folder, files) =
        package(&[("services.xml", SERVICES), ("schemas/t.sd", SCHEMA)], &models());
    let deployments = Deployments::of_package(&files, DocumentOptions::default()).unwrap();
    let config = NodeConfig::new(Source::Nothing);
    let node = Embedded::start(NodeConfig { threads, deployments: Some(deployments), ..config });
    (folder, node.unwrap())
}

fn put(number: usize, fields: &str) -> String {
    format!(r#"{{"put": "id:n:t::{number}", "fields": {fields}}}"#)
}

fn tensor(node: &Embedded, number: usize, field: &str) -> Option<Value> {
    let document = node.document(&format!("id:n:t::{number}")).unwrap().unwrap();
    match document.field(field)? {
        FieldValue::Tensor(value) => Some(value.clone()),
        other => panic!("{field}: {other:?}"),
    }
}

fn close(found: &Value, expected: &[f32], label: &str) {
    let found = found.cells().floats().into_owned();
    assert_eq!(found.len(), expected.len(), "{label}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{label}: {found} is not {expected}");
    }
}

fn literal(text: &str) -> Value {
    compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
}

#[test]
fn documents_have_the_tensors_of_their_texts() {
    let (_folder, node) = node();
    let text = "how does a ranking model score";
    let fields = format!(r#"{{"text": "{text}", "parts": [" query ", " ", "a document"]}}"#);
    assert_eq!(node.feed_json(&put(1, &fields)), Ok(Outcome::Applied));
    let vector = mean(text);
    close(&tensor(&node, 1, "vector").unwrap(), &vector, "vector");
    let found = tensor(&node, 1, "short").unwrap();
    let expected = &mean(&format!("{text} model"))[..4];
    for (found, expected) in found.cells().floats().iter().zip(expected) {
        assert!((found - expected).abs() < 0.01, "{found} {expected}");
    }
    let bits: Vec<f32> = stead_embed::pack_bits(&vector).into_iter().map(f32::from).collect();
    close(&tensor(&node, 1, "bits").unwrap(), &bits, "bits");
    close(&tensor(&node, 1, "packed").unwrap(), &bits[..1], "packed");
    let each = tensor(&node, 1, "each").unwrap();
    assert_eq!(each.labels().iter().map(|l| l.text()).collect::<Vec<_>>(), ["0", "2"]);
    close(&each, &[mean("query"), mean("a document")].concat(), "each");
    // Three marks, and the tokens without specials.
    let late = tensor(&node, 1, "late").unwrap();
    assert_eq!(late.blocks(), 3 + ids(text).len() - 2);
    let lates = tensor(&node, 1, "lates").unwrap();
    let (one, two) = (ids("query").len() + 1, ids("a document").len() + 1);
    assert_eq!(lates.blocks(), one + two);
    let words = tensor(&node, 1, "words").unwrap();
    assert!(words.blocks() > 0 && words.cells().floats().iter().all(|w| *w > 1.2));
    let tokens: Vec<f32> = ids(text)[1..ids(text).len() - 1].iter().map(|id| *id as f32).collect();
    let mut padded = tokens.clone();
    padded.resize(12, 0.0);
    close(&tensor(&node, 1, "ids").unwrap(), &padded, "ids");
}

#[test]
fn tokenizers_are_those_of_the_language() {
    let (_folder, node) = node();
    // In German the words query and model have the ids of each other.
    let of = |text: &str| ids(text)[1];
    for (number, (spoken, first)) in
        [("", of("query")), ("en", of("query")), ("de", of("model")), ("de_AT", of("model"))]
            .into_iter()
            .enumerate()
    {
        let spoken_field = match spoken {
            "" => String::new(),
            tag => format!(r#", "spoken": "{tag}""#),
        };
        let fields = format!(r#"{{"text": "query"{spoken_field}}}"#);
        assert_eq!(node.feed_json(&put(number, &fields)), Ok(Outcome::Applied));
        let told = tensor(&node, number, "told").unwrap();
        assert_eq!(told.cells().floats()[0], first as f32, "{spoken:?}");
        let plain = tensor(&node, number, "ids").unwrap();
        // One field alone sets the language, so that it is that of all.
        assert_eq!(plain.cells().floats()[0], first as f32, "{spoken:?}: the field before it");
        let mut asked = vec![
            ("yql", "select * from t where true"),
            ("ranking", "near"),
            ("input.query(i)", "embed(tokens, 'query')"),
        ];
        if !spoken.is_empty() {
            asked.push(("language", spoken));
        }
        let (result, _) = node.search_wait(&asked).unwrap();
        assert_eq!(result.errors, []);
        let shown = result.hits[0].get("matchfeatures").unwrap().json();
        let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
        let cells = shown["query(i)"]["values"].as_array().unwrap();
        assert_eq!(cells[0].as_f64(), Some(f64::from(first)), "{spoken:?}: {shown}");
    }
}

#[test]
fn texts_that_are_not_there_have_no_tensor() {
    let (_folder, node) = node();
    assert_eq!(node.feed_json(&put(1, r#"{"other": 3}"#)), Ok(Outcome::Applied));
    assert_eq!(tensor(&node, 1, "vector"), None);
    assert_eq!(node.feed_json(&put(2, r#"{"text": " ", "parts": []}"#)), Ok(Outcome::Applied));
    assert_eq!(tensor(&node, 2, "vector"), None);
    assert!(tensor(&node, 2, "short").is_some());
}

#[test]
fn updates_of_texts_embed_again() {
    let (_folder, node) = node();
    let update = |json: &str| node.feed_json(&format!(r#"{{"update": "id:n:t::1", {json}}}"#));
    assert_eq!(
        node.feed_json(&put(1, r#"{"text": "query", "parts": ["model"]}"#)),
        Ok(Outcome::Applied)
    );
    assert_eq!(update(r#""fields": {"text": {"assign": "document"}}"#), Ok(Outcome::Applied));
    close(&tensor(&node, 1, "vector").unwrap(), &mean("document"), "assigned");
    close(&tensor(&node, 1, "each").unwrap(), &mean("model"), "not assigned");
    assert_eq!(update(r#""fields": {"parts": {"add": ["score"]}}"#), Ok(Outcome::Applied));
    close(&tensor(&node, 1, "each").unwrap(), &[mean("model"), mean("score")].concat(), "added to");
    assert_eq!(update(r#""fields": {"other": {"assign": 9}}"#), Ok(Outcome::Applied));
    close(&tensor(&node, 1, "vector").unwrap(), &mean("document"), "another field");
    let create =
        r#"{"update": "id:n:t::2", "create": true, "fields": {"text": {"assign": "query"}}}"#;
    assert_eq!(node.feed_json(create), Ok(Outcome::Applied));
    close(&tensor(&node, 2, "vector").unwrap(), &mean("query"), "created");
    let condition = r#"{"update": "id:n:t::2", "condition": "t.other == 1", "fields": {"text": {"assign": "x"}}}"#;
    assert_eq!(node.feed_json(condition), Ok(Outcome::ConditionFailed));
    close(&tensor(&node, 2, "vector").unwrap(), &mean("query"), "condition");
}

#[test]
fn what_cannot_be_embedded_is_not_stored_and_its_field_is_named() {
    let (_folder, node) = node();
    let error = node.feed_json(&put(1, &format!(r#"{{"text": "search {POISON}"}}"#))).unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
    let text = error.to_string();
    for part in ["id:n:t::1", "field vector", "embedder dense"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(node.document("id:n:t::1"), Ok(None));
    // Others in the same run are embedded.
    assert_eq!(node.feed_json(&put(2, r#"{"text": "search"}"#)), Ok(Outcome::Applied));
    let update =
        format!(r#"{{"update": "id:n:t::2", "fields": {{"text": {{"assign": "{POISON}"}}}}}}"#);
    assert_eq!(node.feed_json(&update).unwrap_err().code, Code::Internal);
    close(&tensor(&node, 2, "vector").unwrap(), &mean("search"), "as it was");
}

/// Operations of one caller, none of which is waited for before the next: some need tensors, some do not.
#[test]
fn operations_with_a_document_stay_in_their_order() {
    let (_folder, node) = node();
    let deployments = node.deployments().unwrap();
    let kind = deployments.active().unwrap().view("t").unwrap().kind().clone();
    let (sender, outcomes) = channel();
    let words = ["query", "model", "score", "document", "rank", "search"];
    let mut sent = 0;
    for round in 0..40 {
        for number in 0..5 {
            let word = words[(round + number) % words.len()];
            let json = match round % 4 {
                0 => put(number, &format!(r#"{{"text": "{word} {round}"}}"#)),
                1 => format!(
                    r#"{{"update": "id:n:t::{number}", "fields": {{"other": {{"assign": {round}}}}}}}"#
                ),
                2 => format!(
                    r#"{{"update": "id:n:t::{number}", "fields": {{"text": {{"assign": "{word} {round}"}}}}}}"#
                ),
                _ => match round {
                    39 => put(number, r#"{"text": "document", "other": 7}"#),
                    _ => format!(r#"{{"remove": "id:n:t::{number}"}}"#),
                },
            };
            let operation = Operation::read(&kind, json.as_bytes()).unwrap();
            let sender = sender.clone();
            let done = move |outcome| sender.send((round, number, outcome)).unwrap();
            deployments.submit("t", operation, WhenBusy::Wait, done).unwrap();
            sent += 1;
        }
    }
    let mut seen = vec![Vec::new(); 5];
    for _ in 0..sent {
        let (round, number, outcome) = outcomes.recv().unwrap();
        assert_eq!(outcome, Ok(Outcome::Applied), "round {round} of document {number}");
        seen[number].push(round);
    }
    for (number, rounds) in seen.iter().enumerate() {
        assert!(rounds.is_sorted(), "document {number}: {rounds:?}");
        close(&tensor(&node, number, "vector").unwrap(), &mean("document"), "the last");
    }
}
