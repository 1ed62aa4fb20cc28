//! Nearest neighbours by graphs as a user meets them: fed, searched with and without filters, changed, killed, and opened again.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::{Server, stead};

const SCHEMA: &str = "schema item {
  document item {
    field n type int { indexing: attribute | summary\n attribute: fast-search }
    field v type tensor<float>(x[8]) {
      indexing: attribute | index
      attribute { distance-metric: euclidean }
      index { hnsw { max-links-per-node: 16 neighbors-to-explore-at-insert: 100 } }
    }
    field many type tensor<int8>(p{},x[8]) {
      indexing: attribute | index
      attribute { distance-metric: angular }
    }
  }
  rank-profile near {
    inputs {
      query(q) tensor<float>(x[8])
    }
    first-phase { expression: closeness(field, v) }
    match-features: distance( field, v )
  }
  rank-profile nears {
    inputs {
      query(q) tensor<float>(x[8])
    }
    first-phase { expression: closeness(field, many) }
    match-features: closest(many)
  }
  rank-profile lazy inherits near {
    approximate-threshold: 0
    filter-first-threshold: 0
    post-filter-threshold: 0.3
  }
}";

const COUNT: u64 = 900;

/// Numbers of a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Eight whole numbers of a byte.
    fn vector(&mut self) -> Vec<i64> {
        (0..8).map(|_| self.below(200) as i64 - 100).collect()
    }
}

fn document(n: u64, version: u64) -> Value {
    let mut chance = Chance(n * 7919 + version);
    let (v, one, other) = (chance.vector(), chance.vector(), chance.vector());
    json!({"n": n, "v": {"values": v}, "many": {"blocks": {"a": one, "b": other}}})
}

fn feed(server: &Server, lines: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feed.jsonl");
    std::fs::write(&file, lines).unwrap();
    let fed = stead(&["feed", file.to_str().unwrap(), "--target", &server.query]);
    assert!(fed.status.success(), "{fed:?}");
}

/// The result of a search.
fn search(server: &Server, body: &Value) -> Value {
    let (status, result) = server.request("POST", "/search/", &body.to_string());
    assert_eq!(status, 200, "{body}: {result}");
    result
}

/// The numbers of the hits, with their scores.
fn hits(result: &Value) -> Vec<(u64, f64)> {
    let list = result["root"]["children"].as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|hit| (hit["fields"]["n"].as_u64().unwrap(), hit["relevance"].as_f64().unwrap()))
        .collect()
}

fn asked(field: &str, annotations: &str, beside: &str, query: &[i64]) -> Value {
    let profile = if field == "v" { "near" } else { "nears" };
    json!({
        "yql": format!("select * from item where {{targetHits: 10{annotations}}}nearestNeighbor({field}, q){beside}"),
        "ranking": profile, "input.query(q)": query, "hits": 10, "trace.explainLevel": 1,
    })
}

/// The part of the nearest ten that a graph finds, and how it was searched. Scores are those of a look at all.
fn recall(server: &Server, field: &str, more: &str, beside: &str) -> (f64, String) {
    let (mut found, mut wanted, mut how) = (0, 0, String::new());
    let mut chance = Chance(11);
    for _ in 0..10 {
        let query = chance.vector();
        let exact = search(server, &asked(field, ", approximate: false", beside, &query));
        assert!(exact.to_string().contains("targetHits 10, all compared"), "{exact}");
        let exact = hits(&exact);
        let annotations = format!(", hnsw.exploreAdditionalHits: 60{more}");
        let graph = search(server, &asked(field, &annotations, beside, &query));
        let text = graph.to_string();
        let begin = text.find("targetHits 10, ").unwrap() + "targetHits 10, ".len();
        text[begin..begin + text[begin..].find('"').unwrap()].clone_into(&mut how);
        let by_graph = hits(&graph);
        assert_eq!(by_graph.len(), exact.len(), "{field} {beside}");
        let truth: BTreeSet<u64> = exact.iter().map(|(n, _)| *n).collect();
        for (n, score) in by_graph {
            if let Some((_, expected)) = exact.iter().find(|(other, _)| *other == n) {
                assert_eq!(score, *expected, "{field} {beside} {n}");
            }
            found += usize::from(truth.contains(&n));
        }
        wanted += truth.len();
    }
    (found as f64 / wanted as f64, how)
}

