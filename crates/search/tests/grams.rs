//! Words in fields of grams: which of the grams of a word must be there, and what ranking knows of each.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema d {
  document d {
    field f type string {
      indexing: index
      index: enable-bm25
      match { gram
 gram-size: 2 }
    }
    field g type string {
      indexing: index
      index: enable-bm25
      match { gram
 gram-size: 2 }
    }
    field w type string { indexing: index }
  }
  fieldset default { fields: f, g }
  fieldset all { fields: f, w }
  rank-profile grams {
    first-phase { expression: bm25(f) }
    match-features: queryTermCount term(0).weight bm25(f)
  }
}";

fn asked() -> (Asked, stead_store::Documents) {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let documents = asked.documents(
        "d",
        &[
            json!({"f": "abcd"}),
            json!({"f": "bcab", "g": "abcd"}),
            json!({"f": "ab xx yy cd bc", "w": "abc"}),
            json!({"f": "cd"}),
        ],
    );
    (asked, documents)
}

/// The words of `abcd` are `ab`, `bc` and `cd`.
#[test]
fn grams_that_must_be_there_are_chosen() {
    let (asked, documents) = asked();
    for (wanted, filter, expected) in [
        (None, "f contains 'abcd'", vec![0, 2]),
        (Some("all"), "f contains 'abcd'", vec![0, 2]),
        (Some("any"), "f contains 'abcd'", vec![0, 1, 2, 3]),
        (Some("any"), "f contains 'ab'", vec![0, 1, 2]),
        (Some("weakAnd"), "f contains 'abcd'", vec![0, 1, 2, 3]),
        (Some("weakAnd"), "({targetHits: 1, grammar: 'all'}userInput('f:abcd'))", vec![0]),
        // A part of another `weakAnd`, which chooses.
        (Some("weakAnd"), "({targetHits: 1}userInput('f:abcd w:abc'))", vec![2]),
        (Some("weakAnd"), "weakAnd(f contains 'abcd', w contains 'abc')", vec![0, 1, 2, 3]),
        (Some("phrase"), "f contains 'abcd'", vec![0]),
        (Some("phrase"), "f contains 'ab'", vec![0, 1, 2]),
        (Some("near"), "f contains 'abcd'", vec![0]),
        (Some("near"), "f contains 'bcd'", vec![0, 2]),
        (Some("onear"), "f contains 'bcd'", vec![0]),
        (Some("onear"), "f contains 'cd'", vec![0, 2, 3]),
        (Some("phrase"), "default contains 'abcd'", vec![0, 1]),
        (Some("any"), "f contains '...'", vec![]),
        (Some("phrase"), "!(f contains 'abcd')", vec![1, 2, 3]),
    ] {
        let yql = format!("select * from d where {filter}");
        let mut body = json!({"yql": yql, "ranking": "unranked"});
        if let Some(wanted) = wanted {
            body["gram.match"] = json!(wanted);
        }
        let found: Vec<usize> =
            asked.features(documents.view(), &body).into_iter().map(|(number, _)| number).collect();
        assert_eq!(found, expected, "{wanted:?} {filter}");
    }
}

#[test]
fn each_gram_of_a_word_is_a_term() {
    let (asked, documents) = asked();
    let features = |filter: &str, wanted: &str| {
        let yql = format!("select * from d where {filter}");
        let body = json!({"yql": yql, "ranking": "grams", "gram.match": wanted});
        asked.features(documents.view(), &body).remove(0).1
    };
    let number = |features: &Json, name: &str| features[name].as_f64().unwrap();
    let apart = features("f contains 'ab' and f contains 'bc' and f contains 'cd'", "all");
    for (filter, wanted, terms, weight) in [
        ("f contains 'abcd'", "all", 3.0, 100.0),
        ("f contains ({weight: 7}'abcd')", "all", 3.0, 7.0),
        ("f contains 'abcd'", "any", 3.0, 100.0),
        ("f contains 'abcd'", "near", 3.0, 100.0),
        ("f contains 'abcd'", "phrase", 1.0, 100.0),
        ("default contains 'abcd'", "all", 3.0, 100.0),
        ("f contains 'abcd' and f contains 'bc'", "all", 4.0, 100.0),
        ("all contains 'abcd'", "all", 3.0, 100.0),
        // One of several is a choice, which is one term.
        ("f contains equiv('abcd', 'cd')", "all", 1.0, 100.0),
    ] {
        let found = features(filter, wanted);
        assert_eq!(number(&found, "queryTermCount"), terms, "{filter} {wanted}: {found}");
        assert_eq!(number(&found, "term(0).weight"), weight, "{filter} {wanted}: {found}");
        // How rare a word of several fields is, is told of all of them.
        if filter == "f contains 'abcd'" && terms == 3.0 {
            let (bm25, expected) = (number(&found, "bm25(f)"), number(&apart, "bm25(f)"));
            assert!((bm25 - expected).abs() < 1e-9, "{filter} {wanted}: {bm25} {expected}");
        }
    }
}
