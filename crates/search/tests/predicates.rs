//! Predicates of documents, and queries that know attributes.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_store::Documents;

use crate::asked::Asked;

const SCHEMA: &str = "schema ad {
  document ad {
    field target type predicate {
      indexing: attribute | summary
      index {
        arity: 2
        lower-bound: 0
        upper-bound: 200
        dense-posting-list-threshold: 0.25
      }
    }
    field n type int { indexing: attribute }
  }
  rank-profile default {
    first-phase { expression: attribute(n) }
    match-features: subqueries(target).lsb subqueries(target).msb matches(target)
  }
}";

fn found(asked: &Asked, documents: &Documents, filter: &str) -> Vec<(u64, u64)> {
    let body = json!({"yql": format!("select * from ad where {filter}"), "trace.level": 1});
    let (status, result) = asked.search(&[documents.view()], &body);
    assert_eq!(status, 200, "{filter}: {result}");
    let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
    let bits = |hit: &Json| {
        let features = &hit["fields"]["matchfeatures"];
        let part = |name: &str| features[name].as_f64().unwrap() as u64;
        assert_eq!(features["matches(target)"], 1.0, "{filter}: {hit}");
        (part("subqueries(target).msb") << 32) | part("subqueries(target).lsb")
    };
    let id = |hit: &Json| hit["relevance"].as_f64().unwrap() as u64;
    let mut found: Vec<(u64, u64)> = hits.iter().map(|hit| (id(hit), bits(hit))).collect();
    found.sort_unstable();
    found
}

#[test]
fn documents_are_found_by_their_predicates() {
    let asked = Asked::new(&[("ad", false, SCHEMA)]);
    // The first three are those of Vespa's page.
    let documents = asked.documents(
        "ad",
        &[
            json!({"n": 1, "target": "age in [20..30] and gender in [Female, Male] and pos in [1]"}),
            json!({"n": 2, "target": "gender in [Male] and pos in [1, 2]"}),
            json!({"n": 3, "target": "age in [20..] and gender in [Female, Male] and pos in [2]"}),
            json!({"n": 4, "target": "age not in [20..30]"}),
            json!({"n": 5, "target": "true"}),
            json!({"n": 6, "target": "false"}),
            json!({"n": 7}),
        ],
    );
    let all = u64::MAX;
    for (filter, expected) in [
        (
            r#"predicate(target, {"[0,1]": {"gender": "Male"}, "[0]": {"pos": "1"}, "[1]": {"pos": "2"}}, {"[0,1]": {"age": 25L}})"#,
            vec![(1, 1), (2, 3), (3, 2), (4, !3), (5, all)],
        ),
        (
            r#"predicate(target, {"0x3": {"gender": "Male"}, "0x1": {"pos": ["1", "7"]}, "0x2": {"pos": "2"}}, {"age": 25})"#,
            vec![(1, 1), (2, 3), (3, 2), (5, all)],
        ),
        (
            r#"predicate(target, {"gender": "Female", "gender": "Male", "pos": "2"}, {"age": 31L})"#,
            vec![(2, all), (3, all), (4, all), (5, all)],
        ),
        ("predicate(target, {}, {})", vec![(4, all), (5, all)]),
        ("predicate(target, 0, {'age': 25L})", vec![(5, all)]),
        ("predicate(target, null, {'age': 31L})", vec![(4, all), (5, all)]),
        // Beyond the bounds of the field a number counts for nothing.
        (
            "predicate(target, {'gender': 'Male', 'pos': '2'}, {'age': 201L})",
            vec![(2, all), (4, all), (5, all)],
        ),
        (
            "predicate(target, {'[63]': {'gender': 'Male', 'pos': '1'}}, {'[63]': {'age': 25L}})",
            vec![(1, 1 << 63), (2, 1 << 63), (4, all >> 1), (5, all)],
        ),
        ("predicate(target, {}, {}) and n < 5", vec![(4, all)]),
        (
            "n > 4 and predicate(target, {}, {}) or predicate(target, {'gender': 'Male', 'pos': '1'}, {})",
            vec![(2, all), (4, all), (5, all)],
        ),
    ] {
        assert_eq!(found(&asked, &documents, filter), expected, "{filter}");
    }
    let (_, result) = asked.search(
        &[documents.view()],
        &json!({"select": {"where": {"predicate": ["target", {"gender": ["Male"], "pos": "1"}, {"age": 7}]}}, "ranking.sorting": "n"}),
    );
    assert_eq!(result["root"]["fields"]["totalCount"], 3, "{result}");
    let fields = &result["root"]["children"][0]["fields"];
    assert_eq!(fields["target"], "gender in [Male] and pos in [1, 2]");
    let (_, result) = asked.search(
        &[documents.view()],
        &json!({"yql": "select * from ad where !(predicate(target, {}, {})) order by n", "trace.level": 1}),
    );
    assert_eq!(result["root"]["fields"]["totalCount"], 5, "{result}");
    let body = json!({"yql": "select * from ad where predicate(target, {}, {'age': -1L})", "trace.level": 1});
    let (_, result) = asked.search(&[documents.view()], &body);
    assert!(result["trace"].to_string().contains("age = -1 is out of the bounds"), "{result}");
}

#[test]
fn what_is_no_query_for_predicates_is_refused() {
    let asked = Asked::new(&[("ad", false, SCHEMA)]);
    let documents = asked.documents("ad", &[]);
    for (filter, expected) in [
        ("predicate(target, {})", "Expected 3 arguments, got 2."),
        ("predicate(none, {}, {})", "Field 'none' does not exist."),
        (
            "predicate(n, {}, {})",
            "Field 'n' is a int; predicate needs an attribute of type predicate",
        ),
        (
            "predicate(target, 'a', {})",
            "expected a map of attributes in predicate, such as {\"name\": \"value\"}",
        ),
        ("predicate(target, {'a': 1}, {})", "expected texts as the values of a in predicate"),
        ("predicate(target, {}, {'a': '1'})", "expected a whole number for a in predicate"),
        (
            "predicate(target, {'[64]': {'a': 'b'}}, {})",
            "expected subqueries such as 0x3 or [0,1], from 0 to 63, before a map in predicate, got [64]",
        ),
        (
            "predicate(target, {'0x+1': {'a': 'b'}}, {})",
            "expected subqueries such as 0x3 or [0,1], from 0 to 63, before a map in predicate, got 0x+1",
        ),
        ("target contains 'a'", "Field 'target' is a predicate, which contains does not search"),
        (
            "target matches 'a'",
            "Field 'target' is a predicate; matches and fuzzy search texts only",
        ),
    ] {
        let body = json!({"yql": format!("select * from ad where {filter}")});
        let (_, result) = asked.search(&[documents.view()], &body);
        let message = result["root"]["errors"][0]["message"].as_str().unwrap_or_default();
        let message = message.trim_start_matches("Could not create query from YQL: ");
        assert_eq!(message, expected, "{filter}");
    }
}

#[test]
fn only_predicates_are_put() {
    let asked = Asked::new(&[("ad", false, SCHEMA)]);
    let kind = asked.kind("ad");
    for (value, expected) in [
        (json!("age in [1..2"), "no predicate: 12: expected ], found the end"),
        (
            json!(""),
            "no predicate: 0: expected the name of an attribute, true, false, not or (, found the end",
        ),
        (json!(7), "expected a predicate as a text, found 7"),
    ] {
        let line = json!({"put": "id:a:ad::1", "fields": {"target": value}}).to_string();
        let error = Documents::read(kind.clone(), line.as_bytes(), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), format!("line 1: id:a:ad::1: field target: {expected}"));
    }
}
