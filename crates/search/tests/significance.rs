//! Models of significance: whether queries ask them, and what ranking makes of them, against Vespa's formulas.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

fn schema(name: &str, uses: bool) -> String {
    format!(
        "schema {name} {{
  document {name} {{
    field body type string {{
      indexing: index
      index: enable-bm25
    }}
    field tag type string {{ indexing: attribute }}
    field year type int {{ indexing: attribute }}
  }}
  rank-profile p {{
    significance {{ use-model: {uses} }}
    first-phase {{ expression: 0 }}
    match-features {{ bm25(body) term(0).significance term(1).significance }}
  }}
}}"
    )
}

const CONTAINER: &str = "<container id='q'><search><significance><model path='rare/a.json'/></significance></search></container>";

/// The counts of Vespa's own tests.
const MODELS: &str = r#"{"version": "1.0", "id": "m", "languages": {
    "en": {"document-count": 16, "document-frequencies": {"hello": 3, "world": 5, "running": 7}},
    "nb": {"document-count": 20, "document-frequencies": {"hello": 10}}}}"#;

/// What words are by Vespa's formulas: `bm25` of a text that has a word once and is as long as all, and the significance.
fn of(frequency: f64, count: f64) -> (f64, f64) {
    let idf = (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln();
    (idf, 0.5 + 0.5 * (count / frequency).ln() / 1e6_f64.ln())
}

fn feature(result: &Json, name: &str) -> f64 {
    let features = &result["root"]["children"][0]["fields"]["matchfeatures"];
    features[name].as_f64().unwrap_or_else(|| panic!("{name} in {result}"))
}

#[test]
fn words_are_as_rare_as_a_model_says() {
    let (with, without) = (schema("a", true), schema("b", false));
    let types = [("a", false, with.as_str()), ("b", false, without.as_str())];
    let asked = Asked::of_package(&types, CONTAINER, &[("rare/a.json", MODELS)]);
    let text = json!({"body": "hello world running seas", "tag": "hello", "year": 3});
    let documents = ["a", "b"].map(|name| asked.documents(name, std::slice::from_ref(&text)));
    // One document, which has each word.
    let own = ((1.0 + 0.5 / 1.5_f64).ln(), 0.5);
    let (use_it, leave_it) =
        (("ranking.significance.useModel", "true"), ("ranking.significance.useModel", "false"));
    for (kind, said, word, expected) in [
        ("a", None, "body contains 'hello'", of(3.0, 16.0)),
        ("a", None, "body contains 'Hello!'", of(3.0, 16.0)),
        ("a", None, "userInput('hello')", of(3.0, 16.0)),
        // The word is that of the query, not its stem.
        ("a", None, "body contains 'running'", of(7.0, 16.0)),
        ("a", None, "body contains 'seas'", of(1.0, 16.0)),
        ("a", None, "body contains ({prefix: true}'hel')", of(1.0, 16.0)),
        ("a", None, "body contains alternatives({'hello': 0.7, 'world': 1.0})", of(3.0, 16.0)),
        ("a", None, "body contains phrase('hello', 'world')", own),
        ("a", None, "body contains equiv('hello', 'world')", own),
        ("a", Some(("language", "nb")), "body contains 'hello'", of(10.0, 20.0)),
        ("a", Some(("locale", "no")), "body contains 'world'", of(1.0, 20.0)),
        ("a", Some(leave_it), "body contains 'hello'", own),
        ("b", None, "body contains 'hello'", own),
        ("b", Some(use_it), "body contains 'hello'", of(3.0, 16.0)),
        // What the query says itself stands before all models say.
        ("a", None, "body contains ({significance: 0.75}'hello')", (0.75, 0.75)),
        (
            "b",
            None,
            "body contains ({documentFrequency: {frequency: 13, count: 101}}'hello')",
            of(13.0, 101.0),
        ),
        (
            "b",
            None,
            "body contains ({significance: 0.75, documentFrequency: {frequency: 13, count: 101}}'hello')",
            of(13.0, 101.0),
        ),
    ] {
        let view = documents[usize::from(kind == "b")].view();
        let yql = format!("select * from sources * where {word}");
        let mut body = json!({"yql": yql, "ranking": "p", "model.defaultIndex": "body"});
        if let Some((name, value)) = said {
            body[name] = value.into();
        }
        let (status, result) = asked.search(&[view], &body);
        assert_eq!(
            (status, &result["root"]["fields"]["totalCount"]),
            (200, &json!(1)),
            "{word}: {result}"
        );
        let found = (feature(&result, "bm25(body)"), feature(&result, "term(0).significance"));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // The text has both words of these.
        let is_twice = word.contains("alternatives") || word.contains("equiv");
        let count = if is_twice { 2.0 * 2.2 / (2.0 + 1.2) } else { 1.0 };
        let is_alike = near(found.1, expected.1) && near(found.0, expected.0 * count);
        assert!(is_alike, "{kind} {said:?} {word}: {found:?} {expected:?}");
    }
}

#[test]
fn words_that_stand_near_each_other_are_looked_up_and_phrases_are_not() {
    let with = schema("a", true);
    let asked = Asked::of_package(&[("a", false, &with)], CONTAINER, &[("rare/a.json", MODELS)]);
    let documents = asked.documents("a", &[json!({"body": "hello world running seas"})]);
    let own = ((1.0 + 0.5 / 1.5_f64).ln(), 0.5);
    for (word, first, second) in [
        ("near('hello', 'world')", of(3.0, 16.0), of(5.0, 16.0)),
        ("onear('Hello', 'running')", of(3.0, 16.0), of(7.0, 16.0)),
        ("near('hello world', 'running')", own, of(7.0, 16.0)),
        ("near(phrase('hello', 'world'), equiv('running', 'world'))", own, own),
        ("onear(alternatives({'hello': 1, 'World': 1}), 'seas')", of(3.0, 16.0), of(1.0, 16.0)),
        ("near({significance: 0.75}'hello', 'world')", (0.75, 0.75), of(5.0, 16.0)),
    ] {
        let yql = format!("select * from a where body contains ({{distance: 4}}{word})");
        let (status, result) =
            asked.search(&[documents.view()], &json!({"yql": yql, "ranking": "p"}));
        assert_eq!(status, 200, "{word}: {result}");
        for (name, expected) in
            [("term(0).significance", first.1), ("term(1).significance", second.1)]
        {
            let found = feature(&result, name);
            assert!((found - expected).abs() < 1e-12, "{word}: {name} {found} {expected}");
        }
    }
}

#[test]
fn words_have_the_language_that_is_said_or_that_their_letters_tell() {
    const CAMERA: &str = "\u{30ab}\u{30e1}\u{30e9}";
    let with = schema("a", true);
    let models = r#"{"languages": {
        "en": {"document-count": 16, "document-frequencies": {"hello": 3, "CAMERA": 7}},
        "nb": {"document-count": 20, "document-frequencies": {"hello": 10}},
        "ja": {"document-count": 50, "document-frequencies": {"CAMERA": 4, "hello": 6}}}}"#;
    let models = models.replace("CAMERA", CAMERA);
    let others = [("rare/a.json", models.as_str())];
    let asked = Asked::of_package(&[("a", false, &with)], CONTAINER, &others);
    let body = format!("hello {CAMERA} \u{d55c}\u{ad6d}");
    let documents = asked.documents("a", &[json!({"body": body})]);
    for (filter, said, first, second) in [
        // An annotation stands before what the request says, and that before letters.
        (
            "body contains ({language: 'no'}'hello') and body contains 'hello'",
            None,
            of(10.0, 20.0),
            of(3.0, 16.0),
        ),
        ("({language: 'nb'}userInput('+hello +CAMERA'))", None, of(10.0, 20.0), of(1.0, 20.0)),
        (
            "body contains ({language: 'ja'}'hello') and body contains 'hello'",
            Some("nb"),
            of(6.0, 50.0),
            of(10.0, 20.0),
        ),
        ("body contains 'CAMERA' and body contains 'hello'", None, of(4.0, 50.0), of(3.0, 16.0)),
        (
            "body contains 'CAMERA' and body contains 'hello'",
            Some("en"),
            of(7.0, 16.0),
            of(3.0, 16.0),
        ),
        (
            "body contains 'CAMERA' and body contains 'hello'",
            Some("un"),
            of(7.0, 16.0),
            of(3.0, 16.0),
        ),
        // What is typed is in one language.
        ("userInput('+hello +CAMERA')", None, of(6.0, 50.0), of(4.0, 50.0)),
        // A language without a model is that of the query, which is that of its first words.
        (
            "body contains 'CAMERA' and body contains ({language: 'pl'}'hello')",
            None,
            of(4.0, 50.0),
            of(6.0, 50.0),
        ),
        (
            "body contains 'hello' and body contains ({language: 'pl'}'hello')",
            None,
            of(3.0, 16.0),
            of(3.0, 16.0),
        ),
        (
            "body contains '\u{d55c}\u{ad6d}' and body contains 'CAMERA'",
            None,
            of(1.0, 16.0),
            of(4.0, 50.0),
        ),
    ] {
        let filter = filter.replace("CAMERA", CAMERA);
        let yql = format!("select * from a where {filter}");
        let mut body = json!({"yql": yql, "ranking": "p", "model.defaultIndex": "body"});
        if let Some(language) = said {
            body["language"] = language.into();
        }
        let (status, result) = asked.search(&[documents.view()], &body);
        assert_eq!(
            (status, &result["root"]["fields"]["totalCount"]),
            (200, &json!(1)),
            "{filter}: {result}"
        );
        for (name, expected) in
            [("term(0).significance", first.1), ("term(1).significance", second.1)]
        {
            let found = feature(&result, name);
            assert!(
                (found - expected).abs() < 1e-12,
                "{filter} {said:?}: {name} {found} {expected}"
            );
        }
    }
}

