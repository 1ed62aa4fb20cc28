//! The document processor `embed`: the same tensors as those of scripts of fields.

use std::sync::mpsc::channel;

use stead_node::{Code, DeployOptions, Deployments, Embedded, Fed, FeedRoute, Feeding, WhenBusy};
use stead_store::{Members, Operation, Outcome};

use super::package::{POISON, ids, mean, package};
use super::{SERVICES, close, models, put, tensor};

const SCHEMA: &str = "schema t {
  document t {
    field text type string { indexing: index | summary }
    field name type string { indexing: summary }
    field parts type array<string> { indexing: summary }
    field other type int { indexing: attribute }
    field vector type tensor<float>(x[16]) { indexing: attribute }
    field joined type tensor<bfloat16>(x[4]) { indexing: attribute }
    field bits type tensor<int8>(x[2]) { indexing: attribute }
    field each type tensor<float>(p{},x[16]) { indexing: attribute }
    field lates type tensor<float>(k{},p{},x[3]) { indexing: attribute }
    field words type tensor<float>(w{}) { indexing: attribute }
    field ids type tensor<float>(d0[12]) { indexing: attribute }
  }
}";

/// A chain of a processor for each of these: its embedder, where its texts are, the field that is filled, and more parameters.
fn services(processors: &[(&str, &str, &str, &str)]) -> String {
    let processor = |(at, (embedder, from, to, more)): (usize, &(&str, &str, &str, &str))| {
        format!(
            "<documentprocessor id='e{at}' type='embed'><embedder>{embedder}</embedder><from>{from}</from><to>{to}</to>{more}</documentprocessor>"
        )
    };
    let all: String = processors.iter().enumerate().map(processor).collect();
    let chain =
        format!("<document-processing><chain id='default'>{all}</chain></document-processing>");
    SERVICES.replacen("<document-api/>", &format!("<document-api/>{chain}"), 1)
}

const ALL: &[(&str, &str, &str, &str)] = &[
    ("dense", "text", "vector", ""),
    ("dense", "<item>name</item><item>text</item>", "joined", "<separator> of </separator>"),
    ("dense", "text", "bits", ""),
    ("dense", "parts", "each", ""),
    ("colbert", "parts", "lates", "<dimension>p</dimension>"),
    ("splade", "text", "words", ""),
    ("tokens", "text", "ids", ""),
];

fn node() -> (tempfile::TempDir, std::sync::Arc<Embedded>) {
    let (folder, files) =
        package(&[("services.xml", &services(ALL)), ("schemas/t.sd", SCHEMA)], &models());
    (folder, Embedded::in_memory(&files).unwrap())
}

