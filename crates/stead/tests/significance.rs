//! Models of significance as a user meets them: a package with one, and searches whose order it decides.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server::{Server, package};

const SERVICES: &str = "<services version='1.0'>
  <container id='front' version='1.0'>
    <search><significance><model path='rare/words.json'/></significance></search>
    <document-api/>
  </container>
  <content id='c' version='1.0'>
    <documents><document type='page' mode='index'/></documents>
  </content>
</services>";

const SCHEMA: &str = "schema page {
  document page {
    field body type string {
      indexing: summary | index
      index: enable-bm25
    }
  }
  rank-profile own { first-phase { expression: bm25(body) } }
  rank-profile model inherits own { significance { use-model: true } }
}";

const MODEL: &str = r#"{"version": "1.0", "id": "words", "languages": {
  "en": {"document-count": 1000, "document-frequencies": {"sea": 2, "boat": 900}},
  "nb": {"document-count": 50, "document-frequencies": {"sea": 40, "boat": 5}}}}"#;

/// Texts of two words each: `sea` is in three of them, `boat` in one.
const BODIES: [&str; 4] = ["sea waves", "sea birds", "boat trips", "sea sand"];

/// How much a word says that so many of a number of texts have (Vespa, documentation, `reference/ranking/bm25.html`).
fn idf(frequency: f64, count: f64) -> f64 {
    (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln()
}

fn search(server: &Server, said: &[(&str, &str)]) -> (u16, Value) {
    let mut body = json!({"yql": "select * from page where userInput(@words)", "words": "sea boat",
        "model.defaultIndex": "body", "hits": 4});
    for (name, value) in said {
        body[*name] = json!(value);
    }
    server.request("POST", "/search/", &body.to_string())
}

fn assert_scores(server: &Server) {
    let (use_it, leave_it) =
        (("ranking.significance.useModel", "true"), ("ranking.significance.useModel", "false"));
    let own = (idf(3.0, 4.0), idf(1.0, 4.0));
    let (english, norwegian) =
        ((idf(2.0, 1000.0), idf(900.0, 1000.0)), (idf(40.0, 50.0), idf(5.0, 50.0)));
    for (said, (sea, boat)) in [
        (&[("ranking", "own")][..], own),
        (&[("ranking", "model")], english),
        (&[("ranking", "model"), ("language", "no")], norwegian),
        (&[("ranking", "model"), leave_it], own),
        (&[("ranking", "own"), use_it], english),
    ] {
        let (status, result) = search(server, said);
        assert_eq!(status, 200, "{said:?}: {result}");
        let hits = result["root"]["children"].as_array().unwrap();
        let scores: Vec<f64> = hits.iter().map(|hit| hit["relevance"].as_f64().unwrap()).collect();
        let mut expected = [sea, sea, sea, boat];
        expected.sort_by(|a, b| b.total_cmp(a));
        let is_alike = scores.len() == 4
            && scores.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(is_alike, "{said:?}: {scores:?} {expected:?}");
        let first = hits[0]["fields"]["body"].as_str().unwrap();
        assert_eq!(first.starts_with("boat"), boat > sea, "{said:?}: {first}");
    }
}

#[test]
fn words_are_as_rare_as_the_model_of_the_package_says() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let files =
        [("services.xml", SERVICES), ("schemas/page.sd", SCHEMA), ("rare/words.json", MODEL)];
    server.deploy(package(&files).path());
    for (number, body) in BODIES.iter().enumerate() {
        let path = format!("/document/v1/m/page/docid/{number}");
        let fields = json!({"fields": {"body": body}}).to_string();
        assert_eq!(server.request("POST", &path, &fields).0, 200);
    }
    assert_scores(&server);
    let (status, result) = search(&server, &[("ranking", "model"), ("language", "it")]);
    assert_eq!(status, 400, "{result}");
    let told = result["root"]["errors"][0]["message"].as_str().unwrap();
    assert!(told.contains("No significance model available for set language it"), "{result}");
    // The model is there after a start, as the package is.
    assert_scores(&server.again(data.path()));
}