#[test]
fn what_all_texts_have_of_alternatives_is_not_told() {
    let with = schema("a", true);
    let models = r#"{"languages": {"en": {"document-count": 5, "document-frequencies": {"hello": 5, "world": 5}}}}"#;
    let asked = Asked::of_package(&[("a", false, &with)], CONTAINER, &[("rare/a.json", models)]);
    let texts = [json!({"body": "hello"}), json!({"body": "sea"})];
    let documents = asked.documents("a", &texts);
    for (word, expected) in [
        ("'hello'", 0.5),
        // As half of the documents have it.
        ("alternatives({'hello': 1, 'world': 1})", 0.5 + 0.5 * 2.0_f64.ln() / 1e6_f64.ln()),
    ] {
        let yql = format!("select * from a where body contains {word}");
        let (_, result) = asked.search(&[documents.view()], &json!({"yql": yql, "ranking": "p"}));
        let found = feature(&result, "term(0).significance");
        assert!((found - expected).abs() < 1e-12, "{word}: {found} {expected}");
    }
}

#[test]
fn words_of_attributes_are_words_and_numbers_are_none() {
    let with = schema("a", true);
    let asked = Asked::of_package(&[("a", false, &with)], CONTAINER, &[("rare/a.json", MODELS)]);
    let documents = asked.documents("a", &[json!({"body": "x", "tag": "hello", "year": 3})]);
    let body =
        json!({"yql": "select * from a where tag contains 'hello' and year = 3", "ranking": "p"});
    let (_, result) = asked.search(&[documents.view()], &body);
    assert!((feature(&result, "term(0).significance") - of(3.0, 16.0).1).abs() < 1e-12, "{result}");
    assert!((feature(&result, "term(1).significance") - 0.5).abs() < 1e-12, "{result}");
}