#[test]
fn fields_get_the_tensors_of_texts() {
    let (_folder, node) = node();
    let text = "how does a ranking model score";
    let fields =
        format!(r#"{{"text": "{text}", "name": "query", "parts": [" query ", " ", "document"]}}"#);
    assert_eq!(node.feed_json(&put(1, &fields)), Ok(Outcome::Applied));
    let vector = mean(text);
    close(&tensor(&node, 1, "vector").unwrap(), &vector, "vector");
    let bits: Vec<f32> = stead_embed::pack_bits(&vector).into_iter().map(f32::from).collect();
    close(&tensor(&node, 1, "bits").unwrap(), &bits, "bits");
    let joined = tensor(&node, 1, "joined").unwrap();
    for (found, expected) in joined.cells().floats().iter().zip(mean(&format!("query of {text}"))) {
        assert!((found - expected).abs() < 0.01, "{found} {expected}");
    }
    let each = tensor(&node, 1, "each").unwrap();
    assert_eq!(each.labels().iter().map(|l| l.text()).collect::<Vec<_>>(), ["0", "2"]);
    close(&each, &[mean("query"), mean("document")].concat(), "each");
    // Marks, and the tokens without specials.
    let blocks = ids("query").len() + 1 + ids("document").len() + 1;
    assert_eq!(tensor(&node, 1, "lates").unwrap().blocks(), blocks);
    let words = tensor(&node, 1, "words").unwrap();
    assert!(words.blocks() > 0 && words.cells().floats().iter().all(|w| *w > 1.2));
    let mut tokens: Vec<f32> =
        ids(text)[1..ids(text).len() - 1].iter().map(|id| *id as f32).collect();
    tokens.resize(12, 0.0);
    close(&tensor(&node, 1, "ids").unwrap(), &tokens, "ids");
}

#[test]
fn texts_that_are_not_there_leave_fields_as_they_are() {
    let (_folder, node) = node();
    let own = r#"{"name": "query", "vector": [1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#;
    assert_eq!(node.feed_json(&put(1, own)), Ok(Outcome::Applied));
    assert_eq!(tensor(&node, 1, "vector").unwrap().cells().floats()[0], 1.0, "as it was fed");
    // Of fields that are joined those that are there.
    let joined = tensor(&node, 1, "joined").unwrap();
    assert!((joined.cells().floats()[0] - mean("query")[0]).abs() < 0.01);
    let update = |fields: &str| {
        node.feed_json(&format!(r#"{{"update": "id:n:t::1", "fields": {{{fields}}}}}"#))
    };
    assert_eq!(update(r#""text": {"assign": "model"}"#), Ok(Outcome::Applied));
    close(&tensor(&node, 1, "vector").unwrap(), &mean("model"), "assigned");
    let found = tensor(&node, 1, "joined").unwrap();
    assert_eq!(found, joined, "an update that assigns one of two fields");
    assert_eq!(
        update(r#""text": {"assign": "model"}, "name": {"assign": "score"}"#),
        Ok(Outcome::Applied)
    );
    let found = tensor(&node, 1, "joined").unwrap();
    assert!((found.cells().floats()[0] - mean("score of model")[0]).abs() < 0.01);
    assert_eq!(update(r#""text": {"assign": " "}"#), Ok(Outcome::Applied));
    assert_eq!(tensor(&node, 1, "vector"), None, "the tensor of no text");
}

#[test]
fn documents_whose_embedder_fails_are_refused_alone() {
    let (_folder, node) = node();
    let deployments = node.deployments().unwrap();
    let active = deployments.active().unwrap();
    let kind = active.view("t").unwrap().kind().clone();
    let (sender, outcomes) = channel();
    let how = Feeding {
        route: FeedRoute::Default,
        timeout: std::time::Duration::from_secs(60),
        when_busy: WhenBusy::Wait,
    };
    for number in 0..20 {
        let text = if number % 7 == 3 { POISON } else { "search" };
        let json = put(number, &format!(r#"{{"text": "{text} {number}"}}"#));
        let operation = Operation::read(&kind, json.as_bytes()).unwrap();
        let changes = Members::parse(json.as_bytes()).unwrap().fields_text().map(Into::into);
        let sender = sender.clone();
        let done = move |outcome| sender.send((number, outcome)).unwrap();
        deployments.feed(&active, Fed { operation, changes }, how, done).unwrap();
    }
    for _ in 0..20 {
        let (number, outcome) = outcomes.recv().unwrap();
        match number % 7 {
            3 => {
                let error = outcome.unwrap_err();
                assert_eq!(error.code, Code::Internal, "{error}");
                let begin = "documentprocessor e0@default: field vector: embedder dense: ";
                assert!(error.to_string().starts_with(begin), "{error}");
                assert_eq!(node.document(&format!("id:n:t::{number}")), Ok(None));
            }
            _ => {
                assert_eq!(outcome, Ok(Outcome::Applied), "{number}");
                let expected = mean(&format!("search {number}"));
                close(&tensor(&node, number, "vector").unwrap(), &expected, "another");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_named_when_it_is_deployed() {
    let own = "<documentprocessor type='embed'><from>text</from><to>vector</to>";
    for (label, processor, expected) in [
        (
            "unknown",
            ("none", "text", "vector", ""),
            "there is no embedder none; there are colbert, dense, splade, tokens",
        ),
        (
            "a number",
            ("dense", "other", "vector", ""),
            "field other is of the type int; expected a string or array<string>",
        ),
        (
            "no tensor",
            ("dense", "text", "other", ""),
            "field other is of the type int; expected a tensor",
        ),
        (
            "an array that is joined",
            ("dense", "<item>text</item><item>parts</item>", "vector", ""),
            "field parts is of the type array<string>; expected a string, as for all fields that are joined",
        ),
        (
            "no dimension",
            ("colbert", "parts", "lates", ""),
            "field lates: When the embedding target field is a 3d tensor the name of",
        ),
        (
            "another dimension",
            ("dense", "parts", "each", "<dimension>x</dimension>"),
            "field each: tensor<float>(p{},x[16]) has no mapped dimension x",
        ),
        (
            "not of one text",
            ("dense", "text", "vector", "<dimension>p</dimension>"),
            "dimension is for a field array<string>",
        ),
        (
            "an array in a vector",
            ("dense", "parts", "vector", ""),
            "field vector: Input is an array, so output must be a rank 2 or 3 tensor",
        ),
        (
            "not of this embedder",
            ("splade", "text", "vector", ""),
            "field vector: embedder splade: Invalid splade embedder tensor destination.",
        ),
    ] {
        let services = services(&[processor]);
        let (_folder, files) =
            package(&[("services.xml", &services), ("schemas/t.sd", SCHEMA)], &models());
        let told = Deployments::of_package(&files, DeployOptions::default()).err().unwrap();
        let expected = format!("documentprocessor e0@default: {expected}");
        assert!(told.to_string().contains(&expected), "{label}: {told}");
    }
    // Of several embedders one is named.
    let services = services(&[("dense", "text", "vector", "")]);
    let begin = services.find("<documentprocessor").unwrap();
    let end = services.find("</documentprocessor>").unwrap();
    let services = format!("{}{own}{}", &services[..begin], &services[end..]);
    let (_folder, files) =
        package(&[("services.xml", &services), ("schemas/t.sd", SCHEMA)], &models());
    let told = Deployments::of_package(&files, DeployOptions::default()).err().unwrap();
    assert!(
        told.to_string().contains("name the embedder; there are colbert, dense, splade, tokens"),
        "{told}"
    );
}
