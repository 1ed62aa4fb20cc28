//! What searches of graphs may take, and what a result says where that was not enough.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_search::request::SearchRequest;
use stead_store::Documents;

use crate::asked::Asked;

const SCHEMA: &str = "schema d {
  document d {
    field v type tensor<float>(x[2]) { indexing: attribute | index }
  }
  rank-profile near {
    inputs {
      query(v) tensor<float>(x[2])
    }
    first-phase { expression: closeness(field, v) }
  }
}";

fn documents() -> (Asked, Documents) {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let list: Vec<Json> = (0..500).map(|n| json!({"v": [n % 25, n / 25]})).collect();
    let documents = asked.documents("d", &list);
    (asked, documents)
}

#[test]
fn a_search_without_time_says_so() {
    let (asked, documents) = documents();
    let near = "({targetHits: 5}nearestNeighbor(v, v))";
    let exact = "({targetHits: 5, approximate: false}nearestNeighbor(v, v))";
    let factor = "ranking.matching.anntimeout.factor";
    let enable = "ranking.matching.anntimeout.enable";
    let budget = "ranking.matching.anntimebudget";
    let cases = [
        ("with enough time", near.to_owned(), json!({}), 5, None),
        ("without", near.to_owned(), json!({factor: 0}), 0, Some("anntimeout")),
        ("two without", format!("{near} or {near}"), json!({factor: 0}), 0, Some("anntimeout")),
        ("which nobody wants", near.to_owned(), json!({factor: 0, enable: false}), 5, None),
        ("and all compared", exact.to_owned(), json!({factor: 0}), 5, None),
        // That is what was asked for.
        ("with a budget", near.to_owned(), json!({budget: "0ms"}), 0, None),
        ("with a large one", near.to_owned(), json!({budget: "100s"}), 5, None),
        (
            "and less time",
            near.to_owned(),
            json!({budget: "100s", factor: 0}),
            0,
            Some("anntimeout"),
        ),
        (
            "an error or all",
            near.to_owned(),
            json!({factor: 0, "ranking.softtimeout.enable": false}),
            5,
            None,
        ),
    ];
    for (label, operator, more, expected, reason) in cases {
        let mut body = json!({"yql": format!("select * from d where {operator}"), "ranking": "near",
            "timeout": "100s", "input.query(v)": [3.25, 7.25]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, result) = asked.search(&[documents.view()], &body);
        assert_eq!(status, 200, "{label}: {result}");
        let hits = result["root"]["children"].as_array().map_or(0, Vec::len);
        let coverage = &result["root"]["coverage"];
        let degraded = coverage["degraded"].as_object();
        let why = degraded.map(|of| {
            of.iter().filter(|(_, is)| **is == json!(true)).map(|(key, _)| key.as_str()).collect()
        });
        assert_eq!((hits, why), (expected, reason.map(|reason| vec![reason])), "{label}: {result}");
        assert_eq!(coverage["full"], json!(reason.is_none()), "{label}");
    }
}

#[test]
fn a_part_of_the_time_is_one() {
    let (asked, _) = documents();
    let pairs =
        [("yql", "select * from d where true"), ("ranking.matching.anntimeout.factor", "1.5")];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let error = SearchRequest::new(pairs, &asked.application.query_profiles).unwrap_err();
    assert!(error.message.ends_with("'1.5': expected a number from 0 to 1"), "{}", error.message);
}
