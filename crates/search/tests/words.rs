//! Words in texts, from the request to the result: what is found and how it is ranked.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field title type string {
      indexing: index | summary
      index: enable-bm25
    }
    field body type string {
      indexing: index | summary
      index: enable-bm25
    }
  }
  fieldset default { fields: title, body }
  rank-profile words {
    first-phase { expression: bm25(title) + 10 * bm25(body) }
    match-features: bm25(title) bm25(body) matches(title) matches(body)
  }
  rank-profile flat inherits words {
    rank-properties {
      bm25(body).k1: 2
      bm25(body).b: 0
      bm25(body).averageFieldLength: 3
    }
  }
}";

fn pages() -> Vec<Json> {
    vec![
        json!({"title": "The sea", "body": "Blue waves, blue sky; the sea"}),
        json!({"title": "Mountains", "body": "the sky is blue"}),
        json!({"title": "Sky cats", "body": "cats running by the sea, cats running home"}),
        json!({"title": "Nothing"}),
    ]
}

/// The part of a term in the score of a text (Vespa, documentation, `reference/ranking/rank-features.html`).
fn part(
    documents: f64,
    with: f64,
    count: f64,
    length: f64,
    average: f64,
    (k1, b): (f64, f64),
) -> f64 {
    let idf = (1.0 + (documents - with + 0.5) / (with + 0.5)).ln();
    idf * count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * length / average))
}

#[test]
fn words_are_found_and_scored() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    // Titles have 2, 1, 2 and 1 words, bodies 6, 4 and 8; there are four documents, whether they have a body or not.
    let usual = (1.2, 0.75);
    let title = |with: f64, length: f64| part(4.0, with, 1.0, length, 1.5, usual);
    let body = |with: f64, count: f64, length: f64| part(4.0, with, count, length, 6.0, usual);
    for (filter, profile, expected) in [
        ("title contains 'cat'", "words", vec![(2, title(1.0, 2.0), 0.0)]),
        (
            "body contains 'blue'",
            "words",
            vec![(0, 0.0, body(2.0, 2.0, 6.0)), (1, 0.0, body(2.0, 1.0, 4.0))],
        ),
        (
            "default contains 'sea'",
            "words",
            // One title and two bodies have it.
            vec![(0, title(3.0, 2.0), body(3.0, 1.0, 6.0)), (2, 0.0, body(3.0, 1.0, 8.0))],
        ),
        (
            "body contains 'running' and body contains ({significance: 0.5}'cats')",
            "words",
            vec![(
                2,
                0.0,
                body(1.0, 2.0, 8.0) + {
                    let count = 2.0;
                    0.5 * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * 8.0 / 6.0))
                },
            )],
        ),
        ("body contains 'cats running'", "words", vec![(2, 0.0, body(1.0, 2.0, 8.0))]),
        (
            "body contains 'waves' and body contains ({ranked: false}'sky')",
            "words",
            vec![(0, 0.0, body(1.0, 1.0, 6.0))],
        ),
        (
            "rank(title contains 'the', body contains 'sky')",
            "words",
            vec![(0, title(1.0, 2.0), body(2.0, 1.0, 6.0))],
        ),
        (
            "body contains 'waves'",
            "flat",
            vec![(0, 0.0, part(4.0, 1.0, 1.0, 6.0, 3.0, (2.0, 0.0)))],
        ),
        ("title contains 'blue'", "words", vec![]),
    ] {
        let yql = format!("select * from page where {filter}");
        let body = json!({"yql": yql, "ranking": profile});
        let (status, result) = asked.search(&[pages.view()], &body);
        assert_eq!(status, 200, "{filter}: {result}");
        let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
        assert_eq!(hits.len(), expected.len(), "{filter}: {result}");
        for (hit, (number, of_title, of_body)) in hits.iter().zip(expected) {
            assert_eq!(hit["id"], format!("id:m:page::{number}"), "{filter}");
            let close = |found: &Json, expected: f64, what: &str| {
                let found = found.as_f64().unwrap();
                assert!((found - expected).abs() < 1e-6, "{filter}: {what} {found} {expected}");
            };
            let features = &hit["fields"]["matchfeatures"];
            close(&features["bm25(title)"], of_title, "title");
            close(&features["bm25(body)"], of_body, "body");
            close(&features["matches(title)"], f64::from(of_title > 0.0), "matches(title)");
            close(&hit["relevance"], of_title + 10.0 * of_body, "relevance");
        }
    }
}

#[test]
fn words_are_those_of_the_query_language() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[json!({"body": "Katzen"}), json!({"body": "Katz"})]);
    for (language, expected) in [("", 1), ("en", 1), ("de", 1), ("de-AT", 1)] {
        let word = if language.starts_with("de") { "Katz" } else { "Katzen" };
        let body = json!({
            "yql": format!("select * from page where body contains '{word}'"),
            "model.language": language,
        });
        let (_, result) = asked.search(&[pages.view()], &body);
        assert_eq!(result["root"]["fields"]["totalCount"], expected, "{language}: {result}");
    }
    // Stemmed as German, the word is the stem that the second document has.
    let body = json!({"yql": "select * from page where body contains 'Katzen'", "language": "de"});
    let (_, result) = asked.search(&[pages.view()], &body);
    assert_eq!(result["root"]["children"][0]["id"], "id:m:page::1");
}

