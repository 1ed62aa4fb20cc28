//! What searches spend: cores change nothing of a result, time that is over and limits of matching leave documents out.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_search::matching::{Matcher, Patience};
use stead_search::query::{NearestNeighbor, QueryTree, Tree, TuningChoice};
use stead_search::rank::{Means, RankOptions, Wanted};
use stead_search::{Parallel, RankQuery, Serial};
use stead_store::{Collection, FieldValue, View};

use crate::asked::Asked;

const SCHEMA: &str = "schema d {
  document d {
    field n type int {
      indexing: summary | attribute
      attribute: fast-search
    }
    field group type int { indexing: summary | attribute }
    field v type tensor<float>(x[2]) { indexing: attribute }
  }
  rank-profile two {
    inputs {
      query(a): 3
      query(v) tensor<float>(x[2])
    }
    function odd() { expression: attribute(n) % query(a) }
    first-phase { expression: odd + attribute(n) / 1000 }
    second-phase {
      expression: odd * 2 + random.match
      rerank-count: 3000
    }
    match-features: odd firstPhase
  }
  rank-profile narrow inherits two { num-threads-per-search: 1 }
  rank-profile limited inherits two {
    match-phase {
      attribute: n
      max-hits: 10
    }
    diversity {
      attribute: group
      min-groups: 5
    }
  }
}";

const COUNT: usize = 20_000;

fn documents() -> (Asked, View) {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let kind = asked.kind("d");
    let [n, group, v] = ["n", "group", "v"].map(|name| kind.field(name).unwrap().0);
    let tensor = parse_type("tensor<float>(x[2])").unwrap();
    let mut collection = Collection::new(kind);
    for at in 0..COUNT {
        let number = (at * 7919 % COUNT) as i64;
        // Many are as near as others.
        let cells =
            Cells::from_numbers(tensor.cell(), &[(number % 100) as f64, (number % 7) as f64]);
        let vector = Value::new(tensor.clone(), Labels::default(), cells).unwrap();
        let fields = [
            (n, FieldValue::Integer(number)),
            (group, FieldValue::Integer(number / 4)),
            (v, FieldValue::Tensor(vector)),
        ];
        collection.put(&format!("id:n:d::{at}"), &fields).unwrap();
    }
    collection.publish();
    (asked, collection.view())
}

/// Threads that begin in any order; counts how many there were.
struct Threads(usize, AtomicUsize);

impl Parallel for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for at in (0..n).rev() {
                self.1.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move || f(at));
            }
        });
    }
}

#[test]
fn several_cores_find_what_one_does() {
    let (asked, view) = documents();
    assert!(view.blocks().count() > 4);
    for (label, profile, yql, more, threads) in [
        ("all", "two", "select * from d where true", json!({}), 3),
        ("some", "two", "select * from d where n > 100 and !(group = 70)", json!({}), 3),
        ("few", "two", "select * from d where n in (5, 7, 11)", json!({}), 3),
        (
            "in an order",
            "two",
            "select * from d where n < 9000 order by group, n desc",
            json!({}),
            3,
        ),
        (
            "scores in an order",
            "two",
            "select * from d where n < 50 order by \"[rank]\"",
            json!({}),
            3,
        ),
        (
            "dropped",
            "two",
            "select * from d where true",
            json!({"ranking.rankScoreDropLimit": 9.5}),
            3,
        ),
        (
            "two threads",
            "two",
            "select * from d where true",
            json!({"ranking.matching.numThreadsPerSearch": 2}),
            2,
        ),
        (
            "not worth it",
            "two",
            "select * from d where true",
            json!({"ranking.matching.minHitsPerThread": 15_000}),
            0,
        ),
        ("one thread", "narrow", "select * from d where true", json!({}), 0),
        (
            "the nearest, and their ranking",
            "two",
            "select * from d where n > 100 and ({targetHits: 300}nearestNeighbor(v, v))",
            json!({"input.query(v)": [50, 3]}),
            6,
        ),
        (
            "the nearest on one thread",
            "narrow",
            "select * from d where {targetHits: 300}nearestNeighbor(v, v)",
            json!({"input.query(v)": [50, 3]}),
            0,
        ),
    ] {
        let mut body = json!({"yql": yql, "ranking": profile, "hits": 400, "ranking.matching.minHitsPerThread": 1});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_, expected) = asked.search(&[&view], &body);
        assert!(expected["root"]["children"].is_array(), "{label}: {expected}");
        let cores = Threads(3, AtomicUsize::new(0));
        let (_, found) = asked.search_on(&[&view], &body, &cores);
        assert_eq!(found, expected, "{label}");
        assert_eq!(cores.1.into_inner(), threads, "{label}");
    }
}

