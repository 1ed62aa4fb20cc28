//! Texts of searches and clients.

use stead_node::{Code, EmbedInput, EmbedOutput, EmbedRequest, Embedded, Role};
use stead_store::Outcome;

use super::package::{POISON, WIDTH, ids, mean};
use super::{close, literal, node, put};

fn search(node: &Embedded, parameters: &[(&str, &str)]) -> serde_json::Value {
    let all = [&[("yql", "select * from t where true"), ("ranking", "near")], parameters].concat();
    let (result, format) = node.search_wait(&all).unwrap();
    serde_json::from_slice(&stead_search::result::render(&result, format)).unwrap()
}

#[test]
fn searches_embed_their_texts() {
    let (_folder, node) = node();
    for (number, text) in ["ranking model", "query", "a document"].iter().enumerate() {
        let fields = format!(r#"{{"text": "{text}"}}"#);
        assert_eq!(node.feed_json(&put(number, &fields)), Ok(Outcome::Applied));
    }
    let vector = mean("query ranking model");
    for (label, parameters) in [
        ("quoted", vec![("input.query(q)", "embed(dense, \"ranking model\")")]),
        ("a parameter", vec![("input.query(q)", "embed(dense, @text)"), ("text", "ranking model")]),
        ("ranking.features", vec![("ranking.features.query(q)", "embed(dense,'ranking model')")]),
    ] {
        let found = search(&node, &parameters);
        assert!(found["root"]["errors"].is_null(), "{label}: {found}");
        let features = &found["root"]["children"][0]["fields"]["matchfeatures"];
        let cells: Vec<f32> = features["query(q)"]["values"]
            .as_array()
            .unwrap_or_else(|| panic!("{label}: {found}"))
            .iter()
            .map(|cell| cell.as_f64().unwrap() as f32)
            .collect();
        for (found, expected) in cells.iter().zip(&vector) {
            assert!((found - expected).abs() < 1e-5, "{label}: {found} is not {expected}");
        }
        assert_eq!(cells.len(), WIDTH, "{label}");
    }
    let metrics = node.metrics().embedders;
    let dense = metrics.iter().find(|metrics| metrics.id == "dense").unwrap();
    // The first of three queries for the same text ran the model.
    assert_eq!((dense.cache_hits, dense.failed), (2, 0));
    assert!(dense.texts > 5 && dense.runs > 1 && dense.tokens > 10, "{dense:?}");
    let found = search(
        &node,
        &[
            ("input.query(q)", "embed(dense, '')"),
            ("input.query(k)", "embed(colbert, 'a b')"),
            ("input.query(w)", "embed(splade, 'how does a ranking model score')"),
        ],
    );
    let features = &found["root"]["children"][0]["fields"]["matchfeatures"];
    assert_eq!(features["query(q)"]["values"], serde_json::json!(vec![0.0; WIDTH]), "{found}");
    assert_eq!(features["query(k)"]["blocks"].as_object().unwrap().len(), 6, "{found}");
    assert!(features["weights"].as_f64().unwrap() > 1.2, "{found}");
    for (value, expected) in [
        (
            "embed(none, 'a')",
            "Can't find embedder 'none'. Available embedder ids are 'colbert', 'dense', 'splade', 'tokens'.",
        ),
        (
            "embed(a)",
            "Multiple embedders are provided but the string to embed is not quoted. Usage: embed(embedder-id, 'text'). Available embedder ids are 'colbert', 'dense', 'splade', 'tokens'.",
        ),
        (
            "embed(dense, @none)",
            "Could not resolve query parameter reference 'none' used in an embed() argument",
        ),
        (
            "embed(splade, 'a')",
            "Invalid splade embedder tensor destination. Wanted a mapped 1-d tensor, got tensor<float>(x[16])",
        ),
    ] {
        let found = search(&node, &[("input.query(q)", value)]);
        let expected =
            format!("Could not set 'ranking.features.query(q)' to '{value}': {expected}");
        assert_eq!(found["root"]["errors"][0]["message"], expected);
        assert_eq!(found["root"]["errors"][0]["code"], 4, "{found}");
    }
    let found = search(&node, &[("input.query(q)", &format!("embed(dense, '{POISON}')"))]);
    assert_eq!(found["root"]["errors"][0]["code"], 10, "{found}");
}

#[test]
fn clients_have_texts_embedded() {
    let (_folder, node) = node();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = |embedder: &str, inputs: &[&str], role, dimensions, normalize| EmbedRequest {
        embedder: embedder.to_owned(),
        inputs: inputs.iter().map(|text| EmbedInput::Text((*text).to_owned())).collect(),
        role,
        dimensions,
        normalize,
    };
    let texts = ["query", "a ranking model and a search", "", "query"];
    let answer =
        runtime.block_on(node.embed(request("dense", &texts, Role::Document, None, None))).unwrap();
    assert_eq!(answer.tokens, texts.iter().map(|text| ids(text).len()).sum::<usize>());
    for (text, output) in texts.iter().zip(&answer.outputs) {
        let EmbedOutput::Vector(cells) = output else { panic!("{output:?}") };
        for (found, expected) in cells.iter().zip(mean(text)) {
            assert!((found - expected).abs() < 1e-5, "{text}: {found} is not {expected}");
        }
    }
    let short = runtime
        .block_on(node.embed(request("dense", &["query"], Role::Document, Some(4), Some(true))))
        .unwrap();
    let EmbedOutput::Vector(cells) = &short.outputs[0] else { panic!("{short:?}") };
    assert!(cells.len() == 4 && (cells.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5);
    let given = EmbedRequest {
        inputs: vec![EmbedInput::Ids(ids("query"))],
        ..request("dense", &[], Role::Document, None, None)
    };
    let given = runtime.block_on(node.embed(given)).unwrap();
    assert_eq!(given.outputs[0], answer.outputs[0]);
    let long = "document ".repeat(1_200_000);
    let found = runtime
        .block_on(node.embed(request("dense", &[&long], Role::Document, None, None)))
        .unwrap();
    assert_eq!(found.tokens, 8, "texts of 10 MB are cut as others are");
    for (label, request, code, text) in [
        (
            "unknown",
            request("none", &["a"], Role::Query, None, None),
            Code::NotFound,
            "there is no embedder none; there are colbert, dense, splade, tokens",
        ),
        (
            "no name",
            request("", &["a"], Role::Query, None, None),
            Code::InvalidArgument,
            "name an embedder; there are colbert, dense, splade, tokens",
        ),
        (
            "too many cells",
            request("dense", &["a"], Role::Query, Some(17), None),
            Code::InvalidArgument,
            "dimensions must be at most 16, found 17",
        ),
        (
            "no vectors",
            request("splade", &["a"], Role::Query, Some(1), None),
            Code::InvalidArgument,
            "the embedder makes no vectors, so that dimensions means nothing",
        ),
    ] {
        let error = runtime.block_on(node.embed(request)).unwrap_err();
        assert_eq!((error.code, error.to_string().as_str()), (code, text), "{label}");
    }
    let kind = "tensor<int8>(x[2])";
    let texts = vec!["query".to_owned(), " ".to_owned()];
    let found = runtime.block_on(node.embed_tensors("dense", texts, kind, Role::Query)).unwrap();
    assert_eq!(found[1], literal("tensor<int8>(x[2]):[0,0]"));
    let bits: Vec<f32> =
        stead_embed::pack_bits(&mean("query query")).into_iter().map(f32::from).collect();
    close(&found[0], &bits, "bits");
}

/// One thread computes: what a query gets while documents are embedded, it gets in a pause of theirs.
#[test]
fn queries_go_first_while_documents_are_embedded_by_the_same_model() {
    let (_folder, node) = super::node_of(Some(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let ask = |texts: Vec<String>, role| {
        let node = std::sync::Arc::clone(&node);
        let request = EmbedRequest {
            embedder: "dense".to_owned(),
            inputs: texts.into_iter().map(EmbedInput::Text).collect(),
            role,
            dimensions: None,
            normalize: None,
        };
        runtime.spawn(async move { node.embed(request).await })
    };
    let check = |prefix: &str, texts: &[String], outputs: &[EmbedOutput]| {
        assert_eq!(texts.len(), outputs.len());
        for (text, output) in texts.iter().zip(outputs) {
            let EmbedOutput::Vector(cells) = output else { panic!("{output:?}") };
            for (found, expected) in cells.iter().zip(mean(&format!("{prefix}{text}"))) {
                assert!((found - expected).abs() < 1e-5, "{text}: {found} is not {expected}");
            }
        }
    };
    let words = ["ranking", "model", "query", "document", "score", "how", "does", "search"];
    let text = |n: usize| -> String {
        let word = |at: usize| words[(n >> (3 * at)) % words.len()];
        (0..4).map(word).collect::<Vec<_>>().join(" ")
    };
    // Whether a query comes while documents are embedded is chance, but not for ever.
    for round in 0..10_000 {
        let texts: Vec<String> = (0..64).map(|n| text(64 * round + n)).collect();
        let asked = vec![text(round)];
        let documents = ask(texts.clone(), Role::Document);
        let query = ask(asked.clone(), Role::Query);
        check("", &texts, &runtime.block_on(documents).unwrap().unwrap().outputs);
        check("query ", &asked, &runtime.block_on(query).unwrap().unwrap().outputs);
        if node.metrics().pool_nested > 0 {
            return;
        }
    }
    panic!("no query came while documents were embedded");
}