#[test]
fn people_type_words() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    for (body, expected) in [
        (json!({"query": "cats sea"}), vec![2, 0]),
        (json!({"query": "cats sea", "type": "all"}), vec![2]),
        (json!({"query": "+sea mountains", "type": "any"}), vec![0, 2]),
        (json!({"query": "sky -cats"}), vec![0, 1]),
        (json!({"query": "title:sky"}), vec![2]),
        (json!({"query": "sky", "default-index": "title"}), vec![2]),
        (json!({"query": "\"running home\""}), vec![2]),
        (json!({"query": "mount*"}), vec![1]),
        (json!({"query": "sea", "filter": "+blue -cats"}), vec![0]),
        (json!({"query": "sea", "filter": "mountains"}), vec![0, 2]),
        (json!({"filter": "sea mountains"}), vec![0, 1, 2]),
        (json!({"filter": "+sea mountains -cats"}), vec![0]),
        (json!({"query": "sea", "recall": "+cats"}), vec![2]),
        (json!({"query": "sea home", "ranking.matching.weakand.stopwordLimit": 0.3}), vec![2]),
        (json!({"query": "sea blue", "ranking.matching.weakand.stopwordLimit": 0.1}), vec![0, 1]),
        (
            json!({"query": "sea blue", "ranking.matching.weakand.stopwordLimit": 0.1, "ranking.matching.weakand.allowDropAll": true}),
            vec![],
        ),
        (json!({"query": "sea mountains", "type": "any", "recall": "-cats +title:the"}), vec![0]),
        (json!({"query": "sea OR mountains", "type": "web"}), vec![0, 1, 2]),
        (
            json!({"yql": "select * from page where title contains 'the' and userQuery()", "query": "cats sea"}),
            vec![0],
        ),
        (
            json!({"yql": "select * from page where {targetHits: 1}userInput(@words)", "words": "blue cats sea"}),
            vec![2],
        ),
        (
            json!({"yql": "select * from page where !(body contains 'cats') and ({targetHits: 1}userInput(@words))", "words": "blue cats sea"}),
            vec![0],
        ),
        (
            json!({"yql": "select * from page where ({targetHits: 1, defaultIndex: 'body'}userInput('blue sky'))"}),
            vec![0],
        ),
        (json!({"query": "nowhere"}), vec![]),
    ] {
        let mut body = body;
        body["ranking"] = json!("words");
        let (status, result) = asked.search(&[pages.view()], &body);
        assert_eq!(status, 200, "{body}: {result}");
        let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
        let mut found: Vec<String> =
            hits.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect();
        let mut expected: Vec<String> =
            expected.iter().map(|at| format!("id:m:page::{at}")).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{body}: {result}");
    }
}

const PARTS: &str = "schema item {
  document item {
    field model type string {
      indexing: index | summary
      match: exact
    }
    field number type string {
      indexing: attribute
      match {
        exact
        exact-terminator: \"##\"
      }
    }
    field name type string { indexing: attribute }
    field about type string {
      indexing: index
      match: substring
    }
    field plain type string { indexing: index }
  }
  fieldset default { fields: name }
}";

#[test]
fn people_type_exact_texts_and_parts_of_words() {
    let asked = Asked::new(&[("item", false, PARTS)]);
    let items = asked.documents(
        "item",
        &[
            json!({"model": "B & O (2)", "number": "7*!", "name": "Speaker", "about": "loudspeakers"}),
            json!({"model": "B", "number": "7", "name": "Speakerphone", "plain": "speaker"}),
            json!({"model": "title:x \"y\"", "name": "Loudspeaker", "plain": "loudspeaker"}),
        ],
    );
    for (query, expected) in [
        ("model:b & o (2)@@", &[0][..]),
        ("model:B & O (2)", &[0]),
        ("+model:B@@ +speaker*", &[1]),
        ("speaker* -model:b@@", &[0]),
        ("model:title:X \"Y\"@@", &[2]),
        ("model:B & name:speaker", &[]),
        ("model:b @@", &[]),
        ("model:b@@*", &[0, 1]),
        ("(number:7*!## number:7##)", &[0, 1]),
        ("number:7##*", &[0, 1]),
        ("speaker*", &[0, 1]),
        ("*speaker", &[0, 2]),
        ("*speaker*", &[0, 1, 2]),
        ("*SPEAK*!200 -*phone", &[0, 2]),
        ("about:*speak*", &[0]),
        // Its schema says nothing of the ends of its words.
        ("plain:*speaker", &[1]),
    ] {
        let body = json!({"query": query, "type": "all"});
        let (status, result) = asked.search(&[items.view()], &body);
        assert_eq!(status, 200, "{query}: {result}");
        let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
        let number = |hit: &Json| hit["id"].as_str()?.rsplit(':').next()?.parse().ok();
        let mut found: Vec<u32> = hits.iter().filter_map(number).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}: {result}");
    }
}