#[test]
fn what_cannot_be_answered_is_told() {
    let (with, without) = (schema("a", true), schema("b", false));
    let types = [("a", false, with.as_str()), ("b", false, without.as_str())];
    let asked = Asked::of_package(&types, CONTAINER, &[("rare/a.json", MODELS)]);
    let bare = Asked::new(&types);
    let text = json!({"body": "hello"});
    let documents = ["a", "b"].map(|name| asked.documents(name, std::slice::from_ref(&text)));
    let both = [documents[0].view(), documents[1].view()];
    for (asked, views, said, expected) in [
        (
            &asked,
            &both[..1],
            json!({"language": "it"}),
            "No significance model available for set language it",
        ),
        (
            &bare,
            &both[..1],
            json!({}),
            "No significance model available for unknown or english language",
        ),
        (
            &asked,
            &both[..],
            json!({}),
            "Inconsistent 'significance' configuration for the rank profile 'p' in the schemas [a, b]",
        ),
        (
            &asked,
            &both[..1],
            json!({"yql": "select * from a where body contains ({documentFrequency: {count: 3}}'x')"}),
            "expected a frequency and a count",
        ),
    ] {
        let mut body =
            json!({"yql": "select * from sources * where body contains 'hello'", "ranking": "p"});
        for (name, value) in said.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (_, result) = asked.search(views, &body);
        assert!(result.to_string().contains(expected), "{result}");
    }
    // Who says whether models are asked may ask for all types.
    let body = json!({
        "yql": "select * from sources * where body contains 'hello'", "ranking": "p",
        "ranking.significance.useModel": "true",
    });
    let (status, result) = asked.search(&both, &body);
    assert_eq!(
        (status, result["root"]["children"].as_array().unwrap().len()),
        (200, 2),
        "{result}"
    );
}
