use serde_json::json;
use stead_expr::{TensorType, parse_type, text_number};

use super::{Freshness, RankQuery, input_value};

#[test]
fn parameters_are_found_in_every_form() {
    for body in [
        json!({"input.query(a)": 1, "ranking": "p", "hits": 3}),
        json!({"input": {"query(a)": 1}, "ranking.profile": "p", "hits": "3"}),
        json!({"inputs": {"a": 1}, "ranking": {"profile": "p"}, "hits": 3}),
        json!({"ranking": {"profile": "p", "features": {"query(a)": 1}}, "hits": 3}),
        json!({"ranking.features.query(a)": 1, "ranking": {"profile": "p"}, "count": 3}),
        json!({"RankFeature": {"query(a)": 1}, "Ranking.Profile": "p", "HITS": 3}),
    ] {
        let query = RankQuery::from_json(&body).unwrap();
        assert_eq!(query.inputs.get("a"), Some(&json!(1)), "{body}");
        assert_eq!((query.profile.as_deref(), query.hits), (Some("p"), Some(3)), "{body}");
        assert!(query.unread.is_empty(), "{body}");
    }
    let query = RankQuery::from_json(&json!({
        "id": 7, "yql": "select * from d where true", "model": {"locale": "en"}, "rankfeatures": true,
        "ranking": {"keepRankCount": 5, "rankScoreDropLimit": -1.5, "properties": {"x.y": "[a b]"},
                    "secondPhase": {"rerankCount": 2, "rankScoreDropLimit": 0},
                    "globalPhase": {"rerankCount": 1}},
    }))
    .unwrap();
    assert_eq!((query.keep_rank_count, query.drop_limit), (Some(5), Some(-1.5)));
    assert_eq!(
        (query.second_phase.rerank_count, query.second_phase.drop_limit),
        (Some(2), Some(0.0))
    );
    assert_eq!((query.global_phase.rerank_count, query.list_features), (Some(1), true));
    // What is about finding documents has no effect here, and is told.
    let unread =
        json!({"ranking": {"matchPhase": {"maxHits": 7}, "totalKeepRankCount": 3}, "offset": 1});
    let unread = RankQuery::from_json(&unread).unwrap();
    assert_eq!(unread.keep_rank_count, Some(3));
    assert_eq!(unread.unread, ["offset", "ranking.matchPhase.maxHits"]);
    assert_eq!(query.text("x.y").as_deref(), Some("[a b]"));
    assert_eq!(
        (query.id.as_deref(), query.unread),
        (Some("7"), vec!["model.locale".into(), "yql".into()])
    );
}

#[test]
fn now_is_what_a_query_says() {
    for (text, expected) in [
        ("1700000000", Some(1_700_000_000.0)),
        ("now", Some(1000.0)),
        (" now-10 ", Some(990.0)),
        ("now+10", None),
        ("now-", None),
        ("now-x", None),
        ("-5", None),
        ("", None),
    ] {
        assert_eq!(Freshness::parse(text).map(|f| f.time(1000.0)), expected, "{text}");
    }
    let query = RankQuery::from_json(&json!({"datetime": "now-5"})).unwrap();
    assert_eq!(query.freshness, Some(Freshness::Before(5.0)));
}

#[test]
fn values_of_inputs_have_their_types() {
    for (kind, json, expected) in [
        ("tensor<float>(x[2])", json!([1, 2]), "tensor<float>(x[2]):[1,2]"),
        ("tensor<float>(x[2])", json!("[1,2]"), "tensor<float>(x[2]):[1,2]"),
        ("tensor<float>(x[2])", json!("tensor<float>(x[2]):[1,2]"), "tensor<float>(x[2]):[1,2]"),
        ("tensor(k{})", json!({"a": 1}), "tensor(k{}):{a:1}"),
        ("tensor(x[])", json!([1, 2, 3]), "tensor(x[3]):[1,2,3]"),
        ("tensor(x[],y[])", json!("[[1,2,3],[4,5,6]]"), "tensor(x[2],y[3]):[[1,2,3],[4,5,6]]"),
        ("tensor(x[])", json!("tensor(x[2]):[1,2]"), "tensor(x[2]):[1,2]"),
        (
            "tensor<int64>(k{})",
            json!({"a": 9_007_199_254_740_993_i64}),
            "tensor<int64>(k{}):{a:9007199254740993}",
        ),
        (
            "tensor<int64>(x[1])",
            json!("[-9007199254740993]"),
            "tensor<int64>(x[1]):[-9007199254740993]",
        ),
        ("tensor(k{})", json!("{a:1}"), "tensor(k{}):{a:1}"),
        (
            "tensor(k{})",
            json!({"cells": [{"address": {"k": "a"}, "value": 1}]}),
            "tensor(k{}):{a:1}",
        ),
    ] {
        let kind = parse_type(kind).unwrap();
        let found = input_value("q", &kind, &json).unwrap();
        assert_eq!(found.to_string(), expected, "{json}");
    }
    for (json, expected) in [
        (json!(1.5), 1.5),
        (json!("1.5"), 1.5),
        (json!(true), 1.0),
        (json!("en"), text_number("en")),
        (json!("'12"), text_number("12")),
    ] {
        let found = input_value("q", &TensorType::double(), &json).unwrap();
        assert_eq!(found.as_double(), Some(expected), "{json}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    for (kind, json, expected) in [
        (
            "tensor(x[2])",
            json!([1]),
            "input query(q): tensor(x[2]) needs 2 cells in a block, got 1",
        ),
        (
            "tensor(x[2])",
            json!("[1,2"),
            "input query(q): expected a literal of tensor(x[2]), found [1,2",
        ),
        (
            "tensor(x[2])",
            json!("tensor(x[1]):[1]"),
            "input query(q): expected a tensor(x[2]), found a tensor(x[1])",
        ),
        ("tensor<int16>(x[2])", json!([1, 40000]), "input query(q): 40000 is no int16"),
        ("tensor<uint8>(x[2])", json!("[1,-1]"), "input query(q): -1 is no uint8"),
        (
            "tensor(x[2])",
            json!("embed(text)"),
            "input query(q): embed(text) asks an embedder, which is there where an application is served; give the tensor itself",
        ),
    ] {
        let error = input_value("q", &parse_type(kind).unwrap(), &json).unwrap_err();
        assert_eq!(error.to_string(), expected, "{json}");
    }
    for (json, expected) in [
        (json!([]), "expected a query as an object, found []"),
        (json!({"hits": -1}), "hits: expected a whole number, found -1"),
        (
            json!({"ranking": {"rankScoreDropLimit": []}}),
            "ranking.rankScoreDropLimit: expected a number, found []",
        ),
    ] {
        assert_eq!(RankQuery::from_json(&json).unwrap_err().to_string(), expected);
    }
}