fn check(server: &Server, label: &str) {
    // So few documents are compared sooner than a graph is searched for a hundred of them, unless somebody wants it.
    let graph = ", hnsw.approximateThreshold: 0.0";
    for (field, more, beside, expected) in [
        ("v", "", "", "by the graph"),
        ("v", graph, " and n >= 0", "by the graph, filtered"),
        ("v", graph, " and n < 700", "by the graph, filtered"),
        ("v", graph, " and n < 170", "by the graph, filter first"),
        ("v", "", " and n < 700", "all compared"),
        ("v", "", " and n in (3, 401, 402)", "all compared"),
        ("many", "", "", "by the graph"),
        ("many", graph, " and n < 700", "by the graph, filtered"),
    ] {
        let label = format!("{label}: {field}{more}{beside}");
        let (recall, how) = recall(server, field, more, beside);
        assert_eq!(how, expected, "{label}");
        assert!(recall > 0.95, "{label}: {recall}");
    }
}

#[test]
fn the_nearest_are_found_by_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    App::new("item", SCHEMA).deploy(&server);
    let mut lines = String::new();
    for n in 0..COUNT {
        let put = json!({"put": format!("id:n:item::{n}"), "fields": document(n, 0)});
        writeln!(lines, "{put}").unwrap();
    }
    feed(&server, &lines);
    check(&server, "fed");

    // The profile may want the filter afterwards: the graph is searched for some more hits.
    let mut lazy = asked("v", "", " and n < 700", &[0; 8]);
    lazy["ranking"] = json!("lazy");
    let result = search(&server, &lazy);
    assert!(result.to_string().contains("by the graph, filtered afterwards"), "{result}");
    // What the query says goes before it.
    lazy["ranking.matching.postFilterThreshold"] = json!(1.0);
    let result = search(&server, &lazy);
    assert!(result.to_string().contains("by the graph, filtered\""), "{result}");
    lazy["yql"] = json!(
        "select n from item where {targetHits: 10, hnsw.filterFirstThreshold: 0.9}nearestNeighbor(v, q) and n < 700"
    );
    let result = search(&server, &lazy);
    assert!(result.to_string().contains("by the graph, filter first"), "{result}");

    // Nothing is farther than what is allowed.
    let limited = asked("v", ", distanceThreshold: 120.0", "", &[0; 8]);
    let result = search(&server, &limited);
    let list = result["root"]["children"].as_array().cloned().unwrap_or_default();
    assert!(!list.is_empty());
    for hit in list {
        let features = &hit["fields"]["matchfeatures"];
        let distance = features["distance(field,v)"].as_f64().unwrap_or_else(|| panic!("{hit}"));
        assert!(distance <= 120.0, "{hit}");
    }

    // A third is changed, a third removed; a snapshot has half of that, the log the rest.
    let change = |n: u64| match n % 3 {
        0 => Some(json!({"put": format!("id:n:item::{n}"), "fields": document(n, 1)})),
        1 => Some(json!({"remove": format!("id:n:item::{n}")})),
        _ => None,
    };
    for half in [0..COUNT / 2, COUNT / 2..COUNT] {
        let mut lines = String::new();
        for line in half.filter_map(change) {
            writeln!(lines, "{line}").unwrap();
        }
        feed(&server, &lines);
        let is_first = lines.contains("item::0\"");
        if is_first {
            let snapshot = stead(&["store", "snapshot", "--target", &server.deploy]);
            assert!(snapshot.status.success(), "{snapshot:?}");
        }
    }
    check(&server, "changed");
    let update = json!({"fields": {"v": {"assign": {"values": [90, 90, 90, 90, 90, 90, 90, 90]}}}});
    let (status, _) = server.request("PUT", "/document/v1/n/item/docid/2", &update.to_string());
    assert_eq!(status, 200);
    let nearest = |server: &Server| hits(&search(server, &asked("v", "", "", &[90; 8])))[0];
    assert_eq!(nearest(&server), (2, 1.0));

    server.kill();
    let server = server.again(folder.path());
    check(&server, "opened again");
    assert_eq!(nearest(&server), (2, 1.0));
    let (status, _) = server.request("DELETE", "/document/v1/n/item/docid/2", "");
    assert_eq!(status, 200);
    assert_ne!(nearest(&server).0, 2);
}