#[test]
fn what_there_is_no_time_for_is_left_out() {
    let (asked, view) = documents();
    let plan = asked.plan("d", "two");
    let tree = QueryTree { root: Tree::All, ..QueryTree::default() };
    let matcher = Matcher::new(&tree, &view).unwrap();
    let blocks = view.blocks().count();
    let rank = |looks: usize| {
        let left = AtomicUsize::new(looks);
        let is_late = || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
        };
        let means = Means { is_late: &is_late, cores: &Serial };
        let wanted = Wanted { hits: usize::MAX, features: usize::MAX, explains: false };
        let options = RankOptions { now: 0.0, seed: 1 };
        let query = RankQuery::default();
        plan.rank_matches(&query, &view, (&matcher, None), options, (wanted, means)).unwrap().0
    };
    let all = rank(usize::MAX);
    assert_eq!((all.total, all.skipped.len(), all.is_cut), (COUNT, 0, false));
    let none = rank(0);
    assert_eq!((none.total, none.skipped.len()), (0, blocks));
    let two = rank(2);
    let rows: usize = view.blocks().take(2).map(|block| block.alive().count()).sum();
    assert_eq!((two.total, two.skipped), (rows, (2..blocks).collect()));
    // Time for the first phase and a part of the second: the others stand behind, by their first scores.
    let cut = rank(blocks + 1);
    assert_eq!((cut.total, cut.skipped.len(), cut.is_cut), (COUNT, 0, true));
    let reranked = cut.hits.iter().filter(|hit| hit.second_phase.is_some()).count();
    assert!(0 < reranked && reranked < 3000, "{reranked}");
    let worst = cut.hits[..reranked].iter().map(|hit| hit.relevance).fold(f64::MAX, f64::min);
    assert!(cut.hits[..reranked].iter().all(|hit| hit.second_phase.is_some()));
    assert!(cut.hits[reranked..].iter().all(|hit| hit.relevance <= worst));
}

#[test]
fn vectors_that_there_is_no_time_for_are_not_compared() {
    let (_, view) = documents();
    let kind = parse_type("tensor<float>(x[2])").unwrap();
    let vector =
        Value::new(kind.clone(), Labels::default(), Cells::from_numbers(kind.cell(), &[50.0, 3.0]));
    let neighbor = NearestNeighbor {
        attribute: "v".to_owned(),
        metric: None,
        kind,
        input: "v".to_owned(),
        target_hits: 200,
        distance_threshold: None,
        is_approximate: true,
        explore: 0,
        tuning: TuningChoice::default(),
        label: None,
        vector: Some(vector.unwrap()),
    };
    let tree =
        QueryTree { root: Tree::Neighbor(0), neighbors: vec![neighbor], ..QueryTree::default() };
    let blocks = view.blocks().count();
    for (looks, threads) in [(0, 1), (3, 1), (3, 3), (usize::MAX, 3)] {
        let left = AtomicUsize::new(looks);
        let is_late = || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
        };
        let cores = Threads(threads, AtomicUsize::new(0));
        let means = Means { is_late: &is_late, cores: &cores };
        let matcher = Matcher::within(&tree, &view, threads, (means, Patience::default())).unwrap();
        let late = matcher.skipped().to_vec();
        assert_eq!(late.len(), blocks - looks.min(blocks), "{looks} {threads}");
        assert!(late.is_sorted());
        let matches = matcher.matches().unwrap();
        assert!(late.iter().all(|number| matches.segments[*number].is_empty()));
        assert_eq!(matches.count(), if looks == 0 { 0 } else { 200 });
        if threads == 1 {
            assert_eq!(late, (looks..blocks).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_limit_of_matching_keeps_the_best_by_an_attribute() {
    let (asked, view) = documents();
    let numbers = |body: &Json| {
        let (_, result) = asked.search(&[&view], body);
        let hits = result["root"]["children"].as_array().unwrap();
        let mut found: Vec<u64> =
            hits.iter().map(|hit| hit["fields"]["n"].as_u64().unwrap()).collect();
        found.sort_unstable();
        (found, result["root"]["coverage"].clone(), result["root"]["fields"]["totalCount"].clone())
    };
    let ask = |more: Json| {
        let mut body =
            json!({"yql": "select * from d where n < 1000", "ranking": "limited", "hits": 50});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // Two of each of five groups.
    let (found, coverage, total) = numbers(&ask(json!({})));
    assert_eq!(found, [982, 983, 986, 987, 990, 991, 994, 995, 998, 999]);
    assert_eq!((&total, &coverage["coverage"]), (&json!(1000), &json!(1)));
    assert_eq!(coverage["degraded"]["match-phase"], true);
    let alike = json!({"matchPhase.diversity.minGroups": 0, "matchPhase.maxHits": 4});
    assert_eq!(numbers(&ask(alike)).0, [996, 997, 998, 999]);
    let least = json!({"ranking.matchPhase.ascending": true, "ranking.matchPhase.totalMaxHits": 3,
                       "ranking.matchPhase.diversity.minGroups": 0});
    assert_eq!(numbers(&ask(least)).0, [0, 1, 2]);
    let (found, coverage, _) = numbers(&ask(json!({"matchPhase.maxHits": 1000})));
    assert_eq!((found.len(), coverage.get("degraded")), (50, None));
}
